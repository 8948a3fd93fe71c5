package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cloister-wasm/cloister/host"
)

// library is an MCP server in memory with resources and prompts.
type library struct {
	name      string
	resources string // JSON of its lists
	prompts   string
	err       error         // of lists
	stuck     chan struct{} // lists wait for it, whatever their context says

	mu    sync.Mutex
	reads []string
	lists int
}

func (l *library) CallTool(context.Context, *host.MCPTool, json.RawMessage, func(host.MCPProgress)) (*host.MCPResult, error) {
	return &host.MCPResult{}, nil
}

func (l *library) list(text string) (json.RawMessage, error) {
	if l.stuck != nil {
		<-l.stuck
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lists++
	return json.RawMessage(text), l.err
}

func (l *library) ListResources(context.Context) (json.RawMessage, error) { return l.list(l.resources) }
func (l *library) ListPrompts(context.Context) (json.RawMessage, error)   { return l.list(l.prompts) }

func (l *library) ReadResource(_ context.Context, uri string) ([]host.MCPContent, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reads = append(l.reads, uri)
	if strings.HasSuffix(uri, "missing") {
		return nil, &host.ToolError{Message: "nothing\x1b[2J there", Code: "mcp_error"}
	}
	text, err := json.Marshal(map[string]any{"type": "resource", "resource": map[string]any{"uri": uri, "text": "by " + l.name, "_meta": map[string]any{"k": 1}}})
	if err != nil {
		return nil, err
	}
	return []host.MCPContent{
		{JSON: text},
		{JSON: json.RawMessage(`{"type":"resource","resource":{"uri":"raw:1","mimeType":"image/png"}}`), Data: []byte("\x89PNG"), Kind: "blob", MIMEType: "image/png", URI: "raw:1"},
	}, nil
}

func (l *library) GetPrompt(_ context.Context, name string, arguments map[string]string) (*host.MCPPrompt, error) {
	text, err := json.Marshal(map[string]string{"type": "text", "text": l.name + " " + name + " " + arguments["topic"]})
	if err != nil {
		return nil, err
	}
	return &host.MCPPrompt{Description: "described", Messages: []host.MCPMessage{
		{Role: "user", Content: host.MCPContent{JSON: text}},
		{Role: "user", Content: host.MCPContent{JSON: json.RawMessage(`{"type":"image","mimeType":"image/png"}`), Data: []byte("\x89PNG"), Kind: "image", MIMEType: "image/png"}},
		{Role: "assistant", Content: host.MCPContent{JSON: json.RawMessage(`{"type":"resource","resource":{"uri":"raw:2"}}`), Data: []byte{1, 2}, Kind: "blob", URI: "raw:2"}},
		{Role: "user", Content: host.MCPContent{JSON: json.RawMessage(`{"type":"text","text":"handle","handle":"cloister-attachment:0"}`)}},
	}}, nil
}

func (l *library) calls() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.reads)
}

func (l *library) listed() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lists
}

func (l *library) server() host.MCPServer {
	return host.MCPServer{Name: l.name, Client: l, Resources: true, Prompts: true, Tools: []host.MCPTool{{Name: "stamp", Description: "d", Parameters: json.RawMessage(`{"type":"object"}`)}}}
}

// twoLibraries both have doc:shared and the prompt plan.
func twoLibraries() (alpha, beta *library) {
	alpha = &library{
		name:      "alpha",
		resources: `{"resources":[{"uri":"doc:shared","name":"one"},{"uri":"doc:a","name":"a\u202ename","title":"T\u0007","description":"two\nlines\u001b[1m","icons":[{"src":"https://x"}],"size":3}],"resourceTemplates":[{"uriTemplate":"doc:a/{id}","name":"t"}]}`,
		prompts:   `{"prompts":[{"name":"plan"},{"name":"only","arguments":[{"name":"topic","required":true}]}]}`,
	}
	beta = &library{
		name:      "beta",
		resources: `{"resources":[{"uri":"doc:shared","name":"two"},{"uri":"doc:b","name":"b"}],"resourceTemplates":[{"uriTemplate":"doc:a/{other}","name":"late"},{"uriTemplate":"doc:b/{+path}","name":"t"}]}`,
		prompts:   `{"prompts":[{"name":"plan"}]}`,
	}
	return alpha, beta
}

