package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cloister-wasm/cloister/host"
)

func text(t *testing.T, r *host.MCPResult) string {
	t.Helper()
	var item struct{ Text string }
	if err := json.Unmarshal(r.Content[0].JSON, &item); err != nil {
		t.Fatal(err)
	}
	return item.Text
}

// A call whose answer never came is not sent again, unless the operator said that it may be.
func TestDeadServer(t *testing.T) {
	t.Parallel()
	count := filepath.Join(t.TempDir(), "count")
	cfg := program(t, "reborn")
	cfg.Env["COUNT"] = Value{Text: count}
	m := open(t, nil, cfg)
	s := one(t, m)
	if _, err := s.Client.CallTool(testCtx(t), tool(t, s, "t"), nil, nil); code(err) != CodeLost || !errors.Is(err, ErrUnavailable) {
		t.Fatalf("got %v", err)
	}
	r, err := s.Client.CallTool(testCtx(t), tool(t, s, "t"), nil, nil)
	if err != nil || text(t, r) != "life 2" {
		t.Fatalf("the next call: %+v, %v", r, err)
	}
	if st := m.Status()[0]; st.Restarts != 1 || st.State != StateReady {
		t.Errorf("status %+v", st)
	}
}

func TestIdempotentCallIsSentAgain(t *testing.T) {
	t.Parallel()
	count := filepath.Join(t.TempDir(), "count")
	cfg := program(t, "reborn")
	cfg.Env["COUNT"] = Value{Text: count}
	cfg.Idempotent = []string{"?"}
	m := open(t, nil, cfg)
	s := one(t, m)
	r, err := s.Client.CallTool(testCtx(t), tool(t, s, "t"), nil, nil)
	if err != nil || text(t, r) != "life 2" {
		t.Fatalf("got %+v, %v", r, err)
	}
}

// A server that died is back before anybody asks for it.
func TestServerComesBack(t *testing.T) {
	t.Parallel()
	m := open(t, nil, program(t, "dies"))
	s := one(t, m)
	if _, err := s.Client.CallTool(testCtx(t), tool(t, s, "t"), nil, nil); code(err) != CodeLost {
		t.Fatalf("got %v", err)
	}
	waitStatus(t, m, func(st Status) bool { return st.State == StateReady && st.Restarts == 1 })
}

