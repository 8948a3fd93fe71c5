package sdk

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cloister-wasm/cloister/guestabi"
)

// fresh empties the registry for one test.
func fresh(t *testing.T) {
	t.Helper()
	oldTools, oldOrder, oldScopes, oldMaps := tools, order, scopes, maps
	tools, order = map[string]*tool{}, nil
	scopes = map[string]func(guestabi.ScopeContext) (any, error){}
	maps = map[string]func([]string, []json.RawMessage) (any, error){}
	t.Cleanup(func() { tools, order, scopes, maps = oldTools, oldOrder, oldScopes, oldMaps })
}

type addIn struct {
	A    int     `json:"a" jsonschema:"The first number"`
	B    *int    `json:"b,omitempty"`
	Note string  `json:"note,omitempty"`
	Sub  []subIn `json:"sub,omitempty"`
}

type subIn struct {
	Key string `json:"key"`
}

type addOut struct {
	Sum  int    `json:"sum"`
	Note string `json:"note"`
}

func add(in addIn) (*addOut, error) {
	switch in.Note {
	case "fail":
		return nil, Fail("too_big", "%d is too big: %w", in.A, io.ErrShortWrite)
	case "named":
		return nil, fmt.Errorf("adding: %w", &Failure{Name: "RangeError", Code: "range", Message: "out of range"})
	case "plain":
		return nil, errors.New("plain")
	case "silent":
		return nil, errors.New("")
	case "panic":
		var p *addIn
		in.A = p.A
	case "index":
		in.A = []int{1}[in.A]
	}
	out := &addOut{Sum: in.A, Note: in.Note}
	if in.B != nil {
		out.Sum += *in.B
	}
	return out, nil
}

