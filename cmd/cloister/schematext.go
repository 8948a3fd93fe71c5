package main

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode"
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

// objectSchema is what is read of an object schema. The catalog has checked that
// it is JSON of bounded size and depth.
type objectSchema struct {
	Type       json.RawMessage            `json:"type"`
	Properties json.RawMessage            `json:"properties"`
	Required   []string                   `json:"required"`
	Ref        json.RawMessage            `json:"$ref"`
	AllOf      json.RawMessage            `json:"allOf"`
	AnyOf      json.RawMessage            `json:"anyOf"`
	OneOf      json.RawMessage            `json:"oneOf"`
	Patterns   map[string]json.RawMessage `json:"patternProperties"`
}

// Bounds of what is shown of a schema; --json shows all.
const (
	maxMemberDepth = 3
	maxMembers     = 200
)

// readMembers reads the properties of a plain object schema in their order, each
// followed by those of the objects in it. It says false for schemas that a table
// does not do justice to.
func readMembers(schema json.RawMessage) ([]member, bool) { return membersAt(schema, 0) }

func membersAt(schema json.RawMessage, depth int) ([]member, bool) {
	var o objectSchema
	if json.Unmarshal(schema, &o) != nil || string(o.Type) != `"object"` ||
		o.Ref != nil || o.AllOf != nil || o.AnyOf != nil || o.OneOf != nil || len(o.Patterns) > 0 {
		return nil, false
	}
	if o.Properties == nil {
		return nil, true
	}
	dec := json.NewDecoder(bytes.NewReader(o.Properties))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return nil, false
	}
	var out []member
	for dec.More() {
		token, err := dec.Token()
		name, ok := token.(string)
		var property json.RawMessage
		if err != nil || !ok || dec.Decode(&property) != nil {
			return nil, false
		}
		m := member{name: name, required: slices.Contains(o.Required, name), depth: depth}
		m.kind, m.about = describeProperty(property)
		out = append(out, m)
		if depth < maxMemberDepth-1 && len(out) < maxMembers {
			// What is no plain object in turn has no members to show.
			inner, _ := membersAt(elementOf(property), depth+1)
			out = append(out, inner...)
		}
		if len(out) >= maxMembers {
			return append(out[:maxMembers], member{name: "…", about: "more; --json shows all", depth: depth}), true
		}
	}
	return out, true
}

// elementOf goes through arrays to the schema of what they hold.
func elementOf(schema json.RawMessage) json.RawMessage {
	for range maxMemberDepth {
		var array struct {
			Type  json.RawMessage `json:"type"`
			Items json.RawMessage `json:"items"`
		}
		if json.Unmarshal(schema, &array) != nil || string(array.Type) != `"array"` || array.Items == nil {
			break
		}
		schema = array.Items
	}
	return schema
}

// describeProperty gives a short type and the description of one property.
func describeProperty(schema json.RawMessage) (kind, about string) {
	var p struct {
		Type        json.RawMessage   `json:"type"`
		Enum        []json.RawMessage `json:"enum"`
		Const       json.RawMessage   `json:"const"`
		Items       json.RawMessage   `json:"items"`
		Description string            `json:"description"`
		Default     json.RawMessage   `json:"default"`
	}
	if json.Unmarshal(schema, &p) != nil {
		return "any", ""
	}
	about = escapeLine(strings.Join(strings.Fields(p.Description), " "))
	if p.Default != nil {
		if about != "" {
			about += "; "
		}
		about += "default " + plainJSON(p.Default)
	}
	var list []string
	switch {
	case len(p.Enum) > 0:
		for _, v := range p.Enum {
			list = append(list, plainJSON(v))
		}
	case p.Const != nil:
		list = []string{plainJSON(p.Const)}
	case json.Unmarshal(p.Type, &list) == nil && list != nil:
	default:
		var name string
		if json.Unmarshal(p.Type, &name) != nil || name == "" {
			name = "any"
		}
		list = []string{name}
	}
	kind = escapeLine(strings.Join(list, " | "))
	if len(p.Enum) > 0 && textWidth(kind) > maxNameWidth {
		about = strings.TrimLeft(about+"; one of "+strings.Join(list, ", "), "; ")
		kind = "one of…"
	}
	kind = clip(kind, maxNameWidth)
	if kind == "array" && p.Items != nil {
		element, _ := describeProperty(p.Items)
		if strings.Contains(element, " ") {
			element = "(" + element + ")"
		}
		kind = clip(element+"[]", maxNameWidth)
	}
	return kind, about
}

// plainJSON is JSON on one line, safe to show.
func plainJSON(text json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, text) != nil {
		return escapeLine(string(text))
	}
	return string(escapeJSON(b.Bytes()))
}
