package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/cloister-wasm/cloister/api"
	"github.com/cloister-wasm/cloister/internal/catalog"
	"github.com/cloister-wasm/cloister/internal/dispatch"
	"github.com/cloister-wasm/cloister/internal/namespace"
	"github.com/cloister-wasm/cloister/internal/view"
	"github.com/cloister-wasm/cloister/plugins"
	"github.com/cloister-wasm/cloister/plugins/lock"
)

// toolset is what runs are made of: the host's tools and those of its plugins. It
// does not change; SetPlugins puts another in its place. A run keeps the one it
// started with, which keeps that one's plugins open.
type toolset struct {
	entries    []catalog.Entry
	namespaces []*view.Namespace
	plugins    []*plugins.Plugin
	servers    []MCPServer
	lock       *lock.File
	mcp        []*mcpServer // those of servers, completed
	drift      []error
	views      view.Cache
	release    []func()                        // of the plugins
	users      int                             // runs, and the host while it is the newest; guarded by Host.mu
	revoked    atomic.Pointer[map[string]bool] // ids that its runs may call no more
}

// isRevoked says whether a tool was taken from the runs that started with it.
func (ts *toolset) isRevoked(id string) bool {
	revoked := ts.revoked.Load()
	return revoked != nil && (*revoked)[id]
}

// revokeLocked takes from the runs of older toolsets what next does not have. The caller holds Host.mu.
func (h *Host) revokeLocked(next *toolset) {
	kept := make(map[string]*dispatch.Tool, len(next.entries))
	for i := range next.entries {
		ref := next.entries[i].Ref.(*dispatch.Tool)
		kept[ref.Facts.ID] = ref
	}
	for ts := range h.toolsets {
		if ts == next {
			continue
		}
		revoked := map[string]bool{}
		for i := range ts.entries {
			ref := ts.entries[i].Ref.(*dispatch.Tool)
			id := ref.Facts.ID
			if now := kept[id]; now == nil || now.Plugin != ref.Plugin || now.MCP != ref.MCP || ts.isRevoked(id) {
				revoked[id] = true
			}
		}
		ts.revoked.Store(&revoked)
	}
}

// SetPlugins replaces the host's plugins. Runs that have started keep theirs; new
// runs get the new ones, and nothing of a plugin that went away, its namespaces
// included. It is all or nothing: after an error the plugins are as before.
//
// Plugins stay the caller's. One that is no longer wanted is to be retired
// (plugins.Plugin.Retire), which closes it when its last run has ended.
func (h *Host) SetPlugins(ctx context.Context, ps []*plugins.Plugin) error {
	return h.setTools(ctx, func(ts *toolset) ToolChange { return ToolChange{Plugins: ps, MCP: ts.servers, Lock: ts.lock} })
}

// SetMCP replaces the host's MCP servers, as SetPlugins does plugins. A tool that
// cannot be registered is left out and named in MCPStatus: one server takes no
// other down.
func (h *Host) SetMCP(ctx context.Context, servers []MCPServer) error {
	return h.setTools(ctx, func(ts *toolset) ToolChange { return ToolChange{Plugins: ts.plugins, MCP: servers, Lock: ts.lock} })
}

// ToolChange is another set of tools, for SetTools.
type ToolChange struct {
	Plugins []*plugins.Plugin
	MCP     []MCPServer
	// Lock replaces Options.Lock; nil accepts all.
	Lock *lock.File
	// Revoke takes the tools that are not in the new set, or are another plugin's there, from runs and
	// suspended cells that started before as well: their calls fail with CodeRevoked. Calls that have
	// reached their tool go on.
	Revoke bool
}

// SetTools replaces plugins, MCP servers and the lock in one step, as SetPlugins does
// plugins.
func (h *Host) SetTools(ctx context.Context, c ToolChange) error {
	return h.setTools(ctx, func(*toolset) ToolChange { return c })
}

