package limits

import (
	"context"
	"time"
)

// Slots bound how many of something there are at once.
type Slots chan struct{}

// Take waits for a slot, or for the end of ctx.
func (s Slots) Take(ctx context.Context) error {
	select {
	case s <- struct{}{}:
		return nil
	default:
	}
	select {
	case s <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// TakeUntil is take with an end of its own: that of two contexts, or a time.
func (s Slots) TakeUntil(a, b context.Context, until time.Time) error {
	select {
	case s <- struct{}{}:
		return nil
	default:
	}
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case s <- struct{}{}:
		return nil
	case <-a.Done():
		return context.Cause(a)
	case <-b.Done():
		return context.Cause(b)
	case <-timer.C:
		return context.DeadlineExceeded
	}
}

// Give gives the slot back.
func (s Slots) Give() { <-s }
