package namespace

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var tools = []string{"list_issues", "update_issue"}

func TestParseScope(t *testing.T) {
	root, err := ParseScope([]byte(` {"z": 1, "repository": {"owner": "o<&>", "stars": 12345678901234567890, "tags": ["a", null, true]},
		"list": {"$tool": "list_issues"}, "admin": {"update": {"args": ["number", "patch"], "$tool": "update_issue"}},
		"many": [{"$tool": "list_issues", "mapInput": true}, {"$tool": "list_issues", "args": []}]}`), tools)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"z", "repository", "list", "admin", "many"}, root.Keys); diff != "" {
		t.Errorf("the order of the text is lost (-want +got):\n%s", diff)
	}
	want := []*Call{
		{Tool: "list_issues", Path: []string{"list"}},
		{Tool: "update_issue", Args: []string{"number", "patch"}, Path: []string{"admin", "update"}},
		{Tool: "list_issues", MapInput: true, Path: []string{"many", "0"}},
		{Tool: "list_issues", Args: []string{}, Path: []string{"many", "1"}},
	}
	if diff := cmp.Diff(want, root.Calls()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := written(root); got != `{"z":1,"repository":{"owner":"o<&>","stars":12345678901234567890,"tags":["a",null,true]},`+
		`"list":"list_issues","admin":{"update":"update_issue"},"many":["list_issues","list_issues"]}` {
		t.Errorf("the data changed: %s", got)
	}
}

