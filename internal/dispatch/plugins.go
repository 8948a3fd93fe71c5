package dispatch

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/cloister-wasm/cloister/api"
	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/internal/namespace"
	"github.com/cloister-wasm/cloister/internal/view"
	"github.com/cloister-wasm/cloister/plugins"
)

// callPlugin calls a tool on this run's instance of a plugin, which is made at
// the first call. An instance that broke is replaced at the next one.
func (r *Run) callPlugin(ctx context.Context, p *plugins.Plugin, tool string, input json.RawMessage) (json.RawMessage, error) {
	in, err := r.instance(ctx, p)
	if err != nil {
		return nil, err
	}
	out, err := in.Call(ctx, tool, input)
	r.dropFinished(p, in)
	return out, err
}

// dropFinished takes an instance away that its last call cost.
func (r *Run) dropFinished(p *plugins.Plugin, in *plugins.Instance) {
	if !in.Finished() {
		return
	}
	r.mu.Lock()
	if r.mu.instances[p.ID()] == in {
		delete(r.mu.instances, p.ID())
	}
	r.mu.Unlock()
	in.Close()
}

// instance gives this run's instance of a plugin. Making one may mean to compile
// the plugin, so nothing is locked meanwhile; of two that were made, one is kept.
func (r *Run) instance(ctx context.Context, p *plugins.Plugin) (*plugins.Instance, error) {
	r.mu.Lock()
	in, closed := r.mu.instances[p.ID()], r.mu.closed
	r.mu.Unlock()
	if closed {
		return nil, api.ErrClosed
	}
	if in != nil {
		return in, nil
	}
	made, err := p.NewInstance(ctx, &plugins.InstanceOptions{Env: pluginEnv{r}, Agent: r.o.Scope.AgentID, Session: r.o.Scope.SessionID, KV: r.d.entries})
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	in, closed = r.mu.instances[p.ID()], r.mu.closed
	if in == nil && !closed {
		r.mu.instances[p.ID()] = made
	}
	r.mu.Unlock()
	switch {
	case closed:
		made.Close()
		return nil, api.ErrClosed
	case in != nil:
		made.Close()
		return in, nil
	}
	return made, nil
}

// maxScopeTime bounds the computing of all scopes of a run.
const maxScopeTime = 2 * time.Second

// ComputeScopes asks the plugins for their scopes, side by side, all within one time. Those of one
// plugin take turns, so one that hangs costs its own plugin the rest.
func (r *Run) ComputeScopes(atMost time.Duration) ([]*namespace.Node, []error) {
	scopes, faults := make([]*namespace.Node, len(r.o.View.Shown)), make([]error, len(r.o.View.Shown))
	ctx, cancel := context.WithTimeout(r.o.Context, min(maxScopeTime, atMost))
	defer cancel()
	var wg sync.WaitGroup
	for i, ns := range r.o.View.Shown {
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
		AgentID: r.o.Scope.AgentID, SessionID: r.o.Scope.SessionID, SessionKey: r.o.Scope.SessionKey, RunID: r.o.Scope.AgentRunID,
		Sender: r.o.Scope.Sender, Channel: r.o.Scope.Channel, Config: ns.Plugin.ScopeConfig(),
	})
	r.dropFinished(ns.Plugin, in)
	if err != nil {
		return nil, err
	}
	return namespace.ParseScope(text, ns.RequiredToolNames)
}

// NotMapped is the trace of a call that did not get as far as its tool.
func NotMapped(te *api.ToolError) api.TraceEvent {
	return api.TraceEvent{Event: api.EventCallDenied, Rule: "its arguments were not mapped", Status: string(te.Code)}
}

// SplitArgs reads the JSON array of the arguments of a namespace's function.
func SplitArgs(args []byte) ([]json.RawMessage, error) {
	var list []json.RawMessage
	err := json.Unmarshal(args, &list)
	return list, err
}

// mapInput has the plugin turn the arguments of a call into its tool's input.
func (r *Run) mapInput(ctx context.Context, m *view.Member, args json.RawMessage) (json.RawMessage, error) {
	list, err := SplitArgs(args)
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
