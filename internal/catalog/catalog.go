package catalog

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/cloister-wasm/cloister/internal/declare"
)

// Catalog is the set of tools that one run may use. It is made by [Build], immutable, and safe for concurrent use.
type Catalog struct {
	entries     []*Entry // in catalog order
	byID        map[string]*Entry
	excluded    []Exclusion
	convenience map[string]string
	counts      map[string]int
	search      *searchIndex
	searchMCP   func() *searchIndex // made at the first use
	digest      func() string
}

// Exclusion is a tool that was given to [Build] and is not in the catalog. For logs and traces, never for guests.
type Exclusion struct {
	ID      string
	Verdict Verdict
}

// Build makes the catalog of one run out of its tools. What a layer hides, and every control tool, is dropped first, so that
// nothing later can list, find, describe or call it. With no layers every tool passes; the host is expected to give its own
// layer at least.
//
// The order is that of tier, then owner, then name, compared byte by byte; it does not depend on the order of entries.
//
// Control tools are never in a catalog: those marked [Entry.Control], and those named exec, wait, tool_search_code,
// tool_search, tool_describe or tool_call, whatever their source and owner. There is one exception, by full identity: the
// core shell tool "cloister:core:exec". A plugin, MCP server or client that names a tool "exec" does not get it through,
// since a cell could not tell it from the control tool it was started with, nor a reader of a trace; whoever adapts that
// server gives it another name ("exec_container"). The reservation is for these exact names: "Exec" or "exec2" are tools
// like any other.
//
// Errors: [EntryError] for an entry that cannot be catalogued, [DuplicateIDError] when two visible tools share an id,
// [ErrInvalidPolicy] for a layer that was not made by [NewLayer] or [NewSandboxLayer]. Ids are checked for hidden tools as
// well; texts and schemas, which are hostile and may be large, only for visible ones.
func Build(entries []Entry, layers ...Layer) (*Catalog, error) {
	if len(entries) > MaxEntries {
		return nil, fmt.Errorf("%w: %d entries were given, at most %d are allowed", ErrInvalidEntry, len(entries), MaxEntries)
	}
	for i, l := range layers {
		if !l.compiledOK {
			return nil, fmt.Errorf("%w: layer %d was not made by NewLayer or NewSandboxLayer", ErrInvalidPolicy, i)
		}
	}
	c := &Catalog{byID: make(map[string]*Entry, len(entries)), counts: map[string]int{SourceCloister: 0, SourceMCP: 0, SourceClient: 0}}
	visible, err := c.filter(entries, layers)
	if err != nil {
		return nil, err
	}
	if err := c.index(visible); err != nil {
		return nil, err
	}
	c.convenience = convenienceNames(c.entries)
	c.digest = sync.OnceValue(func() string { return digestOf(c.entries) })
	return c, nil
}

// numbered is an entry with its position in the input, for errors.
type numbered struct {
	*Entry
	index int
}

// filter checks ids, drops what may not be seen, and sorts the rest.
func (c *Catalog) filter(entries []Entry, layers []Layer) ([]numbered, error) {
	visible := make([]numbered, 0, len(entries))
	for i := range entries {
		e, err := newEntry(i, &entries[i])
		if err != nil {
			return nil, err
		}
		if v := Check(e, layers...); !v.Visible {
			c.excluded = append(c.excluded, Exclusion{ID: e.ID, Verdict: v})
			continue
		}
		if c.byID[e.ID] != nil {
			return nil, &DuplicateIDError{ID: e.ID}
		}
		c.byID[e.ID] = e
		visible = append(visible, numbered{e, i})
	}
	slices.SortFunc(visible, func(a, b numbered) int { return compareEntries(a.Entry, b.Entry) })
	slices.SortStableFunc(c.excluded, func(a, b Exclusion) int { return strings.Compare(a.ID, b.ID) })
	return visible, nil
}

func compareEntries(a, b *Entry) int {
	if a.Tier != b.Tier {
		return int(a.Tier) - int(b.Tier)
	}
	if d := strings.Compare(a.Owner, b.Owner); d != 0 {
		return d
	}
	return strings.Compare(a.Name, b.Name)
}

// index completes the visible entries and makes them searchable.
func (c *Catalog) index(visible []numbered) error {
	x := newIndexer(len(visible))
	c.entries = make([]*Entry, 0, len(visible))
	for _, n := range visible {
		params, err := n.finish(n.index)
		if err != nil {
			return err
		}
		c.entries = append(c.entries, n.Entry)
		c.counts[n.Source]++
		if n.guest() {
			x.add(n.Entry, params)
		}
	}
	c.search = x.finish()
	c.searchMCP = sync.OnceValue(c.indexMCP)
	return nil
}

// indexMCP makes the tools of MCP servers searchable.
func (c *Catalog) indexMCP() *searchIndex {
	x := newIndexer(c.counts[SourceMCP])
	for _, e := range c.entries {
		if e.guest() {
			continue
		}
		params, err := declare.Parse(e.Parameters)
		if err != nil { // cannot be: it was parsed when the entry was completed
			continue
		}
		x.add(e, params)
	}
	return x.finish()
}

// Len returns the number of tools, MCP tools included.
func (c *Catalog) Len() int { return len(c.entries) }

// Entries returns all tools in catalog order, MCP tools included. The slice is the caller's, the entries are not.
func (c *Catalog) Entries() []*Entry { return slices.Clone(c.entries) }

// Lookup finds a tool by its exact id, MCP tools included: it is what the host's dispatcher asks.
func (c *Catalog) Lookup(id string) (*Entry, bool) {
	e, ok := c.byID[id]
	return e, ok
}

// Excluded lists the tools that were dropped, ordered by id, with the rule and layer that decided. For the host's logs and
// traces: a guest must not learn of them.
func (c *Catalog) Excluded() []Exclusion { return slices.Clone(c.excluded) }

// Counts returns the number of tools by source; every source is present.
func (c *Catalog) Counts() map[string]int { return maps.Clone(c.counts) }

// Convenience returns the tools that guest code may call as tools.<name>, by that name. A name is the tool's own with '-', '.'
// and '/' written as '_'. A tool has none when it is an MCP tool, when two tools come out alike (both then have none), or
// when the name is not a plain JavaScript identifier, is a reserved word, begins with "__", or would hide a helper (search,
// describe, call) or something that JavaScript itself looks up on objects, such as then, toJSON or constructor.
func (c *Catalog) Convenience() map[string]string { return maps.Clone(c.convenience) }

// Digest returns the SHA-256, in hex, of everything that a guest can see: ids, labels, descriptions, schemas, marks, in catalog
// order. Equal digests mean that a template made for one catalog serves the other.
func (c *Catalog) Digest() string { return c.digest() }
