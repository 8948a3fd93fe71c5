package host

import (
	"context"
	"crypto/sha256"
	"errors"
	"time"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/quickjs"
)

// suspend saves the VM and gives a waiting result, or fails the run if the
// snapshot or the number of suspended runs is over its bound.
func (c *cell) suspend(ctx context.Context, reason guestabi.WaitReason) *Result {
	h := c.h
	start := time.Now()
	snap, err := c.g.vm.Snapshot(ctx, &quickjs.SnapshotOptions{Max: h.cfg.MaxSnapshotBytes}, c.g.main)
	switch {
	case errors.Is(err, quickjs.ErrSnapshotTooLarge):
		return c.failed(ctx, fail(guestabi.ReasonSnapshotLimitExceeded, "the program's state takes more than the %d bytes that are allowed; keep less data across an await", h.cfg.MaxSnapshotBytes))
	case err != nil && ctx.Err() != nil:
		return c.failed(ctx, fail(guestabi.ReasonAborted, "the call was cancelled"))
	case err != nil:
		return c.failed(ctx, fail(guestabi.ReasonInternalError, "the program's state could not be saved"))
	}
	if full := h.reserve(c); full >= 0 {
		return c.failed(ctx, fail(guestabi.ReasonSnapshotLimitExceeded, "too many suspended code mode runs: %d; wait for some of them first", full))
	}
	if err := h.o.Snapshots.Put(ctx, c.id, snap); err != nil {
		h.unreserve(c)
		return c.failed(ctx, fail(guestabi.ReasonInternalError, "the program's state could not be stored"))
	}
	c.saved = sha256.Sum256(snap)
	c.g.vm.Close()
	c.g.vm = nil
	c.telemetry.Snapshot = &SnapshotTelemetry{Bytes: len(snap), Ms: ms(time.Since(start))}
	res := c.result(&Result{Status: guestabi.StatusWaiting, RunID: c.id, Waiting: reason, Pending: c.pending()})
	c.telemetry.Snapshot = nil
	c.run.stamp(&TraceEvent{Event: "suspend", RunID: c.id, OutputBytes: len(snap)})
	if !c.park() {
		return c.failed(ctx, fail(guestabi.ReasonAborted, "the run was aborted"))
	}
	return res
}

// reserve takes one of the places for suspended runs, and gives -1; or it gives how
// many are taken of those that the cell may have.
func (h *Host) reserve(c *cell) (full int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || len(h.suspended) >= h.cfg.MaxSuspendedRuns {
		return len(h.suspended)
	}
	if most := h.o.MaxSuspendedPerSender; most > 0 {
		own := 0
		for _, other := range h.suspended {
			if mine, its := c.run.scope, other.run.scope; mine.AgentID == its.AgentID && mine.Sender == its.Sender {
				own++
			}
		}
		if own >= most {
			return own
		}
	}
	h.suspended[c.id] = c
	return -1
}

func (h *Host) unreserve(c *cell) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.suspended, c.id)
}

// park leaves the cell waiting. It says false if the cell was aborted meanwhile:
// nobody else would end it then.
func (c *cell) park() bool {
	c.mu.Lock()
	ttl := c.ttlLocked()
	c.state, c.driving, c.expires = guestabi.StateWaiting, false, c.h.o.Now().Add(ttl)
	aborted := c.ctx.Err() != nil
	if aborted {
		c.driving = true
	}
	c.mu.Unlock()
	if aborted {
		c.h.dropSnapshot(c)
		return false
	}
	c.h.schedule(ttl)
	return true
}

// ttlLocked is how long the cell is kept while it waits. People take longer than
// tools.
func (c *cell) ttlLocked() time.Duration {
	ttl := time.Duration(c.h.cfg.SnapshotTTLSeconds) * time.Second
	for _, oc := range c.open {
		if !oc.approval.IsZero() && !oc.done {
			return max(ttl, c.h.o.ApprovalTTL)
		}
	}
	return ttl
}

// answered makes a suspended cell expire as usual after its last approval.
func (c *cell) answered() {
	c.mu.Lock()
	ttl, waiting := c.ttlLocked(), c.state == guestabi.StateWaiting
	if waiting {
		c.expires = c.h.o.Now().Add(ttl)
	}
	c.mu.Unlock()
	if waiting {
		c.h.schedule(ttl)
	}
}

// schedule makes the sweeper run no later than after d. There is one timer for
// all suspended runs, and none while there are none.
func (h *Host) schedule(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return
	}
	due := time.Now().Add(d)
	if h.sweeper != nil {
		if !due.Before(h.sweepDue) {
			return
		}
		h.sweeper.Stop() // one that runs already sweeps once more than it must
	}
	h.sweeper, h.sweepDue = time.AfterFunc(d, h.sweep), due
}

// sweep expires what is due and sets the next alarm.
func (h *Host) sweep() {
	h.mu.Lock()
	h.sweeper = nil
	cells := make([]*cell, 0, len(h.suspended))
	for _, c := range h.suspended {
		cells = append(cells, c)
	}
	h.mu.Unlock()
	now := h.o.Now()
	next := time.Duration(0)
	for _, c := range cells {
		left, waiting := c.timeLeft(now)
		switch {
		case !waiting:
		case left <= 0:
			c.expire()
		case next == 0 || left < next:
			next = left
		}
	}
	if next > 0 {
		h.schedule(max(next, 10*time.Millisecond))
	}
}

func (c *cell) timeLeft(now time.Time) (time.Duration, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.expires.Sub(now), c.state == guestabi.StateWaiting && !c.driving
}

func (c *cell) expire() {
	c.run.stamp(&TraceEvent{Event: "expire", RunID: c.id})
	c.end(guestabi.StateExpired)
}

// dropSnapshot forgets a suspended run.
func (h *Host) dropSnapshot(c *cell) {
	h.unreserve(c)
	// A store that cannot delete keeps an unguessable name that nothing refers to.
	_ = h.o.Snapshots.Delete(context.Background(), c.id)
}

// restore brings the VM back.
func (c *cell) restore(ctx context.Context) error {
	bad := func(text string) error { return fail(guestabi.ReasonSnapshotRestoreFailed, "%s", text) }
	snap, err := c.h.o.Snapshots.Get(ctx, c.id)
	if err != nil {
		return bad("the program's state is no longer in the store")
	}
	if len(snap) > c.h.cfg.MaxSnapshotBytes || sha256.Sum256(snap) != c.saved {
		return bad("the stored state is not the one that was saved")
	}
	vm, roots, err := c.tmpl.Restore(ctx, snap, &quickjs.VMOptions{Now: c.h.o.Now})
	if err != nil || len(roots) != 1 {
		if vm != nil {
			vm.Close()
		}
		return bad("the program's state could not be restored")
	}
	c.g = guest{vm: vm, main: roots[0]}
	c.mu.Lock()
	c.state = guestabi.StateRunning
	c.mu.Unlock()
	c.h.dropSnapshot(c)
	c.run.stamp(&TraceEvent{Event: "resume", RunID: c.id})
	return nil
}
