package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/host/hosttest"
)

func TestProgress(t *testing.T) {
	everyWay(t, func(t *testing.T, rig rigFunc, connect connectFunc, version string) {
		for _, codeMode := range []bool{true, false} {
			var mu sync.Mutex
			var said []string
			last := 0.0
			done := make(chan struct{}, 100)
			cs := connect(rig(codeMode, Options{}), &mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
				mu.Lock()
				defer mu.Unlock()
				if req.Params.Progress <= last || req.Params.ProgressToken != "p1" {
					t.Errorf("progress %v for %v after %v", req.Params.Progress, req.Params.ProgressToken, last)
				}
				last = req.Params.Progress
				said = append(said, req.Params.Message)
				done <- struct{}{}
			}})
			p := &mcp.CallToolParams{Name: "report"}
			if codeMode {
				p = &mcp.CallToolParams{Name: "exec", Arguments: map[string]any{"code": `return await tools.report({})`}}
			}
			p.SetProgressToken("p1")
			if res, err := cs.CallTool(t.Context(), p); err != nil || res.IsError {
				t.Fatalf("%v %+v", err, res)
			}
			for range 3 {
				<-done
			}
			mu.Lock()
			text := strings.Join(said, "\n")
			mu.Unlock()
			contains(t, text, "calling cloister:core:report", `half\x1b[31m done`, "cloister:core:report: ok")
			cs.Close()
		}
	})
}

// A cancelled request ends its program, whatever it waits for.
func TestCancelEndsCells(t *testing.T) {
	everyWay(t, func(t *testing.T, rig rigFunc, connect connectFunc, version string) {
		for _, codeMode := range []bool{true, false} {
			var ended atomic.Int32
			started := make(chan struct{}, 1)
			h, err := host.New(t.Context(), &host.Options{CodeMode: host.CodeModeConfig{Enabled: codeMode, TimeoutMs: 60_000}, Tools: []host.RawTool{{
				Name: "hang", Description: "Hang.", Call: func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
					started <- struct{}{}
					<-ctx.Done()
					ended.Add(1)
					return nil, ctx.Err()
				},
			}}})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = h.Close() })
			r := rigOf(t, h)
			cs := connect(r, nil)
			ctx, cancel := context.WithCancel(t.Context())
			go func() { <-started; cancel() }()
			p := &mcp.CallToolParams{Name: "hang"}
			if codeMode {
				p = &mcp.CallToolParams{Name: "exec", Arguments: map[string]any{"code": `await tools.hang({})`}}
			}
			if _, err := cs.CallTool(ctx, p); !errors.Is(err, context.Canceled) {
				t.Fatalf("the cancelled call gave %v", err)
			}
			eventually(t, "the tool's context ends", func() bool { return ended.Load() == 1 })
			eventually(t, "no request is open", func() bool { s := r.Sessions(); return len(s) == 0 || s[0].Requests == 0 })
			cs.Close()
		}
	})
}

func rigOf(t *testing.T, h *host.Host) *rig {
	queue := host.NewApprovalQueue()
	return rig{host: h, queue: queue}.with(t, Options{Host: h, Approvals: queue})
}

// Cancelled while its user is asked: nothing is approved, no question stays open.
func TestCancelWhileAsking(t *testing.T) {
	for name, way := range transports {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, true, Options{Elicit: true})
			ctx, cancel := context.WithCancel(t.Context())
			closing := make(chan struct{}) // over HTTP no message comes back to a request that is gone
			cs := dial(t, way(t, r), oldProtocol, &mcp.ClientOptions{ElicitationHandler: func(ctx context.Context, _ *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				cancel()
				select {
				case <-ctx.Done():
				case <-closing:
				}
				return nil, context.Canceled
			}})
			t.Cleanup(func() { close(closing) })
			mark := "cancel-" + name
			if _, err := cs.CallTool(ctx, &mcp.CallToolParams{Name: "exec", Arguments: map[string]any{"code": `await tools.danger({ mark: "` + mark + `" })`}}); !errors.Is(err, context.Canceled) {
				t.Fatalf("%v", err)
			}
			eventually(t, "the question is closed", func() bool {
				for _, p := range r.queue.Pending() {
					if strings.Contains(string(p.Call.Input), mark) {
						return false
					}
				}
				return true
			})
			for _, c := range r.calls.Calls() {
				if strings.Contains(string(c.Input), mark) {
					t.Error("the tool ran")
				}
			}
			eventually(t, "nothing of the program is kept", func() bool {
				for _, s := range r.all() {
					s.mu.Lock()
					runs := s.runsLocked()
					s.mu.Unlock()
					for _, run := range runs {
						if !run.Idle() {
							return false
						}
					}
				}
				return true
			})
		})
	}
}

