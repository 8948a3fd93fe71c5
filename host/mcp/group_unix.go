//go:build unix

package mcp

import (
	"os"
	"syscall"
)

// groupAttributes puts a process into a group of its own: it is ended with all that it
// starts, and a Ctrl-C meant for the host does not reach it first.
func groupAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func terminateGroup(p *os.Process) error { return syscall.Kill(-p.Pid, syscall.SIGTERM) }

func killGroup(p *os.Process) error { return syscall.Kill(-p.Pid, syscall.SIGKILL) }
