package declare

func (p *parser) literal(word string) error {
	for i := range len(word) {
		if p.pos == len(p.src) || p.src[p.pos] != word[i] {
			return p.fail("is not valid JSON")
		}
		p.emit()
	}
	return nil
}

// string copies a string literal with its quotes.
func (p *parser) string() error {
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
			p.out.Write(p.src[begin:p.pos])
		}
	}
	return p.fail("has a string without an end")
}

func (p *parser) escape() error {
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
func (p *parser) number() error {
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

func (p *parser) digits() bool {
	begin := p.pos
	for p.pos < len(p.src) && '0' <= p.src[p.pos] && p.src[p.pos] <= '9' {
		p.emit()
	}
	return p.pos > begin
}
