package transpile

import (
	"os"
	"syscall"
)

// workerDirectory is that of the host: there is no neutral one on every system.
const workerDirectory = ""

// processAttributes gives a worker no window and a process group of its own, so
// that a Ctrl-C meant for the host does not end it.
func processAttributes() *syscall.SysProcAttr {
	const createNoWindow = 0x08000000
	return &syscall.SysProcAttr{
		HideWindow:    true,
		CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP | createNoWindow,
	}
}

// signaled is false: a process that was ended from outside cannot be told from
// one that failed.
func signaled(*os.ProcessState) bool { return false }
