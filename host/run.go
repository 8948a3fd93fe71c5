package host

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/cloister-wasm/cloister/api"
	"github.com/cloister-wasm/cloister/internal/catalog"
	"github.com/cloister-wasm/cloister/internal/codemode"
	"github.com/cloister-wasm/cloister/internal/dispatch"
	"github.com/cloister-wasm/cloister/internal/toolset"
	"github.com/cloister-wasm/cloister/internal/view"
)

// Run is one agent run: a scope, a catalog, and the cells started in it. It is
// safe for concurrent use.
type Run struct {
	h        *Host
	o        RunOptions
	toolset  *toolset.Set
	calls    *dispatch.Run
	view     *view.View
	programs *codemode.Run

	ctx    context.Context
	cancel context.CancelFunc

	mu     sync.Mutex
	unhook func() bool // from the end of the caller's context
	closed bool
}

// NewRun makes a run with its catalog: the host's tools and the run's client
// tools, as far as every layer of policy lets them pass. When ctx ends, the run
// is aborted.
func (h *Host) NewRun(ctx context.Context, o RunOptions) (run *Run, err error) {
	layers, err := h.rules.of(&o)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	tools, closed := h.tools, h.closed
	if !closed {
		h.useLocked(tools)
	}
	h.mu.Unlock()
	if closed {
		return nil, api.ErrClosed
	}
	defer func() {
		if err != nil {
			h.leave(tools)
		}
	}()
	entries := tools.Entries
	if o.DisableTools {
		entries = nil
	} else if len(o.ClientTools) > 0 {
		entries = append([]catalog.Entry(nil), entries...)
		for _, t := range o.ClientTools {
			e, err := h.builder.ClientTool(t)
			if err != nil {
				return nil, err
			}
			entries = append(entries, e)
		}
	}
	scope := api.Scope{
		AgentID: o.AgentID, AgentRunID: o.AgentRunID, SessionID: o.SessionID, SessionKey: o.SessionKey,
		Sender: o.Sender, Channel: o.Channel, Sandboxed: o.Sandboxed,
	}
	entries, hidden := h.d.Visible(ctx, scope, entries)
	var missing []string
	if !o.DisableTools {
		missing = tools.Missing(layers, func(es []catalog.Entry) []catalog.Entry {
			seen, _ := h.d.Visible(ctx, scope, es)
			return seen
		})
	}
	build := func() (*view.View, error) {
		return view.New(&view.Options{
			Entries: entries, Layers: layers, Hidden: hidden, Namespaces: tools.Namespaces, Servers: tools.Sources(), Missing: missing,
			TypeScript: slices.Contains(h.cfg.Languages, api.TypeScript),
		})
	}
	var v *view.View
	if len(o.ClientTools) > 0 {
		v, err = build()
	} else if key, kerr := view.Key(o.Sandboxed, o.DisableTools, o.Allow, o.Deny, hidden, missing); kerr != nil {
		return nil, fmt.Errorf("naming the run's tools: %w", kerr)
	} else {
		v, err = tools.Views.Get(key, build)
	}
	if err != nil {
		return nil, err
	}
	r := &Run{h: h, o: o, toolset: tools, view: v}
	r.ctx, r.cancel = context.WithCancel(ctx)
	r.calls = h.d.NewRun(&dispatch.RunOptions{
		Context: r.ctx, Scope: scope, View: v, Revoked: tools.Revoked,
		OnClientCall: o.OnClientCall, OnEvent: o.OnEvent, OnProgress: o.OnProgress,
	})
	r.programs = h.programs.NewRun(r.ctx, r.calls, v, o.OnClientCall != nil)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		r.cancel()
		return nil, api.ErrClosed
	}
	h.runs[r] = struct{}{}
	r.mu.Lock()
	r.unhook = context.AfterFunc(ctx, r.Close)
	r.mu.Unlock()
	return r, nil
}

// Active says whether code mode is active: it is enabled and the run has tools.
func (r *Run) Active() bool { return r.h.cfg.Enabled && r.view.Catalog.Len() > 0 }

// Stale says that the host's tools have changed since the run was made, or that the
// host is closed. A new run with the same scope has the new ones; cells of this one
// can be waited for through it until this one is closed.
func (r *Run) Stale() bool {
	r.h.mu.Lock()
	defer r.h.mu.Unlock()
	return r.h.closed || r.h.tools != r.toolset
}

// Idle says that no cell of the run is running or suspended.
func (r *Run) Idle() bool { return r.programs.Idle() }

// Close ends the run: open calls are cancelled, suspended cells dropped, plugin
// instances closed. Execs and waits in flight end as aborted.
func (r *Run) Close() {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return
	}
	r.closed = true
	r.unhook() // a context that lives on must not keep the run
	r.mu.Unlock()
	end := r.programs.Close()
	r.cancel()
	end()
	r.calls.Close()
	r.h.mu.Lock()
	delete(r.h.runs, r)
	r.h.mu.Unlock()
	r.h.leave(r.toolset)
}

func entryOf(e *catalog.Entry, full bool) api.CatalogEntry {
	c := api.CatalogEntry{ID: e.ID, Name: e.Name, Label: e.Label, Description: e.Description, Source: e.Source, SourceName: e.Owner, Unsigned: e.Unsigned}
	if full {
		c.Parameters, c.Returns = e.Parameters, e.Returns
	}
	return c
}

// Catalog lists the run's tools in catalog order, without schemas.
func (r *Run) Catalog() []api.CatalogEntry {
	var out []api.CatalogEntry
	for _, e := range r.view.Catalog.Entries() {
		out = append(out, entryOf(e, false))
	}
	return out
}

// Search ranks the run's tools for a query, best first. A limit of 0 is the
// configured default; it is capped at the configured maximum.
//
// Like tools.search in a cell it leaves out the tools of MCP servers: SearchMCP has those.
func (r *Run) Search(query string, limit int) ([]api.CatalogEntry, error) {
	return search(r, query, limit, r.view.Catalog.Search)
}

// SearchMCP is Search over the tools, resources and prompts of MCP servers, as MCP.$search in a cell.
func (r *Run) SearchMCP(query string, limit int) ([]api.CatalogEntry, error) {
	return search(r, query, limit, r.view.Catalog.SearchMCP)
}

func search(r *Run, query string, limit int, top func(string, int) []*catalog.Entry) ([]api.CatalogEntry, error) {
	limit, err := r.h.programs.SearchLimit(limit, limit == 0)
	if err != nil {
		return nil, err
	}
	out := []api.CatalogEntry{}
	for _, e := range top(query, limit) {
		out = append(out, entryOf(e, false))
	}
	return out, nil
}

// Describe gives a tool with its schemas. An unknown id is a *ToolError that
// suggests others.
func (r *Run) Describe(id string) (*api.CatalogEntry, error) {
	e, ok := r.view.Catalog.Lookup(id)
	if !ok {
		return nil, r.view.UnknownTool(id)
	}
	c := entryOf(e, true)
	return &c, nil
}
