package host

import (
	"sync"
	"time"
)

// closeGrace is how long Close waits for tools that it has cancelled.
const closeGrace = 250 * time.Millisecond

// closing orders the end of a Host: calls that heed their cancellation are in the
// trace with their end, and when Close has returned no sink is used any more.
type closing struct {
	mu    sync.Mutex
	calls int           // in the dispatcher
	idle  chan struct{} // closed when there are none; nil while nobody waits

	sinks  sync.RWMutex // held for reading while an event is handed out
	sealed bool
}

func (c *closing) enter() {
	c.mu.Lock()
	c.calls++
	c.mu.Unlock()
}

func (c *closing) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls--; c.calls == 0 && c.idle != nil {
		close(c.idle)
		c.idle = nil
	}
}

// wait waits for the calls, at most as long as a tool that heeds its cancellation
// takes. One that does not is left behind; it may be the one that closes the host.
func (c *closing) wait() {
	c.mu.Lock()
	if c.calls == 0 {
		c.mu.Unlock()
		return
	}
	idle := make(chan struct{})
	c.idle = idle
	c.mu.Unlock()
	grace := time.NewTimer(closeGrace)
	defer grace.Stop()
	select {
	case <-idle:
	case <-grace.C:
	}
}

// seal ends the use of the sinks.
func (c *closing) seal() {
	c.sinks.Lock()
	defer c.sinks.Unlock()
	c.sealed = true
}
