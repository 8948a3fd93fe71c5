//go:build unix

package transpile

import (
	"os"
	"syscall"
)

// workerDirectory is where a worker stands: it opens nothing, and must not keep
// a file system busy.
const workerDirectory = "/"

// processAttributes puts a worker into a process group of its own, so that a
// Ctrl-C meant for the host does not end the transforms it still waits for.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}

func signaled(state *os.ProcessState) bool {
	status, ok := state.Sys().(syscall.WaitStatus)
	return ok && status.Signaled()
}
