package json5

import (
	"fmt"
	"strconv"
)

// Kind is what a [Node] is. The zero Kind is none of them and never comes from [Parse].
type Kind uint8

// The kinds of values.
const (
	Null Kind = iota + 1
	Bool
	Number
	String
	Array
	Object
)

var kindNames = [...]string{Null: "null", Bool: "boolean", Number: "number", String: "string", Array: "array", Object: "object"}

// String is the name of the kind as an error text for a user would have it: null, boolean, number, string, array, object.
func (k Kind) String() string {
	if k < Null || k > Object {
		return fmt.Sprintf("Kind(%d)", uint8(k))
	}
	return kindNames[k]
}

// Pos is a position in a document. Line and Column count from 1, Column in code points; the zero Pos is no position.
type Pos struct {
	Line, Column int
}

// String reads line:column.
func (p Pos) String() string { return strconv.Itoa(p.Line) + ":" + strconv.Itoa(p.Column) }

// Node is one value of a document. Nodes are made by [Parse] and are only read after that; reading one tree from many
// goroutines is safe.
type Node struct {
	// Kind says which of the fields below count.
	Kind Kind
	// Pos is the first character of the value.
	Pos Pos
	// Bool is the value of a Bool.
	Bool bool
	// Number is the value of a Number: the nearest float64, NaN or an infinity.
	Number float64
	// Text is the value of a String, and of a Number the literal as written ("+0xFF"), from which [Node.JSON] takes
	// integers without loss.
	Text string
	// Elements are the values of an Array.
	Elements []*Node
	// Members are the keys and values of an Object, in the order of the document. No two have the same key.
	Members []Member

	file string
}

// Member is one key of an Object with its value.
type Member struct {
	// Key is the key, its quotes gone and its escapes resolved.
	Key string
	// KeyPos is the first character of the key, which may be a quote.
	KeyPos Pos
	// Value is never nil.
	Value *Node
}

// File is the name that [Parse] was given, for error texts about a value that is well formed and means nothing. It is
// empty for nil.
func (n *Node) File() string {
	if n == nil {
		return ""
	}
	return n.file
}

// Member finds a key of an Object. It gives nil where n is nil, is no Object or has no such key.
func (n *Node) Member(key string) *Member {
	if n == nil {
		return nil
	}
	for i := range n.Members {
		if n.Members[i].Key == key {
			return &n.Members[i]
		}
	}
	return nil
}

// Lookup follows a path from n: in an Object a step is a key, in an Array a decimal index without sign or leading zeros. It
// gives nil where the path leads nowhere, and n itself for an empty path. It may be called on nil.
func (n *Node) Lookup(path ...string) *Node {
	for _, step := range path {
		if n = n.child(step); n == nil {
			return nil
		}
	}
	return n
}

func (n *Node) child(step string) *Node {
	if m := n.Member(step); m != nil {
		return m.Value
	}
	if n == nil || n.Kind != Array {
		return nil
	}
	i, err := strconv.Atoi(step)
	if err != nil || i < 0 || i >= len(n.Elements) || strconv.Itoa(i) != step {
		return nil
	}
	return n.Elements[i]
}
