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
		text = splice(d.text, from, d.valueEnd(from), laidOut(whole, d.indentAt(from)))
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
		from, to = wholeLines(text, from, next+1)
		text = splice(text, from, to, "")
	} else {
		from, to = wholeLines(text, from, to)
		text = splice(text, from, to, "")
		if index > 0 { // the comma before it has nothing to separate any more
			comma := d.skipSpace(d.valueEnd(d.offset(at.Members[index-1].Value.Pos)))
			text = splice(text, comma, comma+1, "")
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
	outer := d.indentAt(open)
	indent := outer + "  "
	text, at, tail := d.text, open+1, ""
	if n := len(object.Members); n > 0 {
		last := &object.Members[n-1]
		if own := d.offset(last.KeyPos); strings.TrimSpace(string(lineBefore(text, own))) == "" {
			indent = d.indentAt(own)
		}
		at = d.valueEnd(d.offset(last.Value.Pos))
		if comma := d.skipSpace(at); text[comma] == ',' {
			at, tail = comma+1, ","
		} else {
			text = splice(text, at, at, ",")
			at++
		}
	}
	at = afterNote(text, at)
	member := "\n" + indent + string(schema.Marshal(key)) + ": " + laidOut(value, indent) + tail
	rest := at
	for rest < len(text) && (text[rest] == ' ' || text[rest] == '\t') {
		rest++
	}
	if text[rest] == '}' { // it stands on a line of its own now
		return splice(text, at, rest, member+"\n"+outer)
	}
	return splice(text, at, at, member)
}

// afterNote steps over a comment that ends the line: it belongs to what is before.
func afterNote(text []byte, at int) int {
	end := at
	for end < len(text) && text[end] != '\n' && text[end] != '\r' {
		end++
	}
	if strings.HasPrefix(strings.TrimLeft(string(text[at:end]), " \t"), "//") {
		return end
	}
	return at
}

// wholeLines widens a part to its whole lines if nothing else stands in them.
func wholeLines(text []byte, from, to int) (int, int) {
	before := lineBefore(text, from)
	end := to
	for end < len(text) && (text[end] == ' ' || text[end] == '\t' || text[end] == '\r') {
		end++
	}
	if len(bytes.TrimSpace(before)) > 0 || end == len(text) || text[end] != '\n' || len(before) == from {
		return from, to
	}
	return from - len(before), end + 1
}

func lineBefore(text []byte, at int) []byte {
	return text[bytes.LastIndexByte(text[:at], '\n')+1 : at]
}

// indentAt is the white space that begins the line of a place.
func (d *document) indentAt(at int) string {
	line := lineBefore(d.text, at)
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

func laidOut(value json.RawMessage, indent string) string {
	var b bytes.Buffer
	if err := json.Indent(&b, value, indent, "  "); err != nil {
		return string(value) // no JSON: the check of the whole refuses it
	}
	return b.String()
}

func splice(text []byte, from, to int, with string) []byte {
	out := make([]byte, 0, len(text)-(to-from)+len(with))
	return append(append(append(out, text[:from]...), with...), text[to:]...)
}
