package mcpapi

import (
	"cmp"
	"strings"

	"github.com/cloister-wasm/cloister/internal/catalog"
)

// keywords are what the writer of types looks at in one schema.
type keywords struct {
	ref, typ, enum, constant, anyOf, oneOf, allOf                        catalog.Value
	properties, required, additional, patterns                           catalog.Value
	items, prefixItems, additionalItems, maxItems                        catalog.Value
	format, preset, minimum, maximum, exclusiveMinimum, exclusiveMaximum catalog.Value
	title, description                                                   catalog.Value
	nullable, deprecated                                                 bool
}

// read collects the keywords of a schema in one walk over its members, each of which costs a step.
func (w *writer) read(v catalog.Value) (k keywords) {
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
func (k *keywords) readNotes(name string, c catalog.Value) {
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
func (k *keywords) doc() string {
	if k.description.Size() > 2 {
		return k.description.Text()
	}
	return k.title.Text()
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
		value catalog.Value
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

// literal returns a value as TypeScript writes it, "" if it must not be shown, and its type.
func literal(v catalog.Value) (text, typ string) {
	switch {
	case v.IsString():
		if v.Size() > maxString {
			return "", "string"
		}
		return quote(v.Text()), "string"
	case v.IsNumber():
		if v.Size() > maxNumber {
			return "", "number"
		}
		return v.Raw(), "number"
	case v.IsTrue(), v.IsFalse():
		return v.Raw(), "boolean"
	case v.IsNull():
		return "null", "null"
	case v.IsArray():
		return "", "unknown[]"
	}
	return "", "unknown"
}

// literalType is the type of one value.
func literalType(v catalog.Value) string {
	text, typ := literal(v)
	return cmp.Or(text, typ)
}
