package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/cloister-wasm/cloister/host"
	"github.com/google/go-cmp/cmp"
)

func open(t testing.TB, o *Options, servers ...Server) *Manager {
	t.Helper()
	m, err := New(servers, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

func load(t testing.TB, m *Manager) map[string]host.MCPServer {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	out := map[string]host.MCPServer{}
	for _, s := range m.Load(ctx) {
		out[s.Name] = s
	}
	return out
}

func one(t testing.TB, m *Manager) host.MCPServer {
	t.Helper()
	for _, s := range load(t, m) {
		if s.Err != nil {
			t.Fatal(s.Err)
		}
		return s
	}
	t.Fatal("no server")
	return host.MCPServer{}
}

func tool(t testing.TB, s host.MCPServer, name string) *host.MCPTool {
	t.Helper()
	for i := range s.Tools {
		if s.Tools[i].Name == name {
			return &s.Tools[i]
		}
	}
	t.Fatalf("%s has no tool %q", s.Name, name)
	return nil
}

func code(err error) string {
	var e *host.ToolError
	if errors.As(err, &e) {
		return string(e.Code)
	}
	return ""
}

func testCtx(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func TestStdioServer(t *testing.T) {
	t.Parallel()
	m := open(t, nil, program(t, "good"))
	s := one(t, m)
	if len(s.Tools) != 6 || !s.Resources || !s.Prompts {
		t.Fatalf("got %+v", s)
	}
	if a := tool(t, s, "add").Approval; a != host.ApprovalNever {
		t.Errorf("add: approval %q", a)
	}
	if a := tool(t, s, "wipe").Approval; a != host.ApprovalAsk {
		t.Errorf("wipe: approval %q", a)
	}
	ctx := testCtx(t)
	r, err := s.Client.CallTool(ctx, tool(t, s, "add"), json.RawMessage(`{"a":40,"b":2}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(r.Structured); got != `{"sum":42}` {
		t.Errorf("structured %s", got)
	}
	if len(r.Content) != 1 || r.IsError {
		t.Errorf("got %+v", r)
	}
	st := m.Status()[0]
	if st.State != StateReady || st.ServerName != "good" || st.ServerVersion != "1.2.3" || st.Tools != 6 || st.Err != nil || st.Protocol == "" {
		t.Errorf("status %+v", st)
	}
	t.Log(st.Protocol)
}

func TestContent(t *testing.T) {
	t.Parallel()
	m := open(t, nil, program(t, "good"))
	s := one(t, m)
	ctx := testCtx(t)
	r, err := s.Client.CallTool(ctx, tool(t, s, "picture"), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []host.MCPContent{
		{JSON: json.RawMessage(`{"text":"<look>","type":"text"}`)},
		{JSON: json.RawMessage(`{"mimeType":"image/png","type":"image"}`), Data: []byte{1, 2, 3}, Kind: "image", MIMEType: "image/png"},
		{JSON: json.RawMessage(`{"resource":{"mimeType":"application/x","uri":"mem:x"},"type":"resource"}`), Data: []byte{9}, Kind: "blob", MIMEType: "application/x", URI: "mem:x"},
	}
	if diff := cmp.Diff(want, r.Content); diff != "" {
		t.Error(diff)
	}
	r, err = s.Client.CallTool(ctx, tool(t, s, "wipe"), json.RawMessage(`{}`), nil)
	if err != nil || !r.IsError || string(r.Content[0].JSON) != `{"text":"disk is full","type":"text"}` {
		t.Errorf("got %+v, %v", r, err)
	}
}
