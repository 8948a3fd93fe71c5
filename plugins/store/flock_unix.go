//go:build unix && !aix

package store

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// tryLock locks the open file, or gives errLocked at once. Closing the file unlocks it.
func tryLock(file *os.File, exclusive bool) error {
	how := unix.LOCK_SH | unix.LOCK_NB
	if exclusive {
		how = unix.LOCK_EX | unix.LOCK_NB
	}
	for {
		err := unix.Flock(int(file.Fd()), how)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EWOULDBLOCK):
			return errLocked
		default:
			return err
		}
	}
}
