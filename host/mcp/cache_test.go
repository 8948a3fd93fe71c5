package mcp

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCacheStartsNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	count := filepath.Join(dir, "count")
	cfg := program(t, "counting")
	cfg.Env["COUNT"] = Value{Text: count}
	folder := filepath.Join(dir, "cache")
	first := open(t, &Options{Cache: folder}, cfg)
	want := one(t, first)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second := open(t, &Options{Cache: folder}, cfg)
	got := one(t, second)
	if diff := cmp.Diff(want.Tools, got.Tools); diff != "" {
		t.Error(diff)
	}
	if said := "Add.\nWell." + strings.Repeat("x", 1989) + "…"; want.Instructions != said || got.Instructions != said {
		t.Errorf("instructions %q, from the cache %q", want.Instructions, got.Instructions)
	}
	if got.Resources != want.Resources || got.Prompts != want.Prompts {
		t.Errorf("got %+v", got)
	}
	if st := second.Status()[0]; st.State != StateIdle || !st.Cached || st.ServerName != "good" {
		t.Errorf("status %+v", st)
	}
	starts := func() int64 {
		info, err := os.Stat(count)
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	if n := starts(); n != 1 {
		t.Errorf("it was started %d times", n)
	}
	if _, err := got.Client.CallTool(testCtx(t), tool(t, got, "add"), json.RawMessage(`{"a":1,"b":1}`), nil); err != nil {
		t.Error(err)
	}
	if n := starts(); n != 2 {
		t.Errorf("it was started %d times", n)
	}
	if runtime.GOOS != "windows" {
		info, err := os.Stat(folder)
		if err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("folder: %v, %v", info.Mode(), err)
		}
		for _, f := range files(t, folder) {
			if info, err := os.Stat(f); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%s: %v, %v", f, info.Mode(), err)
			}
		}
	}
}

func files(t *testing.T, dir string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// A cache that somebody changed is checked like a server, and a tool in it that is not
// the server's is refused when it is called.
func TestForgedCache(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cfg := program(t, "good")
	path, key := (&cache{dir}).path(&cfg)
	for name, text := range map[string]string{
		"no JSON":    `{`,
		"duplicate":  `{"version":1,"version":1,"key":"` + key + `","tools":[]}`,
		"unknown":    `{"version":1,"key":"` + key + `","tools":[],"Tools":[]}`,
		"version":    `{"version":2,"key":"` + key + `","tools":[]}`,
		"other key":  `{"version":1,"key":"x","tools":[]}`,
		"remote ref": `{"version":1,"key":"` + key + `","tools":[{"name":"a","inputSchema":{"$ref":"http://evil.example"}}]}`,
		"null":       `{"version":1,"key":"` + key + `","tools":[null]}`,
		"twice":      `{"version":1,"key":"` + key + `","tools":[` + oneTool + `,` + oneTool + `]}`,
		"large":      `{"version":1,"key":"` + key + `","tools":[]}` + strings.Repeat(" ", maxCacheBytes),
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		m := open(t, &Options{Cache: dir}, cfg)
		u := m.all()[0]
		if list := m.cache.load(u); list != nil {
			t.Errorf("%s: got %+v", name, list)
		}
	}
	if err := os.WriteFile(path, []byte(`{"version":1,"key":"`+key+`","tools":[{"name":"add","description":"forged","inputSchema":{"type":"object"}}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	m := open(t, &Options{Cache: dir}, cfg)
	s := one(t, m)
	if !m.Status()[0].Cached {
		t.Fatal("not from the cache")
	}
	if _, err := s.Client.CallTool(testCtx(t), tool(t, s, "add"), json.RawMessage(`{"a":1,"b":1}`), nil); code(err) != CodeChanged {
		t.Errorf("got %v", err)
	}
	data, err := os.ReadFile(path)
	if err != nil || bytes.Contains(data, []byte("forged")) {
		t.Errorf("the cache still says %s, %v", data, err)
	}
	if runtime.GOOS != "windows" {
		if err := os.Chmod(dir, 0o777); err != nil { //nolint:gosec // that is the attack
			t.Fatal(err)
		}
		if m.cache.load(m.all()[0]) != nil {
			t.Error("a folder that everybody can write in is used")
		}
	}
}

func TestCacheKey(t *testing.T) {
	t.Parallel()
	a := Server{Name: "a", Command: "x", Env: map[string]Value{"K": {Env: "SECRET"}}}
	b := a
	b.Deny, b.Approval = []string{"*"}, "ask"
	if cacheKey(&a) != cacheKey(&b) {
		t.Error("what is applied later is in the key")
	}
	for name, change := range map[string]func(*Server){
		"command": func(s *Server) { s.Command = "y" }, "args": func(s *Server) { s.Args = []string{"y"} }, "name": func(s *Server) { s.Name = "b" },
		"env":     func(s *Server) { s.Env = map[string]Value{"K": {Env: "OTHER"}} },
		"dir":     func(s *Server) { s.Dir = "/" },
		"headers": func(s *Server) { s.Headers = map[string]Value{"K": {File: "/x"}} },
	} {
		c := a
		change(&c)
		if cacheKey(&c) == cacheKey(&a) {
			t.Errorf("%s is not in the key", name)
		}
	}
}