func TestListChangedAndFreshRuns(t *testing.T) {
	everyWay(t, func(t *testing.T, rig rigFunc, connect connectFunc, version string) {
		changed := make(chan struct{}, 10)
		var made atomic.Int32
		r := rig(true, Options{Scope: func(c Client) host.RunOptions {
			made.Add(1)
			return host.RunOptions{AgentID: "agent " + c.Name}
		}})
		cs := connect(r, &mcp.ClientOptions{ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- struct{}{} }})
		res := exec(t, cs, `await yield_control(); return 1`)
		hears(t, r.Gateway, changed)
		before := made.Load()
		wantValue(t, exec(t, cs, `return 2`), 2)
		if made.Load() != before+1 {
			t.Errorf("%d runs before and %d after Changed", before, made.Load())
		}
		wantValue(t, resultOf(t, callArgs(t, cs, "wait", map[string]any{"runId": res.RunID})), 1)
		for _, s := range r.all() {
			s.prune()
			s.mu.Lock()
			if len(s.old) != 0 {
				t.Errorf("%d old runs are kept", len(s.old))
			}
			s.mu.Unlock()
		}
	})
}

// hears changes tools until the client is told. The SDK tells of changes once they have
// paused for some milliseconds, and clients of 2026-07-28 that listen by then.
func hears(t *testing.T, g *Gateway, changed <-chan struct{}) {
	t.Helper()
	deadline := time.After(goneDeadline)
	for {
		g.Changed()
		select {
		case <-changed:
			return
		case <-time.After(100 * time.Millisecond):
		case <-deadline:
			t.Fatal("never: the client hears of changes")
		}
	}
}

// lending is a client's capability with tools for its session.
func lending(tools ...map[string]any) *mcp.ClientOptions {
	return &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{Experimental: map[string]any{ClientToolsCapability: map[string]any{"app": "editor", "tools": tools}}}}
}

var pickTool = map[string]any{
	"name": "pick", "description": "Let the user pick.",
	"inputSchema":  map[string]any{"type": "object", "properties": map[string]any{"n": map[string]any{"type": "integer"}}, "required": []string{"n"}},
	"outputSchema": map[string]any{"type": "string"},
}

// lendingClient is a client of the SDK that may use the methods for client tools.
func lendingClient(t *testing.T, transport mcp.Transport, version string, o *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	c := mcp.NewClient(&mcp.Implementation{Name: "editor", Version: "1"}, o)
	if err := errors.Join(
		mcp.AddSendingCustomMethod[*resolveParams, *settled](c, MethodResolve),
		mcp.AddSendingCustomMethod[*rejectParams, *settled](c, MethodReject),
	); err != nil {
		t.Fatal(err)
	}
	cs, err := c.Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cs.Close() }) // as in dial
	return cs
}

