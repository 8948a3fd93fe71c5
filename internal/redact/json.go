package redact

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/cloister-wasm/cloister/internal/plaintext"
)

const (
	// maxDepth bounds nesting: what is deeper is left out.
	maxDepth = 64
	// maxLevel bounds JSON in strings of JSON, as arguments of calls are sent.
	maxLevel = 3
	// maxString bounds what is shown of one string.
	maxString = 4096
)

// walker reads a document token by token and writes it without secrets. It does
// not recurse but for JSON in strings, so that nesting costs no stack.
type walker struct {
	r     *Redactor
	in    []byte
	at    int
	out   []byte
	level int
	stack []frame
}

// frame is an open object or array.
type frame struct {
	object bool
	more   bool   // it has members
	key    string // of the member at hand
	// An object that names a secret in one member has it in the member "value",
	// which may come first: from and to are where that is in out.
	named, secretName, hasValue, inValue bool
	from, to                             int
}

// looksLikeJSON says whether a text is worth reading as JSON.
func looksLikeJSON(s string) bool {
	s = strings.TrimLeft(s, " \t\r\n")
	return s != "" && (s[0] == '{' || s[0] == '[')
}

// run reads one value to the end of the input. False means that something is no
// JSON, or cut: at is how far it came.
func (w *walker) run() bool {
	for first := true; first || len(w.stack) > 0; first = false {
		if !w.step() {
			return false
		}
	}
	w.space()
	return w.at == len(w.in)
}

// step reads a member of the innermost object or array, or closes it.
func (w *walker) step() bool {
	w.space()
	if len(w.stack) > 0 {
		f := w.top()
		if f.inValue {
			f.to, f.inValue = len(w.out), false
		}
		closing := byte(']')
		if f.object {
			closing = '}'
		}
		if w.take(closing) {
			w.close(closing)
			return true
		}
		if f.more {
			if !w.take(',') {
				return false
			}
			w.out = append(w.out, ',')
			w.space()
		}
		f.more = true
		if f.object && !w.name(f) {
			return false
		}
	}
	return w.value()
}

// name reads a member's name and the colon.
func (w *walker) name(f *frame) bool {
	s, ok := w.str()
	if !ok {
		return false
	}
	if w.space(); !w.take(':') {
		return false
	}
	w.space()
	f.key = s
	w.out = append(quote(w.out, w.r.text(s)), ':')
	return true
}

// value reads a value, or the start of an object or array.
func (w *walker) value() bool {
	f := w.top()
	if f == nil || !f.object {
		return w.anyValue(nil, shown)
	}
	how, name := shown, fold(f.key)
	beside := name == "value" || name == "values"
	switch {
	case Sensitive(f.key), beside && f.secretName:
		how = secret
	case w.r.pieces && slices.Contains(pieces, name):
		how = counted
	}
	if beside {
		if !f.hasValue {
			f.from = len(w.out)
		}
		f.hasValue, f.inValue = true, true
	}
	return w.anyValue(f, how)
}

// What is to become of a value.
const (
	shown = iota
	secret
	counted // only its length is shown
)

// pieces are members of providers' streams that hold parts of arguments and texts.
var pieces = []string{"partialjson", "arguments", "delta", "input", "text", "content", "thinking", "refusal"}

func (w *walker) top() *frame {
	if len(w.stack) == 0 {
		return nil
	}
	return &w.stack[len(w.stack)-1]
}

func (w *walker) anyValue(f *frame, how int) bool {
	if w.at >= len(w.in) {
		return false
	}
	switch c := w.in[w.at]; c {
	case '{', '[':
		if how == secret || len(w.stack) >= maxDepth {
			return w.skip()
		}
		w.at++
		w.out = append(w.out, c)
		w.stack = append(w.stack, frame{object: c == '{'})
		return true
	case '"':
		s, ok := w.str()
		if !ok {
			return false
		}
		if f != nil && slices.Contains(names, fold(f.key)) {
			f.named, f.secretName = true, f.secretName || Sensitive(s)
		}
		switch {
		case how == secret:
			s = Mark
		case how == counted && s != "":
			s = fmt.Sprintf("[%d bytes]", len(s))
		default:
			s = w.clean(s)
		}
		w.out = quote(w.out, s)
		return true
	}
	return w.plain(f, how == secret)
}

