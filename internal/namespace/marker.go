package namespace

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/cloister-wasm/cloister/internal/plaintext"
	"github.com/cloister-wasm/cloister/internal/schema"
)

// implicit are members that JavaScript calls by itself: when an object is awaited, printed or compared. A tool call must
// be something that the cell asked for.
var implicit = []string{"then", "toJSON", "toString", "toLocaleString", "valueOf", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable"}

// marker turns an object with a member that begins with "$" into a call. It gives a node after every mistake, so that the
// others are found as well.
func (p *parser) marker(path string, segments []string, n *Node) *Node {
	c := &Call{Path: segments}
	if !slices.Contains(n.Keys, "$tool") {
		for _, k := range n.Keys {
			if strings.HasPrefix(k, "$") {
				p.add(pointer(path, k), suggest(k), "keys that begin with $ are reserved")
			}
		}
		return n
	}
	for i, k := range n.Keys {
		at, v := pointer(path, k), n.Children[i]
		switch k {
		case "$tool":
			c.Tool = p.tool(at, v)
		case "args":
			c.Args = p.args(at, v)
		case "mapInput":
			p.flag(at, v, c)
		default:
			p.add(at, suggest(k), `a call marker has "$tool" and either "args" or "mapInput", nothing else`)
		}
	}
	if c.Args != nil && c.MapInput {
		p.add(path, `keep "args" for plain mapping, or "mapInput" to have the plugin do it`, `"args" and "mapInput" exclude each other`)
	}
	if len(segments) > 0 && slices.Contains(implicit, segments[len(segments)-1]) {
		p.add(path, "choose another name", "JavaScript calls %q by itself; a tool call must be asked for", segments[len(segments)-1])
	}
	if p.calls++; p.calls == MaxCalls+1 {
		p.add(path, "make fewer, broader members", "the scope has more than %d call markers", MaxCalls)
	}
	return &Node{Kind: Function, Call: c}
}

func suggest(key string) string {
	if near := schema.Suggest(key, []string{"$tool", "args", "mapInput"}); near != "" {
		return `did you mean "` + near + `"?`
	}
	return "rename it"
}

func text(v *Node) (string, bool) {
	var s string
	if v.Kind != Value || json.Unmarshal(v.Value, &s) != nil || string(v.Value) == "null" {
		return "", false
	}
	return s, true
}

func (p *parser) tool(at string, v *Node) string {
	name, ok := text(v)
	switch {
	case !ok:
		p.add(at, "write the name of a tool", "a tool's name is a text")
	case !slices.Contains(p.tools, name):
		hint := "add it to requiredToolNames"
		if near := schema.Suggest(name, p.tools); near != "" {
			hint = `did you mean "` + near + `"? Otherwise ` + hint
		}
		p.add(at, hint, "%q is not one of the namespace's requiredToolNames", plaintext.Line(name, maxNameText))
	}
	return name
}

func (p *parser) args(at string, v *Node) []string {
	names := []string{}
	if v.Kind != Array {
		p.add(at, `write a list such as ["number", "patch"]`, `"args" is a list of names`)
		return names
	}
	if len(v.Children) > MaxArgs {
		p.add(at, "take an object instead", "%d arguments are more than %d", len(v.Children), MaxArgs)
		return names
	}
	for i, c := range v.Children {
		name, ok := text(c)
		item := at + "/" + strconv.Itoa(i)
		switch {
		case !ok || len(name) > MaxNameBytes || !identifierForm.MatchString(name):
			p.add(item, "write a name of letters, digits, _ and $", "the name of an argument is an identifier")
		case name == "__proto__" || name == "constructor" || name == "prototype":
			p.add(item, "choose another name", "%q is not a safe name", name)
		case slices.Contains(names, name):
			p.add(item, "give each argument a name of its own", "%q is there twice", name)
		default:
			names = append(names, name)
		}
	}
	return names
}

func (p *parser) flag(at string, v *Node, c *Call) {
	switch {
	case v.Kind == Value && string(v.Value) == "true":
		c.MapInput = true
	case v.Kind == Value && string(v.Value) == "false":
	default:
		p.add(at, "write true, or leave it out", `"mapInput" is true or false`)
	}
}
