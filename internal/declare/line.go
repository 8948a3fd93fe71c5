package declare

import (
	"math"
	"strings"
)

// Bounds on a signature, which is one line of a model's prompt.
const (
	maxLine       = 200     // bytes, of the input; likewise of the output
	maxLineString = 32      // bytes of one value of an enum
	maxLineKey    = 40      // bytes of one member's name
	lineSteps     = 1 << 20 // values looked at
)

// lineShapes are tried one after the other until a type is short enough.
var lineShapes = [...]Shape{{Depth: 3, Members: 12}, {Depth: 2, Members: 12}, {Depth: 1, Members: 12}, {Depth: 1, Members: 6}, {Depth: 1, Members: 3}}

// Signature renders the arguments of a call by their schema on one line, without the parentheses: {path: string, head?: number}.
// A schema that declares no parameters and does not ask for others gives "". See [Line].
func Signature(schema Value) string {
	if t := Line(schema); t != lineForm.anyObject && t != lineForm.anything {
		return t
	}
	for _, word := range [...]string{"additionalProperties", "patternProperties", "propertyNames", "properties", "minProperties"} {
		if v := schema.Member(word); v.Exists() && !v.IsFalse() && !(v.IsObject() && v.isEmpty()) {
			return "input?: object"
		}
	}
	if schema.Member("$ref").Exists() {
		return "input?: object"
	}
	return ""
}

// Line renders a schema on one line of at most 200 bytes, for a model's prompt: members that are required come first, what is
// too long is shown less deeply, then with fewer members. It holds nothing but printable ASCII without backticks, backslashes
// and angle brackets.
func Line(schema Value) string {
	steps := lineSteps
	w := writer{form: &lineForm, root: schema, steps: &steps}
	for _, shape := range lineShapes {
		w.Shape = shape
		w.visits, w.bytes = w.form.visits, math.MaxInt // the result is bounded, and the visits bound what is written for it
		if t := w.render(schema); len(t.text) <= maxLine {
			return t.text
		}
	}
	return w.form.anyObject
}

// lineObject renders {a: string, b?: number}, required members first.
func (w *writer) lineObject(k *keywords) typ {
	if k.properties.isEmpty() || w.level == w.Depth {
		return typ{text: w.form.anyObject}
	}
	w.level++
	defer func() { w.level-- }()
	required := w.required(k)
	var b strings.Builder
	b.WriteByte('{')
	shown, more := 0, false
	comma := func() {
		if shown > 0 {
			b.WriteString(", ")
		}
		shown++
	}
	for _, wantRequired := range [...]bool{true, false} {
		seen := 0
		for name, p := range k.properties.Children() {
			if seen++; seen > w.form.look || !w.step(1) {
				more = true
				break
			}
			if required.has(name) != wantRequired {
				continue
			}
			if shown == w.Members {
				more = true
				break
			}
			comma()
			b.WriteString(lineKey(name))
			b.WriteString(mark(wantRequired))
			b.WriteString(w.render(p).text)
		}
	}
	if more {
		comma()
		b.WriteString("...")
	}
	b.WriteByte('}')
	return typ{text: b.String()}
}

// lineKey writes an identifier as it is, and everything else in quotes with the characters replaced that do not belong
// into a prompt. The schema itself has the true name.
func lineKey(key string) string {
	if len(key) > maxLineKey {
		key = key[:maxLineKey]
	}
	if IsIdentifier(key) {
		return key
	}
	out := make([]byte, 0, len(key)+2)
	out = append(out, '"')
	for _, r := range key {
		if r > '~' || !isPlainByte(byte(r)) {
			r = '?'
		}
		out = append(out, byte(r))
	}
	return string(append(out, '"'))
}

// isPlain reports text that can stand in a prompt between quotes as it is.
func isPlain(s string) bool {
	for i := range len(s) {
		if !isPlainByte(s[i]) {
			return false
		}
	}
	return true
}

func isPlainByte(c byte) bool {
	return ' ' <= c && c <= '~' && c != '"' && c != '\\' && c != '`' && c != '<' && c != '>'
}
