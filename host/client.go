package host

import (
	"context"
	"encoding/json"
	"slices"
)

// Resolve settles an open client call with its result, which must be JSON and fit
// what the tool declares; or it answers a call that is interrupted
// (PendingToolCall.Method "interrupt") with any JSON, and the call goes on.
func (r *Run) Resolve(callID string, value json.RawMessage) error {
	c, oc := r.clientCall(callID)
	if oc == nil {
		value, err := r.checkResolution(value)
		if err == nil && !r.answerInterrupt(callID, resolution{value: value}) {
			err = ErrUnknownCall
		}
		return err
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

// Reject settles an open client call with a failure, or answers one that is
// interrupted with a failure.
func (r *Run) Reject(callID string, te *ToolError) error {
	c, oc := r.clientCall(callID)
	if oc == nil {
		if te == nil {
			te = &ToolError{Message: "the interrupt was rejected"}
		}
		if !r.answerInterrupt(callID, resolution{err: r.plainError(context.Background(), nil, te)}) {
			return ErrUnknownCall
		}
		return nil
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
