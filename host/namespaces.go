package host

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/cloister-wasm/cloister/internal/view"

	"github.com/cloister-wasm/cloister/api"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/internal/namespace"
	"github.com/cloister-wasm/cloister/internal/plaintext"
)

// buildNamespaces computes the scopes, once for a run, or waits until they are there or ctx ends.
func (r *Run) buildNamespaces(ctx context.Context) (*view.Namespaces, error) {
	return r.spaces.Make(ctx, func() (*view.Namespaces, error) {
		scopes, faults := r.computeScopes()
		if r.ctx.Err() != nil {
			return nil, context.Cause(r.ctx)
		}
		return r.MakeNamespaces(scopes, faults, func(ns *view.Namespace, err error) {
			r.stamp(&api.TraceEvent{Event: api.EventNamespaceRefused, Tool: ns.Plugin.ID(), Namespace: ns.GlobalName, Status: plaintext.Clip(err.Error(), 500), Unsigned: ns.Plugin.Unsigned()})
		})
	})
}

// maxScopeTime bounds the computing of all scopes of a run; a quarter of a cell's time does so too.
const maxScopeTime = 2 * time.Second

// computeScopes asks the plugins for their scopes, side by side, all within one time. Those of one
// plugin take turns, so one that hangs costs its own plugin the rest.
func (r *Run) computeScopes() ([]*namespace.Node, []error) {
	scopes, faults := make([]*namespace.Node, len(r.Shown)), make([]error, len(r.Shown))
	ctx, cancel := context.WithTimeout(r.ctx, min(maxScopeTime, r.h.timeout()/4))
	defer cancel()
	var wg sync.WaitGroup
	for i, ns := range r.Shown {
		if scopes[i] = ns.Scope; ns.ScopeExport {
			wg.Go(func() { scopes[i], faults[i] = r.computeScope(ctx, ns) })
		}
	}
	wg.Wait()
	return scopes, faults
}

// computeScope asks a plugin for one scope of this run.
func (r *Run) computeScope(ctx context.Context, ns *view.Namespace) (*namespace.Node, error) {
	in, err := r.instance(ctx, ns.Plugin)
	if err != nil {
		return nil, err
	}
	text, err := in.Scope(ctx, ns.ID, guestabi.ScopeContext{
		AgentID: r.scope.AgentID, SessionID: r.scope.SessionID, SessionKey: r.scope.SessionKey, RunID: r.scope.AgentRunID,
		Sender: r.scope.Sender, Channel: r.scope.Channel, Config: ns.Plugin.ScopeConfig(),
	})
	r.dropFinished(ns.Plugin, in)
	if err != nil {
		return nil, err
	}
	return namespace.ParseScope(text, ns.RequiredToolNames)
}

// requestMember answers the call of a namespace's function: it is the call of a
// tool, with the arguments mapped to its input.
func (c *cell) requestMember(request int, rest []byte) error {
	members := c.run.spaces.Get().Members
	number, rest, ok := cutNumber(rest, len(members))
	if !ok {
		return badMessage()
	}
	undefined, args, ok := cutNumber(rest, 1<<namespace.MaxArgs)
	if !ok {
		return badMessage()
	}
	m := &members[number]
	if m.Server != nil || m.Search {
		list, err := splitArgs(args)
		switch {
		case err != nil:
			return badMessage()
		case m.Search:
			return c.answerMCPSearch(request, list)
		}
		return c.answerAPI(request, m, list)
	}
	if !m.Call.MapInput {
		list, err := splitArgs(args)
		if err != nil {
			return badMessage()
		}
		for i := range list {
			if i < namespace.MaxArgs && undefined&(1<<i) != 0 {
				list[i] = nil
			}
		}
		input, err := m.Call.MapArgs(list)
		if err != nil {
			c.report.count(func(t *api.Telemetry) { t.CallCount++ })
			te := &api.ToolError{Name: "TypeError", Message: m.Path + ": " + err.Error(), Code: api.CodeInvalidInput}
			c.run.emit(&api.ToolCall{ParentID: c.parentID, CellID: c.id, Tool: m.Tool.ID, Namespace: m.Path, Unsigned: m.Tool.Unsigned}, notMapped(te))
			return c.fail(request, te)
		}
		args = input
	}
	return c.requestCall(request, m.Tool.ID, m.Tool, args, m)
}

// notMapped is the trace of a call that did not get as far as its tool.
func notMapped(te *api.ToolError) api.TraceEvent {
	return api.TraceEvent{Event: api.EventCallDenied, Rule: "its arguments were not mapped", Status: string(te.Code)}
}

func splitArgs(args []byte) ([]json.RawMessage, error) {
	var list []json.RawMessage
	err := json.Unmarshal(args, &list)
	return list, err
}

// mapInput has the plugin turn the arguments of a call into its tool's input.
func (r *Run) mapInput(ctx context.Context, m *view.Member, args json.RawMessage) (json.RawMessage, error) {
	list, err := splitArgs(args)
	if err != nil {
		return nil, &api.ToolError{Name: "TypeError", Message: m.Path + ": the arguments have no JSON form", Code: api.CodeInvalidInput}
	}
	in, err := r.instance(ctx, m.Of.Plugin)
	if err != nil {
		return nil, err
	}
	input, err := in.MapInput(ctx, m.Of.ID, m.Call.Path, m.Call.Tool, list)
	r.dropFinished(m.Of.Plugin, in)
	return input, err
}
