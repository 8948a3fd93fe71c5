package host_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"testing"

	"github.com/cloister-wasm/cloister/internal/guesttest"
	"github.com/cloister-wasm/cloister/plugins"
)

var (
	boardWasm  = guesttest.Go("./testdata/plugins/board")
	maliceWasm = guesttest.Go("./testdata/plugins/malice")
)

// object is a JSON object that a test changes before it is written.
type object = map[string]any

// boardManifest is the manifest of the board plugin with the given namespaces.
func boardManifest(id string, namespaces ...object) object {
	tool := func(name string, required ...string) object {
		return object{"name": name, "description": "Tool " + name + ".", "parameters": object{"type": "object", "required": append([]string{}, required...)}}
	}
	list := tool("list_cards")
	list["parameters"].(object)["properties"] = object{"state": object{"type": "string"}}
	m := object{
		"abi": plugins.ManifestABI, "id": id, "version": "1.0.0", "description": "Cards.",
		"tools":       []object{list, tool("update_card", "number"), tool("ask", "question"), tool("relay", "tool"), tool("remember", "key"), tool("spin")},
		"permissions": object{"config": []string{"scope"}, "kv": true, "tools": []string{"cloister:core:echo", "cloister:test.other:relay"}},
	}
	if len(namespaces) > 0 {
		m["namespaces"] = namespaces
	}
	return m
}

// boardNamespace is the namespace most tests use; override changes members.
func boardNamespace(override object) object {
	ns := object{
		"id": "board", "globalName": "Board", "description": "Cards of the team.", "prompt": "Use Board.list(params) and Board.update(number, patch).",
		"requiredToolNames": []string{"list_cards", "update_card"},
		"scope": object{
			"title":  "Team",
			"list":   object{"$tool": "list_cards"},
			"update": object{"$tool": "update_card", "args": []string{"number", "patch"}},
			"cards":  object{"rename": object{"$tool": "update_card", "mapInput": true}},
		},
	}
	maps.Copy(ns, override)
	return ns
}

// loadBoard makes a development plugin of the board's module and a manifest.
func loadBoard(t testing.TB, manifest object, o plugins.LoadOptions) *plugins.Plugin {
	t.Helper()
	p, err := tryBoard(t, manifest, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// uncalledBoard is loadBoard for tests that call nothing of it: making its machine code, even from the cache, costs more
// than they do.
func uncalledBoard(t testing.TB, manifest object, o plugins.LoadOptions) *plugins.Plugin {
	t.Helper()
	p, err := openPlugin(t, boardWasm, manifest, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func tryBoard(t testing.TB, manifest object, o plugins.LoadOptions) (*plugins.Plugin, error) {
	t.Helper()
	return tryPlugin(t, boardWasm, manifest, o)
}

func tryPlugin(t testing.TB, guest guesttest.Guest, manifest object, o plugins.LoadOptions) (*plugins.Plugin, error) {
	t.Helper()
	p, err := openPlugin(t, guest, manifest, o)
	if err != nil {
		return nil, err
	}
	if err := p.Compile(context.Background()); err != nil {
		t.Fatal(err)
	}
	return p, nil
}

// openPlugin makes a plugin that is compiled when it is first called.
func openPlugin(t testing.TB, guest guesttest.Guest, manifest object, o plugins.LoadOptions) (*plugins.Plugin, error) {
	t.Helper()
	wasm := guest.Wasm(t)
	text, err := json.Marshal(manifest)
	if err != nil {
		t.Fatal(err)
	}
	m, err := plugins.ParseManifest(text)
	if err != nil {
		return nil, err
	}
	o.AllowUnsignedUnsafe, o.CacheDir = true, cacheDir
	p, err := plugins.New(m, bytes.Clone(wasm), plugins.Origin{Unsigned: true}, &o)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Errorf("closing %s: %v", p.ID(), err)
		}
	})
	return p, nil
}

// withScope configures the computed namespace's scope.
func withScope(text string) plugins.LoadOptions {
	return plugins.LoadOptions{Services: plugins.Services{Config: func(_, key string) (json.RawMessage, bool) {
		return json.RawMessage(text), key == "scope"
	}}}
}

// computedNamespace has its scope computed by the plugin.
func computedNamespace() object {
	ns := boardNamespace(object{"id": "computed", "globalName": "Computed", "scopeExport": true})
	delete(ns, "scope")
	return ns
}

// cacheDir is a folder for plugins' machine code that the tests of this process share:
// compiling one of these modules takes a second.
var cacheDir string

func TestMain(m *testing.M) {
	var err error
	if cacheDir, err = os.MkdirTemp("", "cloister-plugins-*"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if err := os.RemoveAll(cacheDir); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}
