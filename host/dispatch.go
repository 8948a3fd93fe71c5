package host

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/internal/catalog"
	"github.com/cloister-wasm/cloister/internal/plaintext"
	"github.com/cloister-wasm/cloister/internal/schema"
	"github.com/cloister-wasm/cloister/plugins"
)

// dispatch is the one path of every tool call: catalog and policy, hooks, schema,
// approval, the tool, its result's size and schema, trace. Nothing else invokes a
// tool. waiting is told when the call begins and ends to wait for approval.
func (r *Run) dispatch(ctx context.Context, tc *ToolCall, waiting func(bool)) (out json.RawMessage, terr *ToolError) {
	e, ok := r.cat.Lookup(tc.Tool)
	if !ok {
		r.traceDenied(tc)
		return nil, r.unknownTool(tc.Tool)
	}
	r.h.closing.enter()
	defer r.h.closing.leave()
	ref := e.Ref.(*toolRef)
	tc.Name, tc.Owner, tc.Unsigned, tc.Approval, tc.untrusted = e.Name, e.Owner, e.Unsigned, ref.approval, ref.mcp
	start := time.Now()
	r.emit(tc, TraceEvent{Event: "call.start", InputBytes: len(tc.Input)})
	out, err := r.callTool(ctx, tc, e, ref, waiting)
	end := TraceEvent{Event: "call.end", Status: "ok", OutputBytes: len(out), DurationMs: ms(time.Since(start))}
	if err != nil {
		terr = r.plainError(ctx, e, err)
		end.Status, end.Rule = terr.Code, tc.rule
		out = nil
	}
	r.emit(tc, end)
	if hook := r.h.o.Hooks.AfterToolCall; hook != nil {
		hook(ctx, tc, out, err)
	}
	return out, terr
}

func (r *Run) callTool(ctx context.Context, tc *ToolCall, e *catalog.Entry, ref *toolRef, waiting func(bool)) (json.RawMessage, error) {
	if hook := r.h.o.Hooks.BeforeToolCall; hook != nil {
		if err := hook(ctx, tc); err != nil {
			return nil, refusal("refused by a hook: "+err.Error(), "call_refused")
		}
	}
	if err := r.permit(ctx, tc, e, ref, waiting); err != nil {
		return nil, err
	}
	if ref.prepare != nil {
		if err := ref.prepare(ctx, r); err != nil {
			return nil, err
		}
	}
	// A hook or an approver that did not look at ctx may answer for a run that has
	// ended meanwhile.
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if ref.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, ref.timeout)
		defer cancel()
	}
	out, err := r.invoke(withCall(ctx, r, tc, ref), e, ref, tc.Input)
	if err != nil {
		return nil, err
	}
	if len(out) > r.h.o.MaxToolOutputBytes {
		return nil, &ToolError{Message: fmt.Sprintf("the result of %s has %d bytes, more than the %d that are allowed; ask for less", e.ID, len(out), r.h.o.MaxToolOutputBytes), Code: "tool_output_too_large"}
	}
	if len(out) == 0 {
		out = json.RawMessage("null")
	}
	if err := checkJSON(ref.returns, out, "result of "+e.ID); err != nil {
		return nil, err
	}
	return out, nil
}

// invoke runs the tool and turns a panic of a Go tool into an error: one tool's
// mistake must not take down the host's other runs.
func (r *Run) invoke(ctx context.Context, e *catalog.Entry, ref *toolRef, input json.RawMessage) (out json.RawMessage, err error) {
	defer func() {
		if p := recover(); p != nil {
			out, err = nil, &ToolError{Message: "the tool " + e.ID + " failed inside", Code: "tool_failed"}
		}
	}()
	if ref.client {
		return nil, &ToolError{Message: "client tools are executed by the caller of exec", Code: "client_tool"}
	}
	return ref.invoke(ctx, r, input)
}

