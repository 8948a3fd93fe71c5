package clientconfig

import (
	"bytes"
	"errors"
	"strings"
	"unicode/utf8"
)

// maxYAMLDepth is how deep a YAML file may be nested, maxYAMLBytes how long it may be.
const (
	maxYAMLDepth = 64
	maxYAMLBytes = 1 << 20
)

// yamlLine is a line without its indentation, its comment and its end.
type yamlLine struct {
	indent int
	text   string
	// from and to are the whole line in the file, its end included.
	from, to int
}

// yamlNode is a value of a YAML file, and where it is.
type yamlNode struct {
	// value is a string, bool, json.Number, nil, []any, map[string]any or blockText.
	value any
	// entries are those of a block mapping.
	entries []yamlEntry
}

// yamlEntry is a key of a block mapping: lines [from, to) of the file hold it and its value.
type yamlEntry struct {
	key      string
	from, to int
	indent   int
	node     *yamlNode
}

// blockText is a text of several lines, as it is in the file: what it means is not worked out.
type blockText struct {
	Block string `json:"yamlBlock"`
}

// yamlParser reads the part of YAML that configuration files are written in: block mappings and sequences, scalars of one line,
// block texts, and flow collections of one line. It refuses the rest (anchors, tags, several documents, keys that are no
// scalars), so that nothing is changed that it does not understand.
type yamlParser struct {
	text  []byte
	lines []yamlLine
	depth int
}

// yamlRoot reads a file.
func yamlRoot(text []byte) (*yamlParser, *yamlNode, error) {
	p := &yamlParser{text: text}
	if len(text) > maxYAMLBytes {
		return nil, nil, layout("YAML of more than %d bytes", maxYAMLBytes)
	}
	if !utf8.Valid(text) {
		return nil, nil, &SyntaxError{Err: errors.New("it is not UTF-8")}
	}
	at := 0
	if bytes.HasPrefix(text, byteOrderMark) {
		return nil, nil, layout("it begins with a byte order mark")
	}
	for line := range bytes.Lines(text) {
		content := strings.TrimRight(string(line), "\r\n")
		if strings.ContainsRune(content, '\r') {
			return nil, nil, p.fault(len(p.lines), "a carriage return within a line")
		}
		rest := strings.TrimLeft(content, " ")
		p.lines = append(p.lines, yamlLine{len(content) - len(rest), strings.TrimRight(rest, " \t"), at, at + len(line)})
		at += len(line)
	}
	first := 0
	for first < len(p.lines) && p.blank(first) {
		first++
	}
	if first < len(p.lines) && p.lines[first].indent == 0 && p.lines[first].text == "---" {
		p.lines[first].text = ""
	}
	first, err := p.next(0)
	if err != nil {
		return nil, nil, err
	}
	if first == len(p.lines) {
		return p, &yamlNode{value: map[string]any{}}, nil
	}
	node, end, err := p.block(first, p.lines[first].indent)
	if err != nil {
		return nil, nil, err
	}
	if end, err = p.next(end); err != nil {
		return nil, nil, err
	}
	if end < len(p.lines) {
		return nil, nil, p.fault(end, "its indentation is not understood")
	}
	return p, node, nil
}

func (p *yamlParser) fault(line int, what string) error {
	return layout("line %d: %s", line+1, what)
}

func (p *yamlParser) blank(i int) bool {
	text := p.lines[i].text
	return text == "" || text[0] == '#'
}

// next is the first line from i on that holds something.
func (p *yamlParser) next(i int) (int, error) {
	for i < len(p.lines) && p.blank(i) {
		i++
	}
	if i == len(p.lines) {
		return i, nil
	}
	switch text := p.lines[i].text; {
	case text[0] == '\t':
		return 0, p.fault(i, "a tab indents it")
	case p.lines[i].indent == 0 && (strings.HasPrefix(text, "---") || strings.HasPrefix(text, "...") || text[0] == '%'):
		return 0, p.fault(i, "directives and several documents are not understood")
	}
	return i, nil
}

// block reads a mapping or a sequence that begins at a line.
func (p *yamlParser) block(i, indent int) (*yamlNode, int, error) {
	if p.depth++; p.depth > maxYAMLDepth {
		return nil, 0, p.fault(i, "it is nested too deep")
	}
	defer func() { p.depth-- }()
	if isItem(p.lines[i].text) {
		return p.sequence(i, indent)
	}
	return p.mapping(i, indent)
}

func isItem(text string) bool { return text == "-" || strings.HasPrefix(text, "- ") }

