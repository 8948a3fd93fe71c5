package mcpapi

import (
	"strconv"
	"strings"

	"github.com/cloister-wasm/cloister/internal/catalog"
)

// object renders {a: string; b?: number}, on one line where it is short and has no comments.
func (w *writer) object(k *keywords) typ {
	if !k.properties.IsObject() || k.properties.Size() <= 2 {
		return w.record(k, typ{})
	}
	if w.level-w.base >= w.depth {
		w.cut = true
		return typ{text: anyObject}
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
	room := w.shape.members - w.requiredMembers(k, required)
	var out []memberText
	more := 0
	for name, p := range k.properties.Children() {
		if !w.step(1) {
			break
		}
		key := ""
		if len(name) <= maxString {
			key = propertyKey(name)
		}
		if key == "" || len(out) == w.shape.members || !required[name] && room <= 0 || !w.pay(len(key)+4) {
			more++
			continue
		}
		if !required[name] {
			room--
		}
		t, text := w.renderMember(p)
		doc := ""
		if w.docs && text != "" {
			if doc = line(text, maxParam); !w.pay(len(doc) + 8) {
				doc = ""
			}
			w.short = w.short || shortened(doc, text)
		}
		if outermost && doc != "" {
			*w.params = append(*w.params, param{key, doc})
			doc = ""
		}
		mark := "?: "
		if required[name] {
			mark = ": "
		}
		out = append(out, memberText{key + mark + t.text + ";", doc})
	}
	if more > 0 {
		w.cut = true
		out = append(out, memberText{text: "// " + strconv.Itoa(more) + " more"})
	}
	return out
}

func (w *writer) required(k *keywords) map[string]bool {
	list := w.list(k.required)
	set := make(map[string]bool, len(list))
	for _, v := range list {
		set[v.Text()] = true
	}
	return set
}

// requiredMembers counts the properties that are required.
func (w *writer) requiredMembers(k *keywords, required map[string]bool) (n int) {
	if len(required) == 0 {
		return 0
	}
	for name := range k.properties.Children() {
		if !w.step(1) {
			break
		}
		if required[name] {
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
			if len(others) == maxUnion || !w.step(1) {
				w.cut = true
				break
			}
			others = append(others, w.render(p))
		}
	}
	record := typ{text: "Record<string, " + unite(others).text + ">"}
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

// unite makes a union. Repetitions and never are dropped; unknown swallows the rest.
func unite(alternatives []typ) typ {
	unique := make([]typ, 0, len(alternatives))
	seen := make(map[string]bool, len(alternatives))
	for _, a := range alternatives {
		if a.text == anything {
			return a
		}
		if a.text != "never" && !seen[a.text] {
			seen[a.text] = true
			unique = append(unique, a)
		}
	}
	switch {
	case len(unique) == 1:
		return unique[0]
	case len(unique) > 1:
		return join(unique, '|')
	case len(alternatives) > 0:
		return typ{text: "never"}
	}
	return typ{text: anything}
}

// intersect makes an intersection. Repetitions and unknown are dropped, and an object of any kind beside others.
func intersect(parts []typ) typ {
	unique := make([]typ, 0, len(parts))
	vague := false
next:
	for _, p := range parts {
		switch p.text {
		case anything:
			continue
		case anyObject:
			vague = true
			continue
		}
		for _, u := range unique {
			if u.text == p.text {
				continue next
			}
		}
		unique = append(unique, p)
	}
	switch {
	case len(unique) == 1:
		return unique[0]
	case len(unique) > 1:
		return join(unique, '&')
	case vague:
		return typ{text: anyObject}
	}
	return typ{text: anything}
}

func join(parts []typ, op byte) typ {
	texts := make([]string, len(parts))
	for i, p := range parts {
		if texts[i] = p.text; op == '&' && p.op == '|' {
			texts[i] = "(" + p.text + ")"
		}
	}
	return typ{text: strings.Join(texts, " "+string(op)+" "), op: op}
}

// wrapped gives the text of a type that an array's brackets may follow.
func wrapped(t typ) string {
	if t.op != 0 {
		return "(" + t.text + ")"
	}
	return t.text
}

// annotate puts a note in a comment behind a type. The note is ASCII and ends no comment.
func annotate(t typ, note string) typ {
	if note == "" {
		return t
	}
	if inner, ok := strings.CutSuffix(t.text, " */"); ok && t.op == 'c' {
		return typ{text: inner + ", " + note + " */", op: 'c'}
	}
	if t.op == 0 {
		t.op = 'c'
	}
	return typ{text: t.text + " /* " + note + " */", op: t.op}
}

// emptyInput reports a schema that declares no parameters and does not ask for others.
func emptyInput(k *keywords) bool {
	for _, v := range []catalog.Value{k.properties, k.patterns, k.required, k.ref, k.allOf, k.anyOf, k.oneOf, k.enum, k.constant} {
		if v.Size() > len("{}") {
			return false
		}
	}
	return !k.additional.IsTrue() && (k.additional.IsFalse() || k.additional.Size() <= len("{}"))
}
