// Package examples_test takes every example plugin the way of a real one: packed,
// signed, verified, installed into a store, loaded from it, and called by cells.
package examples_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/plugins"
	"github.com/cloister-wasm/cloister/plugins/bundle"
	"github.com/cloister-wasm/cloister/plugins/store"
	"github.com/cloister-wasm/cloister/plugins/trust"
)

// built reads a plugin that `make plugins` has built.
func built(t testing.TB, name string) bundle.Files {
	t.Helper()
	read := func(file string) []byte {
		b, err := os.ReadFile(filepath.Join("plugins", name, file))
		switch {
		case errors.Is(err, fs.ErrNotExist) && file == "plugin.wasm" && name == "hashes":
			t.Skip("the C plugin is not built: clang with wasm32 and lld is missing on this machine (Debian: clang lld)")
		case err != nil:
			t.Fatalf("%v; build the examples with make plugins", err)
		}
		return b
	}
	return bundle.Files{Manifest: read("cloister.plugin.json"), Wasm: read("plugin.wasm"), Readme: read("README.md")}
}

// publisher signs for "examples" and nobody else.
func publisher(t testing.TB) (*trust.SigningKey, *trust.Policy) {
	t.Helper()
	private, public, err := trust.GenerateKey("", nil)
	if err != nil {
		t.Fatal(err)
	}
	key, err := trust.LoadKey(private, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := &trust.Policy{}
	err = p.AddPublisher(trust.Publisher{Name: "examples", Keys: []trust.Key{{PublicKey: string(public)}}, Owns: trust.Ownership{
		IDs: []string{"examples."}, Tools: []string{"*"}, Globals: []string{"Csv", "Issues", "Texts", "Hashes"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return key, p
}

// installed signs, installs and loads one plugin.
func installed(t testing.TB, files bundle.Files, services plugins.Services) *plugins.Plugin {
	t.Helper()
	a, err := bundle.Build(files)
	if err != nil {
		t.Fatal(err)
	}
	key, policy := publisher(t)
	if _, err := policy.Verify(t.Context(), a); !errors.Is(err, trust.ErrUnsigned) {
		t.Fatalf("before it is signed: %v", err)
	}
	signature, err := trust.Sign(t.Context(), a, key)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.AddSignature(signature); err != nil {
		t.Fatal(err)
	}
	v, err := policy.Verify(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(filepath.Join(t.TempDir(), "store"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Install(t.Context(), v, ""); err != nil {
		t.Fatal(err)
	}
	loaded, err := s.Load(t.Context(), policy, nil, &plugins.LoadOptions{Services: services})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := loaded.Close(); err != nil {
			t.Error(err)
		}
	})
	if len(loaded.Refused) > 0 || len(loaded.Plugins) != 1 {
		t.Fatalf("refused: %v", loaded.Refused)
	}
	p := loaded.Plugins[0]
	if p.Unsigned() || p.Origin().Publisher != "examples" {
		t.Fatalf("the origin is %+v", p.Origin())
	}
	if err := p.Compile(t.Context()); err != nil {
		t.Fatal(err)
	}
	return p
}

func newRun(t testing.TB, p *plugins.Plugin) *host.Run {
	t.Helper()
	h, err := host.New(t.Context(), &host.Options{
		CodeMode: host.CodeModeConfig{Enabled: true, TimeoutMs: 60_000}, Plugins: []*plugins.Plugin{p},
		Approve: func(context.Context, *host.ToolCall) (host.Decision, error) {
			return host.Decision{Approved: true}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	r, err := h.NewRun(t.Context(), host.RunOptions{AgentRunID: "run", SessionID: "session"})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func value(t *testing.T, r *host.Run, code string) any {
	t.Helper()
	res, err := r.Exec(t.Context(), host.ExecInput{Code: code})
	if err != nil {
		t.Fatal(err)
	}
	if res.Status != guestabi.StatusCompleted {
		t.Fatalf("%s: %s (%s)", res.Status, res.Error, res.Reason)
	}
	return decoded(t, res.Value)
}

func decoded(t *testing.T, text []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return v
}

func TestSignedExamples(t *testing.T) {
	for _, name := range []string{"csvquery", "issues", "texttools", "hashes"} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && (name == "csvquery" || name == "issues") {
				t.Skip("a module written in Go takes seconds to become native")
			}
			p := installed(t, built(t, name), plugins.Services{})
			r := newRun(t, p)
			cells, err := filepath.Glob(filepath.Join("plugins", name, "cells", "*.js"))
			if err != nil || len(cells) == 0 {
				t.Fatalf("no cells: %v", err)
			}
			for _, cell := range cells {
				code, err := os.ReadFile(cell)
				if err != nil {
					t.Fatal(err)
				}
				want, err := os.ReadFile(strings.TrimSuffix(cell, ".js") + ".json")
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(decoded(t, want), value(t, r, string(code))); diff != "" {
					t.Errorf("%s (-want +got):\n%s", cell, diff)
				}
			}
			for _, ns := range p.Manifest().Namespaces {
				if !strings.Contains(r.Surface()[0].Description, ns.GlobalName) {
					t.Errorf("the description does not teach %s", ns.GlobalName)
				}
			}
		})
	}
}

// issueServer answers like the part of GitHub that the issues plugin uses.
type issueServer struct {
	mu     sync.Mutex
	issues []object
	seen   []string
}

type object = map[string]any

func (s *issueServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, r.Method+" "+r.URL.Path)
	w.Header().Set("Content-Type", "application/json")
	path, ok := strings.CutPrefix(r.URL.Path, "/repos/acme/site/issues")
	if !ok || r.Header.Get("Authorization") != "Bearer t0p-s3cret" {
		http.Error(w, `{"message":"Not Found"}`, http.StatusNotFound)
		return
	}
	var body object
	if r.Method != http.MethodGet {
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			http.Error(w, `{"message":"bad JSON"}`, http.StatusBadRequest)
			return
		}
	}
	var answer any = s.issues
	switch {
	case strings.HasSuffix(path, "/comments"):
		answer = object{"id": 1, "body": body["body"], "user": object{"login": "bot"}, "html_url": "u", "created_at": "c"}
	case path != "":
		issue := s.issues[path[1]-'1']
		for k, v := range body {
			issue[k] = v
		}
		answer = issue
	}
	// A client that went away is its own fault.
	_ = json.NewEncoder(w).Encode(answer)
}

// TestIssuesAgainstAServer runs the program of the example against a server, through the
// namespace, the host's HTTP and a secret that the plugin is not given.
func TestIssuesAgainstAServer(t *testing.T) {
	if testing.Short() {
		t.Skip("a module written in Go takes seconds to become native")
	}
	s := &issueServer{}
	for i, comments := range []int{0, 3, 0} {
		s.issues = append(s.issues, object{"number": i + 1, "title": "Issue", "state": "open", "labels": []object{{"name": "needs-answer"}}, "assignees": []any{},
			"user": object{"login": "ada"}, "comments": comments, "html_url": "u", "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z"})
	}
	server := httptest.NewServer(s)
	defer server.Close()
	files := built(t, "issues")
	var manifest object
	if err := json.Unmarshal(files.Manifest, &manifest); err != nil {
		t.Fatal(err)
	}
	manifest["permissions"].(object)["hosts"] = []object{{"host": strings.TrimPrefix(server.URL, "http://"), "insecure": true, "methods": []string{"GET", "POST", "PATCH"}, "paths": []string{"/repos/"}}}
	manifest["permissions"].(object)["secrets"] = []object{{"name": "token", "hosts": []string{strings.TrimPrefix(server.URL, "http://")}}}
	var err error
	if files.Manifest, err = json.Marshal(manifest); err != nil {
		t.Fatal(err)
	}
	config := map[string]string{"baseUrl": `"` + server.URL + `"`, "repository": `"acme/site"`}
	p := installed(t, files, plugins.Services{
		Config: func(plugin, key string) (json.RawMessage, bool) {
			v, ok := config[key]
			return json.RawMessage(v), ok && plugin == "examples.issues"
		},
		Secrets: func(_ context.Context, _, name string) (string, error) {
			return map[string]string{"token": "t0p-s3cret"}[name], nil
		},
		HTTP: &plugins.HTTPOptions{AllowPrivate: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}},
	})
	program, err := os.ReadFile("plugins/issues/triage.js")
	if err != nil {
		t.Fatal(err)
	}
	want := object{"repository": "acme/site", "closed": []any{
		object{"number": 1.0, "title": "Issue", "state": "closed"}, object{"number": 3.0, "title": "Issue", "state": "closed"},
	}}
	if diff := cmp.Diff(any(want), value(t, newRun(t, p), string(program))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	wantSeen := []string{
		"GET /repos/acme/site/issues", "POST /repos/acme/site/issues/1/comments", "PATCH /repos/acme/site/issues/1",
		"POST /repos/acme/site/issues/3/comments", "PATCH /repos/acme/site/issues/3",
	}
	if diff := cmp.Diff(wantSeen, s.seen); diff != "" {
		t.Errorf("what the server saw (-want +got):\n%s", diff)
	}
	if bytes.Contains(files.Wasm, []byte("t0p-s3cret")) {
		t.Error("the secret is in the module")
	}
}
