//go:build (!unix && !windows) || aix

package store

import (
	"errors"
	"os"
)

// tryLock refuses: without locks two processes could each take the other's generation away.
func tryLock(*os.File, bool) error { return errors.ErrUnsupported }