// written writes a scope back, with a tool's name for a call.
func written(n *Node) string {
	var parts []string
	switch n.Kind {
	case Value:
		return string(n.Value)
	case Function:
		return fmt.Sprintf("%q", n.Call.Tool)
	case Array:
		for _, c := range n.Children {
			parts = append(parts, written(c))
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	for i, c := range n.Children {
		key, err := json.Marshal(n.Keys[i])
		if err != nil {
			panic(err)
		}
		parts = append(parts, string(key)+":"+written(c))
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func TestScopeMistakes(t *testing.T) {
	long := strings.Repeat("k", 10_000)
	tests := []struct {
		name, scope string
		want        []string // beginnings
	}{
		{"empty", `{}`, nil},
		{"no object", `[]`, []string{"a scope is an object"}},
		{"null", `null`, []string{"a scope is an object"}},
		{"a marker as the scope", `{"$tool":"list_issues"}`, []string{"a scope is an object"}},
		{"malformed", `{"a":`, []string{"/a: the text ends"}},
		{"two values", `{}{}`, []string{"there is more text"}},
		{"twice", `{"a":1,"a":2}`, []string{`/a: the key "a" appears twice`}},
		{"proto", `{"__proto__":{"polluted":true}}`, []string{`/__proto__: "__proto__" is not a safe key`}},
		{"escaped proto", `{"\u005f_proto__":1}`, []string{`/__proto__: "__proto__" is not a safe key`}},
		{"deep constructor", `{"a":[{"constructor":{"prototype":1}}]}`, []string{`/a/0/constructor/prototype: `, `/a/0/constructor: `}},
		{"empty key", `{"a":{"":1}}`, []string{`/a/: the key is empty`}},
		{"separator", `{"a.b":1}`, []string{`/a.b: "a.b" holds "."`}},
		{"reserved", `{"a":{"$ref":"#/b"}}`, []string{`/a/$ref: keys that begin with $ are reserved`}},
		{"misspelt", `{"a":{"$tol":"list_issues"}}`, []string{`/a/$tol: keys that begin with $ are reserved; did you mean "$tool"?`}},
		{"foreign tool", `{"a":{"$tool":"send_mail"}}`, []string{`/a/$tool: "send_mail" is not one of the namespace's requiredToolNames; add it`}},
		{"near tool", `{"a":{"$tool":"list_isues"}}`, []string{`/a/$tool: "list_isues" is not one of the namespace's requiredToolNames; did you mean "list_issues"?`}},
		{"case of a tool", `{"a":{"$tool":"List_Issues"}}`, []string{`/a/$tool: "List_Issues" is not one of`}},
		{"tool of no text", `{"a":{"$tool":["list_issues"]}}`, []string{`/a/$tool: a tool's name is a text`}},
		{"null tool", `{"a":{"$tool":null}}`, []string{`/a/$tool: a tool's name is a text`}},
		{"more in a marker", `{"a":{"$tool":"list_issues","input":{"$tool":"x"}}}`, []string{`/a/input/$tool: "x" is not`, `/a/input: a call marker has`}},
		{"args and mapInput", `{"a":{"$tool":"list_issues","args":["x"],"mapInput":true}}`, []string{`/a: "args" and "mapInput" exclude each other`}},
		{"mapInput of text", `{"a":{"$tool":"list_issues","mapInput":"yes"}}`, []string{`/a/mapInput: "mapInput" is true or false`}},
		{"args of text", `{"a":{"$tool":"list_issues","args":"x"}}`, []string{`/a/args: "args" is a list`}},
		{"arg names", `{"a":{"$tool":"list_issues","args":["x","x","a b","__proto__",1,"ok"]}}`, []string{
			`/a/args/1: "x" is there twice`, `/a/args/2: the name of an argument is an identifier`,
			`/a/args/3: "__proto__" is not a safe name`, `/a/args/4: the name of an argument`}},
		{"too many args", `{"a":{"$tool":"list_issues","args":[` + strings.Repeat(`"a",`, 16) + `"b"]}}`, []string{`/a/args: 17 arguments are more than 16`}},
		{"thenable", `{"then":{"$tool":"list_issues"}}`, []string{`/then: JavaScript calls "then" by itself`}},
		{"a datum named then", `{"then":1,"toJSON":"x"}`, nil},
		{"printed", `{"a":{"toString":{"$tool":"list_issues"}}}`, []string{`/a/toString: JavaScript calls "toString" by itself`}},
		{"deep", strings.Repeat(`{"a":`, 33) + "1" + strings.Repeat("}", 33), []string{strings.Repeat("/a", 32) + ": the scope is nested deeper than 32"}},
		{"deeper than any JSON", strings.Repeat(`{"a":`, 5000), []string{"/a"}},
		{"deep enough", strings.Repeat(`{"a":`, 32) + "1" + strings.Repeat("}", 32), nil},
		{"large", `{"a":"` + strings.Repeat("x", MaxScopeBytes) + `"}`, []string{"the scope has 262152 bytes"}},
		{"many values", `{"a":[` + strings.Repeat("0,", MaxValues) + "0]}", []string{fmt.Sprintf("/a/%d: the scope has more than", MaxValues-2)}},
		{"long key", `{"` + long + `.":1}`, []string{"/kkk"}},
		{"terminal escape", `{"\u001b[2J.":1}`, []string{"/\ufffd[2J.: \"\ufffd[2J.\" holds \".\""}},
		{"lone surrogate", `{"a":"\ud800"}`, []string{"/a: "}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root, mistakes := ParseScopeAll([]byte(tt.scope), tools)
			if (root == nil) == (len(mistakes) == 0) {
				t.Fatalf("a node with mistakes, or none without: %v", mistakes)
			}
			ok := len(mistakes) == len(tt.want)
			for i, m := range mistakes {
				ok = ok && i < len(tt.want) && strings.HasPrefix(m.Error(), tt.want[i])
				if len(m.Error()) > 800 || strings.ContainsAny(m.Error(), "\n\x1b") {
					t.Errorf("not one bounded line: %q", m.Error())
				}
			}
			if !ok {
				t.Errorf("got %q, want %q", mistakes, tt.want)
			}
			if _, err := ParseScope([]byte(tt.scope), tools); (err == nil) != (len(tt.want) == 0) || err != nil && !errors.Is(err, ErrScope) {
				t.Errorf("ParseScope = %v", err)
			}
		})
	}
}

func TestScopeBoundsCalls(t *testing.T) {
	markers := func(n int) []byte {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `%c"m%d":{"$tool":"list_issues"}`, ",{"[min(1, 1-min(i, 1))], i)
		}
		return []byte(b.String() + "}")
	}
	if root, err := ParseScope(markers(MaxCalls), tools); err != nil || len(root.Calls()) != MaxCalls {
		t.Errorf("%d markers: %v", MaxCalls, err)
	}
	if _, err := ParseScope(markers(MaxCalls+1), tools); err == nil {
		t.Error("one marker too many passed")
	}
}

// Mistakes have a bound of their own, and finding them ends.
func TestScopeOfMistakes(t *testing.T) {
	_, mistakes := ParseScopeAll([]byte(`{"a":[`+strings.Repeat(`{"":{"$x":1}},`, 3000)+`0]}`), tools)
	if len(mistakes) != MaxMistakes {
		t.Errorf("%d mistakes, want %d", len(mistakes), MaxMistakes)
	}
}

func TestNoToolsNoCalls(t *testing.T) {
	if _, err := ParseScope([]byte(`{"a":{"$tool":"x"}}`), nil); err == nil {
		t.Error("a marker passed without any tool declared")
	}
}

func TestMapArgs(t *testing.T) {
	raw := func(args ...string) (out []json.RawMessage) {
		for _, a := range args {
			out = append(out, json.RawMessage(a))
		}
		return out
	}
	named := &Call{Args: []string{"number", "patch"}, Path: []string{"update"}}
	first := &Call{Path: []string{"list"}}
	tests := []struct {
		name string
		call *Call
		args []json.RawMessage
		want string // or "!" and the beginning of the error
	}{
		{"none", first, nil, `{}`},
		{"undefined", first, raw(""), `{}`},
		{"null", first, raw(" null"), `{}`},
		{"object", first, raw(`{"state":"open"}`), `{"state":"open"}`},
		{"what the tool's schema will refuse", first, raw(`7`), `7`},
		{"two", first, raw(`{}`, `1`), `!it takes one argument`},
		{"two, but undefined", first, raw(`{}`, ``), `{}`},
		{"not JSON", first, raw(`{}, "x": 1`), `!argument 1 is not JSON`},
		{"named", named, raw(`7`, `{"state":"closed"}`), `{"number":7,"patch":{"state":"closed"}}`},
		{"some named", named, raw(``, `null`), `{"patch":null}`},
		{"no named", named, nil, `{}`},
		{"too many named", named, raw(`1`, `2`, `3`), `!it takes at most 2 arguments: number, patch`},
		{"members smuggled in", named, raw(`7,"admin":true`), `!argument 1 is not JSON`},
		{"members over", named, raw(`7}`), `!argument 1 is not JSON`},
		{"duplicate keys", named, raw(`{"a":1,"a":2}`), `!argument 1 is not JSON`},
		{"no arguments", &Call{Args: []string{}}, raw(`1`), `!it takes no arguments`},
		{"the plugin's", &Call{MapInput: true}, nil, `!the plugin has to map`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.call.MapArgs(tt.args)
			if err != nil {
				if !errors.Is(err, ErrArguments) || !strings.HasPrefix("!"+err.Error(), tt.want) {
					t.Errorf("MapArgs = %v, want %s", err, tt.want)
				}
				return
			}
			if string(got) != tt.want {
				t.Errorf("MapArgs = %s, want %s", got, tt.want)
			}
		})
	}
}

