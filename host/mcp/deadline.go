package mcp

import (
	"context"
	"sync"
	"time"
)

// consentTimeout is how long a person may take to consent.
const consentTimeout = 10 * time.Minute

type deadlineKey struct{}

// deadline ends a context after a time that does not run while a person is asked.
type deadline struct {
	mu     sync.Mutex
	timer  *time.Timer
	until  time.Time
	cancel context.CancelCauseFunc
}

// withDeadline is context.WithTimeout with a clock that pauseDeadline stops.
func withDeadline(ctx context.Context, after time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	d := &deadline{cancel: cancel, until: time.Now().Add(after)}
	d.timer = time.AfterFunc(after, func() { cancel(context.DeadlineExceeded) })
	return context.WithValue(ctx, deadlineKey{}, d), func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.timer.Stop()
		cancel(nil)
	}
}

// pauseDeadline stops the clock, within bounds of its own, until the result is called.
func pauseDeadline(ctx context.Context) (resume func()) {
	d, ok := ctx.Value(deadlineKey{}).(*deadline)
	if !ok {
		return func() {}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	left := max(time.Until(d.until), time.Second)
	d.timer.Reset(consentTimeout)
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.until = time.Now().Add(left)
		if ctx.Err() == nil {
			d.timer.Reset(left)
		}
	}
}
