package host

import (
	"context"

	"github.com/cloister-wasm/cloister/internal/catalog"
)

// requestClient opens a call that the caller of Exec executes. It passes the same
// checks as any other before the caller sees it.
func (c *cell) requestClient(oc *openCall, e *catalog.Entry) {
	tc, ref := oc.tc, e.Ref.(*toolRef)
	tc.Name, tc.Owner, tc.Approval = e.Name, e.Owner, ref.approval
	c.run.emit(tc, TraceEvent{Event: "call.start", InputBytes: len(tc.Input)})
	var err error
	if hook := c.h.o.Hooks.BeforeToolCall; hook != nil {
		if herr := hook(c.ctx, tc); herr != nil {
			err = refusal("refused by a hook: "+herr.Error(), "call_refused")
		}
	}
	if err == nil {
		err = c.run.authorize(c.ctx, tc, e, ref)
	}
	switch {
	case err != nil:
		c.answer(oc.request, nil, c.refuseClient(oc, e, err))
	case tc.needsApproval():
		oc.lent = e
		c.begin(oc) // a goroutine of its own asks
	default:
		oc.client = true
		c.begin(oc)
		c.showClient(oc)
	}
}

// refuseClient ends the trace of a client call that its caller never saw.
func (c *cell) refuseClient(oc *openCall, e *catalog.Entry, err error) *ToolError {
	te := c.run.plainError(c.ctx, e, err)
	c.run.emit(oc.tc, TraceEvent{Event: "call.end", Status: te.Code, Rule: oc.tc.rule})
	return te
}

func (c *cell) showClient(oc *openCall) {
	if f := c.run.o.OnClientCall; f != nil {
		f(c.pendingOf(oc))
	}
}

// performClient asks for approval of a client call, and then leaves the call to the
// caller of Exec.
func (c *cell) performClient(oc *openCall) {
	s := settlement{request: oc.request, err: &ToolError{Name: "Error", Message: "the call of " + oc.tc.Tool + " failed inside", Code: "tool_failed"}}
	passed := false
	defer func() {
		if !passed {
			c.settle(s)
		}
	}()
	waiting := c.approvalWatch(oc)
	ctx := context.WithValue(c.ctx, callKey{}, callValue{run: c.run, call: oc.tc, cell: c, open: oc, waiting: waiting, files: &c.files})
	if err := c.run.approve(ctx, oc.tc, oc.lent.Ref.(*toolRef), waiting); err != nil {
		s.err = c.refuseClient(oc, oc.lent, err)
		return
	}
	passed = true
	c.mu.Lock()
	oc.client = true
	c.inFlight--
	next := c.nextLocked()
	c.mu.Unlock()
	c.showClient(oc)
	c.wake()
	for _, oc := range next {
		go c.perform(oc)
	}
}
