package catalog

import (
	"cmp"
	"strings"
)

// Bounds on a signature, which is one line of a model's prompt.
const (
	maxTypeDepth   = 3   // nested objects that are spelled out
	maxTypeVisits  = 200 // schemas looked at, references included: bounds unions of unions and circles of references
	maxUnion       = 6   // alternatives of a union or an enum
	maxMembers     = 12  // members of one object
	maxProperties  = 256 // members looked at to choose them from
	maxTypeLen     = 200 // bytes, of the input; likewise of the output
	maxLiteralLen  = 32  // bytes of one enum value
	maxKeyLen      = 40  // bytes of one member's name
	maxRefSegments = 16  // steps of one reference
)

// typeWriter renders JSON Schemas as TypeScript-like types. The schema is hostile: the work is bounded, and nothing comes out
// but printable ASCII without backticks and angle brackets.
type typeWriter struct {
	*schema
	depth   int // objects that may still be spelled out
	members int // members of one object that may be
	visits  int
}

// inputSignature renders the arguments of a call, without the parentheses. A schema that declares no parameters and does not
// ask for others gives none.
func inputSignature(s *schema) string {
	if t := s.boundedType(); t != "object" && t != "any" {
		return t
	}
	for _, word := range []string{"additionalProperties", "patternProperties", "propertyNames", "properties", "minProperties"} {
		if n := s.member(s.root(), word); n != nil && !(n.kind == kindBool && !s.isTrue(n)) && !(n.kind == kindObject && n.child == 0) {
			return "input?: object"
		}
	}
	if s.member(s.root(), "$ref") != nil {
		return "input?: object"
	}
	return ""
}

// boundedType renders the whole schema, and spells out less as long as that is too long.
func (s *schema) boundedType() string {
	for _, shape := range [][2]int{{maxTypeDepth, maxMembers}, {2, maxMembers}, {1, maxMembers}, {1, 6}, {1, 3}} {
		w := typeWriter{schema: s, depth: shape[0], members: shape[1], visits: maxTypeVisits}
		if t := w.render(s.root()); len(t) <= maxTypeLen {
			return t
		}
	}
	return "object"
}

// render gives the type of one schema.
func (w *typeWriter) render(n *node) string {
	if w.visits--; w.visits < 0 || n == nil || n.kind != kindObject {
		return "any"
	}
	if ref := w.member(n, "$ref"); ref != nil {
		return w.render(w.resolve(w.str(ref)))
	}
	if c := w.member(n, "const"); c != nil {
		text, typ := w.literal(c)
		return cmp.Or(text, typ)
	}
	if enum := w.member(n, "enum"); enum != nil && enum.kind == kindArray {
		return w.literals(enum)
	}
	for _, word := range []string{"anyOf", "oneOf"} {
		if list := w.member(n, word); list != nil && list.kind == kindArray {
			return w.union(list)
		}
	}
	if all := w.member(n, "allOf"); all != nil && all.kind == kindArray && w.member(n, "properties") == nil {
		return w.render(w.firstChild(all))
	}
	return w.byType(n)
}

func (w *typeWriter) firstChild(n *node) *node {
	for c := range w.children(n) {
		return c
	}
	return nil
}

// byType follows the keyword type, or what the other keywords let guess of it.
func (w *typeWriter) byType(n *node) string {
	t := w.member(n, "type")
	switch {
	case t != nil && t.kind == kindArray:
		var alternatives []string
		for c := range w.children(t) {
			alternatives = append(alternatives, w.named(n, w.str(c)))
			if len(alternatives) > maxUnion {
				return "any"
			}
		}
		return joinUnion(alternatives)
	case t != nil:
		return w.named(n, w.str(t))
	case w.member(n, "properties") != nil:
		return w.named(n, "object")
	case w.member(n, "items") != nil:
		return w.named(n, "array")
	}
	return "any"
}

func (w *typeWriter) named(n *node, name string) string {
	switch name {
	case "string", "number", "boolean", "null":
		return name
	case "integer":
		return "number"
	case "array":
		element := w.render(w.member(n, "items"))
		if isUnion(element) {
			element = "(" + element + ")"
		}
		return element + "[]"
	case "object":
		return w.object(n)
	}
	return "any"
}

