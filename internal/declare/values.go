package declare

import (
	"strconv"
	"strings"
)

// values renders an enum. Where it has too many values, or one that must not be shown, their common type stands in.
func (w *writer) values(enum Value) typ {
	var buf [16]Value
	var shown []typ
	common, count, all := "", 0, true
	for _, v := range w.list(buf[:0], enum) {
		text, t := w.literal(v)
		if count++; count == 1 {
			common = t
		} else if common != t {
			common = w.form.anything
		}
		if all = all && text != "" && len(shown) < w.form.values && w.pay(len(text)+3); all {
			shown = append(shown, w.written(text))
		}
	}
	switch {
	case count == 0:
		return typ{text: w.form.nothing}
	case all:
		return w.unite(shown)
	}
	w.cut = true
	if w.form.layout != manyLines {
		return typ{text: common}
	}
	return annotate(typ{text: common}, "one of "+strconv.Itoa(count)+" values")
}

// literalType is the type of one value.
func (w *writer) literalType(v Value) typ {
	text, t := w.literal(v)
	if text == "" {
		return typ{text: t}
	}
	return w.written(text)
}

// written is the type of a value that is shown. On one line, one with a "|" is taken for a union, as all prompts so far have it.
func (w *writer) written(text string) typ {
	if w.form.layout == oneLine && strings.IndexByte(text, '|') >= 0 {
		return typ{text: text, op: '|'}
	}
	return typ{text: text}
}

// literal returns a value as the form writes it, "" if it must not be shown, and its type.
func (w *writer) literal(v Value) (text, typ string) {
	switch {
	case v.IsString():
		return w.stringLiteral(v), "string"
	case v.IsNumber():
		if v.Size() <= maxNumber {
			text = v.Raw()
		}
		return text, "number"
	case v.IsBool():
		return v.Raw(), "boolean"
	case v.IsNull():
		return "null", "null"
	}
	if w.form.layout == oneWord && v.Size() <= maxString {
		text = v.Raw()
	}
	if v.IsArray() {
		return text, w.form.anyArray
	}
	return text, w.form.anything
}

func (w *writer) stringLiteral(v Value) string {
	switch {
	case w.form.layout == oneLine:
		if raw := v.Raw(); len(raw) <= maxLineString+2 && isPlain(raw[1:len(raw)-1]) {
			return raw
		}
	case v.Size() > maxString:
	case w.form.layout == oneWord:
		return v.Raw()
	default:
		return Quote(v.Text())
	}
	return ""
}
