//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package transpile

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// closeInherited closes the descriptors that this process got from the host by
// accident, which may lead anywhere. Go marks all of its own to be closed when a
// program is started, so what came over such a start without the mark, and has
// not got it since, is not ours.
func closeInherited() {
	for _, fd := range openDescriptors() {
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			_ = unix.Close(fd) // whatever it says, the descriptor is gone
		}
	}
}

// openDescriptors returns the descriptors behind the three standard ones that
// the system says are open; if it says nothing, all below a usual limit.
func openDescriptors() []int {
	const first, usual = 3, 1024
	var open []int
	entries, err := os.ReadDir("/dev/fd")
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd >= first {
			open = append(open, fd)
		}
	}
	for fd := first; err != nil && fd < usual; fd++ {
		open = append(open, fd)
	}
	return open
}