func TestClientTools(t *testing.T) {
	for name, way := range transports {
		for _, version := range []string{oldProtocol, newProtocol} {
			if name == "http" && version == newProtocol {
				continue // has no sessions
			}
			t.Run(name+"/"+version, func(t *testing.T) {
				r := newRig(t, true, Options{})
				cs := lendingClient(t, way(t, r), version, lending(pickTool))
				other := lendingClient(t, way(t, r), version, nil)
				resolve := func(cs *mcp.ClientSession, id, value string) error {
					_, err := mcp.CallCustomMethod[*resolveParams, *settled](t.Context(), cs, MethodResolve, &resolveParams{CallID: id, Value: json.RawMessage(value)})
					return err
				}
				res := exec(t, cs, `
					const bad = await tools.pick({ n: "x" }).catch(e => e.code);
					const first = await tools.pick({ n: 1 });
					const second = await tools.pick({ n: 2 }).catch(e => e.code + " " + e.message);
					return [bad, first, second]`)
				if res.Status != "waiting" || len(res.Pending) != 1 || res.Pending[0].Method != "client" || string(res.Pending[0].Input) != `{"n":1}` {
					t.Fatalf("%+v", res)
				}
				id := res.Pending[0].ID
				if err := resolve(other, id, `"theirs"`); err == nil {
					t.Fatal("another session settled the call")
				}
				if err := resolve(cs, id, `5`); err == nil {
					t.Fatal("a value of the wrong type was taken")
				}
				if err := resolve(cs, id, `"one"`); err != nil {
					t.Fatal(err)
				}
				if err := resolve(cs, id, `"again"`); err == nil {
					t.Fatal("a call was settled twice")
				}
				res = resultOf(t, callArgs(t, cs, "wait", map[string]any{"runId": res.RunID}))
				if len(res.Pending) != 1 {
					t.Fatalf("%+v", res)
				}
				_, err := mcp.CallCustomMethod[*rejectParams, *settled](t.Context(), cs, MethodReject, &rejectParams{CallID: res.Pending[0].ID, Error: rejectReason{Message: "no", Code: "closed"}})
				if err != nil {
					t.Fatal(err)
				}
				wantValue(t, resultOf(t, callArgs(t, cs, "wait", map[string]any{"runId": res.RunID})), []any{"invalid_input", "one", "closed no"})
			})
		}
	}
}

func TestClientToolsRefused(t *testing.T) {
	many := []map[string]any{}
	for i := range MaxClientTools + 1 {
		many = append(many, map[string]any{"name": fmt.Sprint("t", i), "description": "d"})
	}
	for name, tools := range map[string][]map[string]any{
		"unknown member": {{"name": "x", "description": "d", "run": "rm"}},
		"bad name":       {{"name": "../x", "description": "d"}},
		"twice":          {{"name": "x", "description": "d"}, {"name": "x", "description": "d"}},
		"remote schema":  {{"name": "x", "description": "d", "inputSchema": map[string]any{"$ref": "http://127.0.0.1/x"}}},
		"too many":       many,
		"too long":       {{"name": "x", "description": strings.Repeat("d", MaxClientToolBytes)}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, true, Options{})
			c := mcp.NewClient(&mcp.Implementation{Name: "bad"}, lending(tools...))
			cs, err := c.Connect(t.Context(), transports["http"](t, r), &mcp.ClientSessionOptions{ProtocolVersion: oldProtocol})
			if err == nil {
				cs.Close()
				t.Fatal("the tools were taken")
			}
			contains(t, err.Error(), ClientToolsCapability)
			eventually(t, "no session is left", func() bool { return len(r.Sessions()) == 0 })
		})
	}
}

// picture is an MCP server whose tools give what JSON does not hold.
type picture struct{ host.MCPClient }

func (picture) CallTool(_ context.Context, tool *host.MCPTool, _ json.RawMessage, progress func(host.MCPProgress)) (*host.MCPResult, error) {
	switch tool.Name {
	case "draw":
		if progress != nil {
			progress(host.MCPProgress{Progress: 1, Total: 2, Message: "drawing"})
		}
		return &host.MCPResult{
			Structured: json.RawMessage(`{"w":1}`),
			Content: []host.MCPContent{
				{JSON: json.RawMessage(`{"type":"text","text":"a dot"}`)},
				{JSON: json.RawMessage(`{"type":"image","mimeType":"image/png"}`), Data: []byte{1, 2, 3}, Kind: "image", MIMEType: "image/png"},
				{JSON: json.RawMessage(`{"type":"audio","mimeType":"audio/wav"}`), Data: []byte{4}, Kind: "audio", MIMEType: "audio/wav"},
				{JSON: json.RawMessage(`{"type":"resource","resource":{"uri":"x:y","mimeType":"a/b"}}`), Data: []byte{5}, Kind: "blob", MIMEType: "a/b", URI: "x:y"},
				{JSON: json.RawMessage(`{"type":"resource_link","uri":"x:z","name":"z"}`)},
			},
		}, nil
	}
	return &host.MCPResult{IsError: true, Content: []host.MCPContent{{JSON: json.RawMessage(`{"type":"text","text":"it is broken"}`)}}}, nil
}

