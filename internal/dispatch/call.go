package dispatch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/cloister-wasm/cloister/api"
	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/internal/catalog"
	"github.com/cloister-wasm/cloister/internal/guestloop"
	"github.com/cloister-wasm/cloister/internal/plaintext"
	"github.com/cloister-wasm/cloister/internal/view"
	"github.com/cloister-wasm/cloister/plugins"
)

// Call is one nested call of any origin (a cell, a namespace, a plugin, a surface
// without code mode, the embedding program) and any kind of tool (Go, plugin, MCP,
// client), from its request to its end. Its dispatch is the only way to a tool.
//
// A call belongs to the goroutine that dispatches it; what others look at is in
// outside, which has a lock.
type Call struct {
	run    *Run
	tc     *api.ToolCall
	entry  *catalog.Entry
	ref    *Tool
	member *view.Member // the namespace's function that was called, if its plugin maps the arguments
	parent *Call        // the call whose tool makes this one; nil for a root
	root   *Call        // the cell's or direct call that this is, or is a part of

	// Of a root.
	grants  *Grants            // answers that hold for its cell; nil for a direct call
	settled func()             // told when it has waited for approval; nil for a direct call
	req     *guestloop.Request // nil for a direct call
	since   time.Time
	files   *Attachments // where binaries of results go
	outside outside

	rule string         // of a denial by the policy
	mcp  *api.MCPResult // the whole result of an MCP tool, as the server gave it
	made atomic.Int32   // calls that the tool, a plugin's, has made
}

// CallOptions says what a cell's call needs.
type CallOptions struct {
	Call *api.ToolCall
	// Grants are the answers that hold for the cell; Settled is told when the call has waited for approval.
	Grants  *Grants
	Settled func()
	Files   *Attachments
	// Member is the function of a namespace that was called, nil for a call by id or name.
	Member *view.Member
}

// NewCall makes the call of a cell. It is dispatched by work.
func (r *Run) NewCall(o *CallOptions) *Call {
	c := &Call{run: r, tc: o.Call, grants: o.Grants, settled: o.Settled, files: o.Files, since: r.d.Now()}
	c.root = c
	if o.Member != nil {
		c.tc.Namespace = o.Member.Path
		if o.Member.Call.MapInput {
			c.member = o.Member
		}
	}
	return c
}

type callKey struct{}

// callOf gives the innermost call that ctx is for, nil outside of one.
func callOf(ctx context.Context) *Call {
	c, _ := ctx.Value(callKey{}).(*Call)
	return c
}

// bind gives the context of the call's hooks, questions and tool.
func (c *Call) bind(ctx context.Context) context.Context { return context.WithValue(ctx, callKey{}, c) }

// CallFrom gives a copy of the nested call that a tool, a hook or an approver is running for. Its input is shared and
// must not be changed.
func CallFrom(ctx context.Context) (*api.ToolCall, bool) {
	c := callOf(ctx)
	if c == nil {
		return nil, false
	}
	tc := *c.tc
	return &tc, true
}

// Work dispatches a cell's call for its loop.
func (c *Call) Work(ctx context.Context, req *guestloop.Request) guestloop.Outcome {
	c.req = req
	out, te := c.Dispatch(ctx)
	if te != nil {
		return guestloop.Outcome{Failure: &guestabi.Thrown{Name: te.Name, Message: te.Message, Code: string(te.Code)}}
	}
	return guestloop.Outcome{Value: out}
}

