package host

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"slices"
	"time"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/quickjs"
)

// suspend saves the VM and gives a waiting result, or fails the run if the
// snapshot or the number of suspended runs is over its bound.
func (c *cell) suspend(ctx context.Context, reason guestabi.WaitReason) *Result {
	h := c.h
	start := time.Now()
	snap, err := c.g.vm.Snapshot(c.g.main)
	if err != nil {
		return c.failed(ctx, fail(guestabi.ReasonInternalError, "the program's state could not be saved"))
	}
	if len(snap) > h.cfg.MaxSnapshotBytes {
		return c.failed(ctx, fail(guestabi.ReasonSnapshotLimitExceeded, "the program's state takes %d bytes, more than the %d that are allowed; keep less data across an await", len(snap), h.cfg.MaxSnapshotBytes))
	}
	if !h.reserve(c) {
		return c.failed(ctx, fail(guestabi.ReasonSnapshotLimitExceeded, "too many suspended code mode runs: %d; wait for some of them first", h.cfg.MaxSuspendedRuns))
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

// reserve takes one of the places for suspended runs.
func (h *Host) reserve(c *cell) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || len(h.suspended) >= h.cfg.MaxSuspendedRuns {
		return false
	}
	h.suspended[c.id] = c
	return true
}

func (h *Host) unreserve(c *cell) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.suspended, c.id)
}

// park leaves the cell waiting. It says false if the cell was aborted meanwhile:
// nobody else would end it then.
func (c *cell) park() bool {
	ttl := time.Duration(c.h.cfg.SnapshotTTLSeconds) * time.Second
	c.mu.Lock()
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

// schedule makes the sweeper run no later than after d. There is one timer for
// all suspended runs, and none while there are none.
func (h *Host) schedule(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.sweeper == nil && !h.closed {
		h.sweeper = time.AfterFunc(d, h.sweep)
	}
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
	p := PendingToolCall{ID: oc.tc.ID, Method: "call", Tool: oc.tc.Tool, Since: oc.since, Approval: !oc.approval.IsZero()}
	if oc.client {
		p.Method, p.Input = "client", oc.tc.Input
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

// Resolve settles an open client call with its result, which must be JSON and fit
// what the tool declares.
func (r *Run) Resolve(callID string, value json.RawMessage) error {
	c, oc := r.clientCall(callID)
	if oc == nil {
		return ErrUnknownCall
	}
	e, ok := r.cat.Lookup(oc.tc.Tool)
	if !ok {
		return ErrUnknownCall
	}
	if len(value) > r.h.o.MaxToolOutputBytes {
		return &ToolError{Message: "the result is too large", Code: "tool_output_too_large"}
	}
	if len(value) == 0 {
		value = json.RawMessage("null")
	}
	if err := checkJSON(e.Ref.(*toolRef).returns, value, "result of "+e.ID); err != nil {
		return err
	}
	return c.settleClient(oc, value, nil)
}

// Reject settles an open client call with a failure.
func (r *Run) Reject(callID string, te *ToolError) error {
	c, oc := r.clientCall(callID)
	if oc == nil {
		return ErrUnknownCall
	}
	e, ok := r.cat.Lookup(oc.tc.Tool)
	if !ok {
		return ErrUnknownCall
	}
	if te == nil {
		te = &ToolError{Message: "the client tool failed"}
	}
	return c.settleClient(oc, nil, r.plainError(context.Background(), e, te))
}

func (c *cell) settleClient(oc *openCall, value json.RawMessage, te *ToolError) error {
	if !c.settle(settlement{request: oc.request, value: slices.Clone(value), err: te}) {
		return ErrUnknownCall
	}
	end := TraceEvent{Event: "call.end", Status: "ok", OutputBytes: len(value)}
	if te != nil {
		end.Status = te.Code
	}
	c.run.emit(oc.tc, end)
	if hook := c.h.o.Hooks.AfterToolCall; hook != nil {
		var err error
		if te != nil {
			err = te
		}
		hook(c.ctx, oc.tc, value, err)
	}
	return nil
}

func (r *Run) clientCall(callID string) (*cell, *openCall) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.cells {
		c.mu.Lock()
		for _, oc := range c.open {
			if oc.client && !oc.done && oc.tc.ID == callID {
				c.mu.Unlock()
				return c, oc
			}
		}
		c.mu.Unlock()
	}
	return nil, nil
}
