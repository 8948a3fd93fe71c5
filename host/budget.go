package host

import (
	"context"
	"sync/atomic"
	"time"
)

// budget bounds what a Host keeps for all its cells together, in bytes. It is safe for
// concurrent use and takes no lock.
type budget struct{ left atomic.Int64 }

// Take takes n bytes, or none and says false.
func (b *budget) Take(n int) bool {
	for {
		left := b.left.Load()
		if int64(n) > left {
			return false
		}
		if b.left.CompareAndSwap(left, left-int64(n)) {
			return true
		}
	}
}

// Give gives n bytes back.
func (b *budget) Give(n int) { b.left.Add(int64(n)) }

// slots bound how many of something there are at once.
type slots chan struct{}

// take waits for a slot, or for the end of ctx.
func (s slots) take(ctx context.Context) error {
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

// takeUntil is take with an end of its own: that of two contexts, or a time.
func (s slots) takeUntil(a, b context.Context, until time.Time) error {
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

func (s slots) give() { <-s }
