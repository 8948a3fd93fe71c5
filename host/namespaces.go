package host

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cloister-wasm/cloister/api"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/internal/catalog"
	"github.com/cloister-wasm/cloister/internal/namespace"
	"github.com/cloister-wasm/cloister/internal/plaintext"
)

// runNamespaces are the namespaces that a run shows, and their callable members. They do not change.
type runNamespaces struct {
	setup   []guestabi.GuestNamespace
	mcp     json.RawMessage // the scope of MCP
	members []member
	key     string // names the scopes in the key of the template
}

// namespaceCache has the namespaces computed once for a run. Nobody waits for plugins with a lock held, or
// longer than his own context.
type namespaceCache struct {
	mu struct {
		sync.Mutex
		done  chan struct{} // closed when built or err is there; nil before the first asks
		built *runNamespaces
		err   error
	}
}

// get returns what was built, nil if it is not there yet.
func (n *namespaceCache) get() *runNamespaces {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.mu.built
}

// member is a function of a namespace or of an MCP server. The guest names it by its number.
type member struct {
	of *pluginNamespace // nil for one of an MCP server
	// answer is set for what the host answers itself, from the catalog.
	answer func(c *cell, request int, m *member, args []json.RawMessage) error
	path   string // "Issues.update", for the trace
	call   *namespace.Call
	tool   *catalog.Entry
}

// visibleNamespaces gives the namespaces whose required tools are all in the
// catalog and belong to the namespace's own plugin.
func visibleNamespaces(ts *toolset, cat *catalog.Catalog) []*pluginNamespace {
	var visible []*pluginNamespace
	for _, ns := range ts.namespaces {
		if owned(ns, cat, ns.RequiredToolNames) {
			visible = append(visible, ns)
		}
	}
	return visible
}

func owned(ns *pluginNamespace, cat *catalog.Catalog, tools []string) bool {
	for _, name := range tools {
		if _, ok := ownTool(ns, cat, name); !ok {
			return false
		}
	}
	return len(tools) > 0
}

// ownTool finds a tool of the namespace's plugin. The handle decides who owns it,
// not the name.
func ownTool(ns *pluginNamespace, cat *catalog.Catalog, name string) (*catalog.Entry, bool) {
	id, err := catalog.ID(catalog.SourceCloister, ns.plugin.ID(), name)
	if err != nil {
		return nil, false
	}
	e, ok := cat.Lookup(id)
	if !ok || e.Ref.(*toolRef).plugin != ns.plugin {
		return nil, false
	}
	return e, true
}