func pictureHost(t *testing.T, codeMode bool) *rig {
	yes := true
	h, err := host.New(t.Context(), &host.Options{
		CodeMode: host.CodeModeConfig{Enabled: codeMode, TimeoutMs: 60_000}, Tools: []host.RawTool{hosttest.Echo("echo")},
		MCP: []host.MCPServer{{Name: "pics", Client: picture{}, Tools: []host.MCPTool{
			{Name: "draw", Title: "Draw", Description: "Draw.", Parameters: json.RawMessage(`{"type":"object"}`), Returns: json.RawMessage(`{"type":"object","properties":{"w":{"type":"integer"}}}`), Annotations: host.ToolAnnotations{ReadOnly: &yes}},
			{Name: "broken", Description: "Fail.", Parameters: json.RawMessage(`{"type":"object"}`)},
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	return rigOf(t, h)
}

func TestBinariesOfCells(t *testing.T) {
	cs := dial(t, transports["stdio"](t, pictureHost(t, true)), oldProtocol, nil)
	res := callArgs(t, cs, "exec", map[string]any{"code": `
		const r = await MCP.pics.draw({});
		return r.content.map(c => c.handle ?? c.resource?.handle).filter(Boolean)`})
	got := resultOf(t, res)
	handles, _ := got.Value.([]any)
	if len(handles) != 3 || len(res.Content) != 4 {
		t.Fatalf("%d handles, %d content items", len(handles), len(res.Content))
	}
	image := res.Content[1].(*mcp.ImageContent)
	audio := res.Content[2].(*mcp.AudioContent)
	blob := res.Content[3].(*mcp.EmbeddedResource)
	if string(image.Data) != "\x01\x02\x03" || image.MIMEType != "image/png" || image.Meta[metaHandle] != handles[0] {
		t.Errorf("the image is %+v", image)
	}
	if string(audio.Data) != "\x04" || audio.MIMEType != "audio/wav" || string(blob.Resource.Blob) != "\x05" || blob.Resource.URI != "x:y" {
		t.Errorf("%+v %+v", audio, blob.Resource)
	}
	// What is not in the result is not sent.
	if res := callArgs(t, cs, "exec", map[string]any{"code": `await MCP.pics.draw({}); return 1`}); len(res.Content) != 1 {
		t.Errorf("%d content items", len(res.Content))
	}
}

func TestDirectMCPTools(t *testing.T) {
	cs := dial(t, transports["http"](t, pictureHost(t, false)), newProtocol, nil)
	list, err := cs.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]*mcp.Tool{}
	for _, tool := range list.Tools {
		byName[tool.Name] = tool
	}
	draw := byName["pics__draw"]
	if draw == nil || draw.Annotations == nil || !draw.Annotations.ReadOnlyHint || draw.OutputSchema == nil {
		t.Fatalf("draw is %+v", draw)
	}
	res := callArgs(t, cs, "pics__draw", nil)
	if m, ok := res.StructuredContent.(map[string]any); !ok || m["w"] != 1.0 || len(res.Content) != 5 {
		t.Fatalf("%v, %d items", res.StructuredContent, len(res.Content))
	}
	if link, ok := res.Content[4].(*mcp.ResourceLink); !ok || link.URI != "x:z" {
		t.Errorf("%+v", res.Content[4])
	}
	if image, ok := res.Content[1].(*mcp.ImageContent); !ok || string(image.Data) != "\x01\x02\x03" {
		t.Errorf("%+v", res.Content[1])
	}
	res = callArgs(t, cs, "pics__broken", nil)
	if text := res.Content[0].(*mcp.TextContent).Text; !res.IsError || !strings.Contains(text, "it is broken") {
		t.Errorf("broken gave %q", text)
	}
}

// A direct call waits for approval while its request is gone, and ends with the session.
func TestDetachedCallEndsWithSession(t *testing.T) {
	r := newRig(t, false, Options{Elicit: true})
	o := (&answering{answers: []string{"once"}}).options()
	o.MultiRoundTrip = &mcp.MultiRoundTripOptions{Disabled: true}
	cs := dial(t, transports["http"](t, r), newProtocol, o)
	res := callArgs(t, cs, "danger", map[string]any{"mark": "detached"})
	if !res.NeedsInput() || len(res.InputRequests) != 1 {
		t.Fatalf("%+v", res)
	}
	open := func() int {
		n := 0
		for _, p := range r.queue.Pending() {
			if strings.Contains(string(p.Call.Input), "detached") {
				n++
			}
		}
		return n
	}
	if open() != 1 {
		t.Fatal("no question is open")
	}
	if s := r.all()[0]; func() bool { _, busy := s.use(); return !busy }() {
		t.Error("a session with an open approval counts as idle")
	}
	for _, s := range r.all() {
		s.end()
	}
	eventually(t, "the question is closed", func() bool { return open() == 0 })
}

// A call that was approved elsewhere keeps its result for the client that comes back.
func TestDetachedCallKeepsItsResult(t *testing.T) {
	r := newRig(t, false, Options{Elicit: true})
	o := (&answering{answers: []string{"once"}}).options()
	o.MultiRoundTrip = &mcp.MultiRoundTripOptions{Disabled: true}
	cs := dial(t, transports["http"](t, r), newProtocol, o)
	p := &mcp.CallToolParams{Name: "danger", Arguments: map[string]any{"mark": "kept"}}
	res, err := cs.CallTool(t.Context(), p)
	if err != nil || !res.NeedsInput() {
		t.Fatalf("%v %+v", err, res)
	}
	if err := r.queue.Decide(keyOf(res), host.Decision{Approved: true}); err != nil {
		t.Fatal(err)
	}
	s := r.all()[0]
	eventually(t, "the call ends", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.run.users == 0
	})
	eventually(t, "all is answered", r.quiet)
	if _, busy := s.use(); !busy {
		t.Error("a session that keeps a result counts as idle")
	}
	p.RequestState = res.RequestState
	if res, err = cs.CallTool(t.Context(), p); err != nil || res.IsError {
		t.Fatalf("%v %+v", err, res)
	}
	eventually(t, "all is answered", r.quiet)
	if _, busy := s.use(); busy {
		t.Error("the result was given and is still kept")
	}
	if res, err = cs.CallTool(t.Context(), p); err != nil || !res.IsError {
		t.Errorf("a result was given twice: %v %+v", err, res)
	}
}

// A request asks about its own program, not about others of the session.
func TestQuestionsOfOneProgram(t *testing.T) {
	r := newRig(t, true, Options{Elicit: true})
	o := (&answering{answers: []string{"once"}}).options()
	o.MultiRoundTrip = &mcp.MultiRoundTripOptions{Disabled: true}
	cs := dial(t, transports["http"](t, r), newProtocol, o)
	args := map[string]any{"code": `return await tools.always({ n: 1 })`}
	first, second := callArgs(t, cs, "exec", args), callArgs(t, cs, "exec", args)
	if len(first.InputRequests) != 1 || len(second.InputRequests) != 1 || keyOf(first) == keyOf(second) {
		t.Errorf("%v and %v", first.InputRequests, second.InputRequests)
	}
}

// A handshake is one of the older protocols, whatever version the client names in it.
func TestHandshakeNamesTheFuture(t *testing.T) {
	r := newRig(t, true, Options{Elicit: true})
	p, hangUp, ended := newPipe(t, r)
	p.say(t, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2099-01-01","capabilities":{"elicitation":{}},"clientInfo":{"name":"raw","version":"1"}}}`)
	contains(t, string(p.hear(t).Result), `"protocolVersion":"`+newestHandshake+`"`)
	p.say(t, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	p.say(t, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"exec","arguments":{"code":"return (await tools.danger({ n: 3 })).n"}}}`)
	m := p.hear(t)
	if m.Method != "elicitation/create" {
		t.Fatalf("%+v", m)
	}
	p.say(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"result":{"action":"accept","content":{"decision":"once"}}}`, m.ID))
	contains(t, string(p.hear(t).Result), `"value":3`)
	if err := errors.Join(hangUp(), <-ended); err != nil {
		t.Error(err)
	}
}
