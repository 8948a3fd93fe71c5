package hosttest

import (
	"sync"
	"time"
)

// Clock is a clock that stands still until Advance moves it. Its Now method is
// for host.Options.Now.
//
// The host takes deadlines of cells from the real clock, whatever this one says:
// it governs what guests see, the age of suspended runs, and times in traces.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock makes a clock that stands at start.
func NewClock(start time.Time) *Clock { return &Clock{now: start} }

// Now gives the clock's time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock by d, also backwards.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}
