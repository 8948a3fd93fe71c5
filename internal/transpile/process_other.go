//go:build !unix && !windows

package transpile

import (
	"os"
	"syscall"
)

const workerDirectory = ""

// processAttributes asks for nothing. Systems that cannot start processes say so
// when a worker is started, which ends in ErrWorkerUnavailable.
func processAttributes() *syscall.SysProcAttr { return nil }

func signaled(*os.ProcessState) bool { return false }
