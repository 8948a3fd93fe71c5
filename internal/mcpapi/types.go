package mcpapi

import (
	"strconv"
	"strings"

	"github.com/cloister-wasm/cloister/internal/catalog"
)

// Bounds of one type.
const (
	maxNest     = 32  // schemas inside of schemas, references included
	maxRefs     = 16  // steps of one reference
	maxUnion    = 64  // alternatives of a union
	maxValues   = 64  // values of an enum
	maxString   = 200 // bytes of a string of the schema that is shown as a value or a key, as it was written
	maxNumber   = 32  // bytes of a number
	inlineWidth = 76  // characters of an object that stands on one line
)

const (
	anything  = "unknown"
	anyObject = "Record<string, unknown>"
)

// shape says how much of a schema is shown.
type shape struct {
	depth   int // objects inside of objects
	members int // members of one object
	docs    bool
}

// writer renders JSON Schemas as TypeScript types. The schema is hostile: each value looked at costs a step, each byte written
// counts, and where either runs out the rest is unknown.
type writer struct {
	shape
	root  catalog.Value
	steps *int // left
	bytes int  // left
	nest  int
	level int // of objects around what is written, which is its indentation too
	base  int // the level of the type as a whole
	open  []catalog.Value
	refs  map[string]catalog.Value
	// params collects the texts about the members of the outermost object. If nil, they are comments inside of it.
	params *[]param
	cut    bool // something was left out
	short  bool // a text about a member is not whole
}

type param struct{ name, doc string }

// typ is a type and what holds its text together: '|' and '&' for operators, 'c' for a comment at its end, 0 for one that stands by itself.
type typ struct {
	text string
	op   byte
}

// step pays for n values looked at.
func (w *writer) step(n int) bool {
	if *w.steps -= n; *w.steps < 0 {
		*w.steps, w.cut = 0, true
		return false
	}
	return true
}

// pay pays for n bytes written.
func (w *writer) pay(n int) bool {
	if w.bytes -= n; w.bytes < 0 {
		w.bytes, w.cut = 0, true
		return false
	}
	return true
}

func (w *writer) leaveOut() typ {
	w.cut = true
	return typ{text: anything}
}

// render gives the type of one schema.
func (w *writer) render(v catalog.Value) typ {
	t, _ := w.renderMember(v)
	return t
}

// renderMember gives the type of the schema of a property, and the text about it.
func (w *writer) renderMember(v catalog.Value) (t typ, doc string) {
	switch {
	case v.IsFalse():
		return typ{text: "never"}, ""
	case !v.IsObject():
		return typ{text: anything}, ""
	case w.nest == maxNest || !w.step(1) || !w.pay(4):
		return w.leaveOut(), ""
	}
	w.nest++
	defer func() { w.nest-- }()
	k := w.read(v)
	return w.combine(&k), k.doc()
}

// combine joins what the keywords of one schema say.
func (w *writer) combine(k *keywords) typ {
	var parts []typ
	if own := w.own(k); own.text != "" {
		parts = append(parts, own)
	}
	if k.ref.IsString() {
		parts = append(parts, w.reference(k.ref.Text()))
	}
	for _, all := range w.list(k.allOf) {
		parts = append(parts, w.render(all))
	}
	for _, some := range []catalog.Value{k.anyOf, k.oneOf} {
		if some.IsArray() {
			parts = append(parts, w.union(some))
		}
	}
	t := intersect(parts)
	if k.nullable && t.text != anything {
		t = unite([]typ{t, {text: "null"}})
	}
	if text, _ := literal(k.preset); text != "" && text != "null" && len(text) <= maxTitle && w.pay(len(text)) {
		t = annotate(t, "default "+text)
	}
	if k.deprecated {
		t = annotate(t, "deprecated")
	}
	return t
}

// own gives the type that a schema says itself, without references and combinations; "" if it says none.
func (w *writer) own(k *keywords) typ {
	switch {
	case k.constant.Exists():
		return w.paid(typ{text: literalType(k.constant)})
	case k.enum.IsArray():
		return w.values(k.enum)
	case k.typ.IsArray():
		var alternatives []typ
		for _, name := range w.list(k.typ) {
			if len(alternatives) == 8 { // there are seven types
				return w.leaveOut()
			}
			alternatives = append(alternatives, w.named(k, name.Text()))
		}
		return unite(alternatives)
	case k.typ.IsString():
		return w.named(k, k.typ.Text())
	case k.properties.IsObject(), k.patterns.IsObject(), k.additional.IsObject():
		return w.object(k)
	case k.items.Exists(), k.prefixItems.IsArray():
		return w.array(k)
	}
	return typ{}
}

func (w *writer) named(k *keywords, name string) typ {
	switch name {
	case "null", "boolean":
		return w.paid(typ{text: name})
	case "string":
		return w.paid(annotate(typ{text: name}, k.note(name)))
	case "number", "integer":
		return w.paid(annotate(typ{text: "number"}, k.note(name)))
	case "array":
		return w.array(k)
	case "object":
		return w.object(k)
	}
	return typ{text: anything}
}

// paid gives a short text if there is room for it.
func (w *writer) paid(t typ) typ {
	if !w.pay(len(t.text)) {
		return w.leaveOut()
	}
	return t
}

// list gives the elements of an array, as many as there are steps for.
func (w *writer) list(v catalog.Value) (out []catalog.Value) {
	if !v.IsArray() {
		return nil
	}
	for _, c := range v.Children() {
		if !w.step(1) {
			break
		}
		out = append(out, c)
	}
	return out
}

func (w *writer) union(list catalog.Value) typ {
	var alternatives []typ
	for _, c := range w.list(list) {
		if len(alternatives) == maxUnion {
			return w.leaveOut()
		}
		alternatives = append(alternatives, w.render(c))
	}
	return unite(alternatives)
}

// values renders an enum. Where it has too many values, their common type stands in.
func (w *writer) values(enum catalog.Value) typ {
	var shown []typ
	common, count, all := "", 0, true
	for _, v := range w.list(enum) {
		text, t := literal(v)
		if count++; count == 1 {
			common = t
		} else if common != t {
			common = anything
		}
		if all = all && text != "" && len(shown) < maxValues && w.pay(len(text)+3); all {
			shown = append(shown, typ{text: text})
		}
	}
	switch {
	case count == 0:
		return typ{text: "never"}
	case all:
		return unite(shown)
	}
	w.cut = true
	return annotate(typ{text: common}, "one of "+strconv.Itoa(count)+" values")
}

// array renders arrays and tuples.
func (w *writer) array(k *keywords) typ {
	fixed, rest := k.prefixItems, k.items
	if !fixed.IsArray() && k.items.IsArray() { // up to draft 2019-09
		fixed, rest = k.items, k.additionalItems
	}
	if !fixed.IsArray() {
		return typ{text: wrapped(w.render(rest)) + "[]"}
	}
	var parts []string
	for _, c := range w.list(fixed) {
		if len(parts) == maxUnion {
			w.cut = true
			return typ{text: "unknown[]"}
		}
		parts = append(parts, w.render(c).text)
	}
	if !rest.IsFalse() && k.maxItems.Raw() != strconv.Itoa(len(parts)) {
		parts = append(parts, "..."+wrapped(w.render(rest))+"[]")
	}
	return typ{text: "[" + strings.Join(parts, ", ") + "]"}
}
