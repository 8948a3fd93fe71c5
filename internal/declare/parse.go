package declare

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Bounds on one JSON text. Its size is checked before it is read.
const (
	// MaxBytes bounds the text that [Parse] reads.
	MaxBytes = 1 << 20

	maxDepth = 128
	maxNodes = 1 << 16
)

// Parse reads one JSON text strictly: valid UTF-8, no duplicate keys, nothing after the value, at most [MaxBytes] bytes, 128
// levels and 65,536 values. Its errors match [ErrSyntax] or [ErrBounds] and are written to follow a name: "has more than …".
func Parse(text []byte) (Value, error) {
	if len(text) > MaxBytes {
		return Value{}, errSize
	}
	if !utf8.Valid(text) {
		return Value{}, errUTF8
	}
	p := parser{src: text}
	p.out.Grow(len(text))
	p.nodes = make([]node, 0, len(text)/16+4)
	if _, err := p.value(0); err != nil {
		return Value{}, err
	}
	p.space()
	if p.pos < len(p.src) {
		return Value{}, p.fail("holds something after the JSON value")
	}
	t := &tree{text: p.out.String(), nodes: p.nodes}
	return Value{t, &t.nodes[0]}, nil
}

type parser struct {
	src   []byte
	pos   int
	out   strings.Builder // the compacted text
	nodes []node
}

func (p *parser) fail(what string) error {
	return &parseError{what + " at byte " + strconv.Itoa(p.pos), ErrSyntax}
}

func (p *parser) space() {
	for p.pos < len(p.src) {
		switch p.src[p.pos] {
		case ' ', '\t', '\n', '\r':
			p.pos++
		default:
			return
		}
	}
}

// peek skips white space and returns the next byte, or 0 at the end.
func (p *parser) peek() byte {
	p.space()
	if p.pos == len(p.src) {
		return 0
	}
	return p.src[p.pos]
}

// emit copies the next byte to the compacted text.
func (p *parser) emit() {
	p.out.WriteByte(p.src[p.pos])
	p.pos++
}

// value reads one value and returns the index of its node.
func (p *parser) value(depth int) (int32, error) {
	if depth > maxDepth {
		return 0, errDepth
	}
	if len(p.nodes) == maxNodes {
		return 0, errNodes
	}
	c := p.peek()
	index := int32(len(p.nodes))
	p.nodes = append(p.nodes, node{start: int32(p.out.Len())})
	var k kind
	var err error
	switch {
	case c == '{':
		k, err = kindObject, p.container(index, depth, '}')
	case c == '[':
		k, err = kindArray, p.container(index, depth, ']')
	case c == '"':
		k, err = kindString, p.string()
	case c == 't':
		k, err = kindBool, p.literal("true")
	case c == 'f':
		k, err = kindBool, p.literal("false")
	case c == 'n':
		k, err = kindNull, p.literal("null")
	case c == '-' || '0' <= c && c <= '9':
		k, err = kindNumber, p.number()
	default:
		err = p.fail("is not valid JSON")
	}
	n := &p.nodes[index]
	n.kind, n.end = k, int32(p.out.Len())
	return index, err
}

// container reads an object or an array from its opening to its closing bracket.
func (p *parser) container(parent int32, depth int, closing byte) error {
	p.emit()
	if p.peek() == closing {
		p.emit()
		return nil
	}
	names := memberNames{object: parent}
	last := int32(0)
	for {
		var keyStart, keyEnd int32
		var err error
		if closing == '}' {
			if keyStart, keyEnd, err = p.memberName(&names); err != nil {
				return err
			}
		}
		index, err := p.value(depth + 1)
		if err != nil {
			return err
		}
		p.nodes[index].keyStart, p.nodes[index].keyEnd = keyStart, keyEnd
		if last == 0 {
			p.nodes[parent].child = index
		} else {
			p.nodes[last].next = index
		}
		last = index
		switch p.peek() {
		case ',':
			p.emit()
		case closing:
			p.emit()
			return nil
		default:
			return p.fail("lacks a comma or a closing bracket")
		}
	}
}

// memberName reads a member's name and the colon behind it, and refuses a name that the object already has.
func (p *parser) memberName(names *memberNames) (start, end int32, err error) {
	if p.peek() != '"' {
		return 0, 0, p.fail("lacks a member name")
	}
	start = int32(p.out.Len())
	if err := p.string(); err != nil {
		return 0, 0, err
	}
	end = int32(p.out.Len())
	if literal := p.out.String()[start:end]; names.has(p, literal) {
		return 0, 0, &parseError{"names the member " + shortQuote(unquote(literal)) + " twice", ErrSyntax}
	}
	if p.peek() != ':' {
		return 0, 0, p.fail("lacks a colon")
	}
	p.emit()
	return start, end, nil
}
