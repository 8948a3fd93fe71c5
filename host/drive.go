package host

import (
	"context"
	"time"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/quickjs"
)

// either is a context that has ended when one of two has. It has no Done of its
// own: guest code asks for Err at checkpoints, and goroutines select on both.
type either struct {
	context.Context
	other context.Context
}

// Err implements context.Context.
func (e either) Err() error {
	if err := e.Context.Err(); err != nil {
		return err
	}
	return e.other.Err()
}

// bind gives a context that ends with the caller's or with the cell, so that an
// abort stops guest code as well.
func (c *cell) bind(ctx context.Context) context.Context { return either{ctx, c.ctx} }

// drive runs the cell until it ends, yields, or the deadline passes with calls
// open. It gives the result for Exec or Wait.
//
// The caller's goroutine drives until the program waits for a single call. Then
// another goroutine goes on, which runs such calls itself, and this one keeps
// watch: when it is time to return although a tool has not, it takes the guest
// back and leaves the tool where it is.
func (c *cell) drive(ctx context.Context, deadline time.Time) *Result {
	c.g.vm.SetDeadline(deadline)
	c.mu.Lock()
	c.wanted = false
	c.mu.Unlock()
	if res := c.loop(ctx, deadline, false); res != nil {
		return res
	}
	done := make(chan *Result, 1)
	go c.detached(ctx, deadline, done)
	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	var grace <-chan time.Time
	for {
		select {
		case res := <-done:
			if res == nil { // a tool ended its goroutine
				return c.drive(ctx, deadline)
			}
			return res
		case <-c.attention:
			grace = time.After(approvalGrace)
			continue
		case <-grace:
			if grace = nil; !c.approvalOpen() {
				continue
			}
		case <-timer.C:
		case <-ctx.Done():
		case <-c.ctx.Done():
		}
		if c.takeOver() {
			return c.drive(ctx, deadline)
		}
		if res := <-done; res != nil {
			return res
		}
		return c.drive(ctx, deadline)
	}
}

func (c *cell) approvalOpen() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.inline != nil && !c.inline.person().IsZero()
}

// detached drives in a goroutine of its own. It gives nil if the guest was taken
// over, or if a tool ended the goroutine, as runtime.Goexit does.
func (c *cell) detached(ctx context.Context, deadline time.Time, done chan<- *Result) {
	var res *Result
	defer func() { done <- res }()
	res = c.loop(ctx, deadline, true)
}

// loop makes turns. It gives nil when a single call is due and inline is false, or
// when the guest was taken over.
func (c *cell) loop(ctx context.Context, deadline time.Time, inline bool) *Result {
	for {
		if oc := c.single; oc != nil {
			if !inline {
				return nil
			}
			c.single = nil
			if !c.performInline(oc) {
				return nil
			}
		} else if more, res := c.next(ctx, deadline); !more {
			return res
		}
		state, err := c.turn(ctx)
		if err != nil {
			return c.failed(ctx, err)
		}
		if state == quickjs.Rejected {
			return c.failed(ctx, c.rejected(ctx))
		}
		c.mainDone = state == quickjs.Fulfilled
	}
}

// next decides what comes before a turn: true to make one, which delivers what
// has settled, or false and the result.
func (c *cell) next(ctx context.Context, deadline time.Time) (bool, *Result) {
	for {
		c.mu.Lock()
		settled, open, clients := len(c.settled), len(c.open), 0
		var person time.Time
		reason := guestabi.WaitPendingTools
		for _, oc := range c.open {
			if oc.client && !oc.done {
				clients++
			}
			if since := oc.person(); !since.IsZero() && (person.IsZero() || since.Before(person)) {
				person = since
			}
			if !oc.approval.IsZero() {
				reason = guestabi.WaitApproval
			}
		}
		c.mu.Unlock()
		until := deadline
		if !person.IsZero() {
			if person.Before(c.resumed) { // the answer may be on its way
				person = c.resumed
			}
			until = earlier(deadline, person.Add(approvalGrace))
		}
		switch {
		case !c.started:
			c.started = true
			return true, nil
		case settled > 0:
			return true, nil
		case c.mainDone && open == 0 && c.value == nil:
			if err := c.finish(ctx); err != nil {
				return false, c.failed(ctx, err)
			}
			return true, nil
		case c.mainDone && open == 0:
			return false, c.completed(ctx)
		case len(c.yields) > 0:
			return false, c.suspend(ctx, guestabi.WaitYield)
		case open == 0:
			return false, c.failed(ctx, fail(guestabi.ReasonGuestError, "the program waits for a promise that nothing will settle: no tool call is open"))
		case !person.IsZero() && !time.Now().Before(until):
			return false, c.suspend(ctx, reason)
		case clients == open && c.run.o.OnClientCall == nil:
			return false, c.suspend(ctx, guestabi.WaitPendingTools)
		}
		if res := c.await(ctx, until, deadline); res != nil {
			return false, res
		}
	}
}

// approvalGrace is how long an approval or a resolution may take before it
// suspends the run. One that a program decides is answered within the same exec or
// wait.
const approvalGrace = 50 * time.Millisecond

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// await blocks until something settles, or until a time at which the state is to
// be looked at again. It gives a result if the deadline or an end comes first.
func (c *cell) await(ctx context.Context, until, deadline time.Time) *Result {
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-c.signal:
		return nil
	case <-timer.C:
		if until.Before(deadline) {
			return nil
		}
		return c.suspend(ctx, guestabi.WaitPendingTools)
	case <-ctx.Done():
		return c.failed(ctx, fail(guestabi.ReasonAborted, "the call was cancelled"))
	case <-c.ctx.Done():
		return c.failed(ctx, fail(guestabi.ReasonAborted, "the run was aborted"))
	}
}

// take gives everything that has settled, for delivery in one batch.
func (c *cell) take() ([]quickjs.Settlement, error) {
	c.mu.Lock()
	n, size := 0, 0
	for ; n < len(c.settled) && (n == 0 || size+len(c.settled[n].value) <= maxBatch); n++ {
		s := c.settled[n]
		size += len(s.value)
		c.held -= c.open[s.request].held
		delete(c.open, s.request)
	}
	settled := c.settled[:n:n]
	if c.settled = c.settled[n:]; len(c.settled) == 0 {
		c.settled = nil
	}
	c.mu.Unlock()
	batch := c.batch[:0]
	for _, s := range settled {
		q := quickjs.Settlement{Slot: uint32(s.request), Flag: 1}
		var err error
		if s.err == nil {
			q.Value, err = guestabi.AppendJSON(make([]byte, 0, len(s.value)+16), s.value)
		} else {
			c.noteFailure(s.err)
			q.Flag, q.Value = 0, appendFailure(nil, s.err)
		}
		if err != nil {
			return nil, fail(guestabi.ReasonInternalError, "a tool's result cannot be handed on: %v", err)
		}
		batch = append(batch, q)
	}
	c.batch = batch
	return batch, nil
}
