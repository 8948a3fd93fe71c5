package host_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/host/hosttest"
)

// builders are the provider payload builders, with a request around their tools.
var builders = []struct {
	name           string
	build          func(*host.Run) json.RawMessage
	request, other string // other is one more tool in the provider's form
}{
	{"OpenAI chat", (*host.Run).OpenAIChatTools, `{"model":"m","messages":[{"role":"user","content":"hi"}],"tool_choice":"auto","tools":%}`,
		`{"type":"function","function":{"name":"evil","description":"d","parameters":{"type":"object","properties":{}}}}`},
	{"OpenAI responses", (*host.Run).OpenAIResponsesTools, `{"model":"m","input":"hi","tools":%}`,
		`{"type":"function","name":"evil","description":"d","parameters":{"type":"object","properties":{}},"strict":false}`},
	{"Anthropic", (*host.Run).AnthropicTools, `{"model":"m","max_tokens":100,"messages":[],"tools":%}`,
		`{"name":"evil","description":"d","input_schema":{"type":"object"}}`},
	{"Gemini", (*host.Run).GeminiTools, `{"contents":[],"tools":%}`,
		`{"functionDeclarations":[{"name":"evil","parametersJsonSchema":{"type":"object"}}]}`},
	{"MCP", (*host.Run).MCPTools, `{"jsonrpc":"2.0","id":1,"result":{"tools":%}}`,
		`{"name":"evil","inputSchema":{"type":"object"}}`},
}

func request(form string, tools json.RawMessage) []byte {
	return []byte(strings.Replace(form, "%", string(tools), 1))
}

// withTool adds a tool to an array of tools.
func withTool(list json.RawMessage, tool string) json.RawMessage {
	return slices.Concat(list[:len(list)-1], json.RawMessage(","+tool+"]"))
}

// TestPayloadBuildersPassEnforcement holds the builders and EnforceSurface together.
func TestPayloadBuildersPassEnforcement(t *testing.T) {
	tools, clients := catalogOf(20)
	r := newRun(t, newHost(t, host.Options{Tools: tools}), host.RunOptions{ClientTools: clients})
	plain := directRun(t, host.Options{Tools: tools}, clients)
	for _, b := range builders {
		list := b.build(r)
		if err := r.EnforceSurface(request(b.request, list)); err != nil {
			t.Errorf("%s: %v", b.name, err)
		}
		for what, more := range map[string]json.RawMessage{
			"one more tool":            withTool(list, b.other),
			"the tools themselves":     b.build(plain),
			"both":                     withTool(list, strings.Trim(string(b.build(plain)), "[]")),
			"the same tools again":     withTool(list, strings.Trim(string(list), "[]")),
			"a tool inside of a group": bytes.Replace(list, []byte(`},{`), []byte(`},`+strings.TrimSuffix(strings.TrimPrefix(b.other, `{"functionDeclarations":[`), `]}`)+`,{`), 1),
			"none":                     json.RawMessage("[]"),
			"no array":                 json.RawMessage("null"),
		} {
			if err := r.EnforceSurface(request(b.request, more)); !errors.Is(err, host.ErrSurface) {
				t.Errorf("%s: %s: %v\n%s", b.name, what, err, clip(string(more), 500))
			}
		}
		if err := plain.EnforceSurface(request(b.request, b.build(plain))); err != nil {
			t.Errorf("%s without code mode: %v", b.name, err)
		}
	}
}