// newLibraryRig makes a gateway over servers of its own.
func newLibraryRig(t testing.TB, o Options, ho host.Options, servers ...host.MCPServer) *rig {
	t.Helper()
	r := rig{queue: host.NewApprovalQueue()}
	ho.MCP, ho.Approve = servers, r.queue.Approve
	var err error
	if r.host, err = host.New(t.Context(), &ho); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.host.Close(); err != nil {
			t.Errorf("closing the host: %v", err)
		}
	})
	o.Host, o.Approvals = r.host, r.queue
	return r.with(t, o)
}

// everyLibraryWay is everyWay for gateways over servers of the test's own.
func everyLibraryWay(t *testing.T, f func(t *testing.T, connect func(*rig, *mcp.ClientOptions) *mcp.ClientSession, version string)) {
	for _, name := range []string{"memory", "http"} {
		for _, version := range []string{oldProtocol, newProtocol} {
			t.Run(name+"/"+version, func(t *testing.T) {
				t.Parallel()
				f(t, func(r *rig, o *mcp.ClientOptions) *mcp.ClientSession {
					return dial(t, transports[name](t, r), version, o)
				}, version)
			})
		}
	}
}

func uris(list []*mcp.Resource) []string {
	out := []string{}
	for _, r := range list {
		out = append(out, r.URI)
	}
	return out
}

func codeOf(err error) int64 {
	var e *jsonrpc.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return 0
}

func TestNativeResources(t *testing.T) {
	everyLibraryWay(t, func(t *testing.T, connect func(*rig, *mcp.ClientOptions) *mcp.ClientSession, version string) {
		alpha, beta := twoLibraries()
		r := newLibraryRig(t, Options{}, host.Options{}, alpha.server(), beta.server())
		cs := connect(r, nil)
		caps := cs.InitializeResult().Capabilities
		if caps.Resources == nil || !caps.Resources.ListChanged || caps.Resources.Subscribe || caps.Prompts == nil || !caps.Prompts.ListChanged || caps.Completions != nil {
			t.Errorf("capabilities %+v", caps)
		}
		list, err := cs.ListResources(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		want := []*mcp.Resource{{URI: "doc:shared", Name: "one"}, {URI: "doc:a", Name: "aname", Title: "T", Description: "two\nlines[1m", Size: 3}, {URI: "doc:b", Name: "b"}}
		if diff := cmp.Diff(want, list.Resources); diff != "" || list.CacheScope != "private" {
			t.Errorf("scope %q, %s", list.CacheScope, diff)
		}
		templates, err := cs.ListResourceTemplates(t.Context(), nil)
		if err != nil || len(templates.ResourceTemplates) != 3 {
			t.Errorf("%v templates, %v", templates, err)
		}
		for uri, from := range map[string]string{"doc:shared": "alpha", "doc:b": "beta", "doc:a/7": "alpha", "doc:b/x/y": "beta"} {
			res, err := cs.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
			if err != nil {
				t.Errorf("%s: %v", uri, err)
				continue
			}
			want := []*mcp.ResourceContents{{URI: uri, Text: "by " + from, Meta: mcp.Meta{"k": 1.0}}, {URI: "raw:1", MIMEType: "image/png", Blob: []byte("\x89PNG")}}
			if diff := cmp.Diff(want, res.Contents); diff != "" {
				t.Errorf("%s: %s", uri, diff)
			}
		}
		missing := int64(-32002)
		if version == newProtocol {
			missing = jsonrpc.CodeInvalidParams
		}
		for _, uri := range []string{"doc:c", "doc:a/1/2", "doc:a", "file:///etc/passwd", changeMark, "::"} {
			_, err := cs.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
			if uri == "doc:a" && err != nil || uri != "doc:a" && codeOf(err) != missing {
				t.Errorf("%s: %v", uri, err)
			}
		}
		_, err = cs.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "doc:a/missing"})
		if codeOf(err) != codeFailed || strings.Contains(err.Error(), "\x1b") || !strings.Contains(err.Error(), "there") {
			t.Errorf("a failing server: %v", err)
		}
		tools, err := cs.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range tools.Tools {
			if !strings.HasSuffix(tool.Name, "stamp") {
				t.Errorf("the tool %s is listed", tool.Name)
			}
		}
		if _, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "alpha__resources---read", Arguments: map[string]any{"uri": "doc:a"}}); err == nil {
			t.Error("a resource was read by a tool that is not listed")
		}
	})
}

