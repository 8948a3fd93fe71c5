package main

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/cloister-wasm/cloister/internal/schema"
)

// prettyJSON lays JSON out for people: what fits on a line stays on one, the
// rest is broken and indented by two spaces. Members keep their order and
// numbers their digits. Hostile characters are \u escapes. Text that is not JSON
// is given back as one escaped line.
func prettyJSON(text []byte, width int) string {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	root, err := readPretty(dec)
	if err != nil {
		return escapeLine(string(text))
	}
	if _, err := dec.Token(); err != io.EOF {
		return escapeLine(string(text))
	}
	p := printer{width: width}
	p.print(root, 0, 0)
	return p.b.String()
}

// prettyNode is a value of JSON with the width that it has on one line.
type prettyNode struct {
	key      string // quoted, of a member
	scalar   string // the literal of what is neither object nor array
	children []*prettyNode
	object   bool
	flat     int // columns on one line, without the key
}

// readPretty reads one value. encoding/json bounds the depth.
func readPretty(dec *json.Decoder) (*prettyNode, error) {
	token, err := dec.Token()
	if err != nil {
		return nil, err
	}
	delim, ok := token.(json.Delim)
	if !ok {
		literal := literalOf(token)
		return &prettyNode{scalar: literal, flat: utf8.RuneCountInString(literal)}, nil
	}
	n := &prettyNode{object: delim == '{', flat: 2}
	for dec.More() {
		key := ""
		if n.object {
			name, err := dec.Token()
			if err != nil {
				return nil, err
			}
			key = literalOf(name)
		}
		child, err := readPretty(dec)
		if err != nil {
			return nil, err
		}
		child.key = key
		n.children = append(n.children, child)
		if n.flat += child.flat; len(n.children) > 1 {
			n.flat += 2 // comma and space
		}
		if n.object {
			n.flat += utf8.RuneCountInString(key) + 2
		}
	}
	_, err = dec.Token() // the closing bracket, which may be missing
	return n, err
}

// literalOf writes a scalar as JSON.
func literalOf(token json.Token) string {
	if number, ok := token.(json.Number); ok {
		return number.String()
	}
	return string(escapeJSON(marshalPlain(token)))
}

// marshalPlain is json.Marshal without the escapes for HTML.
func marshalPlain(v any) []byte { return schema.Marshal(v) }

type printer struct {
	b     strings.Builder
	width int
}

// print writes a value whose line is indented and has used columns already.
func (p *printer) print(n *prettyNode, indent, used int) {
	open, end := "[", "]"
	if n.object {
		open, end = "{", "}"
	}
	switch {
	case n.scalar != "":
		p.b.WriteString(n.scalar)
	case len(n.children) == 0:
		p.b.WriteString(open + end)
	case used+n.flat <= p.width:
		p.flat(n)
	default:
		p.b.WriteString(open + "\n")
		for i, c := range n.children {
			before := p.b.Len()
			p.b.WriteString(strings.Repeat(" ", min(indent+2, maxIndent)))
			p.key(c)
			p.print(c, indent+2, p.b.Len()-before+1)
			if i < len(n.children)-1 {
				p.b.WriteByte(',')
			}
			p.b.WriteByte('\n')
		}
		p.b.WriteString(strings.Repeat(" ", min(indent, maxIndent)) + end)
	}
}

// maxIndent keeps hostile nesting from multiplying the size of what is printed.
const maxIndent = 64

func (p *printer) key(n *prettyNode) {
	if n.key != "" {
		p.b.WriteString(n.key + ": ")
	}
}

func (p *printer) flat(n *prettyNode) {
	switch {
	case n.scalar != "":
		p.b.WriteString(n.scalar)
	case n.object:
		p.b.WriteByte('{')
		for i, c := range n.children {
			p.separator(i)
			p.key(c)
			p.flat(c)
		}
		p.b.WriteByte('}')
	default:
		p.b.WriteByte('[')
		for i, c := range n.children {
			p.separator(i)
			p.flat(c)
		}
		p.b.WriteByte(']')
	}
}

func (p *printer) separator(i int) {
	if i > 0 {
		p.b.WriteString(", ")
	}
}
