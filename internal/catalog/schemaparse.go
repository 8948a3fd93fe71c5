package catalog

import (
	"bytes"
	"errors"
	"fmt"
	"unicode/utf8"
)

// Bounds on the shape of one JSON Schema. Its size is bounded by [MaxSchemaLen] before it is read.
const (
	maxSchemaDepth = 128
	maxSchemaNodes = 1 << 16
)

var (
	errNotObject   = errors.New("is not a JSON object")
	errSchemaUTF8  = errors.New("is not valid UTF-8")
	errSchemaSize  = fmt.Errorf("has more than %d bytes", MaxSchemaLen)
	errSchemaDepth = fmt.Errorf("is nested deeper than %d levels", maxSchemaDepth)
	errSchemaNodes = fmt.Errorf("has more than %d values", maxSchemaNodes)
)

// parseSchema reads one JSON text strictly: valid UTF-8, no duplicate keys, nothing after the value, bounded in size,
// depth and number of values.
func parseSchema(src []byte) (*schema, error) {
	if len(src) > MaxSchemaLen {
		return nil, errSchemaSize
	}
	if !utf8.Valid(src) {
		return nil, errSchemaUTF8
	}
	p := schemaParser{src: src}
	p.out.text = make([]byte, 0, len(src))
	p.out.nodes = make([]node, 0, len(src)/16+4)
	if _, err := p.value(0); err != nil {
		return nil, err
	}
	p.space()
	if p.pos < len(src) {
		return nil, p.fail("holds something after the JSON value")
	}
	return &p.out, nil
}

type schemaParser struct {
	src []byte
	pos int
	out schema
}

func (p *schemaParser) fail(what string) error {
	return fmt.Errorf("%s at byte %d", what, p.pos)
}

func (p *schemaParser) space() {
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
func (p *schemaParser) peek() byte {
	p.space()
	if p.pos == len(p.src) {
		return 0
	}
	return p.src[p.pos]
}

// emit copies the next byte to the compacted text.
func (p *schemaParser) emit() {
	p.out.text = append(p.out.text, p.src[p.pos])
	p.pos++
}

// value reads one value and returns the index of its node.
func (p *schemaParser) value(depth int) (int32, error) {
	if depth > maxSchemaDepth {
		return 0, errSchemaDepth
	}
	if len(p.out.nodes) == maxSchemaNodes {
		return 0, errSchemaNodes
	}
	c := p.peek()
	index := int32(len(p.out.nodes))
	p.out.nodes = append(p.out.nodes, node{start: int32(len(p.out.text))})
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
	n := &p.out.nodes[index]
	n.kind, n.end = k, int32(len(p.out.text))
	return index, err
}

// container reads an object or an array from its opening to its closing bracket.
func (p *schemaParser) container(parent int32, depth int, closing byte) error {
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
		p.out.nodes[index].keyStart, p.out.nodes[index].keyEnd = keyStart, keyEnd
		if last == 0 {
			p.out.nodes[parent].child = index
		} else {
			p.out.nodes[last].next = index
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
func (p *schemaParser) memberName(names *memberNames) (start, end int32, err error) {
	if p.peek() != '"' {
		return 0, 0, p.fail("lacks a member name")
	}
	start = int32(len(p.out.text))
	if err := p.string(); err != nil {
		return 0, 0, err
	}
	end = int32(len(p.out.text))
	if literal := p.out.text[start:end]; names.has(&p.out, literal) {
		return 0, 0, fmt.Errorf("names the member %s twice", quote(unquote(literal)))
	}
	if p.peek() != ':' {
		return 0, 0, p.fail("lacks a colon")
	}
	p.emit()
	return start, end, nil
}

// fewMembers is how many members are compared one by one; beyond it their names go into a map.
const fewMembers = 16

// memberNames finds duplicates among the members of one object.
type memberNames struct {
	object int32
	count  int
	many   map[string]struct{} // once there are many
}

// has reports whether the object already has a member of that name, and takes note of it.
func (m *memberNames) has(s *schema, literal []byte) bool {
	if m.count++; m.count <= fewMembers {
		return s.hasMember(m.object, literal)
	}
	if m.many == nil {
		m.many = make(map[string]struct{}, 4*fewMembers)
		for c := range s.children(&s.nodes[m.object]) {
			m.many[s.key(c)] = struct{}{}
		}
	}
	key := unquote(literal)
	_, found := m.many[key]
	m.many[key] = struct{}{}
	return found
}

// hasMember compares names as they are written, and decodes them only where an escape is in the way.
func (s *schema) hasMember(object int32, literal []byte) bool {
	escaped := bytes.IndexByte(literal, '\\') >= 0
	for c := range s.children(&s.nodes[object]) {
		other := s.text[c.keyStart:c.keyEnd]
		if bytes.Equal(other, literal) {
			return true
		}
		if (escaped || bytes.IndexByte(other, '\\') >= 0) && unquote(other) == unquote(literal) {
			return true
		}
	}
	return false
}

func (p *schemaParser) literal(word string) error {
	for i := range len(word) {
		if p.pos == len(p.src) || p.src[p.pos] != word[i] {
			return p.fail("is not valid JSON")
		}
		p.emit()
	}
	return nil
}

// string copies a string literal with its quotes.
func (p *schemaParser) string() error {
	p.emit()
	for p.pos < len(p.src) {
		switch c := p.src[p.pos]; {
		case c == '"':
			p.emit()
			return nil
		case c < 0x20:
			return p.fail("has a control character in a string")
		case c == '\\':
			if err := p.escape(); err != nil {
				return err
			}
		default:
			begin := p.pos
			for p.pos < len(p.src) && p.src[p.pos] >= 0x20 && p.src[p.pos] != '"' && p.src[p.pos] != '\\' {
				p.pos++
			}
			p.out.text = append(p.out.text, p.src[begin:p.pos]...)
		}
	}
	return p.fail("has a string without an end")
}

func (p *schemaParser) escape() error {
	p.emit()
	if p.pos == len(p.src) {
		return p.fail("has a string without an end")
	}
	switch p.src[p.pos] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		p.emit()
		return nil
	case 'u':
		p.emit()
		for range 4 {
			if p.pos == len(p.src) || !isHex(p.src[p.pos]) {
				return p.fail("has a bad escape in a string")
			}
			p.emit()
		}
		return nil
	}
	return p.fail("has a bad escape in a string")
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

// number copies a number of the JSON grammar: -?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?
func (p *schemaParser) number() error {
	if p.src[p.pos] == '-' {
		p.emit()
	}
	if p.pos < len(p.src) && p.src[p.pos] == '0' {
		p.emit()
	} else if !p.digits() {
		return p.fail("has a bad number")
	}
	if p.pos < len(p.src) && p.src[p.pos] == '.' {
		p.emit()
		if !p.digits() {
			return p.fail("has a bad number")
		}
	}
	if p.pos < len(p.src) && p.src[p.pos]|0x20 == 'e' {
		p.emit()
		if p.pos < len(p.src) && (p.src[p.pos] == '+' || p.src[p.pos] == '-') {
			p.emit()
		}
		if !p.digits() {
			return p.fail("has a bad number")
		}
	}
	return nil
}

func (p *schemaParser) digits() bool {
	begin := p.pos
	for p.pos < len(p.src) && '0' <= p.src[p.pos] && p.src[p.pos] <= '9' {
		p.emit()
	}
	return p.pos > begin
}
