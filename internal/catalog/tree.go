package catalog

import "strings"

// tree is a schema whose text is at hand as a string too, so that names and values need no copies.
type tree struct {
	schema
	str string
}

// Value is one value of a JSON text that [ParseValue] read, with its members in the order they were written. The zero Value
// stands for a value that is not there; all methods take it. Values are immutable and safe for concurrent use.
type Value struct {
	t *tree
	n *node
}

// ParseValue reads a JSON text as the catalog reads schemas: valid UTF-8, no duplicate keys, nothing after the value, at most
// [MaxSchemaLen] bytes, bounded in depth and number of values.
func ParseValue(text []byte) (Value, error) {
	s, err := parseSchema(text)
	if err != nil {
		return Value{}, err
	}
	t := &tree{schema: *s, str: string(s.text)}
	return Value{t, t.root()}, nil
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

// IsTrue reports the literal true.
func (v Value) IsTrue() bool { return v.n != nil && v.t.isTrue(v.n) }

// IsFalse reports the literal false.
func (v Value) IsFalse() bool { return v.n != nil && v.n.kind == kindBool && !v.t.isTrue(v.n) }

// IsNull reports the literal null.
func (v Value) IsNull() bool { return v.n != nil && v.n.kind == kindNull }

// Text returns a string's text; "" for what is no string.
func (v Value) Text() string {
	if v.n == nil {
		return ""
	}
	if v.n.kind != kindString {
		return ""
	}
	return v.t.unquoted(v.n.start, v.n.end)
}

// Raw returns the value as it was written, without white space outside of strings.
func (v Value) Raw() string {
	if v.n == nil {
		return ""
	}
	return v.t.str[v.n.start:v.n.end]
}

// Size returns the length of Raw.
func (v Value) Size() int {
	if v.n == nil {
		return 0
	}
	return int(v.n.end - v.n.start)
}

// Children walks the members of an object by name, or the elements of an array under the name "".
func (v Value) Children() func(yield func(name string, child Value) bool) {
	return func(yield func(string, Value) bool) {
		if v.n == nil {
			return
		}
		for c := range v.t.children(v.n) {
			name := ""
			if c.keyEnd != 0 {
				name = v.t.unquoted(c.keyStart, c.keyEnd)
			}
			if !yield(name, Value{v.t, c}) {
				return
			}
		}
	}
}

// unquoted decodes the string literal at a place in the text.
func (t *tree) unquoted(start, end int32) string {
	if inner := t.str[start+1 : end-1]; strings.IndexByte(inner, '\\') < 0 {
		return inner
	}
	return unquote(t.text[start:end])
}
