package view

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

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/internal/catalog"
	"github.com/cloister-wasm/cloister/internal/namespace"
	"github.com/cloister-wasm/cloister/internal/plaintext"
)

// Namespaces are the namespaces that a run shows, and their callable members. They do not change.
type Namespaces struct {
	Setup   []guestabi.GuestNamespace
	MCP     json.RawMessage // the scope of MCP
	Members []Member
	Key     string // names the scopes in the key of the template
}

// NamespaceCache has the namespaces computed once for a run. Nobody waits for plugins with a lock held, or
// longer than his own context.
type NamespaceCache struct {
	mu struct {
		sync.Mutex
		done  chan struct{} // closed when built or err is there; nil before the first asks
		built *Namespaces
		err   error
	}
}

// Get returns what was built, nil if it is not there yet.
func (n *NamespaceCache) Get() *Namespaces {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.mu.built
}

// Member is a function of a namespace or of an MCP server. The guest names it by its number.
type Member struct {
	Of *Namespace // nil for one of an MCP server
	// Server and search are set for what the host answers itself: MCP.<server>.$api and MCP.$search.
	Server *MCPServer
	Search bool
	Path   string // "Issues.update", for the trace
	Call   *namespace.Call
	Tool   *catalog.Entry
}

// visibleNamespaces gives the namespaces whose required tools are all in the
// catalog and belong to the namespace's own plugin.
func visibleNamespaces(all []*Namespace, cat *catalog.Catalog) []*Namespace {
	var visible []*Namespace
	for _, ns := range all {
		if owned(ns, cat, ns.RequiredToolNames) {
			visible = append(visible, ns)
		}
	}
	return visible
}

func owned(ns *Namespace, cat *catalog.Catalog, tools []string) bool {
	for _, name := range tools {
		if _, ok := ownTool(ns, cat, name); !ok {
			return false
		}
	}
	return len(tools) > 0
}

// ownTool finds a tool of the namespace's plugin. The handle decides who owns it,
// not the name.
func ownTool(ns *Namespace, cat *catalog.Catalog, name string) (*catalog.Entry, bool) {
	id, err := catalog.ID(catalog.SourceCloister, ns.Plugin.ID(), name)
	if err != nil {
		return nil, false
	}
	e, ok := cat.Lookup(id)
	if !ok || e.Ref.(Ref).OfPlugin() != ns.Plugin {
		return nil, false
	}
	return e, true
}

// Make returns the namespaces that build makes, once for a run, or waits until they are there or ctx ends. A failure
// is not kept.
func (n *NamespaceCache) Make(ctx context.Context, build func() (*Namespaces, error)) (*Namespaces, error) {
	n.mu.Lock()
	if n.mu.built != nil {
		defer n.mu.Unlock()
		return n.mu.built, nil
	}
	if n.mu.done == nil {
		n.mu.done = make(chan struct{})
		go n.fill(n.mu.done, build)
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

func (n *NamespaceCache) fill(done chan struct{}, build func() (*Namespaces, error)) {
	built, err := build()
	n.mu.Lock()
	n.mu.built, n.mu.err, n.mu.done = built, err, nil
	n.mu.Unlock()
	close(done)
}

// MakeNamespaces encodes the scopes of the visible namespaces, which are given beside them with what went wrong
// when one was computed. A namespace whose scope cannot be had is left out, and refused is told: it takes no cell
// down.
func (v *View) MakeNamespaces(scopes []*namespace.Node, faults []error, refused func(ns *Namespace, err error)) (*Namespaces, error) {
	tree, err := v.mcpTree()
	if err != nil {
		return nil, fmt.Errorf("describing MCP servers to the guest: %w", err)
	}
	n := &Namespaces{Setup: []guestabi.GuestNamespace{}, MCP: tree.scope} // the prelude wants a list
	// Members of MCP come first: their numbers are the same for all runs of a view.
	n.Members = slices.Clip(tree.members)
	for i, ns := range v.Shown {
		before := len(n.Members)
		err := faults[i]
		var scopeTree json.RawMessage
		if err == nil {
			scopeTree, err = encodeScope(nil, ns, v.Catalog, scopes[i], &n.Members)
		}
		if err != nil {
			n.Members = n.Members[:before]
			refused(ns, err)
			continue
		}
		n.Setup = append(n.Setup, guestabi.GuestNamespace{Name: ns.GlobalName, Scope: scopeTree})
	}
	text, err := json.Marshal(n.Setup)
	if err != nil {
		return nil, fmt.Errorf("describing namespaces to the guest: %w", err)
	}
	if len(n.Setup) > 0 {
		sum := sha256.Sum256(text)
		n.Key = "+" + hex.EncodeToString(sum[:])
	}
	return n, nil
}

// encodeScope writes a scope as the guest wants it (guestabi.GuestNamespace) and
// numbers its functions. A function's tool must be one that the namespace
// requires, in this catalog.
func encodeScope(out json.RawMessage, ns *Namespace, cat *catalog.Catalog, node *namespace.Node, members *[]Member) (json.RawMessage, error) {
	switch node.Kind {
	case namespace.Function:
		e, ok := ownTool(ns, cat, node.Call.Tool)
		if !ok {
			return nil, fmt.Errorf("the scope calls %q, which is no tool of %s in this run", plaintext.Clip(node.Call.Tool, 80), ns.Plugin.ID())
		}
		out = append(out, `["c",`...)
		out = strconv.AppendInt(out, int64(len(*members)), 10)
		*members = append(*members, Member{Of: ns, Path: ns.GlobalName + "." + strings.Join(node.Call.Path, "."), Call: node.Call, Tool: e})
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

// Bounds of the part of the exec description that is about namespaces, in runes.
const (
	maxNamespaceText   = 300
	maxNamespacePrompt = 1000
	maxNamespaceList   = 32
	maxMembersShown    = 24
)

// describeNamespaces teaches the visible namespaces: name, description, functions
// as far as they are known, and the prompt.
func (v *View) describeNamespaces() string {
	if len(v.Shown) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\nNamespaces (globals; the texts are by their plugins):\n")
	for i, ns := range v.Shown {
		if i == maxNamespaceList {
			fmt.Fprintf(&b, "- %d more in namespaces\n", len(v.Shown)-i)
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
func scopeMembers(ns *Namespace) string {
	if ns.Scope == nil {
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
	walk(ns.Scope)
	text := strings.Join(names, ", ")
	if more > 0 {
		text += fmt.Sprintf(", %d more", more)
	}
	return text
}
