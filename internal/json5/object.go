package json5

import "strings"

func (p *parser) object() (*Node, error) {
	n := p.node(Object)
	p.next()
	var keys keySet
	for {
		if err := p.space(); err != nil {
			return nil, err
		}
		if p.accept('}') {
			return n, nil
		}
		m, err := p.member(n, &keys)
		if err != nil {
			return nil, err
		}
		n.Members = append(n.Members, m)
		if err := p.separator(n, '}'); err != nil {
			return nil, err
		}
	}
}

func (p *parser) member(object *Node, keys *keySet) (Member, error) {
	m := Member{KeyPos: p.pos}
	var err error
	if m.Key, err = p.key(); err != nil {
		return m, err
	}
	// The key is checked before its value is read: the fault is then told first, and at the least cost.
	if first, ok := keys.find(object.Members, m.Key); ok {
		duplicate := &DuplicateKeyError{Key: m.Key, First: first, Second: m.KeyPos}
		return m, p.fail(m.KeyPos, duplicate, "%s", duplicate)
	}
	if err := p.space(); err != nil {
		return m, err
	}
	if !p.accept(':') {
		return m, p.fail(p.pos, nil, "expected ':' after the key, found %s", describe(p.peek()))
	}
	if err := p.space(); err != nil {
		return m, err
	}
	m.Value, err = p.value()
	return m, err
}

func (p *parser) key() (string, error) {
	switch r := p.peek(); {
	case r == '"' || r == '\'':
		return p.quoted()
	case isNameStart(r) || r == '\\':
		return p.name()
	case r == eof:
		return "", p.fail(p.pos, nil, "expected a key or '}', found the end of the file")
	default:
		return "", p.fail(p.pos, nil, "expected a key or '}', found %s; put a key in quotes if it is not a plain name", describe(r))
	}
}

// keySet finds earlier keys of one object. Few keys are compared one by one; from there on a map keeps the work linear in
// the length of the document.
type keySet struct {
	index map[string]Pos
}

func (s *keySet) find(members []Member, key string) (Pos, bool) {
	const few = 16
	if len(members) < few {
		for i := range members {
			if members[i].Key == key {
				return members[i].KeyPos, true
			}
		}
		return Pos{}, false
	}
	if s.index == nil {
		s.index = make(map[string]Pos, 2*few)
		for _, m := range members {
			s.index[m.Key] = m.KeyPos
		}
	} else {
		last := members[len(members)-1]
		s.index[last.Key] = last.KeyPos
	}
	pos, ok := s.index[key]
	return pos, ok
}

// plainName takes the characters of a name up to the first escape.
func (p *parser) plainName() string {
	start := p.off
	for isNamePart(p.peek()) {
		p.next()
	}
	return string(p.data[start:p.off])
}

// name reads an IdentifierName. An escape stands for one character and may not bring in one that could not stand there.
func (p *parser) name() (string, error) {
	name := p.plainName()
	if p.peek() != '\\' {
		return name, nil
	}
	var text strings.Builder
	text.WriteString(name)
	for {
		text.WriteString(p.plainName())
		pos := p.pos
		if !p.accept('\\') {
			return text.String(), nil
		}
		if !p.accept('u') {
			return "", p.fail(pos, nil, `only \u and four hexadecimal digits can be escaped in a key without quotes`)
		}
		r, err := p.hexEscape(pos, 4)
		if err != nil {
			return "", err
		}
		if !isNamePart(r) || text.Len() == 0 && !isNameStart(r) {
			return "", p.fail(pos, nil, "the escape of %s cannot stand here in a key without quotes; put the key in quotes", describe(r))
		}
		text.WriteRune(r)
	}
}
