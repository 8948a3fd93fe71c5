//go:build unix && !aix

package safefile

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// TryLock locks the open file, or gives ErrLocked at once. Closing the file unlocks it.
func TryLock(file *os.File, exclusive bool) error {
	how := unix.LOCK_SH | unix.LOCK_NB
	if exclusive {
		how = unix.LOCK_EX | unix.LOCK_NB
	}
	for {
		err := unix.Flock(int(file.Fd()), how)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EWOULDBLOCK):
			return ErrLocked
		default:
			return err
		}
	}
}
