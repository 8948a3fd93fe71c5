package mcp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cloister-wasm/cloister/host"
)

func TestConfigFaults(t *testing.T) {
	t.Parallel()
	ok := Server{Name: "x", Command: "prog"}
	with := func(f func(*Server)) Server {
		s := ok
		f(&s)
		return s
	}
	web := func(f func(*Server)) Server {
		s := Server{Name: "x", URL: "https://example.com/mcp"}
		f(&s)
		return s
	}
	for _, a := range []struct {
		server Server
		key    string // "" for a good one
	}{
		{ok, ""},
		{web(func(*Server) {}), ""},
		{web(func(s *Server) { s.URL = "http://127.0.0.1:8080/mcp" }), ""},
		{web(func(s *Server) { s.URL = "http://[::1]/mcp" }), ""},
		{web(func(s *Server) { s.URL, s.AllowPrivate = "http://tools.internal/mcp", true }), ""},
		{web(func(s *Server) { s.OAuth = &OAuth{} }), ""},
		{with(func(s *Server) { s.Name = "" }), "name"},
		{with(func(s *Server) { s.Name = "core" }), "name"},
		{with(func(s *Server) { s.Name = "Core" }), "name"},
		{with(func(s *Server) { s.Name = ".x" }), "name"},
		{with(func(s *Server) { s.Name = "a:b" }), "name"},
		{with(func(s *Server) { s.Name = "a/../b" }), "name"},
		{with(func(s *Server) { s.Name = "a\n" }), "name"},
		{with(func(s *Server) { s.Name = strings.Repeat("a", 65) }), "name"},
		{with(func(s *Server) { s.Command = "" }), "command"},
		{with(func(s *Server) { s.URL = "https://example.com" }), "command"},
		{with(func(s *Server) { s.Args = []string{"a\x00"} }), "command"},
		{with(func(s *Server) { s.Dir = "relative" }), "dir"},
		{with(func(s *Server) { s.Headers = map[string]Value{"A": {Text: "x"}} }), "headers"},
		{with(func(s *Server) { s.OAuth = &OAuth{} }), "oauth"},
		{with(func(s *Server) { s.Env = map[string]Value{"A=B": {Text: "x"}} }), "env.A=B"},
		{with(func(s *Server) { s.Env = map[string]Value{"A": {Text: "x", Env: "Y"}} }), "env.A"},
		{with(func(s *Server) { s.Env = map[string]Value{"A": {File: "relative"}} }), "env.A"},
		{with(func(s *Server) { s.Env = map[string]Value{"A": {Command: []string{""}}} }), "env.A"},
		{with(func(s *Server) { s.Env = map[string]Value{"A": {Text: "\x00"}} }), "env.A"},
		{with(func(s *Server) { s.InheritEnv = []string{"a b"} }), "inheritEnv"},
		{with(func(s *Server) { s.Approval = "sometimes" }), "approval"},
		{with(func(s *Server) { s.Allow = []string{""} }), "allow"},
		{with(func(s *Server) { s.Limits.MaxTools = -1 }), "limits.maxTools"},
		{with(func(s *Server) { s.Limits.MaxMessageBytes = 1 << 40 }), "limits.maxMessageBytes"},
		{with(func(s *Server) { s.Limits.CallTimeout = 25 * time.Hour }), "limits.callTimeout"},
		{web(func(s *Server) { s.URL = "http://example.com/mcp" }), "url"},
		{web(func(s *Server) { s.URL = "http://10.0.0.1/mcp" }), "url"},
		{web(func(s *Server) { s.URL = "http://localhost.evil.example/mcp" }), "url"},
		{web(func(s *Server) { s.URL = "file:///etc/passwd" }), "url"},
		{web(func(s *Server) { s.URL = "https://user:hunter2@example.com/" }), "url"},
		{web(func(s *Server) { s.URL = "https://example.com/#x" }), "url"},
		{web(func(s *Server) { s.URL = "https:example.com" }), "url"},
		{web(func(s *Server) { s.Args = []string{"x"} }), "args"},
		{web(func(s *Server) { s.Headers = map[string]Value{"A b": {Text: "x"}} }), "headers.A b"},
		{web(func(s *Server) { s.Headers = map[string]Value{"A": {Text: "x\r\nB: y"}} }), "headers.A"},
		{web(func(s *Server) { s.Headers = map[string]Value{"A": {}} }), "headers.A"},
		{web(func(s *Server) { s.Headers = map[string]Value{"Mcp-Session-Id": {Text: "x"}} }), "headers.Mcp-Session-Id"},
		{web(func(s *Server) {
			s.OAuth, s.Headers = &OAuth{}, map[string]Value{"authorization": {Text: "x"}}
		}), "headers.authorization"},
		{web(func(s *Server) { s.OAuth = &OAuth{Grant: "password"} }), "oauth.grant"},
		{web(func(s *Server) { s.OAuth = &OAuth{Grant: "client_credentials"} }), "oauth.clientId"},
		{web(func(s *Server) { s.OAuth = &OAuth{ClientSecret: Value{Env: "X"}} }), "oauth.clientSecret"},
		{web(func(s *Server) { s.OAuth = &OAuth{Redirect: "http://evil.example/"} }), "oauth.redirect"},
	} {
		_, err := New([]Server{a.server}, nil)
		if a.key == "" {
			if err != nil {
				t.Errorf("%+v: %v", a.server, err)
			}
			continue
		}
		var e *ConfigError
		if !errors.As(err, &e) || !errors.Is(err, host.ErrConfig) {
			t.Errorf("%s: got %v", a.key, err)
			continue
		}
		found := false
		for _, f := range e.Faults {
			found = found || strings.HasSuffix(f.Key, "."+a.key) && strings.HasPrefix(f.Key, "mcp.servers.")
		}
		if !found {
			t.Errorf("no fault for %q in %v", a.key, err)
		}
		if text := err.Error(); strings.Contains(text, "hunter2") || strings.ContainsAny(text, "\x00\n\r") {
			t.Errorf("the error says %q", text)
		}
	}
}

