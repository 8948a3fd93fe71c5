package mcp

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// groupAttributes puts a process into a group of its own, so that a Ctrl-C meant for the
// host does not reach it first, and gives it no window.
func groupAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP, HideWindow: true}
}

// terminateGroup has no gentle form on Windows for a program without a console.
func terminateGroup(p *os.Process) error { return killGroup(p) }

// killGroup ends the process and its children, which taskkill finds.
func killGroup(p *os.Process) error {
	if err := exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(p.Pid)).Run(); err != nil {
		return p.Kill()
	}
	return nil
}
