package policy

import (
	"sync"

	"github.com/cedar-policy/cedar-go/types"

	"github.com/cloister-wasm/cloister/host"
)

// toolEntities are a tool and the groups that it is in, with how it stands.
type toolEntities struct {
	tool, owner, source types.Entity

	once    sync.Once
	verdict *toolVerdict
}

func (t *toolEntities) get(uid types.EntityUID) (types.Entity, bool) {
	switch uid {
	case t.tool.UID:
		return t.tool, true
	case t.owner.UID:
		return t.owner, true
	case t.source.UID:
		return t.source, true
	}
	return types.Entity{}, false
}

func newToolEntities(f *host.ToolFacts) *toolEntities {
	t := &toolEntities{}
	t.source.UID = types.NewEntityUID(typeSource, types.String(f.Source))
	t.owner.UID = types.NewEntityUID(typeOwner, types.String(f.Source+":"+f.Owner))
	t.owner.Parents = types.NewEntityUIDSet(t.source.UID)
	t.tool.UID = toolUID(f.ID)
	t.tool.Parents = types.NewEntityUIDSet(t.owner.UID)
	t.tool.Attributes = types.NewRecord(types.RecordMap{
		"id":          types.String(f.ID),
		"name":        types.String(f.Name),
		"owner":       types.String(f.Owner),
		"source":      types.String(f.Source),
		"annotations": annotations(&f.Annotations),
		"signer":      types.String(f.Signer),
		"publisher":   types.String(f.Publisher),
		"unsigned":    types.Boolean(f.Unsigned),
		"approval":    types.String(needed(f.Approval)),
	})
	return t
}

// Bounds of a toolCache, more than a catalog usually needs.
const (
	maxCachedTools = 32 << 10
	maxCachedRules = 4 << 20 // that the tools' verdicts refer to, in all
)

// toolCache keeps the entities of tools by all that they are made of: facts that
// differ in anything have another place. It is safe for concurrent use; a nil one
// keeps nothing.
type toolCache struct {
	mu    sync.RWMutex
	known map[toolKey]*toolEntities
	rules int
}

// toolKey is host.ToolFacts with values in place of pointers.
type toolKey struct {
	facts                                        host.ToolFacts // its annotations are nil
	readOnly, destructive, idempotent, openWorld int8
}

func keyOf(f *host.ToolFacts) toolKey {
	said := func(b *bool) int8 {
		switch {
		case b == nil:
			return 0
		case *b:
			return 1
		}
		return -1
	}
	a := f.Annotations
	k := toolKey{*f, said(a.ReadOnly), said(a.Destructive), said(a.Idempotent), said(a.OpenWorld)}
	k.facts.Annotations = host.ToolAnnotations{}
	return k
}

func (c *toolCache) get(f *host.ToolFacts) *toolEntities {
	if c == nil {
		return newToolEntities(f)
	}
	key := keyOf(f)
	c.mu.RLock()
	t := c.known[key]
	c.mu.RUnlock()
	if t != nil {
		return t
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.known[key]; t != nil {
		return t
	}
	if c.known == nil || len(c.known) >= maxCachedTools || c.rules > maxCachedRules {
		c.known, c.rules = map[toolKey]*toolEntities{}, 0
	}
	t = newToolEntities(f)
	c.known[key] = t
	return t
}

// spent counts what a verdict refers to.
func (c *toolCache) spent(rules int) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rules += rules
}

// annotations gives the hints with the defaults of the MCP specification
// (ToolAnnotations), which assume the worst: a tool that does not say writes,
// destroys, and reaches the world outside. Those that its author stated are in stated.
func annotations(a *host.ToolAnnotations) types.Record {
	var stated []types.Value
	hint := func(name types.String, said *bool, otherwise bool) types.Boolean {
		if said == nil {
			return types.Boolean(otherwise)
		}
		stated = append(stated, name)
		return types.Boolean(*said)
	}
	readOnly := hint("readOnly", a.ReadOnly, false)
	return types.NewRecord(types.RecordMap{
		"readOnly":    readOnly,
		"destructive": hint("destructive", a.Destructive, !bool(readOnly)),
		"idempotent":  hint("idempotent", a.Idempotent, bool(readOnly)),
		"openWorld":   hint("openWorld", a.OpenWorld, true),
		"stated":      types.NewSet(stated...),
	})
}

// needed gives the approval that a tool asks for: an empty one is never, and what is
// no known word is always, as the dispatcher takes it.
func needed(a host.Approval) host.Approval {
	switch {
	case a == "":
		return host.ApprovalNever
	case strictness(a) < 0:
		return host.ApprovalAlways
	}
	return a
}
