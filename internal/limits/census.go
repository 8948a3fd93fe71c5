package limits

import (
	"sync"
	"time"
)

// Census counts what is under way, and can wait until nothing is.
type Census struct {
	mu struct {
		sync.Mutex
		n      int
		closed bool
		idle   chan struct{} // closed when there are none; nil while nobody waits
	}
}

// Enter counts one in. It says false after close.
func (c *Census) Enter() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.closed {
		return false
	}
	c.mu.n++
	return true
}

// Leave counts one out.
func (c *Census) Leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.n--; c.mu.n == 0 && c.mu.idle != nil {
		close(c.mu.idle)
		c.mu.idle = nil
	}
}

// Wait waits until there are none, for some time at most. One that does not end in time is
// left behind; it may be the one that closes the host.
func (c *Census) Wait(atMost time.Duration) {
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
	grace := time.NewTimer(atMost)
	defer grace.Stop()
	select {
	case <-idle:
	case <-grace.C:
	}
}

// Close lets nothing more in.
func (c *Census) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.closed = true
}
