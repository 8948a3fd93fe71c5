package codemode

import (
	"context"
	"fmt"
	"time"

	"github.com/cloister-wasm/cloister/api"
	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/internal/dispatch"
	"github.com/cloister-wasm/cloister/internal/guestloop"
	"github.com/cloister-wasm/cloister/internal/limits"
)

// Suspend implements guestloop.Program: it takes one of the places for suspended cells, and decides whether
// the machine is parked as it is or saved now.
func (c *cell) Suspend(ctx context.Context, g *guestloop.Guest, why guestloop.Why) (any, error) {
	if err := c.h.reserve(c); err != nil {
		return nil, err
	}
	c.slot.give()
	var saved *api.SnapshotTelemetry
	if g != nil {
		var err error
		if saved, err = c.rest(ctx, g); err != nil {
			return nil, err
		}
	}
	c.resting = true
	c.keep()
	waiting := guestabi.WaitPendingTools
	pending := c.pending()
	switch {
	case why == guestloop.Yielded:
		waiting = guestabi.WaitYield
	case anyApproval(pending):
		waiting = guestabi.WaitApproval
	}
	res := c.result(&api.Result{Status: guestabi.StatusWaiting, CellID: c.id, Waiting: waiting, Pending: pending})
	res.Telemetry.Snapshot = saved
	return &ending{res: res}, nil
}

func anyApproval(pending []api.PendingToolCall) bool {
	for i := range pending {
		if pending[i].Approval {
			return true
		}
	}
	return false
}

// Computing implements guestloop.Program.
func (c *cell) Computing() (any, error) {
	if err := c.h.reserve(c); err != nil {
		return nil, err
	}
	c.keep()
	res := c.result(&api.Result{Status: guestabi.StatusWaiting, CellID: c.id, Waiting: guestabi.WaitPendingTools, Pending: c.pending()})
	res.Message = "The program is busy; call wait to go on"
	return &ending{res: res}, nil
}

// rest parks the machine, or saves it where it must not be kept: for an embedder's store, which is to have
// the state of what is suspended, and for state that may not fit into a snapshot, so that it does not depend
// on the host's load whether a program fails.
func (c *cell) rest(ctx context.Context, g *guestloop.Guest) (*api.SnapshotTelemetry, error) {
	h := c.h
	dirty := g.VM.DirtyBytes()
	if h.o.Snapshots == nil && dirty <= h.cfg.MaxSnapshotBytes {
		c.run.calls.Stamp(&api.TraceEvent{Event: api.EventSuspend, CellID: c.id})
		h.parked.Add(c.loop, cellStore{c}, dirty)
		return nil, nil
	}
	start := time.Now()
	ctx, cancel := context.WithTimeout(ctx, guestloop.MaxSaveTime)
	defer cancel()
	if err := h.saves.Take(ctx); err != nil {
		return nil, fmt.Errorf("%w: %w", guestloop.ErrStore, err)
	}
	defer h.saves.Give()
	size, err := g.Save(ctx, cellStore{c}, h.cfg.MaxSnapshotBytes)
	if err != nil {
		return nil, err
	}
	c.run.calls.Stamp(&api.TraceEvent{Event: api.EventSuspend, CellID: c.id, OutputBytes: size})
	return &api.SnapshotTelemetry{Bytes: size, Ms: dispatch.Milliseconds(time.Since(start))}, nil
}

// reserve takes one of the places for suspended cells, unless the cell has one.
func (h *Runner) reserve(c *cell) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.mu.suspended[c.id] == c {
		return nil
	}
	full := len(h.mu.suspended)
	switch most := h.o.MaxSuspendedPerSender; {
	case h.mu.closed:
		return fail(guestabi.ReasonAborted, "the host is closed")
	case full >= h.cfg.MaxSuspendedRuns:
	case most > 0:
		own := 0
		for _, other := range h.mu.suspended {
			if mine, its := c.run.calls.Scope(), other.run.calls.Scope(); mine.AgentID == its.AgentID && mine.Sender == its.Sender {
				own++
			}
		}
		if own < most {
			h.mu.suspended[c.id] = c
			return nil
		}
		full = own
	default:
		h.mu.suspended[c.id] = c
		return nil
	}
	return fail(guestabi.ReasonSnapshotLimitExceeded, "too many suspended code mode runs: %d; wait for some of them first", full)
}

func (h *Runner) unreserve(c *cell) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.mu.suspended[c.id] == c {
		delete(h.mu.suspended, c.id)
	}
}

// keep sets until when the cell can be waited for. People take longer than tools.
func (c *cell) keep() {
	ttl := time.Duration(c.h.cfg.SnapshotTTLSeconds) * time.Second
	for _, req := range c.loop.Requests() {
		if cl, ok := req.Data().(*dispatch.Call); ok {
			if cl.AsksApproval() {
				ttl = max(ttl, c.h.o.ApprovalTTL)
			}
		}
	}
	c.loop.Keep(c.h.d.Now().Add(ttl))
	c.h.schedule(ttl)
}

// answered makes a suspended cell expire as usual after its last approval.
func (c *cell) answered() {
	if _, waiting := c.loop.Waiting(); waiting {
		c.keep()
	}
}

// schedule makes the sweeper run no later than after d. There is one timer for
// all suspended runs, and none while there are none.
func (h *Runner) schedule(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.mu.closed {
		return
	}
	due := time.Now().Add(d)
	if h.mu.sweeper != nil {
		if !due.Before(h.mu.sweepDue) {
			return
		}
		h.mu.sweeper.Stop() // one that runs already sweeps once more than it must
	}
	h.mu.sweeper, h.mu.sweepDue = time.AfterFunc(d, h.expireDue), due
}

// sweepers bound how many cells expire side by side, so that a store that is slow to delete holds up few.
const sweepers = 16

// expireDue expires what is due and sets the next alarm.
func (h *Runner) expireDue() {
	h.mu.Lock()
	h.mu.sweeper = nil
	cells := make([]*cell, 0, len(h.mu.suspended))
	for _, c := range h.mu.suspended {
		cells = append(cells, c)
	}
	h.mu.Unlock()
	now := h.d.Now()
	next := time.Duration(0)
	var due []*cell
	for _, c := range cells {
		expires, waiting := c.loop.Waiting()
		switch left := expires.Sub(now); {
		case !waiting || expires.IsZero():
		case left <= 0:
			due = append(due, c)
		case next == 0 || left < next:
			next = left
		}
	}
	limits.Each(due, sweepers, func(c *cell) { c.loop.Expire(now, errExpired) })
	if next > 0 {
		h.schedule(max(next, 10*time.Millisecond))
	}
}
