package json5

import (
	"math"
	"strconv"
)

// number reads a JSON5Number: a sign or none, then a decimal or hexadecimal literal, Infinity or NaN. No space may follow the
// sign.
func (p *parser) number() (*Node, error) {
	n := p.node(Number)
	start := p.off
	negative := p.peek() == '-'
	if negative || p.peek() == '+' {
		p.next()
	}
	unsigned := p.off
	hex := p.peek() == '0' && p.peekByte(1)|0x20 == 'x'
	var err error
	switch r := p.peek(); {
	case isNameStart(r):
		return p.signedWord(n, negative)
	case hex:
		err = p.hexDigits()
	case isDigit(r) || r == '.':
		err = p.decimal(n.Pos)
	default:
		err = p.fail(p.pos, nil, "expected a number after the sign, found %s", describe(r))
	}
	if err != nil {
		return nil, err
	}
	if r := p.peek(); isNameStart(r) || isDigit(r) || r == '\\' {
		return nil, p.fail(p.pos, nil, "%s cannot follow a number; put text in quotes", describe(r))
	}
	n.Text = string(p.data[start:p.off])
	n.Number, err = float(string(p.data[unsigned:p.off]), hex)
	if err != nil {
		return nil, p.fail(n.Pos, ErrNumberRange, "%s is beyond the range of numbers; write Infinity if you mean it", quote(n.Text))
	}
	if negative {
		n.Number = -n.Number
	}
	return n, nil
}

func (p *parser) signedWord(n *Node, negative bool) (*Node, error) {
	pos := p.pos
	sign := "+"
	if negative {
		sign = "-"
	}
	name := p.plainName()
	if name != "Infinity" && name != "NaN" {
		return nil, p.fail(pos, nil, "expected a number after the sign, found %s", quote(name))
	}
	n.Text, n.Number = sign+name, special(name)
	if negative {
		n.Number = -n.Number
	}
	return n, nil
}

func special(name string) float64 {
	if name == "NaN" {
		return math.NaN()
	}
	return math.Inf(1)
}

func (p *parser) hexDigits() error {
	p.next()
	p.next()
	if hexDigit(p.peek()) < 0 {
		return p.fail(p.pos, nil, "expected a hexadecimal digit after 0x, found %s", describe(p.peek()))
	}
	for hexDigit(p.peek()) >= 0 {
		p.next()
	}
	return nil
}

// decimal reads a DecimalLiteral; start is where the number with its sign begins.
func (p *parser) decimal(start Pos) error {
	if p.peek() == '0' && isDigit(rune(p.peekByte(1))) {
		return p.fail(start, nil, "a number may not begin with 0 and more digits; drop the zeros, or write 0x for hexadecimal")
	}
	whole := p.digits()
	if p.accept('.') && p.digits()+whole == 0 {
		return p.fail(p.pos, nil, "expected a digit beside the decimal point, found %s", describe(p.peek()))
	}
	if r := p.peek(); r != 'e' && r != 'E' {
		return nil
	}
	p.next()
	if !p.accept('+') {
		p.accept('-')
	}
	if p.digits() == 0 {
		return p.fail(p.pos, nil, "expected a digit in the exponent, found %s", describe(p.peek()))
	}
	return nil
}

// digits takes decimal digits and counts them.
func (p *parser) digits() int {
	start := p.off
	for isDigit(p.peek()) {
		p.next()
	}
	return p.off - start
}

// float is the float64 nearest to a literal without sign; the error is that there is no finite one.
func float(literal string, hex bool) (float64, error) {
	if hex {
		literal += "p0" // the form in which strconv reads hexadecimal numbers, rounding them right
	}
	return strconv.ParseFloat(literal, 64)
}
