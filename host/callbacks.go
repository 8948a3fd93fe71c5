package host

import (
	"context"
	"fmt"
	"io"
	"runtime/debug"
	"time"

	"github.com/cloister-wasm/cloister/api"
)

// contain calls a callback. A panic in it goes to Options.OnHookError and no further.
func (h *Host) contain(callback string, f func()) (returned bool) {
	defer func() {
		if p := recover(); p != nil {
			h.panicked(callback, p)
		}
	}()
	f()
	return true
}

// panicked reports a panic; a panic in the report itself is dropped.
func (h *Host) panicked(callback string, value any) {
	if h.o.OnHookError == nil {
		return
	}
	e := &api.HookError{Callback: callback, Value: value, Stack: debug.Stack()}
	defer func() { _ = recover() }() // there is nobody left to tell
	h.o.OnHookError(e)
}

// await calls a callback in a goroutine of its own and returns when it does, or when ctx ends: one that
// does not look at its ctx is left behind.
func (h *Host) await(ctx context.Context, callback string, f func()) (returned bool) {
	done := make(chan bool, 1)
	go func() {
		returned := false
		defer func() { done <- returned }() // also if the callback ends its goroutine
		returned = h.contain(callback, f)
	}()
	select {
	case returned = <-done:
		return returned
	case <-ctx.Done():
		return false
	}
}

// now is Options.Now; the system's clock stands in for one that panics.
func (h *Host) now() (t time.Time) {
	if h.o.Now == nil {
		return time.Now()
	}
	if !h.contain("Now", func() { t = h.o.Now() }) {
		t = time.Now()
	}
	return t
}

// randomSource is Options.Random; a panic in it is a failure to read.
type randomSource struct{ h *Host }

func (r randomSource) Read(b []byte) (n int, err error) {
	if !r.h.contain("Random", func() { n, err = r.h.o.Random.Read(b) }) {
		return 0, fmt.Errorf("random numbers: %w", io.ErrUnexpectedEOF)
	}
	return n, err
}