func TestNativePrompts(t *testing.T) {
	everyLibraryWay(t, func(t *testing.T, connect func(*rig, *mcp.ClientOptions) *mcp.ClientSession, _ string) {
		alpha, beta := twoLibraries()
		cs := connect(newLibraryRig(t, Options{}, host.Options{}, alpha.server(), beta.server()), nil)
		list, err := cs.ListPrompts(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		want := []*mcp.Prompt{{Name: "alpha__plan"}, {Name: "alpha__only", Arguments: []*mcp.PromptArgument{{Name: "topic", Required: true}}}, {Name: "beta__plan"}}
		if diff := cmp.Diff(want, list.Prompts); diff != "" {
			t.Error(diff)
		}
		res, err := cs.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "beta__plan", Arguments: map[string]string{"topic": "tea"}})
		if err != nil {
			t.Fatal(err)
		}
		messages := []*mcp.PromptMessage{
			{Role: "user", Content: &mcp.TextContent{Text: "beta plan tea"}},
			{Role: "user", Content: &mcp.ImageContent{Data: []byte("\x89PNG"), MIMEType: "image/png"}},
			{Role: "assistant", Content: &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "raw:2", Blob: []byte{1, 2}}}},
			{Role: "user", Content: &mcp.TextContent{Text: "handle"}},
		}
		if diff := cmp.Diff(messages, res.Messages); diff != "" || res.Description != "described" {
			t.Errorf("%q %s", res.Description, diff)
		}
		for _, name := range []string{"plan", "only", "beta_plan", "nothing", changeMark} {
			if _, err := cs.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: name}); codeOf(err) != jsonrpc.CodeInvalidParams {
				t.Errorf("%q: %v", name, err)
			}
		}
	})
}

func TestNativeIsNotThereInCodeMode(t *testing.T) {
	everyLibraryWay(t, func(t *testing.T, connect func(*rig, *mcp.ClientOptions) *mcp.ClientSession, _ string) {
		alpha, _ := twoLibraries()
		cs := connect(newLibraryRig(t, Options{}, host.Options{CodeMode: host.CodeModeConfig{Enabled: true}}, alpha.server()), nil)
		if caps := cs.InitializeResult().Capabilities; caps.Resources != nil || caps.Prompts != nil || caps.Tools == nil {
			t.Errorf("capabilities %+v", caps)
		}
		if list, err := cs.ListResources(t.Context(), nil); err == nil && len(list.Resources) > 0 {
			t.Errorf("%v", uris(list.Resources))
		}
		if list, err := cs.ListPrompts(t.Context(), nil); err == nil && len(list.Prompts) > 0 {
			t.Errorf("%v", list.Prompts)
		}
		if _, err := cs.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "doc:a"}); err == nil {
			t.Error("a resource was read")
		}
		if _, err := cs.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "alpha__only"}); err == nil {
			t.Error("a prompt was got")
		}
		tools, err := cs.ListTools(t.Context(), nil)
		if err != nil || len(tools.Tools) != 2 {
			t.Errorf("%v %v", tools, err)
		}
		if alpha.listed() > 0 || len(alpha.calls()) > 0 {
			t.Error("the server was asked")
		}
	})
}

