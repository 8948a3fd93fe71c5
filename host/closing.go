package host

import (
	"sync"
	"time"
)

// closeGrace is how long Close waits for tools and sinks that it has told to end.
const closeGrace = 250 * time.Millisecond

// closing orders the end of a Host: calls that heed their cancellation are in the
// trace with their end, and when Close has returned no sink is used any more.
type closing struct {
	calls  census // in the dispatcher
	events census // on their way to a sink
}

// census counts what is under way, and can wait until nothing is.
type census struct {
	mu struct {
		sync.Mutex
		n      int
		closed bool
		idle   chan struct{} // closed when there are none; nil while nobody waits
	}
}

// enter counts one in. It says false after close.
func (c *census) enter() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.closed {
		return false
	}
	c.mu.n++
	return true
}

func (c *census) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.n--; c.mu.n == 0 && c.mu.idle != nil {
		close(c.mu.idle)
		c.mu.idle = nil
	}
}

// wait waits until there are none, for closeGrace at most. One that does not end in time is
// left behind; it may be the one that closes the host.
func (c *census) wait() {
	c.mu.Lock()
	if c.mu.n == 0 {
		c.mu.Unlock()
		return
	}
	if c.mu.idle == nil {
		c.mu.idle = make(chan struct{})
	}
	idle := c.mu.idle
	c.mu.Unlock()
	grace := time.NewTimer(closeGrace)
	defer grace.Stop()
	select {
	case <-idle:
	case <-grace.C:
	}
}

// close lets nothing more in.
func (c *census) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.closed = true
}
