package namespace

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cloister-wasm/cloister/internal/plaintext"
	"github.com/cloister-wasm/cloister/internal/schema"
)

// Bounds of a scope.
const (
	// MaxScopeBytes bounds the JSON text.
	MaxScopeBytes = 256 << 10
	// MaxDepth bounds the nesting of objects and arrays; the scope itself is the first level.
	MaxDepth = 32
	// MaxCalls bounds the call markers.
	MaxCalls = 512
	// MaxValues bounds the values altogether, objects and arrays included.
	MaxValues = 16384
	// MaxArgs bounds the named arguments of one marker.
	MaxArgs = 16
	// MaxMistakes is the number of mistakes that [ParseScopeAll] lists.
	MaxMistakes = 32
)

// Separator stands between the segments of a call's path. No key holds it.
const Separator = "."

// Kind says what a [Node] is.
type Kind int

// Kinds of nodes.
const (
	Value    Kind = iota // a string, number, boolean or null: Node.Value
	Object               // Node.Keys and Node.Children, in the order of the text
	Array                // Node.Children
	Function             // a call marker: Node.Call
)

// Node is one value of a scope that was checked. Treat it as read-only.
type Node struct {
	Kind Kind
	// Value is the JSON of a Value.
	Value json.RawMessage
	// Keys are the names of an object's members; Children are their values, or the items of an array.
	Keys     []string
	Children []*Node
	// Call is what a Function calls.
	Call *Call
}

// Call is a call marker.
type Call struct {
	// Tool is one of the namespace's declared tools.
	Tool string
	// Args names the arguments; nil means that the first argument is the input.
	Args []string
	// MapInput has the plugin map the arguments.
	MapInput bool
	// Path leads from the scope to the marker: keys, and indexes in decimal. It has one segment at least.
	Path []string
}

// Calls lists all markers below a node, in the order of the text.
func (n *Node) Calls() []*Call {
	if n.Kind == Function {
		return []*Call{n.Call}
	}
	var out []*Call
	for _, c := range n.Children {
		out = append(out, c.Calls()...)
	}
	return out
}

// ParseScope reads and checks a scope: one JSON object, of data and of markers for the given tools only. The error is the
// first mistake, a [*ScopeError]. The result shares no memory with data.
func ParseScope(data []byte, tools []string) (*Node, error) {
	n, mistakes := ParseScopeAll(data, tools)
	if len(mistakes) > 0 {
		return nil, mistakes[0]
	}
	return n, nil
}

// ParseScopeAll is [ParseScope] with all mistakes, at most [MaxMistakes], for authors. The node is nil if there is one.
func ParseScopeAll(data []byte, tools []string) (*Node, []*ScopeError) {
	if len(data) > MaxScopeBytes {
		return nil, []*ScopeError{{Message: fmt.Sprintf("the scope has %d bytes, at most %d are allowed", len(data), MaxScopeBytes),
			Suggestion: "let a tool return what is large"}}
	}
	if err := schema.Check(data); err != nil {
		return nil, []*ScopeError{syntax(err)}
	}
	dec := json.NewDecoder(bytes.NewReader(data)) // after Check: strict, bounded, in the order of the text
	dec.UseNumber()
	p := parser{dec: dec, tools: tools}
	root := p.value("", nil, 1)
	if p.fatal == nil && (root == nil || root.Kind != Object) {
		p.add("", `write {"name": {"$tool": …}}`, "a scope is an object of named members")
	}
	if p.fatal != nil {
		p.mistakes = append(p.mistakes, p.fatal)
	}
	if len(p.mistakes) > 0 {
		return nil, p.mistakes
	}
	return root, nil
}

func syntax(err error) *ScopeError {
	e := &ScopeError{Message: plaintext.Line(err.Error(), 400), Suggestion: "write one JSON object"}
	var de *schema.DecodeError
	if errors.As(err, &de) {
		e.Path, e.Message = de.Path, plaintext.Line(de.Detail, 400)
	}
	return e
}

// parser walks a text that schema.Check let pass. It goes on after a mistake, and stops after a fatal one.
type parser struct {
	dec      *json.Decoder
	tools    []string
	values   int
	calls    int
	mistakes []*ScopeError
	fatal    *ScopeError
}

