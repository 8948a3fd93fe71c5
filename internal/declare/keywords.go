package declare

import (
	"slices"
	"strings"
)

// keywords are what the writer of types looks at in one schema.
type keywords struct {
	ref, typ, enum, constant, anyOf, oneOf, allOf                        Value
	properties, required, additional, patterns                           Value
	items, prefixItems, additionalItems, maxItems                        Value
	format, preset, minimum, maximum, exclusiveMinimum, exclusiveMaximum Value
	title, description                                                   Value
	nullable, deprecated                                                 bool
}

// read collects the keywords of a schema in one walk over its members, each of which costs a step.
func (w *writer) read(v Value) (k keywords) {
	for name, c := range v.Children() {
		if !w.step(1) {
			break
		}
		switch name {
		case "$ref":
			k.ref = c
		case "type":
			k.typ = c
		case "enum":
			k.enum = c
		case "const":
			k.constant = c
		case "anyOf":
			k.anyOf = c
		case "oneOf":
			k.oneOf = c
		case "allOf":
			k.allOf = c
		case "properties":
			k.properties = c
		case "required":
			k.required = c
		case "additionalProperties":
			k.additional = c
		case "patternProperties":
			k.patterns = c
		case "items":
			k.items = c
		case "prefixItems":
			k.prefixItems = c
		case "additionalItems":
			k.additionalItems = c
		case "maxItems":
			k.maxItems = c
		default:
			k.readNotes(name, c)
		}
	}
	return k
}

// readNotes collects the keywords that are shown in comments.
func (k *keywords) readNotes(name string, c Value) {
	switch name {
	case "format":
		k.format = c
	case "default":
		k.preset = c
	case "minimum":
		k.minimum = c
	case "maximum":
		k.maximum = c
	case "exclusiveMinimum":
		k.exclusiveMinimum = c
	case "exclusiveMaximum":
		k.exclusiveMaximum = c
	case "title":
		k.title = c
	case "description":
		k.description = c
	case "nullable":
		k.nullable = c.IsTrue()
	case "deprecated":
		k.deprecated = c.IsTrue()
	}
}

// doc is the text about a property, for a comment.
func (k *keywords) doc() Value {
	if k.description.Size() > 2 {
		return k.description
	}
	return k.title
}

// note says in a comment what the type cannot: formats, bounds, the default. It holds nothing but ASCII.
func (k *keywords) note(typ string) string {
	var notes []string
	if typ == "integer" {
		notes = append(notes, "integer")
	}
	if f := k.format.Text(); typ == "string" && isWord(f) {
		notes = append(notes, f)
	}
	for _, bound := range []struct {
		sign  string
		value Value
	}{{">= ", k.minimum}, {"> ", k.exclusiveMinimum}, {"<= ", k.maximum}, {"< ", k.exclusiveMaximum}} {
		if bound.value.IsNumber() && bound.value.Size() <= maxNumber && !safeIntegers[bound.sign+bound.value.Raw()] {
			notes = append(notes, bound.sign+bound.value.Raw())
		}
	}
	return strings.Join(notes, ", ")
}

// safeIntegers are the bounds of what a number of JavaScript holds exactly, which some libraries write for each integer.
var safeIntegers = map[string]bool{">= -9007199254740991": true, "<= 9007199254740991": true}

// isWord reports the form of the names of formats.
func isWord(s string) bool {
	for i := range len(s) {
		if !isAlphanumeric(s[i]) && s[i] != '-' && s[i] != '_' {
			return false
		}
	}
	return s != "" && len(s) <= 32
}

// names is a set of names of members, or of other texts.
type names struct {
	count int // of few
	few   [fewMembers]string
	many  map[string]bool // once there are many
}

func (n *names) add(name string) {
	switch {
	case n.many != nil:
		n.many[name] = true
	case n.count < len(n.few):
		n.few[n.count] = name
		n.count++
	default:
		n.many = make(map[string]bool, 2*len(n.few))
		for _, few := range n.few {
			n.many[few] = true
		}
		n.many[name] = true
	}
}

func (n *names) has(name string) bool {
	if n.many != nil {
		return n.many[name]
	}
	return slices.Contains(n.few[:n.count], name)
}

func (n *names) isEmpty() bool { return n.count == 0 }

// required reads which members are required.
func (w *writer) required(k *keywords) (set names) {
	if !k.required.IsArray() {
		return set
	}
	for _, v := range k.required.Children() {
		if len(set.many) == w.form.look || !w.step(1) {
			break
		}
		set.add(v.Text())
	}
	return set
}
