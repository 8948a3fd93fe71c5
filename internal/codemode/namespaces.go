package codemode

import (
	"context"

	"github.com/cloister-wasm/cloister/api"
	"github.com/cloister-wasm/cloister/internal/dispatch"
	"github.com/cloister-wasm/cloister/internal/namespace"
	"github.com/cloister-wasm/cloister/internal/plaintext"
	"github.com/cloister-wasm/cloister/internal/view"
)

// buildNamespaces computes the scopes, once for a run, or waits until they are there or ctx ends.
func (r *Run) buildNamespaces(ctx context.Context) (*view.Namespaces, error) {
	return r.spaces.Make(ctx, func() (*view.Namespaces, error) {
		scopes, faults := r.calls.ComputeScopes(r.h.timeout() / 4)
		if r.ctx.Err() != nil {
			return nil, context.Cause(r.ctx)
		}
		return r.view.MakeNamespaces(scopes, faults, func(ns *view.Namespace, err error) {
			r.calls.Stamp(&api.TraceEvent{Event: api.EventNamespaceRefused, Tool: ns.Plugin.ID(), Namespace: ns.GlobalName, Status: plaintext.Clip(err.Error(), 500), Unsigned: ns.Plugin.Unsigned()})
		})
	})
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
		list, err := dispatch.SplitArgs(args)
		switch {
		case err != nil:
			return badMessage()
		case m.Search:
			return c.answerMCPSearch(request, list)
		}
		return c.answerAPI(request, m, list)
	}
	if !m.Call.MapInput {
		list, err := dispatch.SplitArgs(args)
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
			c.run.calls.Emit(&api.ToolCall{ParentID: c.parentID, CellID: c.id, Tool: m.Tool.ID, Namespace: m.Path, Unsigned: m.Tool.Unsigned}, dispatch.NotMapped(te))
			return c.fail(request, te)
		}
		args = input
	}
	return c.requestCall(request, m.Tool.ID, m.Tool, args, m)
}