func TestNativeUnderPolicy(t *testing.T) {
	for name, c := range map[string]struct {
		deny               []string
		resources, prompts bool // advertised
		listed             int
		read               bool // doc:b, of beta
	}{
		"nothing denied": {nil, true, true, 3, true},
		"reading":        {[]string{"mcp:beta:resources/read"}, true, true, 3, false},
		"listing":        {[]string{"mcp:beta:resources/list"}, true, true, 2, false},
		"all resources":  {[]string{"mcp:*:resources/*"}, false, true, 0, false},
		"all prompts":    {[]string{"mcp:*:prompts/*"}, true, false, 3, true},
	} {
		t.Run(name, func(t *testing.T) {
			alpha, beta := twoLibraries()
			r := newLibraryRig(t, Options{Scope: func(Client) host.RunOptions { return host.RunOptions{Deny: c.deny} }}, host.Options{}, alpha.server(), beta.server())
			cs := dial(t, transports["memory"](t, r), oldProtocol, nil)
			caps := cs.InitializeResult().Capabilities
			if (caps.Resources != nil) != c.resources || (caps.Prompts != nil) != c.prompts {
				t.Errorf("capabilities %+v", caps)
			}
			list, err := cs.ListResources(t.Context(), nil)
			if err != nil || len(list.Resources) != c.listed {
				t.Errorf("%v %v", list, err)
			}
			_, err = cs.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "doc:b"})
			if (err == nil) != c.read || (len(beta.calls()) > 0) != c.read {
				t.Errorf("reading: %v, the server was read %q", err, beta.calls())
			}
		})
	}
}

func TestNativeApproval(t *testing.T) {
	everyLibraryWay(t, func(t *testing.T, connect func(*rig, *mcp.ClientOptions) *mcp.ClientSession, version string) {
		for answer, allowed := range map[string]bool{answerOnce: true, answerRefuse: false} {
			alpha, _ := twoLibraries()
			hooked := alpha.server()
			hooked.Approval = host.ApprovalAsk
			r := newLibraryRig(t, Options{Elicit: true}, host.Options{Policy: listsAreFree{}}, hooked)
			a := &answering{answers: []string{answer}}
			cs := connect(r, a.options())
			res, err := cs.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "doc:a"})
			if (err == nil) != allowed || (len(alpha.calls()) > 0) != allowed {
				t.Errorf("%s: %v %v, reads %q", answer, res, err, alpha.calls())
			}
			if q := a.asked(); len(q) != 1 || !strings.Contains(q[0], "resources/read") || !strings.Contains(q[0], "doc:a") {
				t.Errorf("%s: asked %q", answer, q)
			}
			_, err = cs.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "alpha__only", Arguments: map[string]string{"topic": "x"}})
			if (err == nil) != allowed || len(a.asked()) != 2 {
				t.Errorf("%s: prompt: %v, asked %q", answer, err, a.asked())
			}
		}
	})
}

// listsAreFree has calls of lists need no approval.
type listsAreFree struct{}

func (listsAreFree) Visible(context.Context, host.Scope, *host.ToolFacts) (host.PolicyDecision, error) {
	return host.PolicyDecision{Allow: true}, nil
}

func (listsAreFree) Authorize(_ context.Context, c *host.PolicyCall) (host.PolicyDecision, error) {
	d := host.PolicyDecision{Allow: true, Approval: host.ApprovalAsk}
	if c.Tool.Name == listResources || c.Tool.Name == listPrompts {
		d.Approval = host.ApprovalNever
	}
	return d, nil
}

// TestNativeListApproval has lists that need approval themselves: the user is asked
// where a list can ask; a server that is refused has nothing.
func TestNativeListApproval(t *testing.T) {
	for answer, want := range map[string]int{answerSession: 3, answerRefuse: 2} {
		alpha, beta := twoLibraries()
		free := beta.server()
		asks := alpha.server()
		asks.Approval = host.ApprovalAsk
		r := newLibraryRig(t, Options{Elicit: true}, host.Options{}, asks, free)
		a := &answering{answers: []string{answer}}
		cs := dial(t, transports["memory"](t, r), oldProtocol, a.options())
		list, err := cs.ListResources(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(list.Resources) != want || len(a.asked()) != 1 {
			t.Errorf("%s: %q, asked %q", answer, uris(list.Resources), a.asked())
		}
	}
}

// TestNativeReadAsksForTheList reads of a server whose list needs approval too, where
// the user is asked by results.
func TestNativeReadAsksForTheList(t *testing.T) {
	alpha, _ := twoLibraries()
	asks := alpha.server()
	asks.Approval = host.ApprovalAsk
	r := newLibraryRig(t, Options{Elicit: true}, host.Options{}, asks)
	for _, version := range []string{oldProtocol, newProtocol} {
		a := &answering{answers: []string{answerOnce}}
		cs := dial(t, httpTransport(r.web(t, testHTTP), aliceToken), version, a.options())
		if _, err := cs.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "doc:a"}); err != nil {
			t.Errorf("%s: %v", version, err)
		}
		if q := a.asked(); len(q) != 2 {
			t.Errorf("%s: asked %q", version, q)
		}
	}
}