// One server that fails does not take the others along, and the error says what it said,
// without the secret in it.
func TestFailingServer(t *testing.T) {
	t.Parallel()
	secret := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(secret, []byte("hunter2-hunter2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	bad := program(t, "exits")
	bad.Env["TOKEN"] = Value{File: secret}
	var mu sync.Mutex
	var written []string
	m := open(t, &Options{Stderr: func(server, line string) {
		mu.Lock()
		defer mu.Unlock()
		written = append(written, server+": "+line)
	}}, bad, program(t, "good"))
	got := load(t, m)
	if got["good"].Err != nil || len(got["good"].Tools) == 0 {
		t.Errorf("good: %v", got["good"].Err)
	}
	err := got["exits"].Err
	if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "exit status 7") || !strings.Contains(err.Error(), "fatal: token *** is wrong") {
		t.Errorf("got %v", err)
	}
	mu.Lock()
	defer mu.Unlock()
	if !slices.Contains(written, "exits: fatal: token *** is wrong\ufffd[31m") {
		t.Errorf("standard error: %q", written)
	}
	if _, err := got["exits"].Client.CallTool(testCtx(t), &host.MCPTool{Name: "t"}, nil, nil); code(err) != CodeUnavailable ||
		strings.Contains(err.Error(), "hunter2") {
		t.Errorf("a call: %v", err)
	}
}

func TestServerThatCannotStart(t *testing.T) {
	t.Parallel()
	m := open(t, nil, Server{Name: "x", Command: filepath.Join(t.TempDir(), "missing")})
	if err := load(t, m)["x"].Err; !errors.Is(err, ErrUnavailable) || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

// A server that says nothing does not hold Load for longer than its limit.
func TestSilentServer(t *testing.T) {
	t.Parallel()
	cfg := program(t, "deaf")
	cfg.Limits.ConnectTimeout = 200 * time.Millisecond
	m := open(t, nil, cfg)
	if err := load(t, m)["deaf"].Err; !errors.Is(err, ErrUnavailable) || !errors.Is(err, ErrStartTimeout) || err.Error() != "the MCP server is not available: no answer within 200ms (limits.connectTimeout)" {
		t.Errorf("got %v", err)
	}
	// The other way is as quick: the caller's own context.
	m = open(t, nil, program(t, "deaf"))
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if err := m.Load(ctx)[0].Err; !errors.Is(err, ErrUnavailable) || strings.Count(err.Error(), "not available") != 1 {
		t.Errorf("got %v", err)
	}
}

func TestMinimalEnvironment(t *testing.T) {
	t.Setenv("SECRET_OF_THE_HOST", "x")
	t.Setenv("WANTED", "y")
	t.Setenv("LC_TEST", "z")
	t.Setenv("TZ", "() { :;}; echo vulnerable")
	cfg := program(t, "environ")
	cfg.InheritEnv = []string{"WANTED"}
	cfg.Env["GIVEN"] = Value{Env: "SECRET_OF_THE_HOST", Prefix: "p-"}
	m := open(t, nil, cfg)
	s := one(t, m)
	r, err := s.Client.CallTool(testCtx(t), tool(t, s, "t"), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, kv := range strings.Split(text(t, r), "\n") {
		name, value, _ := strings.Cut(kv, "=")
		names = append(names, name)
		if name == "GIVEN" && value != "p-x" {
			t.Errorf("GIVEN is %q", value)
		}
	}
	for name, want := range map[string]bool{"PATH": true, "WANTED": true, "LC_TEST": true, "GIVEN": true, "SECRET_OF_THE_HOST": false, "TZ": false} {
		if slices.Contains(names, name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
	if len(names) > 20 {
		t.Errorf("it gets %q", names)
	}
}

// A server that does not read blocks its own callers for as long as they want, and nobody
// else.
func TestServerThatDoesNotRead(t *testing.T) {
	t.Parallel()
	m := open(t, nil, program(t, "nostdin"))
	s := one(t, m)
	big, err := json.Marshal(map[string]string{"x": strings.Repeat("x", 1<<20)})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		_, err := s.Client.CallTool(ctx, tool(t, s, "t"), big, nil)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	}
}

func TestCloseEndsCalls(t *testing.T) {
	t.Parallel()
	m := open(t, nil, program(t, "good"))
	s := one(t, m)
	_, err := s.Client.CallTool(testCtx(t), tool(t, s, "slow"), nil, func(host.MCPProgress) {
		go func() {
			if err := m.Close(); err != nil {
				t.Error(err)
			}
		}()
	})
	if !errors.Is(err, ErrClosed) || code(err) != CodeLost {
		t.Errorf("got %v", err)
	}
	if _, err := s.Client.CallTool(testCtx(t), tool(t, s, "add"), nil, nil); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	if err := m.SetServers(nil); !errors.Is(err, ErrClosed) {
		t.Errorf("SetServers after Close: %v", err)
	}
	if _, err := m.Test(testCtx(t), "good"); !errors.Is(err, ErrClosed) {
		t.Errorf("Test after Close: %v", err)
	}
}

func TestSetServers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	counted := func(name string) Server {
		s := program(t, "counting")
		s.Name = name
		s.Env["COUNT"] = Value{Text: filepath.Join(dir, name)}
		return s
	}
	m := open(t, nil, counted("a"), counted("b"))
	before := load(t, m)
	b := counted("b")
	b.Deny = []string{"*"}
	if err := m.SetServers([]Server{counted("a"), b, counted("c")}); err != nil {
		t.Fatal(err)
	}
	after := load(t, m)
	if len(after["b"].Tools) != 0 || len(after["a"].Tools) != 6 || len(after["c"].Tools) != 6 {
		t.Errorf("got %+v", after)
	}
	add := json.RawMessage(`{"a":1,"b":1}`)
	if _, err := before["a"].Client.CallTool(testCtx(t), tool(t, before["a"], "add"), add, nil); err != nil {
		t.Errorf("the one that stayed: %v", err)
	}
	if _, err := before["b"].Client.CallTool(testCtx(t), tool(t, before["b"], "add"), add, nil); !errors.Is(err, ErrClosed) {
		t.Errorf("the one that changed: %v", err)
	}
	for name, want := range map[string]int64{"a": 1, "b": 2, "c": 1} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() != want {
			t.Errorf("%s was started %d times, %v", name, info.Size(), err)
		}
	}
	if err := m.SetServers([]Server{{Name: "core"}}); !errors.Is(err, host.ErrConfig) {
		t.Errorf("got %v", err)
	}
	if len(m.Servers()) != 3 {
		t.Error("a refused configuration changed something")
	}
}

// A secret of the configuration is not in the text of an error, which a model reads. Other results stay as they are.
func TestSecretsInErrors(t *testing.T) {
	cfg := program(t, "telling")
	t.Setenv("CLOISTER_TEST_TOKEN", "AIzaSyD-0123456789")
	t.Setenv("CLOISTER_TEST_SHORT", "on")
	cfg.Env["TOKEN"] = Value{Env: "CLOISTER_TEST_TOKEN"}
	cfg.Env["SHORT"] = Value{Env: "CLOISTER_TEST_SHORT"}
	s := one(t, open(t, nil, cfg))
	for _, c := range []struct{ input, want string }{
		{`{"fail":true}`, "GET /json?key=*** failed, debug is on"},
		{`{}`, "GET /json?key=AIzaSyD-0123456789 failed, debug is on"},
	} {
		r, err := s.Client.CallTool(testCtx(t), tool(t, s, "t"), json.RawMessage(c.input), nil)
		if err != nil || text(t, r) != c.want {
			t.Errorf("%s: got %+v, %v", c.input, r, err)
		}
	}
}
