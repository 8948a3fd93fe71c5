//go:build !linux

package transpile

import "os"

// selfExecutable names the file that the running program was started from. A
// worker of another version is refused by its hello.
func selfExecutable() (string, error) { return os.Executable() }
