package json5

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// quoted reads a string in either kind of quotes and resolves its escapes.
func (p *parser) quoted() (string, error) {
	start := p.pos
	mark := p.next()
	var text unitBuilder
	for {
		pos := p.pos
		switch r := p.next(); r {
		case mark:
			return text.String(), nil
		case '\\':
			if err := p.escape(pos, &text); err != nil {
				return "", err
			}
		case '\n', '\r':
			return "", p.fail(pos, nil, `line break in the string that begins at %s; close it with %c, or end the line with \`, start, mark)
		case eof:
			return "", p.fail(start, nil, "the string is not closed; end it with %c", mark)
		default:
			text.writeRune(r)
		}
	}
}

// escape reads what follows a backslash, which stands at pos.
func (p *parser) escape(pos Pos, text *unitBuilder) error {
	r := p.peek()
	switch {
	case r == eof:
		return nil // the loop over the string tells that it is not closed
	case isLineTerminator(r):
		p.next()
		if r == '\r' {
			p.accept('\n')
		}
		return nil // a continued line adds nothing
	case r == 'u' || r == 'x':
		return p.unitEscape(pos, text)
	case isDigit(r):
		p.next()
		if r != '0' || isDigit(p.peek()) {
			return p.fail(pos, nil, `octal escape; write \x and two hexadecimal digits`)
		}
		text.writeRune(0)
		return nil
	}
	p.next()
	if c := strings.IndexRune("bfnrtv", r); c >= 0 {
		r = rune("\b\f\n\r\t\v"[c])
	}
	text.writeRune(r)
	return nil
}

func (p *parser) unitEscape(pos Pos, text *unitBuilder) error {
	digits := 4
	if p.next() == 'x' {
		digits = 2
	}
	r, err := p.hexEscape(pos, digits)
	if err != nil {
		return err
	}
	text.writeUnit(r)
	return nil
}

// hexEscape reads the digits of an escape that begins at pos.
func (p *parser) hexEscape(pos Pos, digits int) (rune, error) {
	var value rune
	for range digits {
		d := hexDigit(p.peek())
		if d < 0 {
			return 0, p.fail(pos, nil, "the escape needs %d hexadecimal digits, found %s", digits, describe(p.peek()))
		}
		p.next()
		value = value<<4 | d
	}
	return value, nil
}

// unitBuilder builds UTF-8 from code points and UTF-16 code units: a high surrogate waits for a low one and is U+FFFD when
// none comes.
type unitBuilder struct {
	text strings.Builder
	high rune // 0 when none waits
}

func (b *unitBuilder) writeRune(r rune) {
	b.flush()
	b.text.WriteRune(r)
}

func (b *unitBuilder) writeUnit(unit rune) {
	if b.high != 0 {
		if pair := utf16.DecodeRune(b.high, unit); pair != utf8.RuneError {
			b.high = 0
			b.text.WriteRune(pair)
			return
		}
		b.flush()
	}
	const firstHigh, firstLow = 0xD800, 0xDC00
	if firstHigh <= unit && unit < firstLow {
		b.high = unit
		return
	}
	b.text.WriteRune(unit) // a low surrogate alone is written as U+FFFD
}

func (b *unitBuilder) flush() {
	if b.high != 0 {
		b.high = 0
		b.text.WriteRune(utf8.RuneError)
	}
}

func (b *unitBuilder) String() string {
	b.flush()
	return b.text.String()
}