func (p *parser) add(path, suggestion, format string, args ...any) {
	e := &ScopeError{Path: path, Message: fmt.Sprintf(format, args...), Suggestion: suggestion}
	if len(p.mistakes) == MaxMistakes-1 {
		p.stop(e)
		return
	}
	p.mistakes = append(p.mistakes, e)
}

func (p *parser) stop(e *ScopeError) *Node {
	if p.fatal == nil {
		p.fatal = e
	}
	return nil
}

// value reads one value; nil after a fatal mistake.
func (p *parser) value(path string, segments []string, depth int) *Node {
	if p.fatal != nil {
		return nil
	}
	if p.values++; p.values > MaxValues {
		return p.stop(&ScopeError{Path: path, Message: fmt.Sprintf("the scope has more than %d values", MaxValues), Suggestion: "let a tool return what is large"})
	}
	tok, err := p.dec.Token()
	if err != nil {
		return p.stop(&ScopeError{Path: path, Message: "malformed JSON"})
	}
	d, ok := tok.(json.Delim)
	switch {
	case !ok:
		raw, err := scalar(tok)
		if err != nil {
			return p.stop(&ScopeError{Path: path, Message: "malformed JSON"})
		}
		return &Node{Kind: Value, Value: raw}
	case depth > MaxDepth:
		return p.stop(&ScopeError{Path: path, Message: fmt.Sprintf("the scope is nested deeper than %d levels", MaxDepth), Suggestion: "make it flatter"})
	case d == '{':
		return p.object(path, segments, depth)
	default:
		return p.array(path, segments, depth)
	}
}

// scalar writes a token back as JSON: not with json.Marshal alone, which escapes <, > and & and makes texts longer.
func scalar(tok json.Token) (json.RawMessage, error) {
	if n, ok := tok.(json.Number); ok {
		return json.RawMessage(n), nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(tok); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

func (p *parser) object(path string, segments []string, depth int) *Node {
	n := &Node{Kind: Object}
	for p.dec.More() {
		tok, err := p.dec.Token()
		key, ok := tok.(string)
		if err != nil || !ok {
			return p.stop(&ScopeError{Path: path, Message: "malformed JSON"})
		}
		at := pointer(path, key)
		child := p.value(at, append(segments[:len(segments):len(segments)], key), depth+1)
		if child == nil {
			return nil
		}
		if !strings.HasPrefix(key, "$") {
			p.key(at, key)
		}
		n.Keys = append(n.Keys, key)
		n.Children = append(n.Children, child)
	}
	if _, err := p.dec.Token(); err != nil {
		return p.stop(&ScopeError{Path: path, Message: "malformed JSON"})
	}
	if !slices.ContainsFunc(n.Keys, func(k string) bool { return strings.HasPrefix(k, "$") }) {
		return n
	}
	return p.marker(path, segments, n)
}

func (p *parser) array(path string, segments []string, depth int) *Node {
	n := &Node{Kind: Array}
	for i := 0; p.dec.More(); i++ {
		s := strconv.Itoa(i)
		child := p.value(path+"/"+s, append(segments[:len(segments):len(segments)], s), depth+1)
		if child == nil {
			return nil
		}
		n.Children = append(n.Children, child)
	}
	if _, err := p.dec.Token(); err != nil {
		return p.stop(&ScopeError{Path: path, Message: "malformed JSON"})
	}
	return n
}

// key refuses names that would change what an object is, or split a path in two.
func (p *parser) key(path, key string) {
	switch {
	case key == "":
		p.add(path, "give the member a name", "the key is empty")
	case key == "__proto__" || key == "constructor" || key == "prototype":
		p.add(path, "choose another name", "%q is not a safe key: JavaScript objects give it a meaning", key)
	case strings.Contains(key, Separator):
		p.add(path, "nest an object instead", "%q holds %q, which separates the names of a path", plaintext.Line(key, maxNameText), Separator)
	}
}

func pointer(path, token string) string {
	if len(path) > maxPathText {
		return path // long enough to find the place; a path must not grow with the depth
	}
	return path + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(plaintext.Line(token, maxNameText))
}
