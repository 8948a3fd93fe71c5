package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cloister-wasm/cloister/host"
)

func TestCancellationReachesTheServer(t *testing.T) {
	t.Parallel()
	m := open(t, nil, program(t, "good"))
	s := one(t, m)
	ctx, cancel := context.WithCancelCause(context.Background())
	why := errors.New("enough")
	got := make(chan host.MCPProgress, 1)
	_, err := s.Client.CallTool(ctx, tool(t, s, "slow"), nil, func(p host.MCPProgress) {
		got <- p
		cancel(why)
	})
	if !errors.Is(err, why) {
		t.Errorf("got %v", err)
	}
	if p := <-got; p != (host.MCPProgress{Progress: 1, Total: 2, Message: "half"}) {
		t.Errorf("progress %+v", p)
	}
	// The server's handler ended with it: the connection is good for more.
	if _, err := s.Client.CallTool(testCtx(t), tool(t, s, "add"), json.RawMessage(`{"a":1,"b":2}`), nil); err != nil {
		t.Error(err)
	}
}

func TestProgressInOrder(t *testing.T) {
	t.Parallel()
	m := open(t, nil, program(t, "good"))
	s := one(t, m)
	var got []float64
	r, err := s.Client.CallTool(testCtx(t), tool(t, s, "steps"), nil, func(p host.MCPProgress) { got = append(got, p.Progress) })
	if err != nil || text(t, r) != "done" {
		t.Fatalf("got %+v, %v", r, err)
	}
	if !slices.Equal(got, []float64{0, 1, 2}) {
		t.Errorf("progress %v", got)
	}
}

func TestResourcesAndPrompts(t *testing.T) {
	t.Parallel()
	m := open(t, nil, program(t, "good"))
	s := one(t, m)
	ctx := testCtx(t)
	list, err := s.Client.ListResources(ctx)
	if err != nil || !strings.Contains(string(list), `"uri":"mem:note"`) || !strings.Contains(string(list), `"uriTemplate":"mem:{x}"`) {
		t.Errorf("resources: %s, %v", list, err)
	}
	items, err := s.Client.ReadResource(ctx, "mem:note")
	if err != nil || len(items) != 2 || string(items[0].JSON) != `{"resource":{"mimeType":"text/plain","text":"hello","uri":"mem:note"},"type":"resource"}` ||
		string(items[1].Data) != "bin" || items[1].Kind != "blob" || items[1].URI != "mem:note" {
		t.Errorf("items: %+v, %v", items, err)
	}
	if _, err := s.Client.ReadResource(ctx, "mem:missing"); code(err) != CodeRefused {
		t.Errorf("a missing one: %v", err)
	}
	list, err = s.Client.ListPrompts(ctx)
	if err != nil || !strings.Contains(string(list), `"name":"greet"`) {
		t.Errorf("prompts: %s, %v", list, err)
	}
	p, err := s.Client.GetPrompt(ctx, "greet", map[string]string{"who": "you"})
	if err != nil || p.Description != "Greets." || len(p.Messages) != 1 || p.Messages[0].Role != "user" ||
		string(p.Messages[0].Content.JSON) != `{"text":"Hello you","type":"text"}` {
		t.Errorf("prompt: %+v, %v", p, err)
	}
	r, err := m.Test(ctx, "good")
	if err != nil || r.Resources != 1 || r.Templates != 1 || r.Prompts != 1 || len(r.List) != 6 || r.State != StateReady {
		t.Errorf("report %+v, %v", r, err)
	}
}

// A server whose resources and prompts cannot be listed has tools all the same.
func TestReportWithoutLists(t *testing.T) {
	t.Parallel()
	m := open(t, nil, remote(serveHTTP(t, &fakeHTTP{other: map[string]func(http.ResponseWriter, *http.Request, raw){
		"initialize": func(w http.ResponseWriter, _ *http.Request, m raw) {
			reply(w, m, `{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"resources":{},"prompts":{}},"serverInfo":{"name":"fake","version":"0"}}`)
		},
		"tools/list": func(w http.ResponseWriter, _ *http.Request, m raw) {
			reply(w, m, `{"tools":[{"name":"t","inputSchema":{"type":"object","properties":{"a":{"pattern":"(?=x)"}}}}]}`)
		},
	}}).URL))
	r, err := m.Test(testCtx(t), one(t, m).Name)
	if err != nil || len(r.List) != 1 || len(r.Notes) != 3 || !strings.HasPrefix(r.Notes[0], "tool t: the pattern at /properties/a ") ||
		!strings.HasPrefix(r.Notes[1], "listing resources: ") || !strings.HasPrefix(r.Notes[2], "listing prompts: ") {
		t.Errorf("report %+v, %v", r, err)
	}
}

func TestListChanged(t *testing.T) {
	t.Parallel()
	changed := make(chan struct{}, 100)
	m := open(t, &Options{OnChange: func(*Manager) { changed <- struct{}{} }}, program(t, "good"))
	s := one(t, m)
	if _, err := s.Client.CallTool(testCtx(t), tool(t, s, "grow"), nil, nil); err != nil {
		t.Fatal(err)
	}
	ctx := testCtx(t)
	for len(m.Servers()[0].Tools) != 7 {
		select {
		case <-changed:
		case <-ctx.Done():
			t.Fatalf("it has %d tools", len(m.Servers()[0].Tools))
		}
	}
}

func TestCallsWaitForTheirTurn(t *testing.T) {
	t.Parallel()
	cfg := program(t, "good")
	cfg.Limits.MaxConcurrent = 1
	m := open(t, nil, cfg)
	s := one(t, m)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	started, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		_, err := s.Client.CallTool(ctx, tool(t, s, "slow"), nil, func(host.MCPProgress) { close(started) })
		if !errors.Is(err, context.Canceled) {
			t.Errorf("slow: %v", err)
		}
	}()
	<-started
	short, stop := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer stop()
	if _, err := s.Client.CallTool(short, tool(t, s, "add"), json.RawMessage(`{"a":1,"b":1}`), nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	cancel()
	<-ended
	if _, err := s.Client.CallTool(testCtx(t), tool(t, s, "add"), json.RawMessage(`{"a":1,"b":1}`), nil); err != nil {
		t.Error(err)
	}
}