// TestNativeRoundIsForItsRequest takes the state of one read to another.
func TestNativeRoundIsForItsRequest(t *testing.T) {
	alpha, _ := twoLibraries()
	asks := alpha.server()
	asks.Approval = host.ApprovalAsk
	r := newLibraryRig(t, Options{Elicit: true}, host.Options{Policy: listsAreFree{}}, asks)
	a := &answering{answers: []string{answerOnce}}
	o := a.options()
	o.MultiRoundTrip = &mcp.MultiRoundTripOptions{Disabled: true}
	cs := dial(t, httpTransport(r.web(t, testHTTP), aliceToken), newProtocol, o)
	res, err := cs.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "doc:a"})
	if err != nil || !res.NeedsInput() || len(res.InputRequests) != 1 || len(res.Contents) != 0 {
		t.Fatalf("%+v %v", res, err)
	}
	answers := mcp.InputResponseMap{}
	for id := range res.InputRequests {
		answers[id] = &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": answerOnce}}
	}
	for name, p := range map[string]*mcp.ReadResourceParams{
		"another uri": {URI: "doc:shared", RequestState: res.RequestState, InputResponses: answers},
		"no state":    {URI: "doc:a", InputResponses: answers},
	} {
		if _, err := cs.ReadResource(t.Context(), p); codeOf(err) != jsonrpc.CodeInvalidParams || len(alpha.calls()) > 0 {
			t.Errorf("%s: %v, reads %q", name, err, alpha.calls())
		}
	}
	if _, err := cs.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "alpha__only", RequestState: res.RequestState, InputResponses: answers}); codeOf(err) != jsonrpc.CodeInvalidParams {
		t.Errorf("a prompt with the state of a read: %v", err)
	}
	got, err := cs.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "doc:a", RequestState: res.RequestState, InputResponses: answers})
	if err != nil || got.NeedsInput() || len(got.Contents) != 2 {
		t.Errorf("%+v %v", got, err)
	}
	if len(a.asked()) > 0 {
		t.Errorf("asked %q", a.asked())
	}
}

// TestNativeListsChanged wants notifications of the lists that a client was told of,
// and fresh ones after.
func TestNativeListsChanged(t *testing.T) {
	for name, enabled := range map[string]bool{"direct": false, "code mode": true} {
		t.Run(name, func(t *testing.T) {
			alpha, beta := twoLibraries()
			r := newLibraryRig(t, Options{}, host.Options{CodeMode: host.CodeModeConfig{Enabled: enabled}}, alpha.server())
			told := make(chan string, 10)
			cs := dial(t, transports["memory"](t, r), oldProtocol, &mcp.ClientOptions{
				ToolListChangedHandler:     func(context.Context, *mcp.ToolListChangedRequest) { told <- "tools" },
				ResourceListChangedHandler: func(context.Context, *mcp.ResourceListChangedRequest) { told <- "resources" },
				PromptListChangedHandler:   func(context.Context, *mcp.PromptListChangedRequest) { told <- "prompts" },
			})
			want := map[string]bool{"tools": true}
			if !enabled {
				want["resources"], want["prompts"] = true, true
				if list, err := cs.ListResources(t.Context(), nil); err != nil || len(list.Resources) != 2 {
					t.Fatalf("%v %v", list, err)
				}
			}
			if err := r.host.SetMCP(t.Context(), []host.MCPServer{alpha.server(), beta.server()}); err != nil {
				t.Fatal(err)
			}
			r.Changed()
			for len(want) > 0 {
				what := <-told
				if !want[what] {
					t.Fatalf("told of %s", what)
				}
				delete(want, what)
			}
			if list, err := cs.ListResources(t.Context(), nil); !enabled && (err != nil || len(list.Resources) != 3) {
				t.Errorf("%v %v", list, err)
			}
		})
	}
}
