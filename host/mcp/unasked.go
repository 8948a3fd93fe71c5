package mcp

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"
	"time"
)

// Bounds on what a server says without being asked: notifications, requests of its own,
// comments of event streams, lines of standard error, and lines of standard output that
// are no messages.
const (
	// unaskedBurst is how many seconds' worth of the budget a server may say at once.
	unaskedBurst = 20
	// unaskedBytes is how much of it counts as one message more.
	unaskedBytes = 4096
	// overTime is how long a server may go on with more than its budget. It is slowed
	// down to it meanwhile.
	overTime = 10 * time.Second
)

// unasked is the budget of one connection. Over it, who reads from the server waits: what
// the server sends stays in the pipe or the connection, until the server itself has to
// wait. One that goes on is ended. A nil unasked bounds nothing. It is safe for concurrent
// use.
type unasked struct {
	ctx  context.Context // ends with the connection
	rate float64         // messages a second
	over time.Duration   // overTime, but for tests
	slow func()          // told when the server begins to be over its budget

	mu    sync.Mutex
	left  float64
	at    time.Time // of left
	since time.Time // it is over its budget since; zero if it is not
}

func newUnasked(ctx context.Context, perSecond int, over time.Duration, slow func()) *unasked {
	rate := float64(perSecond)
	return &unasked{ctx: ctx, rate: rate, over: over, slow: slow, left: rate * unaskedBurst, at: time.Now()}
}

// message spends the budget for one message, or one line, of a number of bytes.
func (b *unasked) message(size int) error { return b.spend(1 + float64(size)/unaskedBytes) }

// spend takes from the budget, and waits until there is some again. Its error is ErrFlood,
// or the cause of the end of the connection.
func (b *unasked) spend(cost float64) error {
	if b == nil {
		return nil
	}
	wait, err := b.take(cost)
	if wait <= 0 || err != nil {
		return err
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-b.ctx.Done():
		return context.Cause(b.ctx)
	}
}

// take says how long to wait. It fails where that is longer than the server is waited for.
func (b *unasked) take(cost float64) (wait time.Duration, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now, most := time.Now(), b.rate*unaskedBurst
	b.left = min(most, b.left+now.Sub(b.at).Seconds()*b.rate)
	b.at = now
	if b.left >= most/2 {
		b.since = time.Time{} // it has calmed down
	}
	if b.left -= cost; b.left >= 0 {
		return 0, nil
	}
	if b.since.IsZero() {
		b.since = now
		b.slow()
	}
	wait = time.Duration(-b.left / b.rate * float64(time.Second))
	if wait > b.since.Add(b.over).Sub(now) {
		return 0, fmt.Errorf("%w: more than %d messages a second for %s (limits.maxUnaskedPerSecond)", ErrFlood, int(b.rate), b.over)
	}
	return wait, nil
}

// metered is what a server writes that is no message, such as standard error: by lines
// and by bytes, so that one line without an end costs as well.
type metered struct {
	r     io.Reader
	spend func(cost float64) error
}

// Read implements io.Reader.
func (m *metered) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	cost := float64(bytes.Count(p[:n], []byte{'\n'})) + float64(n)/unaskedBytes
	if over := m.spend(cost); over != nil && err == nil {
		err = over
	}
	return n, err
}