// object renders {a: string, b?: number}, required members first.
func (w *typeWriter) object(n *node) string {
	properties := w.member(n, "properties")
	if properties == nil || properties.child == 0 || w.depth == 0 {
		return "object"
	}
	w.depth--
	defer func() { w.depth++ }()
	required := w.required(n)
	var parts []string
	more := false
	for _, wantRequired := range []bool{true, false} {
		seen := 0
		for p := range w.children(properties) {
			if seen++; seen > maxProperties {
				more = true
				break
			}
			key := w.key(p)
			if required[key] != wantRequired {
				continue
			}
			if len(parts) == w.members {
				more = true
				break
			}
			mark := "?: "
			if wantRequired {
				mark = ": "
			}
			parts = append(parts, propertyName(key)+mark+w.render(p))
		}
	}
	if more {
		parts = append(parts, "...")
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

func (w *typeWriter) required(n *node) map[string]bool {
	set := map[string]bool{}
	if list := w.member(n, "required"); list != nil {
		for c := range w.children(list) {
			if set[w.str(c)] = true; len(set) == maxProperties {
				break
			}
		}
	}
	return set
}

func (w *typeWriter) union(list *node) string {
	var alternatives []string
	for c := range w.children(list) {
		if len(alternatives) == maxUnion {
			return "any"
		}
		alternatives = append(alternatives, w.render(c))
	}
	return joinUnion(alternatives)
}

// joinUnion drops repetitions; any swallows the rest.
func joinUnion(alternatives []string) string {
	var unique []string
next:
	for _, a := range alternatives {
		if a == "any" {
			return "any"
		}
		for _, u := range unique {
			if u == a {
				continue next
			}
		}
		unique = append(unique, a)
	}
	if len(unique) == 0 {
		return "any"
	}
	return strings.Join(unique, " | ")
}

// isUnion reports alternatives that do not stand inside braces.
func isUnion(t string) bool {
	depth := 0
	for i := range len(t) {
		switch t[i] {
		case '{':
			depth++
		case '}':
			depth--
		case '|':
			if depth == 0 {
				return true
			}
		}
	}
	return false
}

// literals renders the values of an enum. Where they are too many, too long or not plain, their common type stands in.
func (w *typeWriter) literals(enum *node) string {
	var values []string
	common, show, seen := "", true, 0
	for n := range w.children(enum) {
		if seen++; seen > maxProperties {
			break
		}
		text, typ := w.literal(n)
		if common == "" {
			common = typ
		} else if common != typ {
			common = "any"
		}
		if show = show && text != "" && len(values) < maxUnion; show {
			values = append(values, text)
		}
	}
	if show {
		return joinUnion(values)
	}
	return common
}

// literal returns a value as it is written in TypeScript, "" when it must not be shown, and its type.
func (w *typeWriter) literal(n *node) (text, typ string) {
	raw := string(w.text[n.start:n.end])
	switch n.kind {
	case kindString:
		if len(raw) > maxLiteralLen+2 || !plainLiteral(raw[1:len(raw)-1]) {
			return "", "string"
		}
		return raw, "string"
	case kindNumber:
		if len(raw) > maxLiteralLen {
			return "", "number"
		}
		return raw, "number"
	case kindBool:
		return raw, "boolean"
	case kindNull:
		return raw, "null"
	}
	return "", "any"
}

// plainLiteral reports text that can stand in a prompt between quotes as it is.
func plainLiteral(s string) bool {
	for i := range len(s) {
		if !plainByte(s[i]) {
			return false
		}
	}
	return true
}

func plainByte(c byte) bool {
	return ' ' <= c && c <= '~' && c != '"' && c != '\\' && c != '`' && c != '<' && c != '>'
}

// propertyName writes an identifier as it is, and everything else in quotes with the characters replaced that do not belong
// into a prompt. Describe gives the true name.
func propertyName(key string) string {
	if len(key) > maxKeyLen {
		key = key[:maxKeyLen]
	}
	identifier := key != ""
	out := []byte{'"'}
	for i, r := range key {
		if !(r == '_' || r == '$' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || i > 0 && '0' <= r && r <= '9') {
			identifier = false
		}
		if r > '~' || !plainByte(byte(r)) {
			r = '?'
		}
		out = append(out, byte(r))
	}
	if identifier {
		return key
	}
	return string(append(out, '"'))
}

// resolve follows a reference inside the schema, "#/$defs/name"; anything else is nil. Nothing is ever loaded.
func (s *schema) resolve(ref string) *node {
	if ref == "#" {
		return s.root()
	}
	pointer, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil
	}
	segments := strings.SplitN(pointer, "/", maxRefSegments+1)
	if len(segments) > maxRefSegments {
		return nil
	}
	n := s.root()
	for _, segment := range segments {
		if n = s.member(n, pointerReplacer.Replace(segment)); n == nil {
			return nil
		}
	}
	return n
}

var pointerReplacer = strings.NewReplacer("~1", "/", "~0", "~")
