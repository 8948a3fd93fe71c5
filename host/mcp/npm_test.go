package mcp

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// npmServer is a server of testdata/servers, run by node.
func npmServer(t *testing.T, name string, args ...string) Server {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a server of npm; those of this package speak the same protocol")
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Fatalf("node is needed for this test: %v", err)
	}
	script, err := filepath.Abs(filepath.Join("testdata", "servers", "node_modules", "@modelcontextprotocol", name, "dist", "index.js"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(script); err != nil {
		t.Fatalf("the servers are not installed; run: npm ci --ignore-scripts --prefix host/mcp/testdata/servers (%v)", err)
	}
	return Server{Name: name, Command: node, Args: append([]string{script}, args...), Limits: Limits{ConnectTimeout: 25 * time.Second, CallTimeout: 20 * time.Second}}
}

func TestServerEverything(t *testing.T) {
	t.Parallel()
	m := open(t, nil, npmServer(t, "server-everything"))
	s := one(t, m)
	st := m.Status()[0]
	t.Logf("%+v", st)
	if !s.Resources || !s.Prompts || len(s.Tools) < 8 || len(st.Skipped) > 0 {
		t.Fatalf("got %d tools, %+v", len(s.Tools), st.Skipped)
	}
	ctx := testCtx(t)
	r, err := s.Client.CallTool(ctx, tool(t, s, "echo"), json.RawMessage(`{"message":"hé \u2028<"}`), nil)
	if err != nil || text(t, r) != "Echo: hé \u2028<" {
		t.Errorf("echo: %+v, %v", r, err)
	}
	r, err = s.Client.CallTool(ctx, tool(t, s, "get-structured-content"), json.RawMessage(`{"location":"New York"}`), nil)
	if err != nil || !strings.Contains(string(r.Structured), `"temperature"`) || len(r.Content) == 0 {
		t.Errorf("structured: %+v, %v", r, err)
	}
	r, err = s.Client.CallTool(ctx, tool(t, s, "get-tiny-image"), json.RawMessage(`{}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	images := 0
	for _, c := range r.Content {
		if c.Kind == "image" && len(c.Data) > 100 && c.MIMEType == "image/png" && !strings.Contains(string(c.JSON), "data") {
			images++
		}
	}
	if images != 1 {
		t.Errorf("%d images in %+v", images, r.Content)
	}
	steps := 0
	if _, err = s.Client.CallTool(ctx, tool(t, s, "trigger-long-running-operation"), json.RawMessage(`{"duration":0.3,"steps":3}`),
		func(hostProgress) { steps++ }); err != nil || steps != 3 {
		t.Errorf("progress: %d steps, %v", steps, err)
	}
	list, err := s.Client.ListResources(ctx)
	if err != nil || !json.Valid(list) || !strings.Contains(string(list), "uriTemplate") {
		t.Errorf("resources: %.200s, %v", list, err)
	}
	list, err = s.Client.ListPrompts(ctx)
	if err != nil || !strings.Contains(string(list), `"simple-prompt"`) {
		t.Errorf("prompts: %.200s, %v", list, err)
	}
	if p, err := s.Client.GetPrompt(ctx, "simple-prompt", nil); err != nil || len(p.Messages) == 0 {
		t.Errorf("prompt: %+v, %v", p, err)
	}
	// Wrong arguments are the tool's failure for some servers and an error of the call for others.
	r, err = s.Client.CallTool(ctx, tool(t, s, "get-sum"), json.RawMessage(`{"a":"x"}`), nil)
	if code(err) != CodeRefused && (err != nil || !r.IsError) {
		t.Errorf("wrong arguments: %+v, %v", r, err)
	}
}

func TestServerFilesystem(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("inside"), 0o600); err != nil {
		t.Fatal(err)
	}
	m := open(t, nil, npmServer(t, "server-filesystem", dir))
	s := one(t, m)
	ctx := testCtx(t)
	args := func(path string) json.RawMessage {
		data, err := json.Marshal(map[string]string{"path": path})
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	r, err := s.Client.CallTool(ctx, tool(t, s, "read_text_file"), args(filepath.Join(dir, "a.txt")), nil)
	if err != nil || r.IsError || text(t, r) != "inside" {
		t.Errorf("got %+v, %v", r, err)
	}
	r, err = s.Client.CallTool(ctx, tool(t, s, "read_text_file"), args("/etc/passwd"), nil)
	if err != nil || !r.IsError {
		t.Errorf("outside: %+v, %v", r, err)
	}
	if a := tool(t, s, "write_file").Approval; a != "ask" {
		t.Errorf("write_file: approval %q", a)
	}
}
