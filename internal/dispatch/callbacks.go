package dispatch

import (
	"context"
	"fmt"
	"io"
	"runtime/debug"
	"time"

	"github.com/cloister-wasm/cloister/api"
)

// Contain calls a callback. A panic in it goes to Options.OnHookError and no further.
func (d *Dispatcher) Contain(callback string, f func()) (returned bool) {
	defer func() {
		if p := recover(); p != nil {
			d.Panicked(callback, p)
		}
	}()
	f()
	return true
}

// Panicked reports a panic; a panic in the report itself is dropped.
func (d *Dispatcher) Panicked(callback string, value any) {
	if d.o.OnHookError == nil {
		return
	}
	e := &api.HookError{Callback: callback, Value: value, Stack: debug.Stack()}
	defer func() { _ = recover() }() // there is nobody left to tell
	d.o.OnHookError(e)
}

// Await calls a callback in a goroutine of its own and returns when it does, or when ctx ends: one that
// does not look at its ctx is left behind.
func (d *Dispatcher) Await(ctx context.Context, callback string, f func()) (returned bool) {
	done := make(chan bool, 1)
	go func() {
		returned := false
		defer func() { done <- returned }() // also if the callback ends its goroutine
		returned = d.Contain(callback, f)
	}()
	select {
	case returned = <-done:
		return returned
	case <-ctx.Done():
		return false
	}
}

// Now is Options.Now; the system's clock stands in for one that panics.
func (d *Dispatcher) Now() (t time.Time) {
	if d.o.Now == nil {
		return time.Now()
	}
	if !d.Contain("Now", func() { t = d.o.Now() }) {
		t = time.Now()
	}
	return t
}

// Random is Options.Random; a panic in it is a failure to read.
func (d *Dispatcher) Random() io.Reader { return randomSource{d} }

// randomSource is Options.Random; a panic in it is a failure to read.
type randomSource struct{ d *Dispatcher }

func (r randomSource) Read(b []byte) (n int, err error) {
	if !r.d.Contain("Random", func() { n, err = r.d.o.Random.Read(b) }) {
		return 0, fmt.Errorf("random numbers: %w", io.ErrUnexpectedEOF)
	}
	return n, err
}
