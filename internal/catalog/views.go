package catalog

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
)

// MarshalCompact renders entries, as [Catalog.Search] returns them, as a JSON array of {id, name, label?, description,
// source, sourceName?} (contract "Guest API").
func MarshalCompact(entries []*Entry) json.RawMessage {
	b := []byte{'['}
	for i, e := range entries {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendCompact(b, e), '}')
	}
	return append(b, ']')
}

// appendCompact appends a compact entry but for its closing brace. JSON is written by hand here because it cannot fail
// that way, and because encoding/json would escape and check everything a second time.
func appendCompact(b []byte, e *Entry) []byte {
	b = appendMember(append(b, '{'), "id", e.ID)
	b = appendMember(append(b, ','), "name", e.Name)
	if e.Label != "" {
		b = appendMember(append(b, ','), "label", e.Label)
	}
	b = appendMember(append(b, ','), "description", e.Description)
	b = appendMember(append(b, ','), "source", e.Source)
	if name := e.sourceName(); name != "" {
		b = appendMember(append(b, ','), "sourceName", name)
	}
	return b
}

func appendMember(b []byte, name, value string) []byte {
	b = append(append(append(b, '"'), name...), `":"`...)
	for i := range len(value) {
		switch c := value[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c < ' ': // cleaned text holds only tabs and line feeds of these
			b = fmt.Appendf(b, `\u%04x`, c)
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}

// GuestEntries renders ALL_TOOLS: every tool but those of MCP, in catalog order, in the form of [MarshalCompact]. Labels and
// descriptions are free of control, format and invisible characters; they remain text that strangers wrote.
func (c *Catalog) GuestEntries() json.RawMessage { return MarshalCompact(c.search.docs) }

// Describe renders the answer of tools.describe: the compact entry, parameters, returns when declared, and "unsigned":true for
// a development plugin that was loaded without a signature. Schemas are given as their owner wrote them, white space aside.
// An id that guest code cannot see, denied and MCP tools included, is an [UnknownIDError].
func (c *Catalog) Describe(id string) (json.RawMessage, error) {
	e, ok := c.byID[id]
	if !ok || !e.guest() {
		return nil, &UnknownIDError{ID: id, Suggestions: c.Suggest(id)}
	}
	b := appendCompact(nil, e)
	if e.Unsigned {
		b = append(b, `,"unsigned":true`...)
	}
	b = append(append(b, `,"parameters":`...), e.Parameters...)
	if e.Returns != nil {
		b = append(append(b, `,"returns":`...), e.Returns...)
	}
	return append(b, '}'), nil
}

// digestOf hashes each field with its length before it, so that no two catalogs run together to the same bytes.
func digestOf(entries []*Entry) string {
	h := sha256.New()
	var size [8]byte
	put := func(field []byte) {
		binary.BigEndian.PutUint64(size[:], uint64(len(field)))
		h.Write(size[:]) // a hash never fails to write
		h.Write(field)
	}
	put([]byte("cloister.catalog/1"))
	for _, e := range entries {
		put([]byte(e.ID))
		put([]byte(e.Label))
		put([]byte(e.Description))
		put(e.Parameters)
		put(e.Returns)
		mark := []byte{0}
		if e.Unsigned {
			mark[0] = 1
		}
		put(mark)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// GuestTools returns the tools of [Catalog.GuestEntries] in the same order, so that a guest can name one by its place. The
// slice is the caller's, the entries are not.
func (c *Catalog) GuestTools() []*Entry { return slices.Clone(c.search.docs) }
