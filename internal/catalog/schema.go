package catalog

import (
	"bytes"
	"encoding/json"
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

// schema is a JSON text, compacted, with the tree of its values in the order they were written. encoding/json would lose
// that order, takes duplicate keys, and costs several times as much.
type schema struct {
	text  []byte
	nodes []node
}

// node is one value. Links are indices into schema.nodes; 0, the root, stands for none.
type node struct {
	keyStart, keyEnd int32 // of the member's name with its quotes; both 0 outside objects
	start, end       int32 // of the value
	child, next      int32
	kind             kind
}

// unquote decodes a string literal that the parser has accepted.
func unquote(literal []byte) string {
	inner := literal[1 : len(literal)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return string(inner)
	}
	var s string
	if json.Unmarshal(literal, &s) != nil {
		return "" // cannot happen: the grammar was checked
	}
	return s
}

func (s *schema) root() *node { return &s.nodes[0] }

// children walks the members of an object or the elements of an array.
func (s *schema) children(n *node) func(yield func(*node) bool) {
	return func(yield func(*node) bool) {
		for i := n.child; i != 0; i = s.nodes[i].next {
			if !yield(&s.nodes[i]) {
				return
			}
		}
	}
}

func (s *schema) key(n *node) string {
	if n.keyEnd == 0 {
		return ""
	}
	return unquote(s.text[n.keyStart:n.keyEnd])
}

// keyIs compares a member's name without decoding it. The names asked for need no escapes; one that is written with
// escapes all the same is decoded.
func (s *schema) keyIs(n *node, name string) bool {
	if n.keyEnd == 0 {
		return false
	}
	raw := s.text[n.keyStart+1 : n.keyEnd-1]
	if string(raw) == name {
		return true
	}
	return len(raw) > len(name) && s.key(n) == name
}

// member finds a member of an object by name, or nil.
func (s *schema) member(n *node, name string) *node {
	if n == nil || n.kind != kindObject {
		return nil
	}
	for c := range s.children(n) {
		if s.keyIs(c, name) {
			return c
		}
	}
	return nil
}

// str decodes a string value; anything else gives "".
func (s *schema) str(n *node) string {
	if n == nil || n.kind != kindString {
		return ""
	}
	return unquote(s.text[n.start:n.end])
}

// isTrue reports whether a value is the literal true.
func (s *schema) isTrue(n *node) bool {
	return n != nil && n.kind == kindBool && n.end-n.start == 4
}

// Bounds on what the schema of one tool adds to the index.
const (
	maxParamDepth = 3
	maxParamNames = 64
)

// schemaWords collects the names of the parameters, and their descriptions and the values they are limited to.
func schemaWords(s *schema) (names, texts []string) {
	if s == nil {
		return nil, nil
	}
	var walk func(n *node, depth int)
	walk = func(n *node, depth int) {
		if depth > maxParamDepth {
			return
		}
		for p := range s.children(orEmpty(s.member(n, "properties"))) {
			if len(names) == maxParamNames {
				return
			}
			names = append(names, s.key(p))
			for c := range s.children(p) {
				switch {
				case s.keyIs(c, "description"), s.keyIs(c, "title"):
					texts = append(texts, s.str(c))
				case s.keyIs(c, "enum"):
					for v := range s.children(c) {
						if len(texts) < 4*maxParamNames {
							texts = append(texts, s.str(v))
						}
					}
				case s.keyIs(c, "items"):
					walk(c, depth+1)
				}
			}
			walk(p, depth+1)
		}
	}
	walk(s.root(), 1)
	return names, texts
}

// orEmpty lets a missing member be walked like an empty one.
func orEmpty(n *node) *node {
	if n == nil {
		return &node{}
	}
	return n
}
