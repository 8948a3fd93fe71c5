package codemode

import (
	"context"
	"errors"
	"time"

	"github.com/cloister-wasm/cloister/api"
	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/internal/guestloop"
)

// minWait is the shortest timeout of a wait.
const minWait = 100 * time.Millisecond

// Wait is host.Run.Wait.
func (r *Run) Wait(ctx context.Context, in api.WaitInput) (*api.Result, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	start := time.Now()
	timeout := r.h.timeout()
	if in.TimeoutMs > 0 {
		timeout = min(timeout, max(time.Duration(in.TimeoutMs)*time.Millisecond, minWait))
	}
	r.mu.Lock()
	r.mu.waits++
	r.mu.Unlock()
	if !r.h.enter() {
		return r.failure(fail(guestabi.ReasonAborted, "the host is closed")), nil
	}
	defer r.h.active.Done()
	c, bad := r.find(in.CellID)
	if bad != nil {
		return r.failure(bad), nil
	}
	stop, err := c.loop.Run(ctx, guestloop.Leg{Until: start.Add(timeout), Compute: r.h.timeout(), Attached: func() {
		r.h.parked.Remove(c.loop)
		r.calls.Stamp(&api.TraceEvent{Event: api.EventWaitStart, CellID: c.id, CallID: in.CallID})
	}})
	if err != nil {
		return r.failure(notAttached(err)), nil
	}
	res, err := r.stopped(stop)
	if err != nil {
		return nil, err
	}
	r.emitEnd(api.EventWaitEnd, c.id, in.CallID, start, res)
	return res, ctxError(ctx, res)
}

// find gives the suspended cell that this run may continue. Every
// refusal reads the same for cells that are unknown and cells of others.
func (r *Run) find(cellID string) (*cell, *runError) {
	if cellID == "" {
		return nil, fail(guestabi.ReasonInvalidInput, "runId is missing: give the runId of a waiting result")
	}
	r.h.mu.Lock()
	c := r.h.mu.suspended[cellID]
	r.h.mu.Unlock()
	if c == nil {
		return nil, notAttached(guestloop.ErrOver)
	}
	if !sameScope(r.calls.Scope(), c.run.calls.Scope()) {
		return nil, fail(guestabi.ReasonInvalidInput, "code mode run belongs to a different session or agent run")
	}
	return c, nil
}

func notAttached(err error) *runError {
	if errors.Is(err, guestloop.ErrInFlight) {
		return fail(guestabi.ReasonInvalidInput, "a wait for this run is already in flight")
	}
	return fail(guestabi.ReasonSnapshotExpired, "code mode run is unavailable or expired")
}

// Abort is host.Run.Abort.
func (r *Run) Abort(cellID string) error {
	r.h.mu.Lock()
	c := r.h.mu.suspended[cellID]
	r.h.mu.Unlock()
	if c == nil {
		r.mu.Lock()
		c = r.mu.cells[cellID]
		r.mu.Unlock()
	}
	if c == nil || !sameScope(r.calls.Scope(), c.run.calls.Scope()) {
		return api.ErrUnknownRun
	}
	c.abort()
	return nil
}

// sameScope compares whole scopes and fails closed: a part that identifies a run and is missing never matches.
func sameScope(a, b api.Scope) bool { return a.AgentRunID != "" && a.SessionID != "" && a == b }

// Computing is host.Run.Computing.
func (r *Run) Computing(cellID string) bool {
	c, bad := r.find(cellID)
	return bad == nil && c.loop.Computing()
}