// checkInput checks a call's input: an object, also where there is no schema.
func checkInput(ref *toolRef, e *catalog.Entry, input json.RawMessage) error {
	if err := checkJSON(ref.params, input, "input of "+e.ID); err != nil {
		return err
	}
	if ref.params == nil && !bytes.HasPrefix(bytes.TrimLeft(input, " \t\r\n"), []byte("{")) {
		return &ToolError{Name: "TypeError", Message: "input of " + e.ID + ": expected an object", Code: "invalid_input"}
	}
	return nil
}

// checkJSON checks that text is strict JSON and fits the schema. What is not
// checked strictly may mean one thing to the schema and another to the tool.
func checkJSON(s *schema.Schema, text json.RawMessage, what string) error {
	code := "invalid_input"
	if strings.HasPrefix(what, "result") {
		code = "invalid_tool_result"
	}
	if s == nil {
		if err := schema.Check(text); err != nil {
			return &ToolError{Name: "TypeError", Message: what + ": " + err.Error(), Code: code}
		}
		return nil
	}
	v, err := schema.Decode(text)
	if err == nil {
		err = s.Validate(v)
	}
	if err != nil {
		return &ToolError{Name: "TypeError", Message: what + ": " + err.Error(), Code: code}
	}
	return nil
}

func refusal(message, code string) *ToolError {
	return &ToolError{Name: "PermissionError", Message: message, Code: code}
}

// unknownTool is the answer for an id that is not in the catalog, denied ones
// included: a guest cannot tell the two apart.
func (r *Run) unknownTool(id string) *ToolError {
	msg := fmt.Sprintf("no tool has the id %q", plaintext.Clip(id, 200))
	if how := r.mcpInstead(id); how != "" {
		msg += " here; " + how
	} else if s := r.cat.Suggest(id); len(s) > 0 {
		msg += "; did you mean " + strings.Join(s, ", ") + "?"
	} else {
		msg += "; find ids with tools.search(query)"
	}
	return &ToolError{Message: msg, Code: "unknown_tool"}
}

func (r *Run) traceDenied(tc *ToolCall) {
	if rule, ok := r.hidden[tc.Tool]; ok {
		r.emit(tc, TraceEvent{Event: "call.denied", Rule: rule})
		return
	}
	for _, x := range r.cat.Excluded() {
		if x.ID == tc.Tool {
			r.emit(tc, TraceEvent{Event: "call.denied", Rule: x.Verdict.String()})
			return
		}
	}
	r.emit(tc, TraceEvent{Event: "call.denied", Rule: "no such tool"})
}

// plainError is what the guest may know of a failure: name, message, code. Text
// of Go errors that are no ToolError may name paths and is not handed on.
func (r *Run) plainError(ctx context.Context, e *catalog.Entry, err error) *ToolError {
	var te *ToolError
	var pe *plugins.ToolError
	switch {
	case errors.As(err, &te):
		c := *te
		te = &c
	case errors.As(err, &pe):
		te = &ToolError{Name: pe.Name, Message: pe.Message, Code: pe.Code}
	case e == nil:
		te = &ToolError{Message: "the call failed", Code: "tool_failed"}
	case errors.Is(err, context.DeadlineExceeded):
		te = &ToolError{Message: "the tool " + e.ID + " ran out of time", Code: "tool_timeout"}
	case ctx.Err() != nil:
		te = &ToolError{Message: "the call of " + e.ID + " was cancelled", Code: "aborted"}
	case e.Owner == "core" && e.Source == catalog.SourceCloister:
		// A Go function of the embedding program chose this text for its caller.
		te = &ToolError{Message: hidePaths(err.Error()), Code: "tool_failed"}
	default:
		te = &ToolError{Message: "the tool " + e.ID + " failed", Code: "tool_failed"}
	}
	if te.Name == "" {
		te.Name = "Error"
	}
	if te.Code == "" {
		te.Code = "tool_failed"
	}
	if te.Reason == "" {
		te.Reason = guestabi.ReasonNestedToolFailed
	}
	te.Name, te.Code, te.Message = plaintext.Clip(te.Name, 100), plaintext.Clip(te.Code, 100), plaintext.Clip(te.Message, 8192)
	return te
}

