package host

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/internal/catalog"
	"github.com/cloister-wasm/cloister/plugins"
)

// MaxCallDepth bounds how deep tools may call tools: a plugin that calls a tool
// of another plugin that calls a third has depth 3.
const MaxCallDepth = 8

// MaxCallsInCall bounds the tools that a plugin may call during one call of its own.
const MaxCallsInCall = 1000

// callChain is where a call comes from: the plugins that are inside of a call,
// outermost first.
type callChain struct {
	plugins []*plugins.Plugin
	made    *atomic.Int32 // calls made by the innermost
}

// pluginEnv is what a run offers to its plugins (plugins.Env).
type pluginEnv struct{ run *Run }

// Progress implements plugins.Env.
func (pluginEnv) Progress(ctx context.Context, p guestabi.ProgressRequest) { ReportProgress(ctx, p) }

// CallTool implements plugins.Env: the call goes through the dispatcher like any
// other. A plugin that is inside of a call cannot be called again, by whatever
// way: its instance is taken.
func (env pluginEnv) CallTool(ctx context.Context, tool string, input json.RawMessage) (json.RawMessage, error) {
	v, ok := ctx.Value(callKey{}).(callValue)
	if !ok || v.chain.made == nil {
		return nil, &plugins.ToolError{Name: "Error", Message: "tools can be called during a call only", Code: "unavailable"}
	}
	id := tool
	if !strings.Contains(id, ":") {
		id = catalog.SourceCloister + ":" + catalog.OwnerCore + ":" + id
	}
	number := v.chain.made.Add(1)
	switch {
	case len(v.chain.plugins) >= MaxCallDepth:
		return nil, &plugins.ToolError{Name: "RangeError", Message: fmt.Sprintf("tools call tools more than %d deep", MaxCallDepth), Code: "too_deep"}
	case number > MaxCallsInCall:
		return nil, &plugins.ToolError{Name: "RangeError", Message: fmt.Sprintf("more than %d tools were called in one call", MaxCallsInCall), Code: "too_many_calls"}
	}
	if e, ok := env.run.cat.Lookup(id); ok && slices.Contains(v.chain.plugins, e.Ref.(*toolRef).plugin) {
		return nil, &plugins.ToolError{Name: "Error", Message: "the plugin " + e.Owner + " is inside of a call already and cannot be called again", Code: "recursive_call"}
	}
	parent := v.call
	tc := &ToolCall{
		ID: parent.ID + "." + strconv.Itoa(int(number)), ParentID: parent.ID, RunID: parent.RunID, Tool: id, Input: input, Scope: parent.Scope,
		Caller: parent.Owner,
	}
	out, terr := env.run.dispatch(ctx, tc, v.waiting)
	if terr != nil {
		return nil, &plugins.ToolError{Name: terr.Name, Message: terr.Message, Code: terr.Code}
	}
	return out, nil
}

// Interrupt implements plugins.Env.
func (env pluginEnv) Interrupt(ctx context.Context, payload json.RawMessage) (json.RawMessage, error) {
	v, ok := ctx.Value(callKey{}).(callValue)
	if !ok {
		return nil, &plugins.ToolError{Name: "Error", Message: "a run can be interrupted during a call only", Code: "unavailable"}
	}
	if f := env.run.h.o.OnInterrupt; f != nil {
		return f(ctx, v.call, payload)
	}
	if v.cell == nil || v.open == nil {
		return nil, &plugins.ToolError{Name: "Error", Message: "nobody can answer an interrupt of this call", Code: "unavailable"}
	}
	return v.cell.interrupt(ctx, v.open, payload)
}
