//go:build (!unix && !windows) || aix

package safefile

import (
	"errors"
	"os"
)

// TryLock refuses: without locks two processes could each take the other's generation away.
func TryLock(*os.File, bool) error { return errors.ErrUnsupported }