// buildNamespaces computes the scopes, once for a run, or waits until they are there or ctx ends. A failure is
// not kept.
func (r *Run) buildNamespaces(ctx context.Context) (*runNamespaces, error) {
	n := &r.spaces
	n.mu.Lock()
	if n.mu.built != nil {
		defer n.mu.Unlock()
		return n.mu.built, nil
	}
	if n.mu.done == nil {
		n.mu.done = make(chan struct{})
		go r.fillNamespaces(n.mu.done)
	}
	done := n.mu.done
	n.mu.Unlock()
	select {
	case <-done:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.mu.built != nil {
		return n.mu.built, nil
	}
	return nil, n.mu.err
}

func (r *Run) fillNamespaces(done chan struct{}) {
	built, err := r.makeNamespaces()
	n := &r.spaces
	n.mu.Lock()
	n.mu.built, n.mu.err, n.mu.done = built, err, nil
	n.mu.Unlock()
	close(done)
}

// makeNamespaces computes the scopes of plugins side by side. A namespace whose scope cannot be had is left out
// and named in the trace: it takes no cell down.
func (r *Run) makeNamespaces() (*runNamespaces, error) {
	tree, err := r.mcpTree()
	if err != nil {
		return nil, fmt.Errorf("describing MCP servers to the guest: %w", err)
	}
	scopes, faults := r.computeScopes()
	if r.ctx.Err() != nil {
		return nil, context.Cause(r.ctx)
	}
	n := &runNamespaces{setup: []guestabi.GuestNamespace{}, mcp: tree.scope} // the prelude wants a list
	// Members of MCP come first: their numbers are the same for all runs of a view.
	n.members = slices.Clip(tree.members)
	for i, ns := range r.shown {
		before := len(n.members)
		err := faults[i]
		var scopeTree json.RawMessage
		if err == nil {
			scopeTree, err = encodeScope(nil, ns, r.cat, scopes[i], &n.members)
		}
		if err != nil {
			n.members = n.members[:before]
			r.stamp(&api.TraceEvent{Event: api.EventNamespaceRefused, Tool: ns.plugin.ID(), Namespace: ns.GlobalName, Status: plaintext.Clip(err.Error(), 500), Unsigned: ns.plugin.Unsigned()})
			continue
		}
		n.setup = append(n.setup, guestabi.GuestNamespace{Name: ns.GlobalName, Scope: scopeTree})
	}
	text, err := json.Marshal(n.setup)
	if err != nil {
		return nil, fmt.Errorf("describing namespaces to the guest: %w", err)
	}
	if len(n.setup) > 0 {
		sum := sha256.Sum256(text)
		n.key = "+" + hex.EncodeToString(sum[:])
	}
	return n, nil
}

// maxScopeTime bounds the computing of all scopes of a run; a quarter of a cell's time does so too.
const maxScopeTime = 2 * time.Second

// computeScopes asks the plugins for their scopes, side by side, all within one time. Those of one
// plugin take turns, so one that hangs costs its own plugin the rest.
func (r *Run) computeScopes() ([]*namespace.Node, []error) {
	scopes, faults := make([]*namespace.Node, len(r.shown)), make([]error, len(r.shown))
	ctx, cancel := context.WithTimeout(r.ctx, min(maxScopeTime, r.h.timeout()/4))
	defer cancel()
	var wg sync.WaitGroup
	for i, ns := range r.shown {
		if scopes[i] = ns.scope; ns.ScopeExport {
			wg.Go(func() { scopes[i], faults[i] = r.computeScope(ctx, ns) })
		}
	}
	wg.Wait()
	return scopes, faults
}

// computeScope asks a plugin for one scope of this run.
func (r *Run) computeScope(ctx context.Context, ns *pluginNamespace) (*namespace.Node, error) {
	in, err := r.instance(ctx, ns.plugin)
	if err != nil {
		return nil, err
	}
	text, err := in.Scope(ctx, ns.ID, guestabi.ScopeContext{
		AgentID: r.scope.AgentID, SessionID: r.scope.SessionID, SessionKey: r.scope.SessionKey, RunID: r.scope.AgentRunID,
		Sender: r.scope.Sender, Channel: r.scope.Channel, Config: ns.plugin.ScopeConfig(),
	})
	r.dropFinished(ns.plugin, in)
	if err != nil {
		return nil, err
	}
	return namespace.ParseScope(text, ns.RequiredToolNames)
}

// encodeScope writes a scope as the guest wants it (guestabi.GuestNamespace) and
// numbers its functions. A function's tool must be one that the namespace
// requires, in this catalog.
func encodeScope(out json.RawMessage, ns *pluginNamespace, cat *catalog.Catalog, node *namespace.Node, members *[]member) (json.RawMessage, error) {
	switch node.Kind {
	case namespace.Function:
		e, ok := ownTool(ns, cat, node.Call.Tool)
		if !ok {
			return nil, fmt.Errorf("the scope calls %q, which is no tool of %s in this run", plaintext.Clip(node.Call.Tool, 80), ns.plugin.ID())
		}
		out = append(out, `["c",`...)
		out = strconv.AppendInt(out, int64(len(*members)), 10)
		*members = append(*members, member{of: ns, path: ns.GlobalName + "." + strings.Join(node.Call.Path, "."), call: node.Call, tool: e})
	case namespace.Object, namespace.Array:
		kind, closing := byte('o'), byte('}')
		out = append(out, `["`...)
		if node.Kind == namespace.Array {
			kind, closing = 'a', ']'
		}
		out = append(out, kind, '"', ',', closing-2) // { and [ stand two before } and ]
		var err error
		for i, child := range node.Children {
			if i > 0 {
				out = append(out, ',')
			}
			if node.Kind == namespace.Object {
				key, err := json.Marshal(node.Keys[i])
				if err != nil {
					return nil, fmt.Errorf("a key of the scope: %w", err)
				}
				out = append(append(out, key...), ':')
			}
			if out, err = encodeScope(out, ns, cat, child, members); err != nil {
				return nil, err
			}
		}
		out = append(out, closing)
	default:
		out = append(append(out, `["v",`...), node.Value...)
	}
	return append(out, ']'), nil
}

// requestMember answers the call of a namespace's function: it is the call of a
// tool, with the arguments mapped to its input.
func (c *cell) requestMember(request int, rest []byte) error {
	members := c.run.spaces.get().members
	number, rest, ok := cutNumber(rest, len(members))
	if !ok {
		return badMessage()
	}
	undefined, args, ok := cutNumber(rest, 1<<namespace.MaxArgs)
	if !ok {
		return badMessage()
	}
	m := &members[number]
	if m.answer != nil {
		list, err := splitArgs(args)
		if err != nil {
			return badMessage()
		}
		return m.answer(c, request, m, list)
	}
	if !m.call.MapInput {
		list, err := splitArgs(args)
		if err != nil {
			return badMessage()
		}
		for i := range list {
			if i < namespace.MaxArgs && undefined&(1<<i) != 0 {
				list[i] = nil
			}
		}
		input, err := m.call.MapArgs(list)
		if err != nil {
			c.report.count(func(t *api.Telemetry) { t.CallCount++ })
			te := &api.ToolError{Name: "TypeError", Message: m.path + ": " + err.Error(), Code: api.CodeInvalidInput}
			c.run.emit(&api.ToolCall{ParentID: c.parentID, CellID: c.id, Tool: m.tool.ID, Namespace: m.path, Unsigned: m.tool.Unsigned}, notMapped(te))
			return c.fail(request, te)
		}
		args = input
	}
	return c.requestCall(request, m.tool.ID, m.tool, args, m)
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
func (r *Run) mapInput(ctx context.Context, m *member, args json.RawMessage) (json.RawMessage, error) {
	list, err := splitArgs(args)
	if err != nil {
		return nil, &api.ToolError{Name: "TypeError", Message: m.path + ": the arguments have no JSON form", Code: api.CodeInvalidInput}
	}
	in, err := r.instance(ctx, m.of.plugin)
	if err != nil {
		return nil, err
	}
	input, err := in.MapInput(ctx, m.of.ID, m.call.Path, m.call.Tool, list)
	r.dropFinished(m.of.plugin, in)
	return input, err
}

// Bounds of the part of the exec description that is about namespaces, in runes.
const (
	maxNamespaceText   = 300
	maxNamespacePrompt = 1000
	maxNamespaceList   = 32
	maxMembersShown    = 24
)

// describeNamespaces teaches the visible namespaces: name, description, functions
// as far as they are known, and the prompt.
func (v *view) describeNamespaces() string {
	if len(v.shown) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\nNamespaces (globals; the texts are by their plugins):\n")
	for i, ns := range v.shown {
		if i == maxNamespaceList {
			fmt.Fprintf(&b, "- %d more in namespaces\n", len(v.shown)-i)
			break
		}
		fmt.Fprintf(&b, "- %s: %s", ns.GlobalName, catalog.PromptText(ns.Description, maxNamespaceText))
		if names := scopeMembers(ns); names != "" {
			b.WriteString(" | " + names)
		}
		if ns.Prompt != "" {
			b.WriteString(" | " + catalog.PromptText(ns.Prompt, maxNamespacePrompt))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// scopeMembers lists the functions of a scope that is not computed.
func scopeMembers(ns *pluginNamespace) string {
	if ns.scope == nil {
		return ""
	}
	var names []string
	more := 0
	var walk func(n *namespace.Node)
	walk = func(n *namespace.Node) {
		if n.Kind == namespace.Function {
			if len(names) == maxMembersShown {
				more++
				return
			}
			args := strings.Join(n.Call.Args, ", ")
			switch {
			case n.Call.MapInput:
				args = "…"
			case len(n.Call.Args) == 0:
				args = "input"
			}
			names = append(names, ns.GlobalName+"."+strings.Join(n.Call.Path, ".")+"("+args+")")
		}
		for _, child := range n.Children {
			walk(child)
		}
	}
	walk(ns.scope)
	text := strings.Join(names, ", ")
	if more > 0 {
		text += fmt.Sprintf(", %d more", more)
	}
	return text
}
