package json5

import "unicode/utf8"

// Bounds on a document. They are checked before and while it is read.
const (
	// MaxBytes is the length of the longest document that is read: 1 MiB.
	MaxBytes = 1 << 20
	// MaxDepth is how many objects and arrays may lie within one another.
	MaxDepth = 128
)

// Parse reads one JSON5 document. The name stands in errors and in [Node.File]; no file is opened. The data is not kept.
// Every error is a *[SyntaxError].
func Parse(name string, data []byte) (*Node, error) {
	p := &parser{scanner: scanner{file: name, data: data, pos: Pos{1, 1}}}
	if len(data) > MaxBytes {
		return nil, p.fail(p.pos, ErrTooLarge, "the document has %d bytes and may have %d; split it", len(data), MaxBytes)
	}
	if !utf8.Valid(data) {
		return nil, p.invalidUTF8()
	}
	p.skipByteOrderMark()
	return p.document()
}

// parser is a recursive descent over the grammar of JSON5 1.0.0. Each method begins at the first character of its production
// and ends after its last.
type parser struct {
	scanner
	depth int
}

func (p *parser) skipByteOrderMark() {
	if p.accept(byteOrderMark) {
		p.pos = Pos{1, 1}
	}
}

// invalidUTF8 walks to the first byte that is not UTF-8.
func (p *parser) invalidUTF8() error {
	p.skipByteOrderMark()
	for {
		if r, size := utf8.DecodeRune(p.data[p.off:]); r == utf8.RuneError && size <= 1 {
			return p.fail(p.pos, ErrInvalidUTF8, "byte 0x%02x is not UTF-8; save the file as UTF-8", p.peekByte(0))
		}
		p.next()
	}
}

func (p *parser) document() (*Node, error) {
	if err := p.space(); err != nil {
		return nil, err
	}
	n, err := p.value()
	if err != nil {
		return nil, err
	}
	if err := p.space(); err != nil {
		return nil, err
	}
	if r := p.peek(); r != eof {
		return nil, p.fail(p.pos, nil, "expected the end of the file after the value, found %s", describe(r))
	}
	return n, nil
}

func (p *parser) node(kind Kind) *Node {
	return &Node{Kind: kind, Pos: p.pos, file: p.file}
}

func (p *parser) value() (*Node, error) {
	switch r := p.peek(); {
	case r == '{':
		return p.nested(p.object)
	case r == '[':
		return p.nested(p.array)
	case r == '"' || r == '\'':
		n := p.node(String)
		text, err := p.quoted()
		n.Text = text
		return n, err
	case r == '+' || r == '-' || r == '.' || isDigit(r):
		return p.number()
	case isNameStart(r):
		return p.word()
	case r == ',':
		return nil, p.fail(p.pos, nil, "expected a value, found ','; a comma stands only after a value")
	default:
		return nil, p.fail(p.pos, nil, "expected a value, found %s", describe(r))
	}
}

func (p *parser) nested(parse func() (*Node, error)) (*Node, error) {
	if p.depth == MaxDepth {
		return nil, p.fail(p.pos, ErrTooDeep, "objects and arrays are nested more than %d deep", MaxDepth)
	}
	p.depth++
	defer func() { p.depth-- }()
	return parse()
}

// word reads the values that are spelled as names.
func (p *parser) word() (*Node, error) {
	n := p.node(Null)
	switch name := p.plainName(); name {
	case "null":
	case "true", "false":
		n.Kind, n.Bool = Bool, name == "true"
	case "Infinity", "NaN":
		n.Kind, n.Text, n.Number = Number, name, special(name)
	default:
		return nil, p.fail(n.Pos, nil, "%s is no value; put text in quotes (the words are null, true, false, Infinity, NaN)", quote(name))
	}
	return n, nil
}

func (p *parser) array() (*Node, error) {
	n := p.node(Array)
	p.next()
	for {
		if err := p.space(); err != nil {
			return nil, err
		}
		if p.accept(']') {
			return n, nil
		}
		element, err := p.value()
		if err != nil {
			return nil, err
		}
		n.Elements = append(n.Elements, element)
		if err := p.separator(n, ']'); err != nil {
			return nil, err
		}
	}
}

// separator takes the comma after an element or a member. It may be missing before the closing bracket.
func (p *parser) separator(within *Node, closing rune) error {
	if err := p.space(); err != nil {
		return err
	}
	r := p.peek()
	switch {
	case p.accept(',') || r == closing:
		return nil
	case r == eof:
		return p.fail(p.pos, nil, "the %s that begins at %s is not closed; end it with %q", within.Kind, within.Pos, closing)
	default:
		return p.fail(p.pos, nil, "expected ',' or %q, found %s", closing, describe(r))
	}
}
