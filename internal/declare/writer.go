package declare

import (
	"strconv"
	"strings"
)

// Bounds of one type, in bytes.
const (
	maxString  = 200 // of a string of the schema that is shown as a value or a key, as it was written
	maxNumber  = 32
	maxDefault = 100
)

// Shape says how much of a schema is shown.
type Shape struct {
	Depth   int  // objects inside of objects
	Members int  // members of one object
	Docs    bool // texts about members
}

// writer renders JSON Schemas as types. The schema is hostile: each value looked at costs a step, each byte written counts, and
// where either runs out the rest is left out.
type writer struct {
	Shape
	form   *form
	root   Value
	steps  *int // left
	bytes  int  // left
	visits int  // left
	nest   int
	level  int     // of objects around what is written, which is its indentation too
	base   int     // the level of the type as a whole
	open   []Value // what references lead to, and is being written
	refs   map[string]Value
	// params collects the texts about the members of the outermost object. If nil, they are comments inside of it.
	params *[]Param
	cut    bool // something was left out
	short  bool // a text about a member is not whole
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
	return w.any()
}

func (w *writer) any() typ { return typ{text: w.form.anything} }

// render gives the type of one schema.
func (w *writer) render(v Value) typ {
	t, _ := w.renderMember(v)
	return t
}

// renderMember gives the type of the schema of a property, and the text about it.
func (w *writer) renderMember(v Value) (t typ, doc Value) {
	if w.visits--; w.visits < 0 {
		return w.leaveOut(), Value{}
	}
	switch {
	case v.IsFalse():
		return typ{text: w.form.nothing}, Value{}
	case !v.IsObject():
		return w.any(), Value{}
	case w.nest == w.form.nest || !w.step(1) || !w.pay(4):
		return w.leaveOut(), Value{}
	}
	w.nest++
	defer func() { w.nest-- }()
	k := w.read(v)
	if w.form.layout == oneLine {
		return w.first(&k), Value{}
	}
	return w.combine(&k), k.doc()
}

// first renders what a schema says first. One line has no room for what else it says.
func (w *writer) first(k *keywords) typ {
	switch {
	case k.ref.Exists():
		return w.render(w.target(k.ref.Text()))
	case k.constant.Exists():
		return w.literalType(k.constant)
	case k.enum.IsArray():
		return w.values(k.enum)
	case k.anyOf.IsArray():
		return w.union(k.anyOf)
	case k.oneOf.IsArray():
		return w.union(k.oneOf)
	case k.allOf.IsArray() && !k.properties.Exists():
		return w.render(k.allOf.first())
	case k.typ.IsArray():
		return w.types(k)
	case k.typ.Exists():
		return w.named(k, k.typ.Text())
	case k.properties.Exists():
		return w.object(k)
	case k.items.Exists():
		return w.array(k)
	}
	return w.any()
}

// combine joins all that the keywords of one schema say.
func (w *writer) combine(k *keywords) typ {
	var parts []typ
	if own := w.own(k); own.text != "" {
		parts = append(parts, own)
	}
	if k.ref.IsString() {
		parts = append(parts, w.reference(k.ref.Text()))
	}
	var buf [8]Value
	for _, all := range w.list(buf[:0], k.allOf) {
		parts = append(parts, w.render(all))
	}
	for _, some := range [...]Value{k.anyOf, k.oneOf} {
		if some.IsArray() {
			parts = append(parts, w.union(some))
		}
	}
	t := w.intersect(parts)
	if k.nullable && t.text != w.form.anything {
		t = w.unite([]typ{t, {text: "null"}})
	}
	if w.form.layout != manyLines {
		return t
	}
	if text, _ := w.literal(k.preset); text != "" && text != "null" && len(text) <= maxDefault && w.pay(len(text)) {
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
		return w.paid(w.literalType(k.constant))
	case k.enum.IsArray():
		return w.values(k.enum)
	case k.typ.IsArray():
		return w.types(k)
	case k.typ.IsString():
		return w.named(k, k.typ.Text())
	case k.properties.IsObject(), k.patterns.IsObject(), k.additional.IsObject():
		return w.object(k)
	case k.items.Exists(), k.prefixItems.IsArray():
		return w.array(k)
	}
	return typ{}
}

// types renders the keyword type where it is a list.
func (w *writer) types(k *keywords) typ {
	var buf [8]Value
	var alternatives []typ
	for _, name := range w.list(buf[:0], k.typ) {
		if len(alternatives) == w.form.types {
			return w.leaveOut()
		}
		alternatives = append(alternatives, w.named(k, name.Text()))
	}
	return w.unite(alternatives)
}

func (w *writer) named(k *keywords, name string) typ {
	switch name {
	case "null", "boolean":
		return w.paid(typ{text: name})
	case "string", "number", "integer":
		t := typ{text: name}
		if name == "integer" {
			t.text = w.form.integer
		}
		if w.form.layout == manyLines {
			t = annotate(t, k.note(name))
		}
		return w.paid(t)
	case "array":
		return w.array(k)
	case "object":
		return w.object(k)
	}
	return w.any()
}

// paid gives a short text if there is room for it.
func (w *writer) paid(t typ) typ {
	if !w.pay(len(t.text)) {
		return w.leaveOut()
	}
	return t
}

// list appends the elements of an array to buf, as many as may be looked at.
func (w *writer) list(buf []Value, v Value) []Value {
	if !v.IsArray() {
		return nil
	}
	for _, c := range v.Children() {
		if len(buf) == w.form.look || !w.step(1) {
			break
		}
		buf = append(buf, c)
	}
	return buf
}

func (w *writer) union(list Value) typ {
	var buf [8]Value
	var alternatives []typ
	for _, c := range w.list(buf[:0], list) {
		if len(alternatives) == w.form.union {
			return w.leaveOut()
		}
		alternatives = append(alternatives, w.render(c))
	}
	return w.unite(alternatives)
}

// array renders arrays and tuples.
func (w *writer) array(k *keywords) typ {
	fixed, rest := k.prefixItems, k.items
	if !fixed.IsArray() && k.items.IsArray() { // up to draft 2019-09
		fixed, rest = k.items, k.additionalItems
	}
	if w.form.layout == oneLine {
		fixed, rest = Value{}, k.items
	}
	if !fixed.IsArray() {
		element := w.render(rest)
		list := typ{text: wrapped(element) + "[]"}
		if w.form.layout == oneLine {
			list.op = element.op // each list around a union has its own parentheses, as all prompts so far have them
		}
		return list
	}
	var buf [8]Value
	var parts []string
	for _, c := range w.list(buf[:0], fixed) {
		if len(parts) == w.form.union {
			w.cut = true
			return typ{text: w.form.anyArray}
		}
		parts = append(parts, w.render(c).text)
	}
	if !rest.IsFalse() && k.maxItems.Raw() != strconv.Itoa(len(parts)) {
		parts = append(parts, "..."+wrapped(w.render(rest))+"[]")
	}
	return typ{text: "[" + strings.Join(parts, ", ") + "]"}
}