// Dispatch is the one path of every tool call: catalog and policy, schema, hooks,
// policy again, approval, the tool, its result's size and schema, trace. Nothing else
// invokes a tool.
func (c *Call) Dispatch(ctx context.Context) (json.RawMessage, *api.ToolError) {
	r, tc := c.run, c.tc
	ctx = c.bind(ctx)
	if c.member != nil {
		if te := c.mapInput(ctx); te != nil {
			return nil, te
		}
	}
	var ok bool
	if c.entry, ok = r.o.View.Catalog.Lookup(tc.Tool); !ok {
		r.TraceDenied(tc)
		return nil, r.o.View.UnknownTool(tc.Tool)
	}
	r.d.calls.Enter()
	defer r.d.calls.Leave()
	c.ref = c.entry.Ref.(*Tool)
	tc.Name, tc.Owner, tc.Unsigned, tc.Approval = c.entry.Name, c.entry.Owner, c.entry.Unsigned, c.ref.Approval
	start := time.Now()
	c.emit(api.TraceEvent{Event: api.EventCallStart, InputBytes: len(tc.Input)})
	out, err := c.steps(ctx)
	end := api.TraceEvent{Event: api.EventCallEnd, Status: "ok", OutputBytes: len(out), DurationMs: Milliseconds(time.Since(start))}
	var te *api.ToolError
	if err != nil {
		te = r.plainError(ctx, c.entry, err)
		end.Status, end.Rule = string(te.Code), c.rule
		out = nil
	}
	c.emit(end)
	if hook := r.d.o.Hooks.AfterToolCall; hook != nil {
		r.d.Contain("AfterToolCall", func() { hook(ctx, tc, out, err) })
	}
	return out, te
}

// mapInput has the plugin of a namespace turn the arguments of a call into its tool's input.
func (c *Call) mapInput(ctx context.Context) *api.ToolError {
	r, m := c.run, c.member
	input, err := r.mapInput(ctx, m, c.tc.Input)
	if err != nil {
		te := r.plainError(ctx, m.Tool, err)
		c.tc.Unsigned = m.Tool.Unsigned
		c.emit(NotMapped(te))
		return te
	}
	c.tc.Input = input
	return nil
}

