//go:build unix

package mcp

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/cloister-wasm/cloister/internal/waittest"
)

// Close ends a server that does not want to, and what it started.
func TestProcessGroup(t *testing.T) {
	t.Parallel()
	m := open(t, nil, program(t, "stubborn"))
	s := one(t, m)
	r, err := s.Client.CallTool(testCtx(t), tool(t, s, "t"), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	pids := strings.Fields(text(t, r))
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	for _, p := range pids {
		pid, err := strconv.Atoi(p)
		if err != nil {
			t.Fatal(err)
		}
		waittest.Until(t, "the end of process "+p, func() bool { return !running(pid) })
	}
}

// running says whether a process is there and no zombie.
func running(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return runtime.GOOS != "linux"
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(after, "Z")
}
