package host

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/internal/plaintext"
)

// pending lists the open calls, oldest first.
func (c *cell) pending() []PendingToolCall {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []PendingToolCall
	for _, oc := range c.open {
		if !oc.done {
			out = append(out, c.pendingOf(oc))
		}
	}
	slices.SortFunc(out, func(a, b PendingToolCall) int {
		if d := a.Since.Compare(b.Since); d != 0 {
			return d
		}
		if len(a.ID) != len(b.ID) {
			return len(a.ID) - len(b.ID)
		}
		if a.ID < b.ID {
			return -1
		}
		return 1
	})
	return out
}

func (c *cell) pendingOf(oc *openCall) PendingToolCall {
	p := PendingToolCall{ID: oc.tc.ID, Method: "call", Tool: plaintext.Clip(oc.tc.Tool, maxShownID), Since: oc.since, Approval: !oc.approval.IsZero()}
	switch {
	case oc.client:
		p.Method, p.Input = "client", oc.tc.Input
	case oc.interrupted != nil:
		p.Method, p.Input = "interrupt", oc.interrupted.payload
	}
	return p
}

// Wait continues a suspended run: it waits for open calls to settle, restores the
// program and delivers their results. It is a long poll that ends with the
// program, or at its timeout with another waiting result.
func (r *Run) Wait(ctx context.Context, in WaitInput) (*Result, error) {
	if !r.Active() {
		return nil, ErrNotActive
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	start := time.Now()
	timeout := time.Duration(r.h.cfg.TimeoutMs) * time.Millisecond
	if in.TimeoutMs > 0 {
		timeout = min(timeout, max(time.Duration(in.TimeoutMs)*time.Millisecond, 100*time.Millisecond))
	}
	deadline := start.Add(timeout)
	r.mu.Lock()
	r.waits++
	r.mu.Unlock()
	if !r.h.enter() {
		return r.failure(fail(guestabi.ReasonAborted, "the host is closed")), nil
	}
	defer r.h.active.Done()
	c, bad := r.claim(in.RunID)
	if bad != nil {
		return r.failure(bad), nil
	}
	r.stamp(&TraceEvent{Event: "wait.start", RunID: c.id, CallID: in.CallID})
	res := c.resume(ctx, deadline)
	r.emitEnd("wait.end", c.id, in.CallID, start, res)
	return res, ctxError(ctx, res)
}

// claim finds the suspended run that this run may continue, and takes it. Every
// refusal reads the same for runs that are unknown and runs of others.
func (r *Run) claim(runID string) (*cell, *runError) {
	if runID == "" {
		return nil, fail(guestabi.ReasonInvalidInput, "runId is missing: give the runId of a waiting result")
	}
	h := r.h
	h.mu.Lock()
	c := h.suspended[runID]
	h.mu.Unlock()
	if c == nil {
		return nil, fail(guestabi.ReasonSnapshotExpired, "code mode run is unavailable or expired")
	}
	if !sameScope(r.scope, c.run.scope) {
		return nil, fail(guestabi.ReasonInvalidInput, "code mode run belongs to a different session or agent run")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.driving:
		return nil, fail(guestabi.ReasonInvalidInput, "a wait for this run is already in flight")
	case c.state != guestabi.StateWaiting || !h.o.Now().Before(c.expires):
		return nil, fail(guestabi.ReasonSnapshotExpired, "code mode run is unavailable or expired")
	case c.ctx.Err() != nil:
		return nil, fail(guestabi.ReasonAborted, "the run was aborted")
	}
	c.driving = true
	return c, nil
}

// Abort ends a cell of this run's scope, running or suspended: its calls are cancelled
// and its state dropped. It gives ErrUnknownRun for an id that is not, or not any
// more, one of such a cell.
func (r *Run) Abort(runID string) error {
	r.h.mu.Lock()
	c := r.h.suspended[runID]
	r.h.mu.Unlock()
	if c == nil {
		r.mu.Lock()
		c = r.cells[runID]
		r.mu.Unlock()
	}
	if c == nil || !sameScope(r.scope, c.run.scope) {
		return ErrUnknownRun
	}
	c.abort()
	return nil
}

// sameScope fails closed: a part that is missing never matches.
func sameScope(a, b Scope) bool {
	return a.AgentRunID != "" && a.AgentRunID == b.AgentRunID && a.SessionID != "" && a.SessionID == b.SessionID
}

// resume waits until there is something to deliver, restores the VM and drives it.
func (c *cell) resume(ctx context.Context, deadline time.Time) *Result {
	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	c.mu.Lock()
	for _, request := range c.yields {
		c.open[request] = &openCall{request: request, done: true, tc: &ToolCall{}}
		c.settled = append(c.settled, settlement{request: request, value: json.RawMessage("null")})
	}
	c.mu.Unlock()
	c.yields = nil
	for !c.hasSettled() {
		if res := c.stillWaiting(); res != nil {
			return res
		}
		select {
		case <-c.signal:
		case <-timer.C:
			return c.keepWaiting(guestabi.WaitPendingTools)
		case <-ctx.Done():
			// The caller went away; the run did not: it can be waited for again.
			c.keepWaiting(guestabi.WaitPendingTools)
			return c.run.failure(fail(guestabi.ReasonAborted, "the wait was cancelled"))
		case <-c.ctx.Done():
			return c.failed(ctx, fail(guestabi.ReasonAborted, "the run was aborted"))
		}
	}
	ctx = c.bind(ctx)
	if err := c.restore(ctx); err != nil {
		return c.failed(ctx, err)
	}
	c.resumed = time.Now()
	return c.drive(ctx, deadline)
}

func (c *cell) hasSettled() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.settled) > 0
}

// stillWaiting ends a wait at once where time alone changes nothing: the open
// calls are all the caller's own to settle.
func (c *cell) stillWaiting() *Result {
	if c.run.o.OnClientCall != nil {
		return nil
	}
	c.mu.Lock()
	clients := 0
	for _, oc := range c.open {
		if oc.client {
			clients++
		}
	}
	all := clients == len(c.open)
	c.mu.Unlock()
	if !all {
		return nil
	}
	return c.keepWaiting(guestabi.WaitPendingTools)
}

// keepWaiting gives a waiting result without having touched the snapshot.
func (c *cell) keepWaiting(reason guestabi.WaitReason) *Result {
	pending := c.pending()
	if slices.ContainsFunc(pending, func(p PendingToolCall) bool { return p.Approval }) {
		reason = guestabi.WaitApproval
	}
	res := c.result(&Result{Status: guestabi.StatusWaiting, RunID: c.id, Waiting: reason, Pending: pending})
	if !c.park() {
		return c.failed(context.Background(), fail(guestabi.ReasonAborted, "the run was aborted"))
	}
	return res
}
