package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cloister-wasm/cloister/host/mcp"
	"github.com/cloister-wasm/cloister/host/settings"
)

// What is read of another client's file is a server that can be used, or is refused
// with a reason; a server that can be used survives being written down.
func FuzzReadImport(f *testing.F) {
	for _, text := range []string{
		`{"mcpServers":{"a":{"command":"x","args":["-y"],"env":{"T":"${env:V}","U":1}}}}`,
		`{"servers":{"b":{"url":"https://x.example/","headers":{"Authorization":"Bearer ${V}"}}},"inputs":[]}`,
		`{"context_servers":{"c":{"command":{"path":"x","args":[],"env":{}}}}}`,
	} {
		f.Add("f.json", []byte(text))
	}
	f.Add("f.yaml", []byte("extensions:\n  a:\n    cmd: x\n    args: [-y]\n    available_tools: []\n"))
	f.Add("opencode.json", []byte(`{"mcp":{"a":{"command":["x","-y"],"environment":{"A":"{file:b}"},"tools":["*"]}},"projects":{"/":{"mcpServers":{}}}}`))
	f.Add("f.toml", []byte("[mcp_servers.a]\ncommand=\"x\"\nenv_vars=[\"A\"]\n"))
	f.Fuzz(func(t *testing.T, name string, text []byte) {
		list, err := readImport(name, text)
		if err != nil {
			return
		}
		for i := range list {
			s := &list[i]
			if s.refused != "" || faultsOf(&s.Server) != "" {
				continue
			}
			keepsServer(t, &s.Server)
		}
	})
}

// keepsServer writes a server down, reads it again and writes that down.
func keepsServer(t *testing.T, s *mcp.Server) {
	t.Helper()
	form := writtenDown(t, s)
	if form == nil {
		return // texts that are no JSON
	}
	again, err := settings.Parse("/f/c.json5", []byte(`{"mcp": `+string(form)+`}`))
	if err != nil || len(again.Servers) != 1 {
		t.Fatalf("%v\n%s", err, form)
	}
	second := writtenDown(t, &again.Servers[0].Server)
	if diff := cmp.Diff(string(form), string(second)); diff != "" && !strings.ContainsAny(s.Command, `./\`) {
		t.Errorf("it became another:\n%s", diff)
	}
}

// writtenDown is a list with one server; nil if the server has no form.
func writtenDown(t *testing.T, s *mcp.Server) []byte {
	t.Helper()
	file := settings.ServerFile{Path: filepath.Join(t.TempDir(), "mcp.json"), User: true}
	if err := file.Put(s); err != nil {
		return nil
	}
	text, err := os.ReadFile(file.Path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Secrets in plain text are found, and never shown.
func TestPlainSecrets(t *testing.T) {
	s := &mcp.Server{
		Name: "a", Command: "x", Args: []string{"--api-key=k1secret", "--token", "k2secret", "ghp_k3secret", "--verbose", "file"},
		Env: map[string]mcp.Value{"API_KEY": {Text: "k4secret"}, "PLAIN": {Text: "sk-k5secret"}, "HOME": {Text: "x"}, "MY_TOKEN": {Env: "T"}},
	}
	want := []string{"the variable API_KEY", "the variable PLAIN", "argument 1", "argument 3", "argument 4"}
	if diff := cmp.Diff(want, plainSecrets(s)); diff != "" {
		t.Error(diff)
	}
	shown := serverTarget(s) + plannedText(plainStream(nil), s) + string(marshalPlain(serverReport(&settings.Server{Server: *s})))
	web := &mcp.Server{Name: "w", URL: "https://u:k6secret@x.example/a?key=k7secret#k8secret"}
	shown += serverTarget(web) + plannedText(plainStream(nil), web) + string(marshalPlain(serverReport(&settings.Server{Server: *web})))
	for _, want := range []string{
		"argument 3 looks like a secret in plain text; if the program takes it from a variable, --env NAME=env:VARIABLE",
		"the parameter key of the url looks like a secret in plain text; if the server takes it in a header, --header ",
		"the variable API_KEY looks like a secret in plain text; NAME=env:VARIABLE",
	} {
		if !strings.Contains(shown, want) {
			t.Errorf("no %q in %s", want, shown)
		}
	}
	if found := regexp.MustCompile(`k\dsecret`).FindAllString(shown, -1); found != nil {
		t.Errorf("%v are shown:\n%s", found, shown)
	}
}

// readImport reads a file of no folder in particular.
func readImport(file string, data []byte) ([]imported, error) {
	return (&importReader{file: file}).read(file, data)
}
