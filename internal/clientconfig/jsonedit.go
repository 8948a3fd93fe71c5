package clientconfig

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/cloister-wasm/cloister/internal/plainjson"
	"github.com/cloister-wasm/cloister/internal/textedit"
)

// jsonEditor changes JSON with comments and trailing commas.
type jsonEditor struct{}

const emptyJSON = "{}\n"

// read implements editor. What is not on the path is kept as its text: files may hold a lot beside servers.
func (jsonEditor) read(text []byte, path []string) (map[string]any, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return map[string]any{}, nil
	}
	plain, err := plainJSON(text)
	if err != nil {
		return nil, err
	}
	at := skipWhite(plain, 0)
	if plain[at] != '{' {
		return nil, layout("it is not an object")
	}
	return readObject(plain, at, path)
}

func readObject(plain []byte, at int, path []string) (map[string]any, error) {
	list, err := members(plain, at)
	if err != nil {
		return nil, err
	}
	out := make(map[string]any, len(list))
	for _, m := range list {
		if len(path) > 0 && m.key == path[0] && plain[m.value] == '{' {
			if out[m.key], err = readObject(plain, m.value, path[1:]); err != nil {
				return nil, err
			}
			continue
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, plain[m.value:m.end]); err != nil {
			return nil, &SyntaxError{Line: lineOf(plain, m.value), Err: err}
		}
		if compact.String() == "null" {
			out[m.key] = nil
			continue
		}
		out[m.key] = rawJSON(compact.String())
	}
	return out, nil
}

// jsonText is a text to be changed, with its plain form.
type jsonText struct{ text, plain []byte }

func newJSONText(text []byte) (*jsonText, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte(emptyJSON)
	}
	plain, err := plainJSON(text)
	return &jsonText{text, plain}, err
}

// object finds the innermost object of a path that is there, its members and how many steps it lies down.
func (t *jsonText) object(path []string) (at int, list []jsonMember, depth int, err error) {
	at = skipWhite(t.plain, 0)
	for {
		if t.plain[at] != '{' {
			return 0, nil, 0, layout("%s is not an object", strings.Join(path[:depth], "."))
		}
		if list, err = members(t.plain, at); err != nil {
			return 0, nil, 0, err
		}
		m, i := findMember(list, path[depth])
		if i < 0 || depth == len(path)-1 {
			return at, list, depth, nil
		}
		at, depth = m.value, depth+1
	}
}

// set implements editor.
func (jsonEditor) set(text []byte, path []string, value json.RawMessage) ([]byte, error) {
	t, err := newJSONText(text)
	if err != nil {
		return nil, err
	}
	at, list, depth, err := t.object(path)
	if err != nil {
		return nil, err
	}
	for i := len(path) - 1; i > depth; i-- {
		key, err := plainjson.Encode(path[i])
		if err != nil {
			return nil, err
		}
		value = json.RawMessage("{" + string(key) + ":" + string(value) + "}")
	}
	if m, i := findMember(list, path[depth]); i >= 0 {
		return textedit.Splice(t.text, m.value, m.end, t.laidOut(value, textedit.IndentAt(t.text, m.value))), nil
	}
	key, err := plainjson.Encode(path[depth])
	if err != nil {
		return nil, err
	}
	return t.insert(at, list, string(key), value), nil
}

// insert adds a member at the end of an object.
func (t *jsonText) insert(object int, list []jsonMember, key string, value json.RawMessage) []byte {
	outer := textedit.IndentAt(t.text, object)
	indent, at, tail, comma := outer+t.unit(), object+1, "", false
	if len(list) > 0 {
		last := list[len(list)-1]
		if len(bytes.TrimSpace(textedit.LineBefore(t.text, last.at))) == 0 {
			indent = textedit.IndentAt(t.text, last.at)
		}
		at = last.end
		if after := t.skipSpace(at); t.text[after] == ',' { // a trailing comma: the file's way
			at, tail = after+1, ","
		} else {
			comma = true
		}
	}
	end := lineEnd(t.text)
	member := end + indent + key + ": " + t.laidOut(value, indent) + tail
	to := textedit.AfterNote(t.text, at)
	rest := to
	for rest < len(t.text) && (t.text[rest] == ' ' || t.text[rest] == '\t') {
		rest++
	}
	if t.text[rest] == '}' { // it stands on a line of its own now
		member += end + outer
	} else {
		rest = to
	}
	out := textedit.Splice(t.text, to, rest, member)
	if comma {
		out = textedit.Splice(out, at, at, ",")
	}
	return out
}

// remove implements editor.
func (jsonEditor) remove(text []byte, path []string) ([]byte, error) {
	t, err := newJSONText(text)
	if err != nil {
		return nil, err
	}
	at, list, depth, err := t.object(path)
	if err != nil {
		return nil, err
	}
	m, i := findMember(list, path[depth])
	if i < 0 || depth != len(path)-1 {
		return nil, layout("it has no %s", strings.Join(path, "."))
	}
	if len(list) == 1 && len(bytes.TrimSpace(t.text[at+1:m.at])) == 0 {
		if close := t.skipSpace(m.end); t.text[close] == '}' && len(bytes.TrimSpace(t.text[m.end:close])) == 0 {
			return textedit.Splice(t.text, at+1, close, ""), nil // nothing else is in the object
		}
	}
	from, to := m.at, m.end
	if next := t.skipSpace(to); t.text[next] == ',' {
		from, to = textedit.WholeLines(t.text, from, next+1)
		return textedit.Splice(t.text, from, to, ""), nil
	}
	from, to = textedit.WholeLines(t.text, from, to)
	out := textedit.Splice(t.text, from, to, "")
	if i > 0 { // the comma before it has nothing to separate any more
		if comma := t.skipSpace(list[i-1].end); t.text[comma] == ',' {
			out = textedit.Splice(out, comma, comma+1, "")
		}
	}
	return out, nil
}

// skipSpace steps over white space and comments.
func (t *jsonText) skipSpace(at int) int {
	for at < len(t.text) {
		if next := skipWhite(t.text, at); next != at {
			at = next
			continue
		}
		if t.text[at] != '/' {
			return at
		}
		end, err := commentEnd(t.text, at)
		if err != nil {
			return at // cannot be: the text was read
		}
		at = end
	}
	return at
}

// unit is what one level of the text is indented by.
func (t *jsonText) unit() string {
	unit := ""
	for line := range bytes.Lines(t.text) {
		rest := bytes.TrimLeft(line, " \t")
		if n := len(line) - len(rest); n > 0 && len(rest) > 0 && rest[0] == '"' && (unit == "" || n < len(unit)) {
			unit = string(line[:n])
		}
	}
	if unit == "" {
		return "  "
	}
	return unit
}

func (t *jsonText) laidOut(value json.RawMessage, indent string) string {
	var b bytes.Buffer
	if err := json.Indent(&b, value, indent, t.unit()); err != nil {
		return string(value) // no JSON: the check of the whole refuses it
	}
	return strings.ReplaceAll(b.String(), "\n", lineEnd(t.text))
}
