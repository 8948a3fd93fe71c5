//go:build !unix && !windows

package mcp

import (
	"os"
	"syscall"
)

func groupAttributes() *syscall.SysProcAttr { return nil }

func terminateGroup(p *os.Process) error { return p.Signal(os.Interrupt) }

func killGroup(p *os.Process) error { return p.Kill() }
