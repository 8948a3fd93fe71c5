package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/cloister-wasm/cloister/internal/json5"
	"github.com/cloister-wasm/cloister/internal/schema"
	"github.com/cloister-wasm/cloister/internal/textedit"
)

// document is a text of JSON5 that is changed in place: comments, order and layout
// of what is not touched stay.
type document struct {
	name string
	text []byte
	root *json5.Node
}

func parseDocument(name string, text []byte) (*document, error) {
	root, err := json5.Parse(name, text)
	if err != nil {
		return nil, err
	}
	if root.Kind != json5.Object {
		return nil, fmt.Errorf("%s: %s: must be an object", name, root.Pos)
	}
	return &document{name, text, root}, nil
}

// set gives the text with a member set; objects on the way that are not there are
// made.
func (d *document) set(path []string, value json.RawMessage) ([]byte, error) {
	at, depth := d.root, 0
	for depth < len(path)-1 {
		m := at.Member(path[depth])
		if m == nil {
			break
		}
		if m.Value.Kind != json5.Object {
			return nil, fmt.Errorf("%s: %s: %s must be an object", d.name, m.Value.Pos, path[depth])
		}
		at, depth = m.Value, depth+1
	}
	key := path[depth]
	whole := value
	for i := len(path) - 1; i > depth; i-- {
		whole = schema.Marshal(map[string]json.RawMessage{path[i]: whole})
	}
	var text []byte
	if m := at.Member(key); m != nil {
		from := d.offset(m.Value.Pos)
		text = textedit.Splice(d.text, from, d.valueEnd(from), laidOut(whole, textedit.IndentAt(d.text, from)))
	} else {
		text = d.insert(at, key, whole)
	}
	return d.verified(text, path, value)
}

// remove gives the text without a member, which is there.
func (d *document) remove(path []string) ([]byte, error) {
	at := d.root.Lookup(path[:len(path)-1]...)
	key := path[len(path)-1]
	index := -1
	if at != nil {
		for i := range at.Members {
			if at.Members[i].Key == key {
				index = i
			}
		}
	}
	if index < 0 {
		return nil, fmt.Errorf("%s has no %s", d.name, strings.Join(path, "."))
	}
	from := d.offset(at.Members[index].KeyPos)
	to := d.valueEnd(d.offset(at.Members[index].Value.Pos))
	text := d.text
	if next := d.skipSpace(to); d.text[next] == ',' {
		from, to = textedit.WholeLines(text, from, next+1)
		text = textedit.Splice(text, from, to, "")
	} else {
		from, to = textedit.WholeLines(text, from, to)
		text = textedit.Splice(text, from, to, "")
		if index > 0 { // the comma before it has nothing to separate any more
			comma := d.skipSpace(d.valueEnd(d.offset(at.Members[index-1].Value.Pos)))
			text = textedit.Splice(text, comma, comma+1, "")
		}
	}
	return d.verified(text, path, nil)
}

// verified checks that a change did what it should, and nothing else.
func (d *document) verified(text []byte, path []string, value json.RawMessage) ([]byte, error) {
	refuse := func(err error) ([]byte, error) {
		return nil, fmt.Errorf("%s cannot be changed by a program; change it by hand: %w", d.name, err)
	}
	after, err := json5.Parse(d.name, text)
	if err != nil {
		return refuse(err)
	}
	want, err := plainValue(d.root)
	if err != nil {
		return refuse(err)
	}
	got, err := plainValue(after)
	if err != nil {
		return refuse(err)
	}
	object := want.(map[string]any)
	for _, step := range path[:len(path)-1] {
		next, ok := object[step].(map[string]any)
		if !ok {
			next = map[string]any{}
			object[step] = next
		}
		object = next
	}
	key := path[len(path)-1]
	delete(object, key)
	if value != nil {
		if object[key], err = schema.Decode(value); err != nil {
			return refuse(err)
		}
	}
	if !reflect.DeepEqual(want, got) {
		return refuse(errors.New("its layout is not understood"))
	}
	return text, nil
}

func plainValue(n *json5.Node) (any, error) {
	text, err := n.JSON()
	if err != nil {
		return nil, err
	}
	return schema.Decode(text)
}

// insert adds a member at the end of an object.
func (d *document) insert(object *json5.Node, key string, value json.RawMessage) []byte {
	open := d.offset(object.Pos)
	outer := textedit.IndentAt(d.text, open)
	indent := outer + "  "
	text, at, tail := d.text, open+1, ""
	if n := len(object.Members); n > 0 {
		last := &object.Members[n-1]
		if own := d.offset(last.KeyPos); strings.TrimSpace(string(textedit.LineBefore(text, own))) == "" {
			indent = textedit.IndentAt(d.text, own)
		}
		at = d.valueEnd(d.offset(last.Value.Pos))
		if comma := d.skipSpace(at); text[comma] == ',' {
			at, tail = comma+1, ","
		} else {
			text = textedit.Splice(text, at, at, ",")
			at++
		}
	}
	at = textedit.AfterNote(text, at)
	member := "\n" + indent + string(schema.Marshal(key)) + ": " + laidOut(value, indent) + tail
	rest := at
	for rest < len(text) && (text[rest] == ' ' || text[rest] == '\t') {
		rest++
	}
	if text[rest] == '}' { // it stands on a line of its own now
		return textedit.Splice(text, at, rest, member+"\n"+outer)
	}
	return textedit.Splice(text, at, at, member)
}

func laidOut(value json.RawMessage, indent string) string {
	var b bytes.Buffer
	if err := json.Indent(&b, value, indent, "  "); err != nil {
		return string(value) // no JSON: the check of the whole refuses it
	}
	return b.String()
}
