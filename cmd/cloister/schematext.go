package main

import (
	"encoding/json"
	"strings"
	"unicode"

	"github.com/cloister-wasm/cloister/internal/declare"
)

// member is a property of an object schema, ready to be shown.
type member struct {
	name        string // as it is: hostile
	kind, about string
	required    bool
	depth       int // of nesting: 0 for the schema's own properties
}

// shown is the name, indented by its depth and marked like an optional member in
// TypeScript.
func (m member) shown() string {
	name := strings.Repeat("  ", m.depth) + m.key()
	if m.required || m.kind == "" {
		return name
	}
	return name + "?"
}

// key is the name as an object literal has it: quoted if it is no identifier.
func (m member) key() string {
	plain := m.name != "" && (m.name[0] < '0' || m.name[0] > '9')
	for _, c := range m.name {
		plain = plain && (c == '_' || c == '$' || c == '…' || unicode.IsLetter(c) || unicode.IsDigit(c))
	}
	if plain {
		return m.name
	}
	return string(escapeJSON(marshalPlain(m.name)))
}

// Bounds of what is shown of a schema; --json shows all.
const (
	maxMemberDepth = 3
	maxMembers     = 200
)

// readMembers reads the properties of a plain object schema in their order, each
// followed by those of the objects in it. It says false for schemas that a table
// does not do justice to.
func readMembers(schema json.RawMessage) ([]member, bool) {
	v, err := declare.Parse(schema)
	if err != nil {
		return nil, false
	}
	rows, more, ok := declare.Table(v, maxMemberDepth, maxMembers)
	members := make([]member, 0, len(rows)+1)
	for _, r := range rows {
		m := member{name: r.Name, required: r.Required, depth: r.Depth}
		m.kind, m.about = describeRow(&r)
		members = append(members, m)
	}
	if more {
		members = append(members, member{name: "…", about: "more; --json shows all"})
	}
	return members, ok
}

// describeRow gives the type and what is said about a property, safe to show.
func describeRow(r *declare.Row) (kind, about string) {
	kind = string(escapeJSON([]byte(r.Type)))
	var notes []string
	if text := strings.Join(strings.Fields(r.About), " "); text != "" {
		notes = append(notes, escapeLine(text))
	}
	if r.Default != "" {
		notes = append(notes, "default "+string(escapeJSON([]byte(r.Default))))
	}
	if len(r.Values) > 0 && textWidth(kind) > maxNameWidth {
		notes = append(notes, "one of "+string(escapeJSON([]byte(strings.Join(r.Values, ", ")))))
		kind = "one of…"
	}
	return clip(kind, maxNameWidth), strings.Join(notes, "; ")
}
