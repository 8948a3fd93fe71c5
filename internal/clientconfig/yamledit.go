package clientconfig

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/cloister-wasm/cloister/internal/plainjson"
	"github.com/cloister-wasm/cloister/internal/textedit"
)

// yamlEditor changes YAML: whole lines are put in and taken out.
type yamlEditor struct{}

// read implements editor.
func (yamlEditor) read(text []byte, _ []string) (map[string]any, error) {
	_, root, err := yamlRoot(text)
	if err != nil {
		return nil, err
	}
	tree, ok := root.value.(map[string]any)
	if !ok {
		return nil, layout("it is not a mapping")
	}
	return tree, nil
}

// find follows a path as far as it goes: the entries on the way, and the mapping that the last of them holds.
func (n *yamlNode) find(path []string) (way []yamlEntry) {
	for _, key := range path {
		i := slices.IndexFunc(n.entries, func(e yamlEntry) bool { return e.key == key })
		if i < 0 {
			return way
		}
		way = append(way, n.entries[i])
		n = n.entries[i].node
	}
	return way
}

// set implements editor.
func (yamlEditor) set(text []byte, path []string, value json.RawMessage) ([]byte, error) {
	p, root, err := yamlRoot(text)
	if err != nil {
		return nil, err
	}
	way := root.find(path)
	indent, parent := 0, root
	if len(way) > 0 {
		parent = way[len(way)-1].node
		indent = way[len(way)-1].indent + 2
	}
	if len(way) == len(path) { // in place of what is there
		e := way[len(way)-1]
		block, err := p.entry(path[len(path)-1:], value, e.indent)
		if err != nil {
			return nil, err
		}
		return p.replace(e.from, e.to, block), nil
	}
	if n := len(parent.entries); n > 0 {
		last := parent.entries[n-1]
		block, err := p.entry(path[len(way):], value, last.indent)
		if err != nil {
			return nil, err
		}
		return p.replace(last.to, last.to, block), nil
	}
	block, err := p.entry(path[len(way):], value, indent)
	if err != nil {
		return nil, err
	}
	if len(way) == 0 {
		return p.replace(len(p.lines), len(p.lines), block), nil
	}
	// The key is there, and holds nothing, or an empty flow mapping.
	e := way[len(way)-1]
	line := p.lines[e.from]
	head := strings.TrimRight(strings.Replace(string(text[line.from:line.to]), "{}", "", 1), " \r\n") + "\n"
	if e.to != e.from+1 || strings.Contains(head, "{") {
		return nil, layout("line %d: %s is not written as a mapping of lines", e.from+1, e.key)
	}
	return p.replace(e.from, e.to, head+block), nil
}

// remove implements editor. A mapping that would be empty is written as one.
func (yamlEditor) remove(text []byte, path []string) ([]byte, error) {
	p, root, err := yamlRoot(text)
	if err != nil {
		return nil, err
	}
	way := root.find(path)
	if len(way) < len(path) {
		return nil, layout("%s is not written as a mapping of lines", strings.Join(path, "."))
	}
	e := way[len(way)-1]
	if len(way) > 1 && len(way[len(way)-2].node.entries) == 1 {
		above := way[len(way)-2]
		line := p.lines[above.from]
		key, _, ok := strings.Cut(string(text[line.from:line.to]), ":")
		if !ok || strings.ContainsAny(key, `"'#`) {
			return nil, layout("line %d: its key is not understood", above.from+1)
		}
		head := key + ": {}\n"
		return textedit.Splice(p.replace(e.from, e.to, ""), line.from, line.to, strings.ReplaceAll(head, "\n", lineEnd(text))), nil
	}
	return p.replace(e.from, e.to, ""), nil
}

// replace puts text in place of the lines [from, to).
func (p *yamlParser) replace(from, to int, with string) []byte {
	place := func(line int) int {
		if line < len(p.lines) {
			return p.lines[line].from
		}
		return len(p.text)
	}
	at := place(from)
	if with != "" && at > 0 && p.text[at-1] != '\n' {
		with = "\n" + with
	}
	return textedit.Splice(p.text, at, place(to), strings.ReplaceAll(with, "\n", lineEnd(p.text)))
}

// entry lays a value out under the keys of a path.
func (p *yamlParser) entry(path []string, value json.RawMessage, indent int) (string, error) {
	var b strings.Builder
	for i, key := range path {
		b.WriteString(strings.Repeat(" ", indent+2*i) + yamlText(key) + ":\n")
	}
	list, err := fields(value)
	if err != nil {
		return "", err
	}
	if len(list) == 0 {
		return strings.TrimSuffix(b.String(), "\n") + " {}\n", nil
	}
	for _, f := range list {
		text, err := yamlValue(f.value, indent+2*len(path))
		if err != nil {
			return "", err
		}
		b.WriteString(strings.Repeat(" ", indent+2*len(path)) + yamlText(f.key) + ":" + text + "\n")
	}
	return b.String(), nil
}

// yamlValue is what follows a key and its colon.
func yamlValue(value json.RawMessage, indent int) (string, error) {
	var b strings.Builder
	lead := "\n" + strings.Repeat(" ", indent)
	switch value[0] {
	case '"':
		var text string
		if err := json.Unmarshal(value, &text); err != nil {
			return "", err
		}
		return " " + yamlText(text), nil
	case '[':
		list, err := elements(value)
		if err != nil || len(list) == 0 {
			return " []", err
		}
		for _, e := range list {
			if e[0] == '{' || e[0] == '[' {
				return "", layout("a list of lists or objects is not written")
			}
			text, err := yamlValue(e, indent)
			if err != nil {
				return "", err
			}
			b.WriteString(lead + "-" + text)
		}
		return b.String(), nil
	case '{':
		list, err := fields(value)
		if err != nil || len(list) == 0 {
			return " {}", err
		}
		for _, f := range list {
			text, err := yamlValue(f.value, indent+2)
			if err != nil {
				return "", err
			}
			b.WriteString(lead + "  " + yamlText(f.key) + ":" + text)
		}
		return b.String(), nil
	}
	return " " + string(value), nil
}

var plainYAML = regexp.MustCompile(`^[A-Za-z_/][A-Za-z0-9_./-]*$`)

// yamlWords are plain scalars that are no strings, for one version of YAML or another.
var yamlWords = []string{"null", "true", "false", "yes", "no", "on", "off", "y", "n"}

func yamlText(text string) string {
	if plainYAML.MatchString(text) && !slices.Contains(yamlWords, strings.ToLower(text)) {
		return text
	}
	quoted, err := plainjson.Encode(text)
	if err != nil {
		return `""` // cannot be: a string
	}
	return strings.ReplaceAll(string(quoted), "\x7f", `\u007f`)
}
