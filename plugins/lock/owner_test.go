package lock_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cloister-wasm/cloister/plugins/lock"
)

func TestOwners(t *testing.T) {
	for id, want := range map[string][2]string{
		"cloister:acme.hello:greet": {"acme.hello", ""},
		"mcp:github:create_issue":   {"", "github"},
		"mcp:github:a:b":            {"", "github"},
		"core:clock_now":            {},
		"cloister:acme.hello":       {},
		"mcp":                       {},
		"":                          {},
	} {
		if got := [2]string{lock.PluginOf(id), lock.ServerOf(id)}; got != want {
			t.Errorf("%q: %q; want %q", id, got, want)
		}
	}
	for id, want := range map[string]string{
		"mcp:github:server/instructions": "instructions", "mcp:a.b:server/resources": "resources", "mcp:a:server/prompts": "prompts",
		"mcp:github:server/restart": "", "cloister:github:server/prompts": "", "mcp:github": "", "": "", "mcp:server/prompts": "",
	} {
		if got := lock.TextOf(id); got != want {
			t.Errorf("%q is about %q; want %q", id, got, want)
		}
	}
	f := lock.New()
	for _, id := range []string{"cloister:a.b:y", "cloister:a.b:x", "cloister:a.bc:x", "mcp:a.b:x"} {
		f.Tools[id] = lock.Tool{}
	}
	if diff := cmp.Diff([]string{"cloister:a.b:x", "cloister:a.b:y"}, f.PluginTools("a.b")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"mcp:a.b:x"}, f.ServerTools("a.b")); diff != "" {
		t.Error(diff)
	}
	if got := f.PluginTools("none"); got != nil {
		t.Errorf("of a plugin that is not there: %q", got)
	}
}