// plain reads a number or a literal. A literal is no secret, nor is the number of
// tokens.
func (w *walker) plain(f *frame, hidden bool) bool {
	from := w.at
	for w.at < len(w.in) && strings.IndexByte("+-.0123456789aeEflnrstu", w.in[w.at]) >= 0 {
		w.at++
	}
	word := w.in[from:w.at]
	if !json.Valid(word) {
		w.at = from
		return false
	}
	switch literal := word[0] >= 'a'; {
	case !literal && hidden && fold(f.key) != "tokens":
		w.out = quote(w.out, Mark)
	case !literal && w.r.text(string(word)) != string(word):
		w.out = quote(w.out, Mark)
	default:
		w.out = append(w.out, word...)
	}
	return true
}

// clean takes secrets out of a string, which may hold JSON itself.
func (w *walker) clean(s string) string {
	if looksLikeJSON(s) {
		inner := walker{r: w.r, in: []byte(s), level: w.level + 1}
		if inner.level >= maxLevel {
			return Mark
		}
		if inner.run() {
			return cut(string(inner.out), maxString, 0)
		}
	}
	return cut(w.r.text(s), maxString, 0)
}

// skip leaves an object or array out.
func (w *walker) skip() bool {
	w.out = quote(w.out, Mark)
	depth := 0
	for w.at < len(w.in) {
		switch w.in[w.at] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case '"':
			if _, ok := w.token(); !ok {
				return false
			}
			continue
		}
		w.at++
		if depth == 0 {
			return true
		}
	}
	return false
}

// close ends the innermost object or array.
func (w *walker) close(c byte) {
	w.hide(w.top(), false)
	w.stack = w.stack[:len(w.stack)-1]
	w.out = append(w.out, c)
}

// end closes what is open in a document that is cut: a value whose name is not
// known yet is taken for a secret.
func (w *walker) end() {
	for f := w.top(); f != nil; f = w.top() {
		if f.inValue {
			f.to = len(w.out)
		}
		w.hide(f, true)
		w.stack = w.stack[:len(w.stack)-1]
	}
}

// hide takes the member "value" out where its name says so.
func (w *walker) hide(f *frame, unknown bool) {
	if f.hasValue && (f.secretName || unknown && !f.named) {
		w.out = slices.Replace(w.out, f.from, f.to, []byte(`"`+Mark+`"`)...)
	}
}

func (w *walker) space() {
	for w.at < len(w.in) && strings.IndexByte(" \t\r\n", w.in[w.at]) >= 0 {
		w.at++
	}
}

func (w *walker) take(c byte) bool {
	if w.at >= len(w.in) || w.in[w.at] != c {
		return false
	}
	w.at++
	return true
}

// token reads a string as it is written. What has no end is not read.
func (w *walker) token() ([]byte, bool) {
	if w.at >= len(w.in) || w.in[w.at] != '"' {
		return nil, false
	}
	for i := w.at + 1; i < len(w.in); i++ {
		switch w.in[i] {
		case '\\':
			i++
		case '"':
			t := w.in[w.at : i+1]
			w.at = i + 1
			return t, true
		}
	}
	return nil, false
}

func (w *walker) str() (string, bool) {
	from := w.at
	t, ok := w.token()
	var s string
	if ok = ok && json.Unmarshal(t, &s) == nil; !ok {
		w.at = from
	}
	return s, ok
}

// quote writes a string as JSON in characters that can be seen.
func quote(out []byte, s string) []byte {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < ' ':
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return append(out, plaintext.ShowJSON(b.String())...)
}