func (p *yamlParser) sequence(i, indent int) (*yamlNode, int, error) {
	list := []any{}
	for {
		at, err := p.next(i)
		if err != nil {
			return nil, 0, err
		}
		if at == len(p.lines) || p.lines[at].indent != indent || !isItem(p.lines[at].text) {
			return &yamlNode{value: list}, at, nil
		}
		node, end, err := p.item(at, indent, strings.TrimLeft(p.lines[at].text[1:], " "))
		if err != nil {
			return nil, 0, err
		}
		list, i = append(list, node.value), end
	}
}

// item reads an item of a sequence: what follows "- " is as if it began a line of its own.
func (p *yamlParser) item(i, indent int, rest string) (*yamlNode, int, error) {
	if rest == "" || rest[0] == '#' {
		return p.below(i, indent, false)
	}
	line := &p.lines[i]
	if _, _, isKey, err := splitKey(rest); err != nil {
		return nil, 0, p.fault(i, err.Error())
	} else if isKey || isItem(rest) {
		line.indent += len(line.text) - len(rest)
		line.text = rest
		return p.block(i, line.indent)
	}
	return p.scalar(i, indent, rest)
}

func (p *yamlParser) mapping(i, indent int) (*yamlNode, int, error) {
	node := &yamlNode{}
	tree := map[string]any{}
	for {
		at, err := p.next(i)
		if err != nil {
			return nil, 0, err
		}
		if at == len(p.lines) || p.lines[at].indent < indent {
			node.value = tree
			return node, at, nil
		}
		if p.lines[at].indent > indent {
			return nil, 0, p.fault(at, "its indentation is not understood")
		}
		key, rest, isKey, err := splitKey(p.lines[at].text)
		switch {
		case err != nil:
			return nil, 0, p.fault(at, err.Error())
		case !isKey && isItem(p.lines[at].text):
			node.value = tree
			return node, at, nil
		case !isKey:
			return nil, 0, p.fault(at, "it is no key with a value")
		}
		if _, twice := tree[key]; twice {
			return nil, 0, p.fault(at, "a key is there twice")
		}
		var value *yamlNode
		var end int
		if rest == "" || rest[0] == '#' {
			value, end, err = p.below(at, indent, true)
		} else {
			value, end, err = p.scalar(at, indent, rest)
		}
		if err != nil {
			return nil, 0, err
		}
		tree[key] = value.value
		last := p.lastContent(at, end)
		if _, isText := value.value.(blockText); isText {
			last = end
		}
		node.entries = append(node.entries, yamlEntry{key, at, last, indent, value})
		i = end
	}
}

// lastContent is the line after the last one of a part that holds something.
func (p *yamlParser) lastContent(from, to int) int {
	for to > from+1 && p.blank(to-1) {
		to--
	}
	return to
}

// lastLine is the line after the last one of a text that is not empty: what looks like a comment belongs to it.
func (p *yamlParser) lastLine(from, to int) int {
	for to > from+1 && p.lines[to-1].text == "" {
		to--
	}
	return to
}

// below reads what is on the lines below a key or a dash.
func (p *yamlParser) below(i, indent int, key bool) (*yamlNode, int, error) {
	at, err := p.next(i + 1)
	if err != nil {
		return nil, 0, err
	}
	if at < len(p.lines) && (p.lines[at].indent > indent || key && p.lines[at].indent == indent && isItem(p.lines[at].text)) {
		return p.block(at, p.lines[at].indent)
	}
	return &yamlNode{}, i + 1, nil
}

// scalar reads a value that begins on the line of its key.
func (p *yamlParser) scalar(i, indent int, rest string) (*yamlNode, int, error) {
	if rest[0] == '|' || rest[0] == '>' {
		return p.blockText(i, indent)
	}
	f := &yamlFlow{text: rest}
	value, err := f.value(0)
	if err == nil {
		err = f.end()
	}
	if err != nil {
		return nil, 0, p.fault(i, err.Error())
	}
	at, err := p.next(i + 1)
	if err != nil {
		return nil, 0, err
	}
	if at < len(p.lines) && p.lines[at].indent > indent {
		return nil, 0, p.fault(at, "a value of several lines is not understood")
	}
	return &yamlNode{value: value}, i + 1, nil
}

// blockText takes the lines of a text as they are.
func (p *yamlParser) blockText(i, indent int) (*yamlNode, int, error) {
	end := i + 1
	for end < len(p.lines) && (p.lines[end].text == "" || p.lines[end].indent > indent) {
		end++
	}
	if strings.Contains(p.lines[i].text, "+") && p.lines[end-1].text == "" {
		return nil, 0, p.fault(i, "a text that keeps empty lines at its end")
	}
	end = p.lastLine(i, end)
	return &yamlNode{value: blockText{strings.TrimRight(string(p.text[p.lines[i].from:p.lines[end-1].to]), "\r\n")}}, end, nil
}
