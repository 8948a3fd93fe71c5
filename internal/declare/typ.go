package declare

import "strings"

// typ is a type and what holds its text together: '|' and '&' for operators, 'c' for a comment at its end, 0 for one that stands by itself.
type typ struct {
	text string
	op   byte
}

// unite makes a union of alternatives, which it overwrites. Repetitions and never are dropped; any type swallows the rest.
func (w *writer) unite(alternatives []typ) typ {
	if len(alternatives) == 0 {
		return w.any()
	}
	unique := alternatives[:0]
	for _, a := range alternatives {
		if a.text == w.form.anything {
			return a
		}
		if a.text != w.form.nothing && !contains(unique, a.text) {
			unique = append(unique, a)
		}
	}
	switch len(unique) {
	case 0:
		return typ{text: w.form.nothing}
	case 1:
		return unique[0]
	}
	return join(unique, '|')
}

// intersect makes an intersection. Repetitions and any type are dropped, and an object of any kind beside others.
func (w *writer) intersect(parts []typ) typ {
	unique := parts[:0]
	vague := false
	var seen names // an allOf has any number of parts, nearly all others have one
	for _, p := range parts {
		switch {
		case p.text == w.form.anything:
		case p.text == w.form.anyObject:
			vague = true
		case len(unique) == 0 || !seen.has(p.text):
			seen.add(p.text)
			unique = append(unique, p)
		}
	}
	switch {
	case len(unique) == 1:
		return unique[0]
	case len(unique) > 1:
		return join(unique, '&')
	case vague:
		return typ{text: w.form.anyObject}
	}
	return w.any()
}

// contains compares one by one: the alternatives of a union are bounded.
func contains(list []typ, text string) bool {
	for i := range list {
		if list[i].text == text {
			return true
		}
	}
	return false
}

func join(parts []typ, op byte) typ {
	size := 0
	for _, p := range parts {
		size += len(p.text) + len(" & ()")
	}
	var b strings.Builder
	b.Grow(size)
	for i, p := range parts {
		if i > 0 {
			b.WriteByte(' ')
			b.WriteByte(op)
			b.WriteByte(' ')
		}
		if op == '&' && p.op == '|' {
			b.WriteString("(" + p.text + ")")
		} else {
			b.WriteString(p.text)
		}
	}
	return typ{text: b.String(), op: op}
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
