//go:build unix

package transpile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/cloister-wasm/cloister/internal/waittest"
)

// TestMain runs the tests and then looks for processes that somebody forgot: at
// the end there is no child at all, alive or zombie.
func TestMain(m *testing.M) {
	if os.Getenv(orphanVariable) != "" {
		os.Exit(orphanParent())
	}
	code := m.Run()
	if _, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); !errors.Is(err, syscall.ECHILD) {
		fmt.Fprintln(os.Stderr, "child processes are left after all tests:", err)
		code = 1
	}
	os.Exit(code)
}

// orphanVariable turns the test binary into a parent that will be killed.
const orphanVariable = "TRANSPILE_TEST_ORPHAN"

// orphanParent transforms one cell, starts on one that never ends, and prints
// the number of the process that works on it. It does not return by itself.
func orphanParent() int {
	w := NewWorker(nil)
	if _, err := w.Transform(context.Background(), Input{Source: goodCell}); err != nil {
		fmt.Println(err)
		return 1
	}
	c := idleProcesses(w)[0]
	sent := appendFrame(nil, slowSource)
	if _, err := c.in.Write(sent); err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println(c.cmd.Process.Pid)
	select {}
}

// TestNoLeaks puts a Worker through everything that can happen to it and counts
// goroutines and processes afterwards.
func TestNoLeaks(t *testing.T) {
	before := runtime.NumGoroutine()
	for range 3 {
		w := NewWorker(&Options{IdleTimeout: 5 * time.Millisecond})
		transformGood(t, w)
		for _, source := range []string{"let =", bombs()["bangs"], goodCell} {
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			_, _ = w.Transform(ctx, Input{Source: source}) // any outcome will do
			cancel()
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		if _, err := w.Transform(ctx, Input{Source: slowSource}); err == nil {
			t.Error("no error")
		}
		cancel()
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		if _, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); !errors.Is(err, syscall.ECHILD) {
			t.Errorf("a process is left after Close: %v", err)
		}
	}
	// Goroutines that have just been released may not have returned yet.
	waittest.Until(t, "the goroutines are gone", func() bool { return runtime.NumGoroutine() <= before })
}
