package toolset

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
	"github.com/cloister-wasm/cloister/internal/schema"
	"github.com/cloister-wasm/cloister/internal/view"
	"github.com/cloister-wasm/cloister/plugins"
	"github.com/cloister-wasm/cloister/plugins/lock"
)

// Set is what runs are made of: the host's tools and those of its plugins. It
// does not change; SetPlugins puts another in its place. A run keeps the one it
// started with, which keeps that one's plugins open.
type Set struct {
	Entries    []catalog.Entry
	Namespaces []*view.Namespace
	Parts      Parts
	mcp        []*mcpServer // those of servers, completed
	drift      []error
	Views      view.Cache
	release    []func()                        // of the plugins
	revokedIDs atomic.Pointer[map[string]bool] // ids that its runs may call no more
}

// isRevoked says whether a tool was taken from the runs that started with it.
func (ts *Set) Revoked(id string) bool {
	revoked := ts.revokedIDs.Load()
	return revoked != nil && (*revoked)[id]
}

// RevokeFrom takes from the runs of an older toolset what next does not have, or has of another plugin.
func (next *Set) RevokeFrom(ts *Set) {
	kept := make(map[string]*dispatch.Tool, len(next.Entries))
	for i := range next.Entries {
		ref := next.Entries[i].Ref.(*dispatch.Tool)
		kept[ref.Facts.ID] = ref
	}
	revoked := map[string]bool{}
	for i := range ts.Entries {
		ref := ts.Entries[i].Ref.(*dispatch.Tool)
		id := ref.Facts.ID
		if now := kept[id]; now == nil || now.Plugin != ref.Plugin || now.MCP != ref.MCP || ts.Revoked(id) {
			revoked[id] = true
		}
	}
	ts.revokedIDs.Store(&revoked)
}

// Parts are what a toolset is built of beside the Go functions, which stay.
type Parts struct {
	Plugins []*plugins.Plugin
	Servers []Server
	Lock    *lock.File // nil accepts all
}

// Builder builds toolsets of one host. It is safe for concurrent use.
type Builder struct {
	tools   []api.RawTool
	schemas *schema.Cache
}

// NewBuilder makes a builder for sets with these Go functions.
func NewBuilder(tools []api.RawTool, schemas *schema.Cache) *Builder { return &Builder{tools, schemas} }

// Build builds a toolset and holds its plugins, or holds none of them.
func (b *Builder) Build(ctx context.Context, c Parts) (ts *Set, err error) {
	ps := c.Plugins
	ts = &Set{Parts: Parts{slices.Clone(ps), slices.Clone(c.Servers), c.Lock}}
	defer func() {
		if err != nil {
			ts.Drop()
			ts = nil
		}
	}()
	for i := range b.tools {
		e, err := b.goTool(&b.tools[i])
		if err != nil {
			return ts, err
		}
		ts.Entries = append(ts.Entries, e)
	}
	if errs := plugins.Conflicts(ps); len(errs) > 0 {
		return ts, fmt.Errorf("%w: %w", api.ErrTool, errors.Join(errs...))
	}
	for _, p := range ps {
		if err := b.addPlugin(ts, p); err != nil {
			return ts, err
		}
	}
	if err := b.addServers(ts, c.Servers); err != nil {
		return ts, err
	}
	if ctx.Err() != nil {
		return ts, context.Cause(ctx)
	}
	// A trial build reports ids that are taken and schemas that do not compile
	// now, and not in the first run.
	if _, err := catalog.Build(ts.Entries); err != nil {
		return ts, fmt.Errorf("%w: %w", api.ErrTool, err)
	}
	return ts, nil
}

// addPlugin adds a plugin's tools and namespaces, and holds it.
func (b *Builder) addPlugin(ts *Set, p *plugins.Plugin) error {
	for i := range b.tools {
		if b.tools[i].Owner == p.ID() {
			return fmt.Errorf("%w: the tool %s names the plugin %s as its owner; what a plugin owns is in its manifest", api.ErrTool, b.tools[i].Name, p.ID())
		}
	}
	release, err := p.Hold()
	if err != nil {
		return fmt.Errorf("%w: %w", api.ErrTool, err)
	}
	ts.release = append(ts.release, release)
	for _, t := range p.Tools() {
		e, err := b.pluginTool(p, t)
		if err != nil {
			return err
		}
		if err := ts.checkLock(&e); err != nil {
			ts.drift = append(ts.drift, err)
			continue
		}
		ts.Entries = append(ts.Entries, e)
	}
	for _, n := range p.Manifest().Namespaces {
		if err := ts.checkNamespace(p, &n); err != nil {
			ts.drift = append(ts.drift, err)
			continue
		}
		ns := &view.Namespace{Plugin: p, Namespace: n}
		if !n.ScopeExport {
			if ns.Scope, err = namespace.ParseScope(n.Scope, n.RequiredToolNames); err != nil {
				return fmt.Errorf("%w: namespace %s of %s: %w", api.ErrTool, n.GlobalName, p.ID(), err)
			}
		}
		ts.Namespaces = append(ts.Namespaces, ns)
	}
	return nil
}

// Drift lists what differs from the lock and is left out, each a *lock.DriftError.
func (ts *Set) Drift() []error { return slices.Clone(ts.drift) }

// Drop lets the plugins go. It is for when nobody uses the toolset any more.
func (ts *Set) Drop() {
	for _, release := range ts.release {
		release()
	}
	ts.release = nil
}

// Server is an MCP server as a toolset takes it. host.MCPServer has the same fields and says what they mean.
type Server struct {
	Name               string
	Tools              []api.MCPTool
	Instructions       string
	Resources, Prompts bool
	Approval           api.Approval
	Client             api.MCPClient
	Err                error
}
