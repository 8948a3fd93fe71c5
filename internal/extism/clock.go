package extism

import (
	"sync"
	"time"
)

// clock measures the time that a call has left. It can be stopped and started again, which a context's deadline cannot.
type clock struct {
	mu      sync.Mutex
	expire  func() // must not block; may be called more than once
	timer   *time.Timer
	left    time.Duration // at since
	since   time.Time
	running bool
}

// start opens a call of at most limit.
func (c *clock) start(limit time.Duration, expire func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left, c.since, c.running, c.expire = limit, time.Now(), true, expire
	if c.timer == nil {
		c.timer = time.AfterFunc(limit, c.fired)
		return
	}
	c.timer.Reset(limit)
}

// stop ends the call's time; expire is not called any more.
func (c *clock) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running, c.expire = false, nil
	c.timer.Stop()
}

func (c *clock) pause() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.running {
		return
	}
	c.left -= time.Since(c.since)
	c.running = false
	c.timer.Stop()
}

func (c *clock) resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running || c.expire == nil {
		return
	}
	c.since, c.running = time.Now(), true
	c.timer.Reset(max(c.left, 0))
}

// fired calls expire if the time is up. The timer may come when the clock is stopped, or was started again.
func (c *clock) fired() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running && c.expire != nil && time.Since(c.since) >= c.left {
		c.expire()
	}
}
