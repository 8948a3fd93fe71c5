package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/host/hosttest"
)

// caught is code that gives name, code and message of what a call throws.
func caught(call string) string {
	return "return await " + call + ".then((v) => ({ worked: v }), (e) => ({ name: e.name, code: e.code, message: e.message }))"
}

// thrown is what caught gives.
type thrown struct {
	Name, Code, Message string
	Worked              json.RawMessage
}

func catch(t *testing.T, r *host.Run, call string) thrown {
	t.Helper()
	res := exec(t, r, caught(call))
	if res.Status != guestabi.StatusCompleted {
		t.Fatalf("%s: %s %s (%s)", call, res.Status, res.Error, res.Reason)
	}
	var x thrown
	if err := json.Unmarshal(res.Value, &x); err != nil {
		t.Fatal(err)
	}
	return x
}

func TestSchemaBothWays(t *testing.T) {
	var log hosttest.Log
	strict := hosttest.Echo("strict")
	strict.Parameters = json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer","minimum":1}},"required":["n"],"additionalProperties":false}`)
	strict.Returns = json.RawMessage(`{"type":"object","required":["n"]}`)
	liar := hosttest.Static("liar", `{"n":"not a number"}`)
	liar.Returns = json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`)
	r := setup(t, host.Options{Tools: []host.RawTool{
		log.Tool(strict), liar, log.Tool(hosttest.Echo("loose")),
		hosttest.Static("no_json", "{"), hosttest.Static("two_values", "1 2"), hosttest.Static("duplicate_keys", `{"a":1,"a":2}`),
		hosttest.Static("not_utf8", "\"\xff\""), hosttest.Static("lone_surrogate", `"\ud800"`), hosttest.Static("nothing", ""),
		hosttest.Static("deep", strings.Repeat("[", 5000)+strings.Repeat("]", 5000)), hosttest.Static("proto", `{"__proto__":{"polluted":1},"constructor":2}`),
	}})
	for _, input := range []string{"undefined", "{}", "{ n: 0 }", "{ n: 1.5 }", "{ n: '1' }", "{ n: 1, x: 2 }", "null", "[]", "7", "'x'", "{ n: NaN }", "{ n: undefined }"} {
		if x := catch(t, r, "tools.strict("+input+")"); x.Code != "invalid_input" || x.Name != "TypeError" || !contains(x.Message, "input of cloister:core:strict") {
			t.Errorf("strict(%s): %+v", input, x)
		}
	}
	if got := log.Tools(); len(got) != 0 {
		t.Errorf("tools that ran: %v", got)
	}
	if x := catch(t, r, "tools.strict({ n: 1 })"); string(x.Worked) != `{"n":1}` {
		t.Errorf("strict({ n: 1 }): %+v", x)
	}
	// Without a schema the input is still an object: that is what ToolDefinition says.
	for _, input := range []string{"null", "[]", "7", "'x'", "true"} {
		if x := catch(t, r, "tools.loose("+input+")"); x.Code != "invalid_input" {
			t.Errorf("loose(%s): %+v", input, x)
		}
	}
	for _, name := range []string{"liar", "no_json", "two_values", "duplicate_keys", "not_utf8", "lone_surrogate", "deep"} {
		if x := catch(t, r, "tools."+name+"()"); x.Code != "invalid_tool_result" {
			t.Errorf("%s: %+v", name, x)
		}
	}
	if x := catch(t, r, "tools.nothing()"); string(x.Worked) != "null" {
		t.Errorf("nothing: %+v", x)
	}
	wantValue(t, exec(t, r, "const o = await tools.proto(); return [Object.keys(o), ({}).polluted ?? null, Object.getPrototypeOf(o) === Object.prototype, o.polluted ?? null]"),
		`[["__proto__","constructor"],null,true,null]`)
}

func TestProgress(t *testing.T) {
	reporter := hosttest.Echo("work")
	reporter.Call = func(ctx context.Context, in json.RawMessage) (json.RawMessage, error) {
		for i := range 3 {
			host.ReportProgress(ctx, i)
		}
		tc, ok := host.CallFrom(ctx)
		if !ok || string(tc.Input) != string(in) {
			return nil, errors.New("no call in the context")
		}
		return in, nil
	}
	h := newHost(t, host.Options{Tools: []host.RawTool{reporter}})
	var mu sync.Mutex
	var got []string
	r := newRun(t, h, host.RunOptions{OnProgress: func(c *host.ToolCall, p host.Progress) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, fmt.Sprint(c.Tool, c.ParentID, p))
	}})
	warm(t, r)
	wantValue(t, execInput(t, r, host.ExecInput{Code: "return await tools.work({ a: 1 })", CallID: "p"}), `{"a":1}`)
	if d := cmp.Diff([]string{"cloister:core:workp0", "cloister:core:workp1", "cloister:core:workp2"}, got); d != "" {
		t.Errorf("progress (-want +got):\n%s", d)
	}
	host.ReportProgress(t.Context(), "outside of a call") // does nothing
	if _, ok := host.CallFrom(t.Context()); ok {
		t.Error("a call outside of one")
	}
}

func TestDirectCall(t *testing.T) {
	var log hosttest.Log
	h := newHost(t, host.Options{Tools: []host.RawTool{log.Tool(hosttest.Echo("echo")), log.Tool(hosttest.Echo("hidden"))}, Deny: []string{"hidden"}})
	r := newRun(t, h, host.RunOptions{})
	if out, err := r.Call(t.Context(), "cloister:core:echo", json.RawMessage(`{"a":1}`)); err != nil || string(out) != `{"a":1}` {
		t.Errorf("%s, %v", out, err)
	}
	var te *host.ToolError
	if _, err := r.Call(t.Context(), "cloister:core:hidden", json.RawMessage(`{}`)); !errors.As(err, &te) || te.Code != "unknown_tool" {
		t.Errorf("a denied tool: %v", err)
	}
	if got := r.Catalog(); len(got) != 1 {
		t.Errorf("catalog %v", got)
	}
	if _, err := r.Describe("cloister:core:hidden"); !errors.As(err, &te) {
		t.Errorf("Describe: %v", err)
	}
	if d, err := r.Describe("cloister:core:echo"); err != nil || string(d.Parameters) != `{"type":"object"}` {
		t.Errorf("Describe: %+v, %v", d, err)
	}
	if hits, err := r.Search("echo hidden", 0); err != nil || len(hits) != 1 {
		t.Errorf("Search: %v, %v", hits, err)
	}
	if _, err := r.Search("echo", -1); !errors.As(err, &te) {
		t.Errorf("Search with a bad limit: %v", err)
	}
	r.Close()
	if _, err := r.Call(t.Context(), "cloister:core:echo", json.RawMessage(`{}`)); !errors.Is(err, host.ErrClosed) {
		t.Errorf("Call after Close: %v", err)
	}
	if got := log.Tools(); !slices.Equal(got, []string{"cloister:core:echo"}) {
		t.Errorf("tools that ran: %v", got)
	}
}

func TestToolsThatAreRefused(t *testing.T) {
	good := hosttest.Echo("a")
	for name, tools := range map[string][]host.RawTool{
		"no name":              {hosttest.Echo("")},
		"bad name":             {hosttest.Echo("a b")},
		"colon":                {hosttest.Echo("a:b")},
		"look-alike":           {hosttest.Echo("еcho")},
		"no call":              {{Name: "a"}},
		"twice":                {good, good},
		"schema is no JSON":    {{Name: "a", Call: good.Call, Parameters: json.RawMessage("{")}},
		"schema with file ref": {{Name: "a", Call: good.Call, Parameters: json.RawMessage(`{"$ref":"file:///etc/passwd"}`)}},
		"bad returns":          {{Name: "a", Call: good.Call, Returns: json.RawMessage(`{"type":"objekt"}`)}},
		"bad owner":            {{Name: "a", Owner: "a/b", Call: good.Call}},
	} {
		if h, err := host.New(t.Context(), &host.Options{Tools: tools}); !errors.Is(err, host.ErrTool) {
			t.Errorf("%s: %v", name, err)
			if err == nil {
				h.Close()
			}
		}
	}
	h := newHost(t, host.Options{})
	for name, tool := range map[string]host.ClientTool{"no name": {}, "core": {App: "core", Name: "x"}, "schema": {Name: "x", Parameters: json.RawMessage("[]")}} {
		if _, err := h.NewRun(t.Context(), host.RunOptions{ClientTools: []host.ClientTool{tool}}); !errors.Is(err, host.ErrTool) {
			t.Errorf("client tool, %s: %v", name, err)
		}
	}
	for _, o := range []host.RunOptions{{Allow: []string{"["}}, {Deny: []string{"a:b"}}} {
		if _, err := h.NewRun(t.Context(), o); !errors.Is(err, host.ErrConfig) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	for _, o := range []host.Options{{Allow: []string{"["}}, {Deny: []string{"a:b"}}, {Sandbox: host.SandboxPolicy{Deny: []string{""}}}} {
		if _, err := host.New(t.Context(), &o); !errors.Is(err, host.ErrConfig) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

func TestSandboxPolicy(t *testing.T) {
	h := newHost(t, host.Options{
		Tools: []host.RawTool{hosttest.Echo("read"), hosttest.Echo("write"), hosttest.Echo("shell")},
		Deny:  []string{"shell"}, Sandbox: host.SandboxPolicy{Allow: []string{"read"}, AlsoAllow: []string{"shell", "write"}, Deny: []string{"write"}},
	})
	names := func(o host.RunOptions) (out []string) {
		for _, e := range newRun(t, h, o).Catalog() {
			out = append(out, e.Name)
		}
		return out
	}
	if got := names(host.RunOptions{}); !slices.Equal(got, []string{"read", "write"}) {
		t.Errorf("open: %v", got)
	}
	if got := names(host.RunOptions{Sandboxed: true}); !slices.Equal(got, []string{"read"}) {
		t.Errorf("sandboxed: %v", got)
	}
	if got := names(host.RunOptions{Sandboxed: true, Allow: []string{"write", "shell"}}); got != nil {
		t.Errorf("a run's allow list widens the sandbox: %v", got)
	}
}