// setTools puts a new toolset in place of the newest.
func (h *Host) setTools(ctx context.Context, change func(*toolset) ToolChange) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	h.setting.Lock()
	defer h.setting.Unlock()
	h.mu.Lock()
	current, closed := h.tools, h.closed
	h.mu.Unlock()
	if closed {
		return api.ErrClosed
	}
	c := change(current)
	next, err := h.newToolset(ctx, c)
	if err != nil {
		return err
	}
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		next.drop()
		return api.ErrClosed
	}
	old := h.tools
	h.tools = next
	h.useLocked(next)
	done := h.leaveLocked(old)
	if c.Revoke {
		h.revokeLocked(next)
	}
	h.mu.Unlock()
	if done {
		old.drop()
	}
	return nil
}

// Drift lists the tools and plugins that differ from Options.Lock and are left out
// of new runs for it, each a *lock.DriftError.
func (h *Host) Drift() []error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.tools.drift)
}

// newToolset builds a toolset and holds its plugins, or holds none of them.
func (h *Host) newToolset(ctx context.Context, c ToolChange) (ts *toolset, err error) {
	ps := c.Plugins
	ts = &toolset{plugins: slices.Clone(ps), servers: slices.Clone(c.MCP), lock: c.Lock}
	defer func() {
		if err != nil {
			ts.drop()
			ts = nil
		}
	}()
	for i := range h.o.Tools {
		e, err := h.goTool(&h.o.Tools[i])
		if err != nil {
			return ts, err
		}
		ts.entries = append(ts.entries, e)
	}
	if errs := plugins.Conflicts(ps); len(errs) > 0 {
		return ts, fmt.Errorf("%w: %w", api.ErrTool, errors.Join(errs...))
	}
	for _, p := range ps {
		if err := h.addPlugin(ts, p); err != nil {
			return ts, err
		}
	}
	if err := h.addServers(ts, c.MCP); err != nil {
		return ts, err
	}
	if ctx.Err() != nil {
		return ts, context.Cause(ctx)
	}
	// A trial build reports ids that are taken and schemas that do not compile
	// now, and not in the first run.
	if _, err := catalog.Build(ts.entries); err != nil {
		return ts, fmt.Errorf("%w: %w", api.ErrTool, err)
	}
	return ts, nil
}

// addPlugin adds a plugin's tools and namespaces, and holds it.
func (h *Host) addPlugin(ts *toolset, p *plugins.Plugin) error {
	for i := range h.o.Tools {
		if h.o.Tools[i].Owner == p.ID() {
			return fmt.Errorf("%w: the tool %s names the plugin %s as its owner; what a plugin owns is in its manifest", api.ErrTool, h.o.Tools[i].Name, p.ID())
		}
	}
	release, err := p.Hold()
	if err != nil {
		return fmt.Errorf("%w: %w", api.ErrTool, err)
	}
	ts.release = append(ts.release, release)
	for _, t := range p.Tools() {
		e, err := h.pluginTool(p, t)
		if err != nil {
			return err
		}
		if err := ts.checkLock(&e); err != nil {
			ts.drift = append(ts.drift, err)
			continue
		}
		ts.entries = append(ts.entries, e)
	}
	for _, n := range p.Manifest().Namespaces {
		ns := &view.Namespace{Plugin: p, Namespace: n}
		if !n.ScopeExport {
			if ns.Scope, err = namespace.ParseScope(n.Scope, n.RequiredToolNames); err != nil {
				return fmt.Errorf("%w: namespace %s of %s: %w", api.ErrTool, n.GlobalName, p.ID(), err)
			}
		}
		ts.namespaces = append(ts.namespaces, ns)
	}
	return nil
}

// leaveLocked takes one user away, under Host.mu. It says true for the last one:
// then the toolset is to be dropped, without the lock.
func (h *Host) leaveLocked(ts *toolset) bool {
	if ts.users--; ts.users == 0 {
		delete(h.toolsets, ts)
	}
	return ts.users == 0
}

// useLocked counts a user in, under Host.mu.
func (h *Host) useLocked(ts *toolset) {
	ts.users++
	h.toolsets[ts] = struct{}{}
}

func (ts *toolset) drop() {
	for _, release := range ts.release {
		release()
	}
	ts.release = nil
}