func TestAllConfigFaultsAtOnce(t *testing.T) {
	t.Parallel()
	_, err := New([]Server{
		{Name: "a"}, {Name: "A", Command: "x"}, {Name: "b", URL: "nonsense", Approval: "x", Limits: Limits{MaxPages: -1}},
	}, nil)
	var e *ConfigError
	if !errors.As(err, &e) || len(e.Faults) != 5 {
		t.Errorf("got %v", err)
	}
}

func TestSecrets(t *testing.T) {
	t.Setenv("THE_SECRET", "hunter2")
	dir := t.TempDir()
	file := filepath.Join(dir, "secret")
	if err := os.WriteFile(file, []byte("hunter2\n\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	big := filepath.Join(dir, "big")
	if err := os.WriteFile(big, []byte(strings.Repeat("hunter2", 20_000)), 0o600); err != nil {
		t.Fatal(err)
	}
	nul := filepath.Join(dir, "nul")
	if err := os.WriteFile(nul, []byte("hunter2\x00"), 0o600); err != nil {
		t.Fatal(err)
	}
	empty := filepath.Join(dir, "empty")
	if err := os.WriteFile(empty, []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, a := range []struct {
		value Value
		want  string // "" for an error
	}{
		{Value{Text: "plain"}, "plain"},
		{Value{Env: "THE_SECRET", Prefix: "Bearer "}, "Bearer hunter2"},
		{Value{File: file}, "hunter2"},
		{Value{Command: []string{"/bin/echo", "hunter2"}}, "hunter2"},
		{Value{Env: "THE_SECRET_THAT_IS_NOT_THERE"}, ""},
		{Value{File: filepath.Join(dir, "missing")}, ""},
		{Value{File: dir}, ""},
		{Value{File: big}, ""},
		{Value{File: nul}, ""},
		{Value{File: empty}, ""},
		{Value{Command: []string{"/bin/sh", "-c", "echo hunter2; echo hunter2 >&2; exit 3"}}, ""},
		{Value{Command: []string{"/bin/sh", "-c", "while :; do echo hunter2; done"}}, ""},
		{Value{Command: []string{filepath.Join(dir, "missing")}}, ""},
	} {
		got, err := a.value.resolve(context.Background())
		if got != a.want || (err == nil) != (a.want != "") || err != nil && !errors.Is(err, ErrSecret) {
			t.Errorf("%v: got %q, %v", a.value, got, err)
		}
		for _, text := range []string{fmt.Sprint(err), fmt.Sprint(a.value), fmt.Sprintf("%+v", a.value), fmt.Sprintf("%#v", a.value), fmt.Sprintf("%+v", Server{Env: map[string]Value{"A": a.value}})} {
			if strings.Contains(text, "hunter2") {
				t.Errorf("it says %q", text)
			}
		}
	}
	if _, err := (Value{Command: []string{"/bin/echo", "a\nb"}}).resolveHeader(context.Background()); !errors.Is(err, ErrSecret) {
		t.Errorf("a header with a line end: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if _, err := (Value{Command: []string{"/bin/sh", "-c", "sleep 20 & sleep 20"}}).resolve(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a command that does not end: %v", err)
	}
}

func TestAllowDenyApproval(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	list := &toolList{Tools: []host.MCPTool{
		{Name: "read"}, {Name: "delete", Annotations: host.ToolAnnotations{Destructive: &yes}},
		{Name: "write", Annotations: host.ToolAnnotations{Destructive: &no}},
	}}
	for _, a := range []struct {
		cfg  Server
		want string
	}{
		{Server{}, "read:never delete:ask write:never"},
		{Server{Approval: host.ApprovalAlways}, "read:always delete:always write:always"},
		{Server{Approval: host.ApprovalNever}, "read:never delete:never write:never"},
		{Server{Allow: []string{"re*"}}, "read:never"},
		{Server{Deny: []string{"*e"}}, "read:never"},
		{Server{Allow: []string{}}, ""}, // as everywhere: nil allows all, an empty list none
		{Server{Allow: []string{"*"}, Deny: []string{"r??d"}}, "delete:ask write:never"},
	} {
		var got []string
		for _, t := range list.offered(&a.cfg) {
			got = append(got, t.Name+":"+string(t.Approval))
		}
		if s := strings.Join(got, " "); s != a.want {
			t.Errorf("%+v: got %s", a.cfg, s)
		}
	}
	if list.Tools[0].Approval != "" {
		t.Error("the list itself changed")
	}
}

func TestPatterns(t *testing.T) {
	t.Parallel()
	for _, a := range []struct {
		pattern, name string
		want          bool
	}{
		{"*", "", true}, {"*", "anything", true}, {"a*", "abc", true}, {"a*", "bac", false}, {"*c", "abc", true}, {"a*c", "abbc", true},
		{"a?c", "abc", true}, {"a?c", "aéc", true}, {"a?c", "ac", false}, {"a*b*c", "axbxbxc", true}, {"", "", true}, {"", "a", false},
		{strings.Repeat("*a", 100) + "b", strings.Repeat("a", 5000), false}, {"[a]", "a", false}, {"[a]", "[a]", true},
	} {
		if got := matches(a.pattern, a.name); got != a.want {
			t.Errorf("%q %q: %v", a.pattern, a.name, got)
		}
	}
}
