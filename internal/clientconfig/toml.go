package clientconfig

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/cloister-wasm/cloister/internal/plainjson"
	"github.com/cloister-wasm/cloister/internal/textedit"
)

// maxTOMLBytes is how long a TOML file may be: the parser takes time by the square of the number of tables.
const maxTOMLBytes = 256 << 10

// tomlEditor changes TOML. A server is the table [list.name] with those below it.
type tomlEditor struct{}

// read implements editor.
func (tomlEditor) read(text []byte, _ []string) (map[string]any, error) {
	if len(text) > maxTOMLBytes {
		return nil, layout("TOML of more than %d bytes", maxTOMLBytes)
	}
	tree := map[string]any{}
	if err := toml.Unmarshal(bytes.TrimPrefix(text, byteOrderMark), &tree); err != nil {
		line := 0
		var de *toml.DecodeError
		if errors.As(err, &de) {
			line, _ = de.Position()
		}
		return nil, &SyntaxError{Line: line, Err: err}
	}
	return tree, nil
}

// set implements editor.
func (tomlEditor) set(text []byte, path []string, value json.RawMessage) ([]byte, error) {
	block, err := tomlTable(path, value)
	if err != nil {
		return nil, err
	}
	end := lineEnd(text)
	block = strings.ReplaceAll(block, "\n", end)
	blocks := tomlBlocks(text, path)
	if len(blocks) == 0 {
		lead := ""
		if len(text) > 0 && !bytes.HasSuffix(text, []byte("\n")) {
			lead = end
		}
		if len(bytes.TrimSpace(text)) > 0 {
			lead += end
		}
		return textedit.Splice(text, len(text), len(text), lead+block), nil
	}
	at := blocks[0][0]
	for _, b := range slices.Backward(blocks) {
		text = textedit.Splice(text, b[0], b[1], "")
	}
	return textedit.Splice(text, at, at, block), nil
}

// remove implements editor.
func (tomlEditor) remove(text []byte, path []string) ([]byte, error) {
	blocks := tomlBlocks(text, path)
	if len(blocks) == 0 {
		return nil, layout("%s is not a table of its own", strings.Join(path, "."))
	}
	for _, b := range slices.Backward(blocks) {
		from := b[0]
		if before := text[:from]; bytes.HasSuffix(before, []byte("\n\n")) || bytes.HasSuffix(before, []byte("\n\r\n")) {
			from = len(bytes.TrimRight(before, "\r\n")) + len(lineEnd(text)) // the empty lines above went with it
		}
		text = textedit.Splice(text, from, b[1], "")
	}
	return text, nil
}

// tomlBlocks are the parts of a text that belong to the table of a path. Comments and empty lines above the next table
// belong to that one.
func tomlBlocks(text []byte, path []string) [][2]int {
	headers := tomlHeaders(text)
	var out [][2]int
	for i, h := range headers {
		if len(h.path) < len(path) || !slices.Equal(h.path[:len(path)], path) {
			continue
		}
		end := len(text)
		if i+1 < len(headers) {
			end = headers[i+1].at
		}
		out = append(out, [2]int{h.at, lastContent(text, h.at, end)})
	}
	return out
}

// lastContent is the end of the last line of a part that is not empty and no comment.
func lastContent(text []byte, from, to int) int {
	end, at := from, from
	for line := range bytes.Lines(text[from:to]) {
		at += len(line)
		if rest := bytes.TrimSpace(line); len(rest) > 0 && rest[0] != '#' {
			end = at
		}
	}
	return end
}

// tomlHeader is the line that begins a table.
type tomlHeader struct {
	at   int
	path []string
}