// directRun is a run without code mode.
func directRun(t *testing.T, o host.Options, clients []host.ClientTool) *host.Run {
	t.Helper()
	h, err := host.New(t.Context(), &o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return newRun(t, h, host.RunOptions{ClientTools: clients})
}

// TestPayloadForms shows one tool with everything, and the schemas that are mended.
func TestPayloadForms(t *testing.T) {
	yes := true
	r := directRun(t, host.Options{MCP: []host.MCPServer{{Name: "gh", Client: answers{}, Tools: []host.MCPTool{{
		Name: "create issue", Title: "Create", Description: "Creates <b> & \"more\".", Annotations: host.ToolAnnotations{Destructive: &yes},
		Parameters: json.RawMessage(`{"type":"object","properties":{"title":{"type":"string","pattern":"^<"}},"required":["title"]}`),
		Returns:    json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`),
	}}}}}, nil)
	const schema = `{"type":"object","properties":{"title":{"type":"string","pattern":"^<"}},"required":["title"]}`
	const description = `"description":"Creates <b> & \"more\"."`
	name := r.Surface()[0].Name
	want := map[string]string{
		"OpenAI chat":      `[{"type":"function","function":{"name":"` + name + `",` + description + `,"parameters":` + schema + `}}]`,
		"OpenAI responses": `[{"type":"function","name":"` + name + `",` + description + `,"parameters":` + schema + `,"strict":false}]`,
		"Anthropic":        `[{"name":"` + name + `",` + description + `,"input_schema":` + schema + `}]`,
		"Gemini":           `[{"functionDeclarations":[{"name":"` + name + `",` + description + `,"parametersJsonSchema":` + schema + `}]}]`,
		"MCP": `[{"name":"` + name + `","title":"Create",` + description + `,"inputSchema":` + schema +
			`,"outputSchema":{"type":"object","properties":{"n":{"type":"integer"}}},"annotations":{"destructiveHint":true}}]`,
	}
	for _, b := range builders {
		if diff := cmp.Diff(want[b.name], string(b.build(r))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", b.name, diff)
		}
	}
	none := directRun(t, host.Options{}, nil)
	for _, b := range builders {
		if got := string(b.build(none)); got != "[]" {
			t.Errorf("%s without tools: %s", b.name, got)
		}
	}
}

// TestPayloadSchemas: providers want an object, OpenAI its properties too.
func TestPayloadSchemas(t *testing.T) {
	for _, test := range []struct{ in, openAI, others string }{
		{``, `{"properties":{},"type":"object"}`, `{"type":"object"}`},
		{`{}`, `{"type":"object","properties":{}}`, `{"type":"object"}`},
		{`{"type":"object"}`, `{"properties":{},"type":"object"}`, `{"type":"object"}`},
		{` { "required" : [ ] } `, `{"type":"object","properties":{},"required":[]}`, `{"type":"object","required":[]}`},
		{`{"properties":{"a":{}}}`, `{"type":"object","properties":{"a":{}}}`, `{"type":"object","properties":{"a":{}}}`},
		{`{"type":["object","null"],"properties":{}}`, `{"properties":{},"type":"object"}`, `{"properties":{},"type":"object"}`},
	} {
		x := hosttest.Echo("x")
		x.Parameters = json.RawMessage(test.in)
		if test.in == "" {
			x.Parameters = nil
		}
		x.Returns = json.RawMessage(`{"Type":"object","type":"integer"}`)
		r := directRun(t, host.Options{Tools: []host.RawTool{x}}, nil)
		for got, want := range map[string]string{
			string(r.OpenAIChatTools()): `"parameters":` + test.openAI + `}`,
			string(r.AnthropicTools()):  `"input_schema":` + test.others + `}`,
			string(r.MCPTools()):        `"inputSchema":` + test.others + `}]`,
		} {
			if !strings.Contains(got, want) {
				t.Errorf("schema %q: no %s in %s", test.in, want, got)
			}
			if !json.Valid([]byte(got)) || strings.Contains(got, "outputSchema") {
				t.Errorf("schema %q: not JSON, or with an outputSchema of no object: %s", test.in, got)
			}
		}
	}
}

// TestPayloadsAreDeterministic: prompt caches hold only if the bytes are the same.
func TestPayloadsAreDeterministic(t *testing.T) {
	tools, clients := catalogOf(40)
	rng := rand.New(rand.NewPCG(3, 4))
	for _, codeMode := range []bool{true, false} {
		build := func(tools []host.RawTool) *host.Run {
			if codeMode {
				return newRun(t, newHost(t, host.Options{Tools: tools}), host.RunOptions{ClientTools: clients})
			}
			return directRun(t, host.Options{Tools: tools}, clients)
		}
		first := build(tools)
		for range 3 {
			shuffled := slices.Clone(tools)
			rng.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
			again := build(shuffled)
			for _, b := range builders {
				if want, got := b.build(first), b.build(again); !bytes.Equal(want, got) {
					t.Errorf("%s, code mode %v: the bytes depend on the order of tools", b.name, codeMode)
				}
			}
		}
	}
}

// answers is an MCP server whose tools echo, or fail by their name.
type answers struct{}

func (answers) CallTool(_ context.Context, tool *host.MCPTool, input json.RawMessage, _ func(host.MCPProgress)) (*host.MCPResult, error) {
	text, err := json.Marshal(map[string]string{"type": "text", "text": string(input)})
	return &host.MCPResult{Content: []host.MCPContent{{JSON: text}}, IsError: tool.Name == "fail"}, err
}
func (answers) ListResources(context.Context) (json.RawMessage, error) { return nil, errUnused }
func (answers) ReadResource(context.Context, string) ([]host.MCPContent, error) {
	return nil, errUnused
}
func (answers) ListPrompts(context.Context) (json.RawMessage, error) { return nil, errUnused }
func (answers) GetPrompt(context.Context, string, map[string]string) (*host.MCPPrompt, error) {
	return nil, errUnused
}

var errUnused = errors.New("has no such thing")

// TestAnswer makes the calls of a model, in both modes.
func TestAnswer(t *testing.T) {
	o := host.Options{
		Tools: []host.RawTool{hosttest.Echo("echo"), hosttest.Failing("broken", &host.ToolError{Message: "no <luck>", Code: "unlucky"})},
		MCP:   []host.MCPServer{{Name: "gh", Client: answers{}, Tools: []host.MCPTool{{Name: "echo"}, {Name: "fail"}}}},
	}
	direct := directRun(t, o, nil)
	coded := newRun(t, newHost(t, o), host.RunOptions{})
	warm(t, coded)
	for _, test := range []struct {
		r          *host.Run
		name, args string
		want       string // in the answer
		isError    bool
	}{
		{direct, "echo", `{"a":1}`, `{"a":1}`, false},
		{direct, "echo", ``, `{}`, false},
		{direct, "echo", `{"a":1,"a":2}`, `"code":"invalid_input"`, true},
		{direct, "echo", `[1]`, `"code":"invalid_input"`, true},
		{direct, "echo", `{`, `"code":"invalid_input"`, true},
		{direct, "gh__echo", `{"b":2}`, `{"content":[{"text":"{\"b\":2}","type":"text"}]}`, false},
		{direct, "gh__fail", `{"b":2}`, `{"error":{"name":"Error","message":"{\"b\":2}","code":"mcp_tool_error"}}`, true},
		{direct, "broken", `{}`, `{"error":{"name":"Error","message":"no <luck>","code":"unlucky"}}`, true},
		{direct, "gh_echo", `{}`, `"code":"unknown_tool"`, true},
		{direct, "fail", `{}`, `"code":"unknown_tool"`, true},
		{direct, "exec", `{"code":"return 1"}`, `"code":"unknown_tool"`, true},
		{direct, strings.Repeat("x", 1<<20), `{}`, `"code":"unknown_tool"`, true},
		{coded, "exec", `{"code":"return await tools.call('cloister:core:echo', {c: 3})"}`, `"value":{"c":3}`, false},
		{coded, "exec", `{"code":"nonsense("}`, `"status":"failed"`, true},
		{coded, "exec", `{"kode":1}`, `"code":"invalid_input"`, true},
		{coded, "exec", ``, `"code":"invalid_input"`, true},
		{coded, "wait", `{"runId":"unknown"}`, `"code":"invalid_input"`, true},
		{coded, "wait", `7`, `"code":"invalid_input"`, true},
		{coded, "echo", `{}`, `"code":"unknown_tool"`, true},
		{coded, "core_echo", `{}`, `"code":"unknown_tool"`, true},
	} {
		a, err := test.r.Answer(t.Context(), host.ModelCall{ID: "c1", Name: test.name, Arguments: json.RawMessage(test.args)})
		if err != nil {
			t.Errorf("%.20s(%s): %v", test.name, test.args, err)
			continue
		}
		if !strings.Contains(string(a.JSON), test.want) || a.IsError != test.isError || !json.Valid(a.JSON) || len(a.JSON) > 2000 {
			t.Errorf("%.20s(%s): %s, error %v; want %s, error %v", test.name, test.args, clip(string(a.JSON), 500), a.IsError, test.want, test.isError)
		}
	}
}

// TestAnswerEnds: what is no answer for a model is an error.
func TestAnswerEnds(t *testing.T) {
	direct := directRun(t, host.Options{Tools: []host.RawTool{hosttest.Stuck("stuck")}}, nil)
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("the user left")
	cancel(why)
	if a, err := direct.Answer(ctx, host.ModelCall{Name: "stuck"}); !errors.Is(err, why) {
		t.Errorf("a ctx that ended: %v, %v", a, err)
	}
	direct.Close()
	if a, err := direct.Answer(t.Context(), host.ModelCall{Name: "stuck"}); !errors.Is(err, host.ErrClosed) {
		t.Errorf("a closed run: %v, %v", a, err)
	}
}

// TestAnswerWaits goes on with a waiting program.
func TestAnswerWaits(t *testing.T) {
	gate := hosttest.NewGate("slow")
	r := setup(t, host.Options{Tools: []host.RawTool{gate.Tool()}, CodeMode: host.CodeModeConfig{TimeoutMs: 1000}})
	a, err := r.Answer(t.Context(), host.ModelCall{Name: "exec", Arguments: json.RawMessage(`{"code":"yield_control(); return await tools.slow({})"}`)})
	if err != nil || a.IsError {
		t.Fatalf("exec: %+v, %v", a, err)
	}
	var waiting struct{ Status, RunID string }
	if err := json.Unmarshal(a.JSON, &waiting); err != nil || waiting.Status != "waiting" {
		t.Fatalf("exec: %s, %v", a.JSON, err)
	}
	<-gate.Started()
	gate.Release(`"done"`)
	args, err := json.Marshal(map[string]string{"runId": waiting.RunID})
	if err != nil {
		t.Fatal(err)
	}
	a, err = r.Answer(t.Context(), host.ModelCall{Name: "wait", Arguments: args})
	if err != nil || a.IsError || !strings.Contains(string(a.JSON), `"value":"done"`) {
		t.Errorf("wait: %s, %v", a.JSON, err)
	}
}

func BenchmarkPayload(b *testing.B) {
	tools, clients := catalogOf(1000)
	h, err := host.New(b.Context(), &host.Options{Tools: tools})
	if err != nil {
		b.Fatal(err)
	}
	defer h.Close()
	r := newRun(b, h, host.RunOptions{ClientTools: clients})
	for _, p := range builders {
		b.Run(p.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p.build(r)
			}
		})
	}
}
