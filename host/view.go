package host

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/cloister-wasm/cloister/api"

	"github.com/cloister-wasm/cloister/internal/catalog"
)

// view is what a run sees of a toolset: the catalog that policy leaves, with all that
// is made of it. It does not change, and runs that see the same share it: of
// thousands of tools, making one takes longer than a cell.
type view struct {
	cat         *catalog.Catalog
	hidden      map[string]string // ids that the policy hides, and the rules
	shown       []*pluginNamespace
	mcp         []*runMCPServer
	missing     []string         // MCP servers that are not available now, as MCP would have them
	tools       []*catalog.Entry // as the guest numbers them
	catalogKey  string
	mcpTree     func() (*mcpTree, error)
	description func() string
	direct      func() []api.ToolDefinition // the surface without code mode
}

func (h *Host) newView(ts *toolset, entries []catalog.Entry, hidden map[string]string, missing []string, layers []catalog.Layer) (*view, error) {
	cat, err := catalog.Build(entries, layers...)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", api.ErrTool, err)
	}
	v := &view{cat: cat, hidden: hidden, catalogKey: cat.Digest(), shown: visibleNamespaces(ts, cat), mcp: visibleMCP(ts, cat), tools: cat.GuestTools()}
	v.missing = missingNames(v.mcp, missing)
	v.catalogKey += instructionsKey(v.mcp)
	v.mcpTree = sync.OnceValues(func() (*mcpTree, error) { return encodeMCP(v.mcp) })
	v.description = sync.OnceValue(func() string { return h.describeExec(v) })
	v.direct = sync.OnceValue(func() []api.ToolDefinition { return directSurface(cat.Entries()) })
	return v, nil
}

// maxViews bounds the views that a toolset keeps.
const maxViews = 64

// views are those of one toolset, by what policy made of it.
type views struct {
	mu    sync.Mutex
	byKey map[string]*view
}

// viewKey names what a run without client tools sees of a toolset. The policy was
// asked before: what it hides is part of the key, and so are the rules, which the
// trace names, and the servers that are missing as far as the run may know of them.
func viewKey(o *RunOptions, hidden map[string]string, missing []string) (string, error) {
	rules := make([][2]string, 0, len(hidden))
	for _, id := range slices.Sorted(maps.Keys(hidden)) {
		rules = append(rules, [2]string{id, hidden[id]})
	}
	key, err := json.Marshal(struct {
		Sandboxed, DisableTools bool
		Allow, Deny             []string
		Hidden                  [][2]string
		Missing                 []string
	}{o.Sandboxed, o.DisableTools, o.Allow, o.Deny, rules, missing})
	return string(key), err
}

// get gives the view for a key, made by build if there is none. Two that ask at once
// may both make it.
func (vs *views) get(key string, build func() (*view, error)) (*view, error) {
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
		vs.byKey = map[string]*view{}
	}
	vs.byKey[key] = v
	return v, nil
}
