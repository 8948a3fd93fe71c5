package mcp

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// awaitExit waits until a process has ended, and leaves it to be waited for.
func awaitExit(p *os.Process) bool {
	for {
		err := unix.Waitid(unix.P_PID, p.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return err == nil
		}
	}
}
