package sdk

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// checkCase refuses members that encoding/json took although only their case differs from a member of the struct: a
// schema is case-sensitive, and so must be what comes after it. data is valid JSON.
func checkCase(data []byte, t reflect.Type) error {
	c := caseCheck{data: data, structs: map[reflect.Type]bool{}}
	return c.value(t)
}

type caseCheck struct {
	data    []byte
	pos     int
	structs map[reflect.Type]bool // whether there are structs in a type
}

// value checks the value at pos against a type, nil where it does not matter.
func (c *caseCheck) value(t reflect.Type) error {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t != nil && !c.matters(t) {
		t = nil
	}
	switch c.next() {
	case '{':
		return c.object(t)
	case '[':
		var elem reflect.Type
		if t != nil && (t.Kind() == reflect.Slice || t.Kind() == reflect.Array) {
			elem = t.Elem()
		}
		return c.array(elem)
	case '"':
		c.str()
	default:
		for c.pos < len(c.data) && !strings.ContainsRune(",]} \t\r\n", rune(c.data[c.pos])) {
			c.pos++
		}
	}
	return nil
}

func (c *caseCheck) object(t reflect.Type) error {
	var elem reflect.Type
	var fields []field
	if t != nil && t.Kind() == reflect.Struct {
		fields = fieldsOf(t)
	} else if t != nil && t.Kind() == reflect.Map {
		elem = t.Elem()
	}
	c.pos++
	for c.next() == '"' {
		key := c.str()
		if fields != nil {
			var err error
			if elem, err = member(fields, key); err != nil {
				return err
			}
		}
		c.next()
		c.pos++ // the colon
		if err := c.value(elem); err != nil {
			return err
		}
		if c.next() == ',' {
			c.pos++
		}
	}
	c.pos++
	return nil
}

// member finds a key's type, nil if there is no such member.
func member(fields []field, key []byte) (reflect.Type, error) {
	name := string(key)
	if strings.Contains(name, `\`) {
		if err := json.Unmarshal([]byte(`"`+name+`"`), &name); err != nil {
			return nil, err
		}
	}
	var folded string
	for _, f := range fields {
		if f.name == name {
			return f.typ, nil
		}
		if strings.EqualFold(f.name, name) {
			folded = f.name
		}
	}
	if folded != "" {
		return nil, fmt.Errorf("there is no member %q; write it %q", name, folded)
	}
	return nil, nil
}

func (c *caseCheck) array(elem reflect.Type) error {
	c.pos++
	for c.next() != ']' {
		if err := c.value(elem); err != nil {
			return err
		}
		if c.next() == ',' {
			c.pos++
		}
	}
	c.pos++
	return nil
}

// str passes over a string and gives what is between the quotes.
func (c *caseCheck) str() []byte {
	start := c.pos + 1
	for end := start; ; end++ {
		i := bytes.IndexByte(c.data[min(end, len(c.data)):], '"')
		if i < 0 {
			c.pos = len(c.data) + 1
			return c.data[start:]
		}
		end += i
		escapes := 0
		for c.data[end-1-escapes] == '\\' { // the quote before start ends this
			escapes++
		}
		if escapes%2 == 0 {
			c.pos = end + 1
			return c.data[start:end]
		}
	}
}

// next passes over space and gives the byte there, ']' at the end.
func (c *caseCheck) next() byte {
	for c.pos < len(c.data) {
		switch b := c.data[c.pos]; b {
		case ' ', '\t', '\r', '\n':
			c.pos++
		default:
			return b
		}
	}
	return ']'
}

// matters says whether a struct that encoding/json fills by name is in a type.
func (c *caseCheck) matters(t reflect.Type) bool {
	if known, ok := c.structs[t]; ok {
		return known
	}
	c.structs[t] = false // of a recursive type the other parts decide
	found := false
	switch t.Kind() {
	case reflect.Struct:
		found = !implements(t, jsonUnmarsh) && !implements(t, textUnmarshals)
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		found = !implements(t, jsonUnmarsh) && c.matters(t.Elem())
	}
	c.structs[t] = found
	return found
}