func TestCheckGlobalName(t *testing.T) {
	for _, name := range []string{"Issues", "$", "_", "a1", "Mcp", "Tools", "calendar", strings.Repeat("x", 64)} {
		if err := CheckGlobalName(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{
		"", "1a", "a b", "a-b", "a.b", "a\n", "Issuеs" /* a Cyrillic e */, "ℌello", "a\u200d", strings.Repeat("x", 65),
		"tools", "namespaces", "text", "json", "yield_control", "MCP", "API", "ALL_TOOLS", "console",
		"__cloister", "__cloisterBridge", "__proto__", "__defineGetter__",
		"Object", "Promise", "JSON", "undefined", "globalThis", "Array", "eval", "Symbol", "NaN", "constructor", "toString",
		"class", "await", "yield", "let", "arguments", "null", "true", "enum", "fetch", "process", "require", "window",
	} {
		err := CheckGlobalName(name)
		var se *ScopeError
		if !errors.As(err, &se) || se.Suggestion == "" || !errors.Is(err, ErrScope) {
			t.Errorf("%q: %v, want a ScopeError with a suggestion", name, err)
		}
	}
}

// FuzzScope feeds what a plugin may compute.
func FuzzScope(f *testing.F) {
	f.Add([]byte(`{"a":{"$tool":"list_issues","args":["x"]},"b":[1,"x",{"c":null}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		root, mistakes := ParseScopeAll(data, tools)
		if root == nil {
			if len(mistakes) == 0 || len(mistakes) > MaxMistakes {
				t.Fatalf("%d mistakes", len(mistakes))
			}
			return
		}
		if root.Kind != Object || len(root.Calls()) > MaxCalls {
			t.Fatalf("kind %d with %d calls", root.Kind, len(root.Calls()))
		}
		check(t, root, 1)
		for _, c := range root.Calls() {
			if !slices.Contains(tools, c.Tool) || len(c.Path) == 0 || c.Args != nil && c.MapInput {
				t.Fatalf("a loose marker: %+v", c)
			}
			if in, err := c.MapArgs([]json.RawMessage{[]byte(`{"k":[1]}`)}); err == nil && !json.Valid(in) {
				t.Fatalf("%+v made %s", c, in)
			}
		}
	})
}

func check(t *testing.T, n *Node, depth int) {
	if depth > MaxDepth+1 {
		t.Fatal("too deep")
	}
	switch n.Kind {
	case Value:
		if !json.Valid(n.Value) || strings.HasPrefix(string(n.Value), "{") {
			t.Fatalf("a value that is none: %s", n.Value)
		}
	case Object:
		seen := map[string]bool{}
		for _, k := range n.Keys {
			if k == "" || k == "__proto__" || k == "constructor" || k == "prototype" || strings.Contains(k, ".") || k[0] == '$' || seen[k] {
				t.Fatalf("the key %q passed", k)
			}
			seen[k] = true
		}
	}
	for _, c := range n.Children {
		check(t, c, depth+1)
	}
}
