package view

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/cloister-wasm/cloister/api"
	"github.com/cloister-wasm/cloister/internal/catalog"
	"github.com/cloister-wasm/cloister/internal/namespace"
	"github.com/cloister-wasm/cloister/internal/plaintext"
	"github.com/cloister-wasm/cloister/plugins"
)

// View is what a run sees of a toolset: the catalog that policy leaves, with all that
// is made of it. It does not change, and runs that see the same share it: of
// thousands of tools, making one takes longer than a cell.
type View struct {
	Catalog     *catalog.Catalog
	hidden      map[string]string // ids that the policy hides, and the rules
	Shown       []*Namespace
	MCP         []*MCPServer
	missing     []string         // MCP servers that are not available now, as MCP would have them
	GuestTools  []*catalog.Entry // as the guest numbers them
	CatalogKey  string
	mcpTree     func() (*mcpTree, error)
	Description func() string
	Direct      func() []api.ToolDefinition // the surface without code mode
}

// New makes a view. The error wraps api.ErrTool: an id that is taken twice.
func New(o *Options) (*View, error) {
	cat, err := catalog.Build(o.Entries, o.Layers...)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", api.ErrTool, err)
	}
	v := &View{Catalog: cat, hidden: o.Hidden, CatalogKey: cat.Digest(), Shown: visibleNamespaces(o.Namespaces, cat), MCP: visibleMCP(o.Servers, cat), GuestTools: cat.GuestTools()}
	v.missing = missingNames(v.MCP, o.Missing)
	v.CatalogKey += instructionsKey(v.MCP)
	v.mcpTree = sync.OnceValues(func() (*mcpTree, error) { return encodeMCP(v.MCP) })
	v.Description = sync.OnceValue(func() string { return v.describeExec(o.TypeScript) })
	v.Direct = sync.OnceValue(func() []api.ToolDefinition { return directSurface(cat.Entries()) })
	return v, nil
}

// Options says what a view is made of.
type Options struct {
	Entries    []catalog.Entry // each with a ref
	Layers     []catalog.Layer
	Hidden     map[string]string // ids that the policy hides, and the rules
	Namespaces []*Namespace
	Servers    []Server // in any order
	Missing    []string // names of servers that are not available now, as far as the run may know of them
	TypeScript bool     // cells may be TypeScript
}

// Ref is what a view has to know of a tool beside its entry: the Ref of each entry.
type Ref interface {
	// OfPlugin is the plugin whose tool it is, nil for any other.
	OfPlugin() *plugins.Plugin
	// OfServer is the tool as its MCP server has it, nil for any other, and for resources and prompts.
	OfServer() *api.MCPTool
	// Hints are the author's annotations.
	Hints() api.ToolAnnotations
}

// Server is an MCP server that a view may show.
type Server struct{ Name, Instructions string }

// Namespace is a namespace of a plugin with its scope, if that is not computed.
type Namespace struct {
	Plugin *plugins.Plugin
	plugins.Namespace
	Scope *namespace.Node
}

// maxViews bounds the views that a toolset keeps.
const maxViews = 64

// Cache are those of one toolset, by what policy made of it.
type Cache struct {
	mu    sync.Mutex
	byKey map[string]*View
}

// Key names what a run without client tools sees of a toolset. The policy was
// asked before: what it hides is part of the key, and so are the rules, which the
// trace names, and the servers that are missing as far as the run may know of them.
func Key(sandboxed, disabled bool, allow, deny []string, hidden map[string]string, missing []string) (string, error) {
	rules := make([][2]string, 0, len(hidden))
	for _, id := range slices.Sorted(maps.Keys(hidden)) {
		rules = append(rules, [2]string{id, hidden[id]})
	}
	key, err := json.Marshal(struct {
		Sandboxed, DisableTools bool
		Allow, Deny             []string
		Hidden                  [][2]string
		Missing                 []string
	}{sandboxed, disabled, allow, deny, rules, missing})
	return string(key), err
}

// Get gives the view for a key, made by build if there is none. Two that ask at once
// may both make it.
func (vs *Cache) Get(key string, build func() (*View, error)) (*View, error) {
	vs.mu.Lock()
	v := vs.byKey[key]
	vs.mu.Unlock()
	if v != nil {
		return v, nil
	}
	v, err := build()
	if err != nil {
		return nil, err
	}
	vs.mu.Lock()
	defer vs.mu.Unlock()
	if vs.byKey == nil || len(vs.byKey) >= maxViews {
		vs.byKey = map[string]*View{}
	}
	vs.byKey[key] = v
	return v, nil
}

// UnknownTool is the answer for an id that is not in the catalog, denied ones
// included: a guest cannot tell the two apart.
func (v *View) UnknownTool(id string) *api.ToolError {
	msg := fmt.Sprintf("no tool has the id %q", plaintext.Clip(id, 200))
	if how := v.mcpInstead(id); how != "" {
		msg += " here; " + how
	} else if s := v.Catalog.Suggest(id); len(s) > 0 {
		msg += "; did you mean " + strings.Join(s, ", ") + "?"
	} else {
		msg += "; find ids with tools.search(query)"
	}
	return &api.ToolError{Message: msg, Code: api.CodeUnknownTool}
}

// KnownID returns an id that names a tool, also one that the run's policy hides, and "" for any other text. Traces go to
// places that inputs do not go to, and are indexed: what a cell makes up is data of its choice, in as many forms as it likes.
func (v *View) KnownID(id string) string {
	if _, ok := v.Catalog.Lookup(id); ok {
		return id
	}
	if _, ok := v.hidden[id]; ok || slices.ContainsFunc(v.Catalog.Excluded(), func(x catalog.Exclusion) bool { return x.ID == id }) {
		return id
	}
	return ""
}

// RuleAgainst says, for the trace, why an id is not in the catalog.
func (v *View) RuleAgainst(id string) string {
	if rule, ok := v.hidden[id]; ok {
		return rule
	}
	for _, x := range v.Catalog.Excluded() {
		if x.ID == id {
			return x.Verdict.String()
		}
	}
	return "no such tool"
}
