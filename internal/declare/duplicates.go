package declare

import (
	"strconv"
	"strings"
)

// shortQuote renders hostile text for an error: ASCII only, quoted, and cut.
func shortQuote(s string) string {
	const most = 96
	if len(s) <= most {
		return strconv.QuoteToASCII(s)
	}
	return strconv.QuoteToASCII(s[:most]) + "..."
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
func (m *memberNames) has(p *parser, literal string) bool {
	t := tree{text: p.out.String(), nodes: p.nodes}
	if m.count++; m.count <= fewMembers {
		return t.hasMember(m.object, literal)
	}
	if m.many == nil {
		m.many = make(map[string]struct{}, 4*fewMembers)
		for i := t.nodes[m.object].child; i != 0; i = t.nodes[i].next {
			m.many[t.key(&t.nodes[i])] = struct{}{}
		}
	}
	key := unquote(literal)
	_, found := m.many[key]
	m.many[key] = struct{}{}
	return found
}

// hasMember compares names as they are written, and decodes them only where an escape is in the way.
func (t *tree) hasMember(object int32, literal string) bool {
	escaped := strings.IndexByte(literal, '\\') >= 0
	for i := t.nodes[object].child; i != 0; i = t.nodes[i].next {
		c := &t.nodes[i]
		other := t.text[c.keyStart:c.keyEnd]
		if other == literal {
			return true
		}
		if (escaped || strings.IndexByte(other, '\\') >= 0) && unquote(other) == unquote(literal) {
			return true
		}
	}
	return false
}
