package plugins

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Part is one place where a value differs.
type Part struct {
	// Path is a JSON pointer inside the value, "" for the value itself.
	Path string `json:"path"`
	// Before and After are what stands there, "" for nothing. Of a long text they are the stretch that differs, with a little of
	// what is around it; "…" stands for what both have. Values inside JSON are JSON.
	Before string `json:"before"`
	After  string `json:"after"`
}

// Bounds of what is laid open of one change. A manifest is bounded itself, so that nothing is left out by them but crowds: what
// is not listed one by one is counted, never passed over.
const (
	maxParts = 200
	// around is how much of what two texts have in common is shown beside their difference, in bytes.
	around = 60
)

// textParts shows where two texts differ: one stretch, from the first difference to the last. Nothing of it is left out.
func textParts(before, after string) []Part {
	was, is := stretch(before, after)
	return []Part{{Before: was, After: is}}
}

// stretch cuts off what two texts have in common at both ends, except for a little.
func stretch(a, b string) (string, string) {
	if a == "" || b == "" {
		return a, b
	}
	start := commonStart(a, b)
	end := commonEnd(a[start:], b[start:])
	start, end = max(0, start-around), max(0, end-around)
	for start > 0 && !utf8.RuneStart(a[start]) {
		start--
	}
	for end > 0 && !utf8.RuneStart(a[len(a)-end]) {
		end--
	}
	cut := func(s string) string {
		s = s[start : len(s)-end]
		if start > 0 {
			s = "…" + s
		}
		if end > 0 {
			s += "…"
		}
		return s
	}
	return cut(a), cut(b)
}

func commonStart(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

func commonEnd(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}

// jsonParts lists the places where two JSON values differ, in the order of the text. Either may be "", for none. Where only the
// order of members differs, which a model reads too, there is one part with both values whole.
func jsonParts(before, after string) []Part {
	if before == "" || after == "" {
		return []Part{{Before: before, After: after}}
	}
	was, err := parseTree(before)
	is, err2 := parseTree(after)
	if err != nil || err2 != nil { // cannot be, in a manifest that was checked
		return textParts(before, after)
	}
	var l partList
	l.compare("", was, is)
	switch {
	case len(l.parts) == 0:
		return textParts(before, after)
	case l.more > 0:
		l.parts = append(l.parts, Part{After: fmt.Sprintf("and %d more places", l.more)})
	}
	return l.parts
}

// tree is a JSON value whose members are in the order of the text.
type tree struct {
	keys     []string // of an object
	children []*tree  // of an object or a list
	kind     byte     // '{', '[', '"' or 0 for other scalars
	text     string   // as JSON, of a scalar
}

// parseTree reads JSON that was checked before: its depth is bounded.
func parseTree(text string) (*tree, error) {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	t, err := readTree(dec)
	if err != nil {
		return nil, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, fmt.Errorf("there is something after the value")
	}
	return t, nil
}

func readTree(dec *json.Decoder) (*tree, error) {
	tok, err := dec.Token()
	if err != nil {
		return nil, err
	}
	open, ok := tok.(json.Delim)
	if !ok {
		return scalarTree(tok), nil
	}
	t := &tree{kind: byte(open)}
	for dec.More() {
		if open == '{' {
			key, err := dec.Token()
			if err != nil {
				return nil, err
			}
			t.keys = append(t.keys, fmt.Sprint(key))
		}
		child, err := readTree(dec)
		if err != nil {
			return nil, err
		}
		t.children = append(t.children, child)
	}
	_, err = dec.Token()
	return t, err
}

func scalarTree(tok json.Token) *tree {
	switch v := tok.(type) {
	case string:
		return &tree{kind: '"', text: quoted(v)}
	case nil:
		return &tree{text: "null"}
	default:
		return &tree{text: fmt.Sprint(v)}
	}
}

// quoted is a text as JSON, with no more escapes than JSON needs.
func quoted(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return strconv.Quote(s) // a text always has a form in JSON
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// json writes the value on one line.
func (t *tree) json(b *strings.Builder) {
	if t.kind != '{' && t.kind != '[' {
		b.WriteString(t.text)
		return
	}
	b.WriteByte(t.kind)
	for i, c := range t.children {
		if i > 0 {
			b.WriteByte(',')
		}
		if t.kind == '{' {
			b.WriteString(quoted(t.keys[i]) + ":")
		}
		c.json(b)
	}
	b.WriteByte(t.kind + 2) // both closing brackets lie two above the opening ones in ASCII
}

func (t *tree) String() string {
	if t == nil {
		return ""
	}
	var b strings.Builder
	t.json(&b)
	return b.String()
}

// partList collects the places, up to a bound.
type partList struct {
	parts []Part
	more  int
}

func (l *partList) add(path, before, after string) {
	if len(l.parts) >= maxParts {
		l.more++
		return
	}
	l.parts = append(l.parts, Part{Path: path, Before: before, After: after})
}

func (l *partList) compare(path string, was, is *tree) {
	switch {
	case was == nil || is == nil || was.kind != is.kind:
		l.add(path, was.String(), is.String())
	case was.kind == '{':
		l.members(path, was, is)
	case was.kind == '[':
		for i := range max(len(was.children), len(is.children)) {
			l.compare(path+"/"+strconv.Itoa(i), was.at(i), is.at(i))
		}
	case was.text != is.text:
		before, after := stretch(was.text, is.text)
		l.add(path, before, after)
	}
}

func (t *tree) at(i int) *tree {
	if i < len(t.children) {
		return t.children[i]
	}
	return nil
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

func (l *partList) members(path string, was, is *tree) {
	now := make(map[string]*tree, len(is.keys))
	for i, k := range is.keys {
		now[k] = is.children[i]
	}
	had := make(map[string]bool, len(was.keys))
	for i, k := range was.keys {
		had[k] = true
		l.compare(path+"/"+pointerEscapes.Replace(k), was.children[i], now[k])
	}
	for i, k := range is.keys {
		if !had[k] {
			l.compare(path+"/"+pointerEscapes.Replace(k), nil, is.children[i])
		}
	}
}

// toolParts is what a model reads of a tool that was not there before.
func toolParts(t *Tool) []Part {
	return present([]Part{
		{Path: "/label", After: t.Label}, {Path: "/description", After: t.Description}, {Path: "/parameters", After: compact(t.Parameters)},
		{Path: "/returns", After: compact(t.Returns)}, {Path: "/examples", After: compact(examples(t))},
	})
}

// namespaceParts is what a model reads of a namespace that was not there before, and what its functions call.
func namespaceParts(n *Namespace) []Part {
	return present([]Part{
		{Path: "/description", After: n.Description}, {Path: "/prompt", After: n.Prompt},
		{Path: "/requiredToolNames", After: strings.Join(n.RequiredToolNames, ", ")}, {Path: "/scope", After: compact(n.Scope)},
	})
}

func present(parts []Part) []Part {
	out := parts[:0]
	for _, p := range parts {
		if p.After != "" {
			out = append(out, p)
		}
	}
	return out
}