// tomlHeaders finds the tables of a well-formed text.
func tomlHeaders(text []byte) []tomlHeader {
	var out []tomlHeader
	depth := 0 // of arrays and inline tables
	start := true
	if bytes.HasPrefix(text, byteOrderMark) {
		return nil // the layout is not understood
	}
	for at := 0; at < len(text); {
		switch c := text[at]; {
		case start && depth == 0 && c == '[':
			line := text[at:]
			if n := bytes.IndexByte(line, '\n'); n >= 0 {
				line = line[:n]
			}
			if path := headerPath(line); path != nil {
				out = append(out, tomlHeader{at - len(textedit.LineBefore(text, at)), path})
			}
			at += len(line)
		case c == '\n':
			start = true
			at++
			continue
		case c == ' ' || c == '\t' || c == '\r':
			at++
			continue
		case c == '#':
			if n := bytes.IndexByte(text[at:], '\n'); n >= 0 {
				at += n
			} else {
				at = len(text)
			}
			continue
		case c == '"' || c == '\'':
			at = tomlStringEnd(text, at)
		case c == '[' || c == '{':
			depth++
			at++
		case c == ']' || c == '}':
			depth--
			at++
		default:
			at++
		}
		start = false
	}
	return out
}

// tomlStringEnd is the place after a string of any of the four kinds.
func tomlStringEnd(text []byte, at int) int {
	quote := text[at]
	long := bytes.HasPrefix(text[at:], bytes.Repeat([]byte{quote}, 3))
	if long {
		at += 2
	}
	for at++; at < len(text); at++ {
		switch {
		case text[at] == '\\' && quote == '"':
			at++
		case text[at] == quote && !long:
			return at + 1
		case text[at] == quote && bytes.HasPrefix(text[at:], bytes.Repeat([]byte{quote}, 3)):
			at += 3
			for n := 0; n < 2 && at < len(text) && text[at] == quote; n++ { // quotes may end the content
				at++
			}
			return at
		}
	}
	return len(text)
}

// headerPath reads [a."b".c] and [[a.b]].
func headerPath(line []byte) []string {
	var tree map[string]any
	text := bytes.TrimSpace(line)
	if err := toml.Unmarshal(text, &tree); err != nil {
		return nil
	}
	var path []string
	for len(tree) == 1 {
		for key, value := range tree {
			path = append(path, key)
			tree, _ = value.(map[string]any)
		}
	}
	return path
}

var bareKey = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

func tomlKey(key string) string {
	if bareKey.MatchString(key) {
		return key
	}
	return tomlString(key)
}

func tomlString(text string) string {
	quoted, err := plainjson.Encode(text)
	if err != nil {
		return `""` // cannot be: a string
	}
	return strings.ReplaceAll(string(quoted), "\x7f", `\u007f`)
}

// tomlTable is an entry as a table.
func tomlTable(path []string, value json.RawMessage) (string, error) {
	list, err := fields(value)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	keys := make([]string, len(path))
	for i, key := range path {
		keys[i] = tomlKey(key)
	}
	b.WriteString("[" + strings.Join(keys, ".") + "]\n")
	for _, f := range list {
		text, err := tomlValue(f.value)
		if err != nil {
			return "", err
		}
		b.WriteString(tomlKey(f.key) + " = " + text + "\n")
	}
	return b.String(), nil
}

func tomlValue(value json.RawMessage) (string, error) {
	switch value[0] {
	case '"':
		var text string
		if err := json.Unmarshal(value, &text); err != nil {
			return "", err
		}
		return tomlString(text), nil
	case '[':
		list, err := elements(value)
		if err != nil {
			return "", err
		}
		parts := make([]string, len(list))
		for i, e := range list {
			if parts[i], err = tomlValue(e); err != nil {
				return "", err
			}
		}
		return "[" + strings.Join(parts, ", ") + "]", nil
	case '{':
		list, err := fields(value)
		if err != nil {
			return "", err
		}
		parts := make([]string, len(list))
		for i, f := range list {
			text, err := tomlValue(f.value)
			if err != nil {
				return "", err
			}
			parts[i] = tomlKey(f.key) + " = " + text
		}
		if len(parts) == 0 {
			return "{}", nil
		}
		return "{ " + strings.Join(parts, ", ") + " }", nil
	case 'n':
		return "", layout("TOML has no null")
	}
	return string(value), nil
}
