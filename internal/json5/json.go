package json5

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// JSON gives the canonical JSON of the tree under n: equal values give equal bytes.
//
// It is the form of RFC 8785 (members sorted by the UTF-16 code units of their keys, no white space, the shortest escapes,
// numbers as ECMAScript prints them, -0 as 0) with one difference: an integer literal, decimal or hexadecimal, keeps all its
// digits, so that a 64-bit setting is not rounded to a float64.
//
// The errors are *[NotJSONError] for NaN and infinities, and [ErrNoNode] where n is nil.
func (n *Node) JSON() ([]byte, error) {
	if n == nil {
		return nil, ErrNoNode
	}
	return n.appendJSON(nil)
}

func (n *Node) appendJSON(out []byte) ([]byte, error) {
	switch n.Kind {
	case Null:
		return append(out, "null"...), nil
	case Bool:
		return strconv.AppendBool(out, n.Bool), nil
	case Number:
		return n.appendNumber(out)
	case String:
		return appendString(out, n.Text), nil
	case Array:
		return n.appendArray(out)
	case Object:
		return n.appendObject(out)
	}
	return nil, fmt.Errorf("json5: %s:%s: a node of %s was not made by Parse", n.file, n.Pos, n.Kind)
}

func (n *Node) appendArray(out []byte) ([]byte, error) {
	out = append(out, '[')
	for i, element := range n.Elements {
		if i > 0 {
			out = append(out, ',')
		}
		var err error
		if out, err = element.appendJSON(out); err != nil {
			return nil, err
		}
	}
	return append(out, ']'), nil
}

func (n *Node) appendObject(out []byte) ([]byte, error) {
	members := slices.Clone(n.Members)
	slices.SortFunc(members, func(a, b Member) int { return compareUTF16(a.Key, b.Key) })
	out = append(out, '{')
	for i, m := range members {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(appendString(out, m.Key), ':')
		var err error
		if out, err = m.Value.appendJSON(out); err != nil {
			return nil, err
		}
	}
	return append(out, '}'), nil
}

func (n *Node) appendNumber(out []byte) ([]byte, error) {
	if math.IsNaN(n.Number) || math.IsInf(n.Number, 0) {
		return nil, &NotJSONError{File: n.file, Pos: n.Pos, Literal: n.Text}
	}
	if n.Number == 0 {
		return append(out, '0'), nil // -0, and what is too small to tell from zero
	}
	if digits, ok := integer(n.Text); ok {
		return append(out, digits...), nil
	}
	// encoding/json prints a float64 as ECMAScript does.
	text, err := json.Marshal(n.Number)
	if err != nil {
		return nil, fmt.Errorf("json5: %s:%s: print the number: %w", n.file, n.Pos, err)
	}
	return append(out, text...), nil
}

// integer gives the decimal digits of an integer literal, and false for literals with a point or an exponent. Literals are
// bounded: Parse has refused those beyond a float64, so at most 309 digits count.
func integer(literal string) (string, bool) {
	sign := ""
	switch literal[0] {
	case '-':
		sign, literal = "-", literal[1:]
	case '+':
		literal = literal[1:]
	}
	if len(literal) > 2 && literal[1]|0x20 == 'x' {
		value, ok := new(big.Int).SetString(strings.TrimLeft(literal[2:], "0"), 16)
		if !ok {
			return "", false
		}
		return sign + value.String(), true
	}
	if strings.ContainsAny(literal, ".eE") {
		return "", false
	}
	return sign + literal, true
}

func appendString(out []byte, text string) []byte {
	const short = "\b\f\n\r\t\"\\"
	out = append(out, '"')
	for i := range len(text) {
		c := text[i]
		switch at := strings.IndexByte(short, c); {
		case at >= 0:
			out = append(out, '\\', "bfnrt\"\\"[at])
		case c < ' ':
			out = fmt.Appendf(out, `\u%04x`, c)
		default:
			out = append(out, c)
		}
	}
	return append(out, '"')
}

// compareUTF16 orders texts by their UTF-16 code units. That is the order of their bytes in UTF-8, but that code points
// written as surrogates come before those from U+E000 to U+FFFF.
func compareUTF16(a, b string) int {
	at := 0
	for at < len(a) && at < len(b) && a[at] == b[at] {
		at++
	}
	if at < len(a) && at < len(b) {
		const privateLead, astralLead = 0xEE, 0xF0 // first bytes of U+E000 and of U+10000
		aAstral, bAstral := a[at] >= astralLead, b[at] >= astralLead
		if aAstral != bAstral && a[at] >= privateLead && b[at] >= privateLead {
			if aAstral {
				return -1
			}
			return 1
		}
	}
	return strings.Compare(a[at:], b[at:])
}