// steps is what lies between the start and the end of a call in the trace.
func (c *Call) steps(ctx context.Context) (json.RawMessage, error) {
	if err := checkInput(c.ref, c.entry, c.tc.Input); err != nil {
		return nil, err
	}
	if err := c.before(ctx); err != nil {
		return nil, err
	}
	if err := c.permit(ctx); err != nil {
		return nil, err
	}
	if c.ref.prepare != nil {
		if err := c.ref.prepare(ctx, c.run); err != nil {
			return nil, err
		}
	}
	// A hook or an approver that did not look at ctx may answer for a run that has
	// ended meanwhile.
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if c.run.o.Revoked(c.ref.Facts.ID) {
		return nil, refusal("the tool "+c.entry.ID+" has been taken away", api.CodeRevoked)
	}
	if c.ref.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.ref.Timeout)
		defer cancel()
	}
	out, err := c.invoke(ctx)
	if err != nil {
		return nil, err
	}
	if max := c.run.d.o.MaxToolOutputBytes; len(out) > max {
		return nil, &api.ToolError{Message: fmt.Sprintf("the result of %s has %d bytes, more than the %d that are allowed; ask for less", c.entry.ID, len(out), max), Code: api.CodeToolOutputTooLarge}
	}
	if len(out) == 0 {
		out = json.RawMessage("null")
	}
	if c.ref.Returns != nil || !c.ref.strict {
		if err := checkJSON(c.ref.Returns, out, "result of "+c.entry.ID); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// before asks the hook, which may refuse the call or replace its input. The hook gets a copy:
// what it changes besides decides nothing.
func (c *Call) before(ctx context.Context) error {
	hook := c.run.d.o.Hooks.BeforeToolCall
	if hook == nil {
		return nil
	}
	shown := *c.tc
	shown.Input = slices.Clone(c.tc.Input)
	var err error
	if !c.run.d.Contain("BeforeToolCall", func() { err = hook(ctx, &shown) }) {
		return refusal("refused: a hook of the host failed inside", api.CodeCallRefused)
	}
	if err != nil {
		return refusal("refused by a hook: "+err.Error(), api.CodeCallRefused)
	}
	if bytes.Equal(shown.Input, c.tc.Input) {
		return nil
	}
	c.tc.Input = shown.Input
	return checkInput(c.ref, c.entry, c.tc.Input)
}

// invoke runs the tool and turns a panic of a Go tool into an error: one tool's
// mistake must not take down the host's other runs.
func (c *Call) invoke(ctx context.Context) (out json.RawMessage, err error) {
	defer func() {
		if p := recover(); p != nil {
			out, err = nil, &api.ToolError{Message: "the tool " + c.entry.ID + " failed inside", Code: api.CodeToolFailed}
		}
	}()
	if c.ref.Client {
		return c.askCaller(ctx)
	}
	return c.ref.Invoke(ctx, c)
}

// child makes the call that a plugin's tool makes from inside of this one. A plugin that is inside
// of a call cannot be called again, by whatever way: its instance is taken.
func (c *Call) child(tool string, input json.RawMessage) (*Call, error) {
	number := c.made.Add(1)
	depth, e := 0, (*catalog.Entry)(nil)
	if found, ok := c.run.o.View.Catalog.Lookup(tool); ok {
		e = found
	}
	for p := c; p != nil; p = p.parent {
		if p.ref == nil || p.ref.Plugin == nil {
			continue
		}
		depth++
		if e != nil && e.Ref.(*Tool).Plugin == p.ref.Plugin {
			return nil, &plugins.ToolError{Name: "Error", Message: "the plugin " + e.Owner + " is inside of a call already and cannot be called again", Code: string(api.CodeRecursiveCall)}
		}
	}
	switch {
	case depth >= api.MaxCallDepth:
		return nil, &plugins.ToolError{Name: "RangeError", Message: fmt.Sprintf("tools call tools more than %d deep", api.MaxCallDepth), Code: string(api.CodeTooDeep)}
	case number > api.MaxCallsInCall:
		return nil, &plugins.ToolError{Name: "RangeError", Message: fmt.Sprintf("more than %d tools were called in one call", api.MaxCallsInCall), Code: string(api.CodeTooManyCalls)}
	}
	return &Call{run: c.run, parent: c, root: c.root, tc: &api.ToolCall{
		ID: fmt.Sprintf("%s.%d", c.tc.ID, number), ParentID: c.tc.ID, CellID: c.tc.CellID, Tool: tool, Input: input, Scope: c.tc.Scope, Caller: c.tc.Owner,
	}}, nil
}

// plainError is what the guest may know of a failure: name, message, code. Text
// of Go errors that are no ToolError may name paths and is not handed on.
func (r *Run) plainError(ctx context.Context, e *catalog.Entry, err error) *api.ToolError {
	var te *api.ToolError
	var pe *plugins.ToolError
	switch {
	case errors.As(err, &te):
		c := *te
		te = &c
	case errors.As(err, &pe):
		te = &api.ToolError{Name: pe.Name, Message: pe.Message, Code: api.ToolErrorCode(pe.Code)}
	case e == nil:
		te = &api.ToolError{Message: "the call failed", Code: api.CodeToolFailed}
	case errors.Is(err, context.DeadlineExceeded):
		te = &api.ToolError{Message: "the tool " + e.ID + " ran out of time", Code: api.CodeToolTimeout}
	case ctx.Err() != nil:
		te = &api.ToolError{Message: "the call of " + e.ID + " was cancelled", Code: api.CodeAborted}
	case e.Owner == "core" && e.Source == catalog.SourceCloister:
		// A Go function of the embedding program chose this text for its caller.
		te = &api.ToolError{Message: HidePaths(err.Error()), Code: api.CodeToolFailed}
	default:
		te = &api.ToolError{Message: "the tool " + e.ID + " failed", Code: api.CodeToolFailed}
	}
	if te.Name == "" {
		te.Name = "Error"
	}
	if te.Code == "" {
		te.Code = api.CodeToolFailed
	}
	if te.Reason == "" {
		te.Reason = guestabi.ReasonNestedToolFailed
	}
	te.Name, te.Code, te.Message = plaintext.Clip(te.Name, 100), api.ToolErrorCode(plaintext.Clip(string(te.Code), 100)), plaintext.Clip(te.Message, 8192)
	return te
}
