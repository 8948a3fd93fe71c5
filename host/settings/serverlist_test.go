package settings

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cloister-wasm/cloister/host/mcp"
	"github.com/cloister-wasm/cloister/internal/schema"
)

// FuzzServerList reads the user's own list.
func FuzzServerList(f *testing.F) {
	for _, text := range []string{
		`{"servers":{"a":{"command":"x","env":{"A":{"env":"B","prefix":"p"},"C":"d"},"allow":[]}}}`,
		`{"servers":{"b":{"url":"https://x.example/","oauth":{"clientId":"i","clientSecret":{"command":["c"]}},"disabled":true}}}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		servers, err := parseServerList("/f/mcp.json", text)
		if err != nil {
			return
		}
		for i := range servers {
			keepsServer(t, &servers[i].Server)
		}
	})
}

// keepsServer writes a server down and reads it again.
func keepsServer(t *testing.T, s *mcp.Server) {
	t.Helper()
	form, err := serverForm(s)
	if err != nil {
		return // texts that are no JSON
	}
	text := schema.Marshal(map[string]map[string]json.RawMessage{"servers": {s.Name: form}})
	again, err := parseServerList("/f/mcp.json", text)
	if err != nil || len(again) != 1 {
		t.Fatalf("%v\n%s", err, text)
	}
	second, err := serverForm(&again[0].Server)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(form), string(second)); diff != "" && !strings.ContainsAny(s.Command, `./\`) {
		t.Errorf("it became another:\n%s", diff)
	}
}
