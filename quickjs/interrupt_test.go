package quickjs

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// Why a VM was stopped is to be told with errors.Is, for a loop of guest code, which
// QuickJS's own interrupt unwinds, and for a native one, which traps.
func TestInterruptsTellTheirReason(t *testing.T) {
	tmpl := testTemplate(t)
	errQuota := errors.New("the quota is used up")
	background := func() (context.Context, func()) { return context.Background(), func() {} }
	for _, c := range []struct {
		name    string
		context func() (ctx context.Context, end func())
		stop    func(vm *VM)
		is, not []error
	}{
		{
			name: "deadline", context: background, stop: func(vm *VM) { vm.SetDeadline(time.Now().Add(-time.Second)) },
			is: []error{context.DeadlineExceeded}, not: []error{context.Canceled, ErrStopped},
		},
		{
			name: "stop", context: background, stop: (*VM).Stop,
			is: []error{ErrStopped}, not: []error{context.Canceled, context.DeadlineExceeded},
		},
		{
			name: "cancelled context",
			context: func() (context.Context, func()) {
				return context.WithCancel(context.Background())
			},
			is: []error{context.Canceled}, not: []error{context.DeadlineExceeded, ErrStopped},
		},
		{
			name: "context with a cause",
			context: func() (context.Context, func()) {
				ctx, cancel := context.WithCancelCause(context.Background())
				return ctx, func() { cancel(errQuota) }
			},
			is: []error{context.Canceled, errQuota}, not: []error{context.DeadlineExceeded, ErrStopped},
		},
		{
			name: "context past its deadline",
			context: func() (context.Context, func()) {
				return context.WithDeadline(context.Background(), time.Now().Add(-time.Second))
			},
			is: []error{context.DeadlineExceeded}, not: []error{context.Canceled, ErrStopped},
		},
	} {
		for _, src := range []string{"Date.now(); for (;;);", "Date.now(); [].includes.call({ length: 2 ** 53 - 1 }, 1)"} {
			ctx, end := c.context()
			o, running := signalled()
			vm := newVM(t, tmpl, o)
			started, err := startCell(context.Background(), vm, "await null; "+src)
			if err != nil {
				t.Fatal(err)
			}
			if c.stop != nil {
				c.stop(vm)
			}
			go func() {
				<-running
				end()
			}()
			_, _, err = started.turn(ctx)
			end()
			var interrupt *InterruptError
			if !errors.Is(err, ErrInterrupted) || !errors.As(err, &interrupt) || errors.Is(err, ErrTrapped) || !vm.Interrupted() {
				t.Errorf("%s: %s: %v (%T)", c.name, src, err, err)
				continue
			}
			for _, want := range c.is {
				if !errors.Is(err, want) || !errors.Is(interrupt.Cause, want) || !strings.Contains(err.Error(), want.Error()) {
					t.Errorf("%s: %s: %v is not %v", c.name, src, err, want)
				}
			}
			for _, other := range c.not {
				if errors.Is(err, other) {
					t.Errorf("%s: %s: %v is %v", c.name, src, err, other)
				}
			}
		}
	}
}