// word matches what stands between white space, quotes and brackets.
var word = regexp.MustCompile("[^\\s\"'`“”‘’<>\\[\\](){},;|]+")

// rooted matches a separator at the start of a word, or where a path may begin
// inside of one.
var rooted = regexp.MustCompile(`(^|[=:@~.])[\\/]`)

// hidePaths replaces what looks like a path of the host's file system: words with
// two separators, or with one where a path begins. Addresses of the web stay.
func hidePaths(s string) string {
	return word.ReplaceAllStringFunc(s, func(w string) string {
		if strings.HasPrefix(w, "https://") || strings.HasPrefix(w, "http://") {
			return w
		}
		if len(w) < 2 || strings.Count(w, "/")+strings.Count(w, `\`) < 2 && !rooted.MatchString(w) {
			return w
		}
		if strings.HasSuffix(w, ":") {
			return "(path):"
		}
		return "(path)"
	})
}

// maxShownID bounds a tool id in traces and results. Ids that exist are shorter;
// those that a guest makes up may have any length.
const maxShownID = 300

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func (r *Run) emit(tc *ToolCall, e TraceEvent) {
	if r.h.o.Trace == nil && r.o.OnEvent == nil {
		return
	}
	e.RunID, e.CallID, e.ParentID, e.Tool, e.Unsigned = tc.RunID, tc.ID, tc.ParentID, plaintext.Clip(tc.Tool, maxShownID), tc.Unsigned
	e.Namespace, e.Caller, e.Untrusted = tc.Namespace, tc.Caller, tc.untrusted
	r.stamp(&e)
}

// stamp completes an event with time and scope, and hands it to the sink, unless the
// host has been closed.
func (r *Run) stamp(e *TraceEvent) {
	if r.h.o.Trace == nil && r.o.OnEvent == nil {
		return
	}
	e.Time = r.h.o.Now()
	e.AgentID, e.AgentRunID, e.SessionID = r.scope.AgentID, r.scope.AgentRunID, r.scope.SessionID
	e.Sender, e.Channel = r.scope.Sender, r.scope.Channel
	r.h.closing.sinks.RLock()
	defer r.h.closing.sinks.RUnlock()
	if r.h.closing.sealed {
		return
	}
	if r.h.o.Trace != nil {
		r.h.o.Trace.Emit(*e)
	}
	if r.o.OnEvent != nil {
		r.o.OnEvent(*e)
	}
}

type callKey struct{}

// callValue is what a context knows of the nested call that it is for.
type callValue struct {
	run     *Run
	call    *ToolCall
	cell    *cell      // nil for a call without one
	open    *openCall  // the cell's call, of which this may be a part
	waiting func(bool) // of the cell's call
	chain   callChain
	files   *attachments // where binaries of results go
	direct  *direct      // the direct call that this is for, or a part of
}

// withCall gives the context of a tool's call. It keeps what is known of the
// cell's call that this one is, or is a part of.
func withCall(ctx context.Context, r *Run, tc *ToolCall, ref *toolRef) context.Context {
	v, _ := ctx.Value(callKey{}).(callValue)
	v.run, v.call = r, tc
	if ref.plugin != nil {
		v.chain = callChain{plugins: append(slices.Clip(v.chain.plugins), ref.plugin), made: new(atomic.Int32)}
	}
	return context.WithValue(ctx, callKey{}, v)
}

// ReportProgress hands a tool's progress to RunOptions.OnProgress. It does
// nothing outside of a tool call. Progress is any value that makes sense to the
// embedding program.
func ReportProgress(ctx context.Context, progress any) {
	if v, ok := ctx.Value(callKey{}).(callValue); ok && v.run.o.OnProgress != nil {
		v.run.o.OnProgress(v.call, progress)
	}
}

// CallFrom gives the nested call that a tool is running for.
func CallFrom(ctx context.Context) (*ToolCall, bool) {
	v, ok := ctx.Value(callKey{}).(callValue)
	return v.call, ok
}
