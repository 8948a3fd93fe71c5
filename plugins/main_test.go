package plugins

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

var buildDir string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "plugins-test-*")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	buildDir = dir
	code := m.Run()
	if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

// buildWasm builds a package of this module for wasip1.
func buildWasm(pkg, name string) func() ([]byte, error) {
	return sync.OnceValues(func() ([]byte, error) {
		out := filepath.Join(buildDir, name)
		cmd := exec.Command("go", "build", "-buildmode=c-shared", "-o", out, pkg)
		cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0")
		if text, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("build %s: %w\n%s", pkg, err, text)
		}
		return os.ReadFile(out)
	})
}

var (
	guestWasm   = buildWasm("./testdata/guest", "guest.wasm")
	exampleWasm = buildWasm("../examples/plugins/csvquery", "example.wasm")
)

func built(tb testing.TB, get func() ([]byte, error)) []byte {
	tb.Helper()
	wasm, err := get()
	if err != nil {
		tb.Fatal(err)
	}
	return wasm
}

// guestManifest has the tools of testdata/guest.
func guestManifest() map[string]any {
	var tools []any
	for _, name := range []string{"echo", "raw", "count", "refuse", "loop", "sleep", "panic", "eat", "big", "log"} {
		t := map[string]any{"name": name, "description": "For tests.", "parameters": map[string]any{"type": "object"}}
		if name == "loop" || name == "sleep" {
			t["timeoutMs"] = 200
		}
		tools = append(tools, t)
	}
	tools = append(tools, map[string]any{"name": "bare", "description": "For tests.", "parameters": map[string]any{"type": "object"}, "export": "bare"})
	return map[string]any{
		"abi": ManifestABI, "id": "tests.guest", "version": "0.1.0", "description": "For tests.", "tools": tools,
		"permissions": map[string]any{"memoryBytes": 32 << 20},
	}
}

// folder writes a plugin folder. A manifest is text, or a value to be written as JSON; nil parts are left out.
func folder(tb testing.TB, dir string, manifest any, wasm []byte) string {
	tb.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		tb.Fatal(err)
	}
	text, isText := manifest.(string)
	if !isText && manifest != nil {
		raw, err := json.MarshalIndent(manifest, "", "  ")
		if err != nil {
			tb.Fatal(err)
		}
		text = string(raw)
	}
	if manifest != nil {
		write(tb, filepath.Join(dir, ManifestFile), []byte(text))
	}
	if wasm != nil {
		write(tb, filepath.Join(dir, WasmFile), wasm)
	}
	return dir
}

func write(tb testing.TB, path string, data []byte) {
	tb.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		tb.Fatal(err)
	}
}

func devOptions() *LoadOptions {
	return &LoadOptions{AllowUnsignedUnsafe: true, CacheDir: filepath.Join(buildDir, "cache")}
}

func load(tb testing.TB, dir string, o *LoadOptions) *Plugin {
	tb.Helper()
	p, err := LoadDir(context.Background(), dir, o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := p.Close(); err != nil {
			tb.Error(err)
		}
	})
	return p
}

func guestPlugin(tb testing.TB, change func(*LoadOptions)) *Plugin {
	tb.Helper()
	o := devOptions()
	if change != nil {
		change(o)
	}
	return load(tb, folder(tb, tb.TempDir(), guestManifest(), built(tb, guestWasm)), o)
}

func newInstance(tb testing.TB, p *Plugin) *Instance {
	tb.Helper()
	i, err := p.NewInstance(context.Background())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(i.Close)
	return i
}

// tiny is a module with one export and nothing else, for tests of loading.
func tiny(export string) []byte {
	return []byte("\x00asm\x01\x00\x00\x00" +
		"\x01\x05\x01\x60\x00\x01\x7f" + "\x03\x02\x01\x00" +
		"\x07" + string(rune(len(export)+4)) + "\x01" + string(rune(len(export))) + export + "\x00\x00" +
		"\x0a\x06\x01\x04\x00\x41\x00\x0b")
}

// minimal is a manifest with one tool.
func minimal(id, tool string) string {
	return strings.NewReplacer("ID", id, "TOOL", tool).Replace(`{"abi":"cloister.plugin/1","id":"ID","version":"1.0.0","description":"x",
		"tools":[{"name":"TOOL","description":"x","parameters":{"type":"object"},"export":"run"}]}`)
}
