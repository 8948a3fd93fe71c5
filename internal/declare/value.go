package declare

import (
	"encoding/json"
	"iter"
	"strings"
)

type kind uint8

const (
	kindNull kind = iota
	kindBool
	kindNumber
	kindString
	kindArray
	kindObject
)

// tree is a JSON text, compacted, with its values in the order they were written. encoding/json would lose that order, takes
// duplicate keys, and costs several times as much.
type tree struct {
	text  string
	nodes []node
}

// node is one value. Links are indices into tree.nodes; 0, the root, stands for none.
type node struct {
	keyStart, keyEnd int32 // of the member's name with its quotes; both 0 outside objects
	start, end       int32 // of the value
	child, next      int32
	kind             kind
}

// Value is one value of a JSON text that [Parse] read, with its members in the order they were written. The zero Value
// stands for a value that is not there; all methods take it. Values are immutable and safe for concurrent use. A Value, and each
// string that it returns, keeps the whole text in memory. Two Values are equal if they are the same place of one text.
type Value struct {
	t *tree
	n *node
}

// Exists reports whether there is a value.
func (v Value) Exists() bool { return v.n != nil }

// IsObject reports an object.
func (v Value) IsObject() bool { return v.n != nil && v.n.kind == kindObject }

// IsArray reports an array.
func (v Value) IsArray() bool { return v.n != nil && v.n.kind == kindArray }

// IsString reports a string.
func (v Value) IsString() bool { return v.n != nil && v.n.kind == kindString }

// IsNumber reports a number.
func (v Value) IsNumber() bool { return v.n != nil && v.n.kind == kindNumber }

// IsBool reports true or false.
func (v Value) IsBool() bool { return v.n != nil && v.n.kind == kindBool }

// IsTrue reports the literal true.
func (v Value) IsTrue() bool { return v.IsBool() && v.Size() == len("true") }

// IsFalse reports the literal false.
func (v Value) IsFalse() bool { return v.IsBool() && v.Size() == len("false") }

// IsNull reports the literal null.
func (v Value) IsNull() bool { return v.n != nil && v.n.kind == kindNull }

// Text returns a string's text; "" for what is no string.
func (v Value) Text() string {
	if !v.IsString() {
		return ""
	}
	return v.t.unquoted(v.n.start, v.n.end)
}

// Raw returns the value as it was written, without white space outside of strings.
func (v Value) Raw() string {
	if v.n == nil {
		return ""
	}
	return v.t.text[v.n.start:v.n.end]
}

// Size returns the length of Raw in bytes.
func (v Value) Size() int {
	if v.n == nil {
		return 0
	}
	return int(v.n.end - v.n.start)
}

// Children walks the members of an object by name, or the elements of an array under the name "".
func (v Value) Children() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		if v.n == nil {
			return
		}
		for i := v.n.child; i != 0; i = v.t.nodes[i].next {
			c := &v.t.nodes[i]
			if !yield(v.t.key(c), Value{v.t, c}) {
				return
			}
		}
	}
}

// Member returns the member of an object by name. Where there is none, and where v is no object, it does not exist.
func (v Value) Member(name string) Value {
	if v.IsObject() {
		for key, c := range v.Children() {
			if key == name {
				return c
			}
		}
	}
	return Value{}
}

// isEmpty reports what has neither members nor elements.
func (v Value) isEmpty() bool { return v.n == nil || v.n.child == 0 }

// first is the first element or member.
func (v Value) first() Value {
	if v.isEmpty() {
		return Value{}
	}
	return Value{v.t, &v.t.nodes[v.n.child]}
}

// key decodes the name of a member; "" for an element of an array.
func (t *tree) key(n *node) string {
	if n.keyEnd == 0 {
		return ""
	}
	return t.unquoted(n.keyStart, n.keyEnd)
}

// unquoted decodes the string literal at a place in the text.
func (t *tree) unquoted(start, end int32) string { return unquote(t.text[start:end]) }

// unquote decodes a string literal that the parser has accepted.
func unquote(literal string) string {
	inner := literal[1 : len(literal)-1]
	if strings.IndexByte(inner, '\\') < 0 {
		return inner
	}
	var s string
	if json.Unmarshal([]byte(literal), &s) != nil {
		return "" // cannot happen: the grammar was checked
	}
	return s
}
