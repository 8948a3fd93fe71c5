package mcp

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A server is told how deep it is, whatever the configuration says of that.
func TestServersKnowTheirDepth(t *testing.T) {
	t.Setenv(DepthVariable, "1")
	for name, change := range map[string]func(*Server){
		"plain":     func(*Server) {},
		"set":       func(s *Server) { s.Env[DepthVariable] = Value{Text: "0"} },
		"inherited": func(s *Server) { s.InheritEnv = []string{DepthVariable} },
	} {
		cfg := program(t, "environ")
		change(&cfg)
		s := one(t, open(t, nil, cfg))
		r, err := s.Client.CallTool(testCtx(t), tool(t, s, "t"), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(text(t, r), DepthVariable+"="); n != 1 || !strings.Contains(text(t, r), DepthVariable+"=2") {
			t.Errorf("%s: its environment is %s", name, text(t, r))
		}
	}
}

func TestDepthIsBounded(t *testing.T) {
	for value, want := range map[string]error{"": nil, "0": nil, "1": nil, "2": ErrDepth, "999": ErrDepth, "-1": ErrDepth, "x": ErrDepth, "99999999999999999999": ErrDepth} {
		t.Setenv(DepthVariable, value)
		if _, err := Depth(); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", value, err, want)
		}
		m := open(t, nil, program(t, "good"))
		if err := m.Load(testCtx(t))[0].Err; !errors.Is(err, want) || (err == nil) != (want == nil) {
			t.Errorf("%q: the server: %v, want %v", value, err, want)
		}
	}
}

// A program is itself by each of its names, and only where it is told to serve.
func TestStartsItself(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	if err := os.Symlink(self, link); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	t.Setenv("PATH", dir)
	for _, c := range []struct {
		s    Server
		want bool
	}{
		{Server{Command: self, Args: []string{"serve"}}, true},
		{Server{Command: self, Args: []string{"--verbose", "serve", "--no-elicit"}}, true},
		{Server{Command: link, Args: []string{"serve"}}, true},
		{Server{Command: "link", Args: []string{"serve"}}, true},
		{Server{Command: "./link", Dir: dir, Args: []string{"serve"}}, true},
		{Server{Command: "./link", Args: []string{"serve"}}, false}, // which is not here
		{Server{Command: self}, false},
		{Server{Command: self, Args: []string{"-test.run=^$"}}, false},
		{Server{Command: "none", Args: []string{"serve"}}, false},
		{Server{URL: "https://mcp.example/", Args: []string{"serve"}}, false},
	} {
		if got := c.s.StartsItself(); got != c.want {
			t.Errorf("%s %q: %v", c.s.Command, c.s.Args, got)
		}
	}
	cfg := program(t, "good")
	cfg.Command, cfg.Args = link, append(cfg.Args, "serve")
	m := open(t, nil, cfg)
	if err := m.Load(testCtx(t))[0].Err; !errors.Is(err, ErrSelf) || !strings.Contains(err.Error(), "cloister mcp remove good") {
		t.Errorf("got %v", err)
	}
}
