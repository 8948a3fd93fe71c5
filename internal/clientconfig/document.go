package clientconfig

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/cloister-wasm/cloister/internal/plainjson"
)

// MaxBytes is the length of the longest file that is read, in bytes. Claude Code keeps its history beside its servers.
const MaxBytes = 32 << 20

// Format is how a file is written.
type Format string

// The formats.
const (
	JSON Format = "json" // with comments and trailing commas
	TOML Format = "toml"
	YAML Format = "yaml"
)

// editor reads and changes the texts of one format. A path is never empty.
type editor interface {
	// read checks the text and gives it as maps. Values off the path may be of any type that reflect.DeepEqual compares.
	read(text []byte, path []string) (map[string]any, error)
	// set gives the text with the member at the path set.
	set(text []byte, path []string, value json.RawMessage) ([]byte, error)
	// remove gives the text without the member at the path, which is there.
	remove(text []byte, path []string) ([]byte, error)
}

var editors = map[Format]editor{JSON: jsonEditor{}, TOML: tomlEditor{}, YAML: yamlEditor{}}

// Document is the text of a client's file and what it says of servers. It is not changed: [Document.Set] and
// [Document.Remove] give another. It is safe for concurrent use.
type Document struct {
	file   string
	format Format
	path   []string
	text   []byte
	tree   map[string]any
}

// Open reads a file's text. The name stands in errors, path is where the list of servers is in it, such as "mcpServers". An
// empty text is an empty file of the format. Errors are [SyntaxError], [ErrTooLarge] and [ErrLayout].
func Open(file string, format Format, path []string, text []byte) (*Document, error) {
	e, ok := editors[format]
	if !ok || len(path) == 0 {
		return nil, fmt.Errorf("%w: %s: no format %q", ErrSyntax, file, format)
	}
	if len(text) > MaxBytes {
		return nil, fmt.Errorf("%s: %w: more than %d bytes", file, ErrTooLarge, MaxBytes)
	}
	d := &Document{file: file, format: format, path: path, text: text}
	var err error
	if d.tree, err = e.read(text, path); err != nil {
		return nil, d.wrap(err)
	}
	at := d.tree
	for i, key := range path {
		value, there := at[key]
		next, isMap := value.(map[string]any)
		if there && value != nil && !isMap {
			return nil, fmt.Errorf("%s: %w: %s is not an object", file, ErrLayout, strings.Join(path[:i+1], "."))
		}
		at = next
	}
	return d, nil
}

func (d *Document) wrap(err error) error {
	if se, ok := err.(*SyntaxError); ok {
		se.File = d.file
		return se
	}
	return fmt.Errorf("%s: %w", d.file, err)
}

// Text is the text. It must not be changed.
func (d *Document) Text() []byte { return d.text }

// Path is where the list of servers is.
func (d *Document) Path() []string { return d.path }

func (d *Document) list() map[string]any {
	at := d.tree
	for _, key := range d.path {
		at, _ = at[key].(map[string]any)
	}
	return at
}

// Names are the servers of the list, sorted.
func (d *Document) Names() []string { return slices.Sorted(maps.Keys(d.list())) }

// Server gives a server's entry as JSON, nil if there is none.
func (d *Document) Server(name string) json.RawMessage {
	value, ok := d.list()[name]
	if !ok {
		return nil
	}
	return toJSON(value)
}

// Depth says how many steps of the path are there: what [Document.Set] has to make is the rest.
func (d *Document) Depth() int {
	at := d.tree
	for i, key := range d.path {
		next, ok := at[key]
		if !ok {
			return i
		}
		at, _ = next.(map[string]any)
	}
	return len(d.path)
}

// Set gives the document with a server's entry, a JSON object, in place of one of that name or at the end of the list.
// It gives [ErrLayout] where anything else would change.
func (d *Document) Set(name string, entry json.RawMessage) (*Document, error) {
	text, err := editors[d.format].set(d.text, append(slices.Clone(d.path), name), entry)
	if err != nil {
		return nil, d.wrap(err)
	}
	return d.checked(text, d.path, name, entry)
}

// Remove gives the document without a server. Without one of that name it is the same.
func (d *Document) Remove(name string) (*Document, error) {
	if _, ok := d.list()[name]; !ok {
		return d, nil
	}
	text, err := editors[d.format].remove(d.text, append(slices.Clone(d.path), name))
	if err != nil {
		return nil, d.wrap(err)
	}
	return d.checked(text, d.path, name, nil)
}

// Prune takes the list out, and what is around it from the given depth on, as far as these are empty.
func (d *Document) Prune(depth int) (*Document, error) {
	for n := d.Depth(); n > depth; n-- {
		at := d.tree
		for _, key := range d.path[:n-1] {
			at, _ = at[key].(map[string]any)
		}
		value, there := at[d.path[n-1]]
		if inner, _ := value.(map[string]any); !there || len(inner) > 0 {
			return d, nil
		}
		text, err := editors[d.format].remove(d.text, d.path[:n])
		if err != nil {
			return nil, d.wrap(err)
		}
		if d, err = d.checked(text, d.path[:n-1], d.path[n-1], nil); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// Empty says that the document holds nothing.
func (d *Document) Empty() bool { return len(d.tree) == 0 && len(bytes.TrimSpace(d.text)) <= len("{}") }

// checked reads a changed text again: but for one member it has to say what the text before it said.
func (d *Document) checked(text []byte, path []string, name string, value json.RawMessage) (*Document, error) {
	after, err := Open(d.file, d.format, d.path, text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.file, layout("the result would not be well formed (%v)", err))
	}
	if !onlyDiffer(d.tree, after.tree, path, name, value) {
		return nil, fmt.Errorf("%s: %w", d.file, layout("its layout is not understood"))
	}
	return after, nil
}

// onlyDiffer says whether two trees are the same but for one member, which has the value now, or is gone if that is nil. An
// object that is missing counts as an empty one on the way there.
func onlyDiffer(before, after map[string]any, path []string, name string, value json.RawMessage) bool {
	key := name
	if len(path) > 0 {
		key = path[0]
	}
	for k, v := range before {
		if other, ok := after[k]; k != key && (!ok || !reflect.DeepEqual(v, other)) {
			return false
		}
	}
	for k := range after {
		if _, ok := before[k]; k != key && !ok {
			return false
		}
	}
	if len(path) > 0 {
		b, _ := before[key].(map[string]any)
		a, _ := after[key].(map[string]any)
		return onlyDiffer(b, a, path[1:], name, value)
	}
	got, there := after[key]
	if value == nil {
		return !there
	}
	return there && Same(toJSON(got), value)
}

// rawJSON is a value of which only the text counts.
type rawJSON string

func toJSON(value any) json.RawMessage {
	if raw, ok := value.(rawJSON); ok {
		return json.RawMessage(raw)
	}
	text, err := plainjson.Encode(value)
	if err != nil {
		return json.RawMessage("null") // what has no JSON is no server
	}
	return text
}

// Same says whether two JSON texts mean the same. The order of members does not count; nil is only the same as nil.
func Same(a, b json.RawMessage) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	x, errX := decode(a)
	y, errY := decode(b)
	return errX == nil && errY == nil && reflect.DeepEqual(x, y)
}

func decode(text json.RawMessage) (value any, err error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	err = dec.Decode(&value)
	return value, err
}

// lineOf counts the lines up to a place.
func lineOf(text []byte, at int) int {
	return bytes.Count(text[:min(max(at, 0), len(text))], []byte("\n")) + 1
}

// lineEnd is how the lines of a text end.
func lineEnd(text []byte) string {
	if bytes.Contains(text, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}
