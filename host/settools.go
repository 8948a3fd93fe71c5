package host

import (
	"context"

	"github.com/cloister-wasm/cloister/api"
	"github.com/cloister-wasm/cloister/internal/toolset"
	"github.com/cloister-wasm/cloister/plugins"
	"github.com/cloister-wasm/cloister/plugins/lock"
)

// SetPlugins replaces the host's plugins. Runs that have started keep theirs; new
// runs get the new ones, and nothing of a plugin that went away, its namespaces
// included. It is all or nothing: after an error the plugins are as before.
//
// Plugins stay the caller's. One that is no longer wanted is to be retired
// (plugins.Plugin.Retire), which closes it when its last run has ended.
func (h *Host) SetPlugins(ctx context.Context, ps []*plugins.Plugin) error {
	return h.setTools(ctx, false, func(now toolset.Parts) toolset.Parts {
		now.Plugins = ps
		return now
	})
}

// SetMCP replaces the host's MCP servers, as SetPlugins does plugins. A tool that
// cannot be registered is left out and named in MCPStatus: one server takes no
// other down.
func (h *Host) SetMCP(ctx context.Context, servers []MCPServer) error {
	return h.setTools(ctx, false, func(now toolset.Parts) toolset.Parts {
		now.Servers = toolServers(servers)
		return now
	})
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
	return h.setTools(ctx, c.Revoke, func(toolset.Parts) toolset.Parts {
		return toolset.Parts{Plugins: c.Plugins, Servers: toolServers(c.MCP), Lock: c.Lock}
	})
}

// setTools puts a new toolset in place of the newest.
func (h *Host) setTools(ctx context.Context, revoke bool, change func(now toolset.Parts) toolset.Parts) error {
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
	next, err := h.builder.Build(ctx, change(current.Parts))
	if err != nil {
		return err
	}
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		next.Drop()
		return api.ErrClosed
	}
	old := h.tools
	h.tools = next
	h.useLocked(next)
	done := h.leaveLocked(old)
	if revoke {
		for older := range h.toolsets {
			if older != next {
				next.RevokeFrom(older)
			}
		}
	}
	h.mu.Unlock()
	if done {
		old.Drop()
	}
	return nil
}

// Drift lists the tools and plugins that differ from Options.Lock and are left out
// of new runs for it, each a *lock.DriftError.
func (h *Host) Drift() []error { return h.newest().Drift() }

// newest is the toolset of new runs.
func (h *Host) newest() *toolset.Set {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.tools
}

// leaveLocked takes one user away, under Host.mu. It says true for the last one:
// then the toolset is to be dropped, without the lock.
func (h *Host) leaveLocked(ts *toolset.Set) bool {
	h.toolsets[ts]--
	if h.toolsets[ts] > 0 {
		return false
	}
	delete(h.toolsets, ts)
	return true
}

// useLocked counts a user in, under Host.mu.
func (h *Host) useLocked(ts *toolset.Set) {
	h.toolsets[ts]++
}

// leave gives a toolset back.
func (h *Host) leave(tools *toolset.Set) {
	h.mu.Lock()
	done := h.leaveLocked(tools)
	h.mu.Unlock()
	if done {
		tools.Drop()
	}
}
