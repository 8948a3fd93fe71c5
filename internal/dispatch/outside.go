package dispatch

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/cloister-wasm/cloister/api"
	"github.com/cloister-wasm/cloister/internal/guestloop"
	"github.com/cloister-wasm/cloister/internal/plaintext"
	"github.com/cloister-wasm/cloister/internal/schema"
	"github.com/cloister-wasm/cloister/plugins"
)

// outside is what a call waits for that lies with somebody outside of the host. A call waits for one
// thing at a time; one that its tool makes waits as a part of it.
type outside struct {
	mu struct {
		sync.Mutex
		kind    outsideKind
		payload json.RawMessage
		answer  chan resolution // capacity 1; nil for an approval, which the approver answers
	}
}

// outsideKind says who is to answer.
type outsideKind string

const (
	forNobody    outsideKind = ""
	forApproval  outsideKind = "approval"
	forInterrupt outsideKind = "interrupt" // whoever resolves what a plugin asks
	forCaller    outsideKind = "client"    // the caller of exec, who executes a client's tool
)

// resolution is an answer: a value or a failure.
type resolution struct {
	value json.RawMessage
	err   *api.ToolError
}

// begin says false if the call waits already.
func (o *outside) begin(kind outsideKind, payload json.RawMessage, answer chan resolution) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.mu.kind != forNobody {
		return false
	}
	o.mu.kind, o.mu.payload, o.mu.answer = kind, payload, answer
	return true
}

func (o *outside) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.mu.kind, o.mu.payload, o.mu.answer = forNobody, nil, nil
}

// resolve says false if nobody waits for an answer of that kind, or it was answered.
func (o *outside) resolve(kind outsideKind, res resolution) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.mu.kind != kind || o.mu.answer == nil {
		return false
	}
	o.mu.answer <- res
	o.mu.answer = nil
	return true
}

// shows gives what a list of pending calls shows: the kind, with the payload until it is answered.
func (o *outside) shows() (outsideKind, json.RawMessage) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.mu.kind, o.mu.payload
}

// Names are the id of the tool that is called, and the function of a namespace that was called, "" for a call by id or name.
func (c *Call) Names() (tool, namespace string) { return c.tc.Tool, c.tc.Namespace }

// AsksApproval says that the call waits for approval.
func (c *Call) AsksApproval() bool {
	kind, _ := c.outside.shows()
	return kind == forApproval
}

// Pending is the call in a result.
func (c *Call) Pending() api.PendingToolCall {
	kind, payload := c.outside.shows()
	p := api.PendingToolCall{ID: c.tc.ID, Method: "call", Tool: plaintext.Clip(c.tc.Tool, MaxShownID), Since: c.since, Approval: kind == forApproval}
	if kind == forInterrupt || kind == forCaller {
		p.Method, p.Input = string(kind), payload
	}
	return p
}

// ask waits until somebody outside answers. Tell, if not nil, is called when an answer can be given.
func (c *Call) ask(ctx context.Context, kind outsideKind, payload json.RawMessage, tell func()) (resolution, error) {
	root, r := c.root, c.run
	answer := make(chan resolution, 1)
	if !root.outside.begin(kind, payload, answer) {
		return resolution{}, &plugins.ToolError{Name: "Error", Message: "the call is interrupted already", Code: string(api.CodeInterrupted)}
	}
	defer root.outside.end()
	r.asks(root, true)
	defer r.asks(root, false)
	if tell != nil {
		tell()
	}
	waits := guestloop.Person
	if kind == forCaller {
		waits = guestloop.Caller
	}
	root.req.Wait(waits)
	defer root.req.Wait(guestloop.Inside)
	select {
	case res := <-answer:
		return res, nil
	case <-ctx.Done():
		return resolution{}, ctx.Err()
	}
}

// asks keeps the calls that resolve and reject can answer.
func (r *Run) asks(c *Call, on bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if on {
		r.mu.questions[c.tc.ID] = c
	} else if r.mu.questions[c.tc.ID] == c {
		delete(r.mu.questions, c.tc.ID)
	}
}

func (r *Run) question(callID string) (c *Call, kind outsideKind) {
	r.mu.Lock()
	c = r.mu.questions[callID]
	r.mu.Unlock()
	if c == nil {
		return nil, forNobody
	}
	kind, _ = c.outside.shows()
	return c, kind
}

// askCaller leaves a client's tool to the caller of Exec.
func (c *Call) askCaller(ctx context.Context) (json.RawMessage, error) {
	if c.root != c || c.req == nil {
		return nil, &api.ToolError{Message: "client tools are executed by the caller of exec", Code: api.CodeClientTool}
	}
	tell := func() {
		if f := c.run.o.OnClientCall; f != nil {
			c.run.d.Contain("OnClientCall", func() { f(c.Pending()) })
		}
	}
	res, err := c.ask(ctx, forCaller, c.tc.Input, tell)
	if err != nil {
		return nil, err
	}
	if res.err != nil {
		return nil, res.err
	}
	return res.value, nil
}

// interrupt asks whoever resolves what a plugin wants to know.
func (c *Call) interrupt(ctx context.Context, payload json.RawMessage) (json.RawMessage, error) {
	if c.root.req == nil {
		return nil, &plugins.ToolError{Name: "Error", Message: "nobody can answer an interrupt of this call", Code: string(api.CodeUnavailable)}
	}
	res, err := c.ask(ctx, forInterrupt, slices.Clone(payload), nil)
	if err != nil {
		return nil, err
	}
	if res.err != nil {
		return nil, &plugins.ToolError{Name: res.err.Name, Message: res.err.Message, Code: string(res.err.Code)}
	}
	return res.value, nil
}

// Resolve settles an open client call with its result, which must be JSON and fit
// what the tool declares; or it answers a call that is interrupted
// (PendingToolCall.Method "interrupt") with any JSON, and the call goes on.
func (r *Run) Resolve(callID string, value json.RawMessage) error {
	c, kind := r.question(callID)
	if len(value) > r.d.o.MaxToolOutputBytes {
		return &api.ToolError{Message: "the result is too large", Code: api.CodeToolOutputTooLarge}
	}
	if len(value) == 0 {
		value = json.RawMessage("null")
	}
	switch kind {
	case forCaller:
		if err := checkJSON(c.ref.Returns, value, "result of "+c.entry.ID); err != nil {
			return err
		}
	case forInterrupt:
		if err := schema.Check(value); err != nil {
			return &api.ToolError{Name: "TypeError", Message: "resolution: " + err.Error(), Code: api.CodeInvalidInput}
		}
	default:
		return api.ErrUnknownCall
	}
	return c.answer(kind, resolution{value: slices.Clone(value)})
}

// answer hands an answer to the call, which then waits for nobody outside any more: a wait that comes
// now must not find that it does.
func (c *Call) answer(kind outsideKind, res resolution) error {
	if !c.outside.resolve(kind, res) {
		return api.ErrUnknownCall
	}
	c.req.Wait(guestloop.Inside)
	return nil
}

// Reject settles an open client call with a failure, or answers one that is
// interrupted with a failure. A nil te stands for one without details.
func (r *Run) Reject(callID string, te *api.ToolError) error {
	c, kind := r.question(callID)
	if kind != forCaller && kind != forInterrupt {
		return api.ErrUnknownCall
	}
	if te == nil {
		te = &api.ToolError{Message: map[outsideKind]string{forCaller: "the client tool failed", forInterrupt: "the interrupt was rejected"}[kind]}
	}
	return c.answer(kind, resolution{err: r.plainError(context.Background(), c.entry, te)})
}
