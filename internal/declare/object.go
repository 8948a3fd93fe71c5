package declare

import (
	"strconv"
	"strings"
)

// inlineWidth is how wide an object may be that stands on one line, in characters.
const inlineWidth = 76

// maxDoc bounds the text about one member, in runes.
const maxDoc = 200

// Param is the text about one parameter of a call.
type Param struct {
	Key string // the name as TypeScript writes it: an identifier, or a string
	Doc string // one line that ends no comment
}

func (w *writer) object(k *keywords) typ {
	switch w.form.layout {
	case oneLine:
		return w.lineObject(k)
	case oneWord:
		return typ{text: w.form.anyObject}
	}
	return w.fullObject(k)
}

// fullObject renders {a: string; b?: number}, on one line where it is short and has no comments.
func (w *writer) fullObject(k *keywords) typ {
	if !k.properties.IsObject() || k.properties.Size() <= 2 {
		return w.record(k, typ{})
	}
	if w.level-w.base >= w.Depth {
		w.cut = true
		return typ{text: AnyObject}
	}
	members := w.members(k)
	if len(members) == 0 {
		return w.record(k, typ{})
	}
	width, size, inline := 4, 4, true
	for _, m := range members {
		width += len(m.text) + 2
		size += len(m.text) + len(m.doc) + 8 + 4*(w.level+1)
		inline = inline && m.doc == "" && !strings.Contains(m.text, "\n") && !strings.HasPrefix(m.text, "//")
	}
	var b strings.Builder
	b.Grow(size)
	if inline && width <= inlineWidth {
		for i, m := range members {
			b.WriteString([]string{"{ ", " "}[min(i, 1)])
			b.WriteString(m.text)
		}
		return w.record(k, typ{text: strings.TrimSuffix(b.String(), ";") + " }"})
	}
	b.WriteString("{\n")
	for _, m := range members {
		if m.doc != "" {
			w.indent(&b, 1)
			b.WriteString("/** " + m.doc + " */\n")
		}
		w.indent(&b, 1)
		b.WriteString(m.text + "\n")
	}
	w.indent(&b, 0)
	b.WriteByte('}')
	return w.record(k, typ{text: b.String()})
}

func (w *writer) indent(b *strings.Builder, more int) {
	for range w.level + more {
		b.WriteString("  ")
	}
}

// memberText is one line or more of an object type.
type memberText struct{ text, doc string }

// members renders the properties in the order they were written.
func (w *writer) members(k *keywords) []memberText {
	outermost := w.level == w.base && w.params != nil
	w.level++
	defer func() { w.level-- }()
	required := w.required(k)
	// What a call needs is shown before what it may have, where there is no room for all.
	room := w.Shape.Members - w.requiredMembers(k, &required)
	var out []memberText
	more := 0
	for name, p := range k.properties.Children() {
		if !w.step(1) {
			break
		}
		key := ""
		if len(name) <= maxString {
			key = Key(name)
		}
		if key == "" || len(out) == w.Shape.Members || !required.has(name) && room <= 0 || !w.pay(len(key)+4) {
			more++
			continue
		}
		if !required.has(name) {
			room--
		}
		t, about := w.renderMember(p)
		doc := w.docOf(about)
		if outermost && doc != "" {
			*w.params = append(*w.params, Param{key, doc})
			doc = ""
		}
		out = append(out, memberText{key + mark(required.has(name)) + t.text + ";", doc})
	}
	if more > 0 {
		w.cut = true
		out = append(out, memberText{text: "// " + strconv.Itoa(more) + " more"})
	}
	return out
}

// docOf gives the text about a member, if it is to be shown.
func (w *writer) docOf(about Value) string {
	text := ""
	if w.Docs {
		text = about.Text()
	}
	if text == "" {
		return ""
	}
	doc := TextLine(text, maxDoc)
	if !w.pay(len(doc) + 8) {
		doc = ""
	}
	w.short = w.short || Shortened(doc, text)
	return doc
}

// requiredMembers counts the properties that are required.
func (w *writer) requiredMembers(k *keywords, required *names) (n int) {
	if required.isEmpty() {
		return 0
	}
	for name := range k.properties.Children() {
		if !w.step(1) {
			break
		}
		if required.has(name) {
			n++
		}
	}
	return n
}

// record adds what a schema says of properties that it does not name.
func (w *writer) record(k *keywords, object typ) typ {
	var others []typ
	if k.additional.IsObject() && k.additional.Size() > 2 {
		others = append(others, w.render(k.additional))
	}
	if k.patterns.IsObject() {
		for _, p := range k.patterns.Children() {
			if len(others) == w.form.union || !w.step(1) {
				w.cut = true
				break
			}
			others = append(others, w.render(p))
		}
	}
	record := typ{text: "Record<string, " + w.unite(others).text + ">"}
	switch {
	case object.text != "" && len(others) > 0:
		return typ{text: object.text + " & " + record.text, op: '&'}
	case object.text != "":
		return object
	case len(others) == 0 && k.additional.IsFalse():
		return typ{text: "Record<string, never>"} // {} takes "text" and 5
	}
	return record
}

// mark stands between the name of a member and its type.
func mark(required bool) string {
	if required {
		return ": "
	}
	return "?: "
}