func TestAnswer(t *testing.T) {
	fresh(t)
	Tool("add", "Adds.", add)
	Tool("all", "", func(in map[string]any) (any, error) { return in, nil })
	Tool("odd", "", func(struct{}) (func(), error) { return func() {}, nil })
	tests := []struct{ name, request, want string }{
		{"value", `{"abi":1,"tool":"add","input":{"a":2,"b":3,"note":"<&>"}}`, `{"abi":1,"value":{"sum":5,"note":"<&>"}}`},
		{"unknown members", `{"abi":1,"tool":"add","input":{"a":2,"zzz":[{"A":1}]},"more":1}`, `{"abi":1,"value":{"sum":2,"note":""}}`},
		{"null members", `{"abi":1,"tool":"add","input":{"a":2,"b":null,"sub":null}}`, `{"abi":1,"value":{"sum":2,"note":""}}`},
		{"a map", `{"abi":1,"tool":"all","input":{"x":[1,{"y":null}]}}`, `{"abi":1,"value":{"x":[1,{"y":null}]}}`},
		{"failure", `{"abi":1,"tool":"add","input":{"a":9,"note":"fail"}}`,
			`{"abi":1,"error":{"message":"9 is too big: short write","code":"too_big"}}`},
		{"wrapped failure", `{"abi":1,"tool":"add","input":{"note":"named"}}`,
			`{"abi":1,"error":{"name":"RangeError","message":"adding: out of range","code":"range"}}`},
		{"error", `{"abi":1,"tool":"add","input":{"note":"plain"}}`, `{"abi":1,"error":{"message":"plain"}}`},
		{"error without a message", `{"abi":1,"tool":"add","input":{"note":"silent"}}`,
			`{"abi":1,"error":{"message":"the plugin failed without a message"}}`},
		{"nil", `{"abi":1,"tool":"add","input":{"note":"panic"}}`,
			`{"abi":1,"error":{"name":"PluginPanic","message":"the tool add panicked: runtime error: invalid memory address or nil pointer dereference","code":"plugin_panic"}}`},
		{"index", `{"abi":1,"tool":"add","input":{"a":7,"note":"index"}}`,
			`{"abi":1,"error":{"name":"PluginPanic","message":"the tool add panicked: runtime error: index out of range [7] with length 1","code":"plugin_panic"}}`},
		{"case", `{"abi":1,"tool":"add","input":{"A":2}}`,
			`{"abi":1,"error":{"message":"the input cannot be read: there is no member \"A\"; write it \"a\"","code":"invalid_input"}}`},
		{"case below", `{"abi":1,"tool":"add","input":{"sub":[{"key":"x"},{"\u212aey":"y"}]}}`,
			`{"abi":1,"error":{"message":"the input cannot be read: there is no member \"Key\"; write it \"key\"","code":"invalid_input"}}`},
		{"type", `{"abi":1,"tool":"add","input":{"a":"x"}}`, `{"abi":1,"error":{"message":"a must be a whole number in range, not string","code":"invalid_input"}}`},
		{"fraction", `{"abi":1,"tool":"add","input":{"a":1.5}}`, `{"abi":1,"error":{"message":"a must be a whole number in range, not number 1.5","code":"invalid_input"}}`},
		{"not an object", `{"abi":1,"tool":"add","input":[]}`,
			`{"abi":1,"error":{"message":"the input cannot be read: json: cannot unmarshal array into Go value of type sdk.addIn","code":"invalid_input"}}`},
		{"no input", `{"abi":1,"tool":"add"}`, `{"abi":1,"error":{"message":"the input cannot be read: unexpected end of JSON input","code":"invalid_input"}}`},
		{"no such tool", `{"abi":1,"tool":"sub","input":{}}`, `{"abi":1,"error":{"message":"the plugin has no tool \"sub\"; it has add, all, odd","code":"unknown_tool"}}`},
		{"result without JSON", `{"abi":1,"tool":"odd","input":{}}`,
			`{"abi":1,"error":{"message":"the result cannot be written as JSON: json: unsupported type: func()","code":"invalid_output"}}`},
		{"newer", `{"abi":2,"tool":7}`,
			`{"abi":1,"error":{"message":"the host speaks version 2 of the messages, this plugin version 1; build it with a newer SDK","code":"unsupported_abi"}}`},
		{"no version", `{"tool":"add","input":{}}`, `{"abi":1,"error":{"message":"the host's request has no abi 1","code":"invalid_request"}}`},
		{"no JSON", `nope`, `{"abi":1,"error":{"message":"the host's request cannot be read: invalid character 'o' in literal null (expecting 'u')","code":"invalid_request"}}`},
		{"nothing", ``, `{"abi":1,"error":{"message":"the host's request cannot be read: unexpected end of JSON input","code":"invalid_request"}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := answer(guestabi.ExportCall, []byte(tt.request))
			want := strings.ReplaceAll(tt.want, `"Key\"`, "\"\u212aey\\\"")
			if diff := cmp.Diff(jsonValue(t, []byte(want)), jsonValue(t, got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func jsonValue(t *testing.T, data []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	return v
}

func TestRun(t *testing.T) {
	fresh(t)
	Tool("add", "", add)
	got, err := Run("add", map[string]int{"a": 1, "b": 2})
	if err != nil || string(got) != `{"sum":3,"note":""}` {
		t.Errorf("Run = %s, %v", got, err)
	}
	_, err = Run("add", addIn{A: 1, Note: "fail"})
	var f *Failure
	if !errors.As(err, &f) || f.Code != "too_big" || !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("Run = %v", err)
	}
	if _, err = Run("add", func() {}); !errors.As(err, &f) || f.Code != "invalid_output" {
		t.Errorf("Run of a function = %v", err)
	}
}

func TestRegistrationMistakesPanic(t *testing.T) {
	scope := func(guestabi.ScopeContext) (any, error) { return nil, nil }
	mapper := func([]string, []json.RawMessage) (any, error) { return nil, nil }
	for name, mistake := range map[string]func(){
		"no name":        func() { Tool("", "", add) },
		"no function":    func() { Tool[addIn, int]("x", "", nil) },
		"twice":          func() { Tool("x", "", add); Tool("x", "", add) },
		"scope nil":      func() { Scope("x", nil) },
		"scope twice":    func() { Scope("x", scope); Scope("x", scope) },
		"mapInput nil":   func() { MapInput("x", nil) },
		"mapInput twice": func() { MapInput("x", mapper); MapInput("x", mapper) },
	} {
		t.Run(name, func(t *testing.T) {
			fresh(t)
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			mistake()
		})
	}
}

func TestScopeAndMapInput(t *testing.T) {
	fresh(t)
	Scope("notes", func(c guestabi.ScopeContext) (any, error) {
		if c.AgentID == "bad" {
			panic("no agent")
		}
		return map[string]any{"agent": c.AgentID, "limit": c.Config["limit"], "list": Marker{Tool: "notes_list", MapInput: true},
			"get": Marker{Tool: "notes_get", Args: []string{"id"}}}, nil
	})
	MapInput("notes", func(path []string, args []json.RawMessage) (any, error) {
		in := struct {
			Path  []string `json:"path"`
			State string   `json:"state"`
			Limit int      `json:"limit"`
		}{Path: path, State: "open"}
		if _, err := Arg(args, 0, "state", &in.State); err != nil {
			return nil, err
		}
		_, err := Arg(args, 1, "limit", &in.Limit)
		return in, err
	})
	tests := []struct{ name, export, request, want string }{
		{"scope", guestabi.ExportScope, `{"abi":1,"namespace":"notes","context":{"agentId":"a","config":{"limit":5}}}`,
			`{"abi":1,"value":{"agent":"a","limit":5,"list":{"$tool":"notes_list","mapInput":true},"get":{"$tool":"notes_get","args":["id"]}}}`},
		{"scope panics", guestabi.ExportScope, `{"abi":1,"namespace":"notes","context":{"agentId":"bad"}}`,
			`{"abi":1,"error":{"name":"PluginPanic","message":"the scope of notes panicked: no agent","code":"plugin_panic"}}`},
		{"unknown scope", guestabi.ExportScope, `{"abi":1,"namespace":"x","context":{}}`,
			`{"abi":1,"error":{"message":"the plugin computes no scope for the namespace \"x\"","code":"unknown_namespace"}}`},
		{"newer scope", guestabi.ExportScope, `{"abi":9,"namespace":[]}`,
			`{"abi":1,"error":{"message":"the host speaks version 9 of the messages, this plugin version 1; build it with a newer SDK","code":"unsupported_abi"}}`},
		{"map", guestabi.ExportMapInput, `{"abi":1,"namespace":"notes","path":["list"],"tool":"notes_list","args":["closed",3]}`,
			`{"abi":1,"value":{"path":["list"],"state":"closed","limit":3}}`},
		{"map nothing", guestabi.ExportMapInput, `{"abi":1,"namespace":"notes","path":["list"],"tool":"notes_list","args":[null]}`,
			`{"abi":1,"value":{"path":["list"],"state":"open","limit":0}}`},
		{"map what does not fit", guestabi.ExportMapInput, `{"abi":1,"namespace":"notes","path":["list"],"tool":"notes_list","args":["x","y"]}`,
			`{"abi":1,"error":{"message":"argument 2, limit, does not fit: json: cannot unmarshal string into Go value of type int","code":"invalid_input"}}`},
		{"unknown map", guestabi.ExportMapInput, `{"abi":1,"namespace":"x","path":[],"tool":"t","args":[]}`,
			`{"abi":1,"error":{"message":"the plugin maps no arguments for the namespace \"x\"","code":"unknown_namespace"}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(jsonValue(t, []byte(tt.want)), jsonValue(t, answer(tt.export, []byte(tt.request)))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
