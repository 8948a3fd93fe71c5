package plugins

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/internal/guesttest"
	"github.com/cloister-wasm/cloister/internal/schema"
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

var (
	guestWasm   = guesttest.Go("./testdata/guest")
	exampleWasm = guesttest.Go("../examples/plugins/csvquery")
)

func built(tb testing.TB, g guesttest.Guest) []byte {
	tb.Helper()
	return g.Wasm(tb)
}

// guestManifest has the tools of testdata/guest.
func guestManifest() map[string]any {
	var tools []any
	for _, name := range []string{"echo", "raw", "count", "refuse", "loop", "sleep", "panic", "eat", "big", "log", "prepare"} {
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
	i, err := p.NewInstance(context.Background(), nil)
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

// forwarder is a module with an export for each of the host functions, which gives its input to the function as the
// request and the response as its output.
func forwarder(functions ...string) []byte {
	const i32, i64 = "\x7f", "\x7e"
	vec := func(items ...string) string { return uleb(len(items)) + strings.Join(items, "") }
	str := func(s string) string { return uleb(len(s)) + s }
	section := func(id byte, body string) string { return string([]byte{id}) + str(body) }
	imports := []string{
		str("extism:host/env") + str("input_offset") + "\x00\x00",
		str("extism:host/env") + str("length") + "\x00\x01",
		str("extism:host/env") + str("output_set") + "\x00\x02",
	}
	var types, exports, bodies []string
	for i, name := range functions {
		imports = append(imports, str(guestabi.PluginHostModule)+str(name)+"\x00\x01")
		types = append(types, uleb(3))
		exports = append(exports, str(name)+"\x00"+uleb(3+len(functions)+i))
		// output = host(input); output_set(output, length(output)); return 0
		body := vec("\x01"+i64) + "\x10\x00\x10" + uleb(3+i) + "\x22\x00\x20\x00\x10\x01\x10\x02\x41\x00\x0b"
		bodies = append(bodies, str(body))
	}
	return []byte("\x00asm\x01\x00\x00\x00" +
		section(1, vec("\x60"+vec()+vec(i64), "\x60"+vec(i64)+vec(i64), "\x60"+vec(i64, i64)+vec(), "\x60"+vec()+vec(i32))) +
		section(2, vec(imports...)) + section(3, vec(types...)) + section(7, vec(exports...)) + section(10, vec(bodies...)))
}

func uleb(n int) string { return string(binary.AppendUvarint(nil, uint64(n))) }

// forwardManifest has a tool for each host function.
func forwardManifest(id string, permissions map[string]any, functions ...string) map[string]any {
	if permissions == nil {
		permissions = map[string]any{}
	}
	var tools []any
	for _, name := range functions {
		tools = append(tools, map[string]any{"name": name, "description": "For tests.", "parameters": map[string]any{"type": "object"}, "export": name})
	}
	return map[string]any{"abi": ManifestABI, "id": id, "version": "0.1.0", "description": "For tests.", "tools": tools, "permissions": permissions}
}

// parsed checks a manifest that is written as a value.
func parsed(tb testing.TB, manifest any) *Manifest {
	tb.Helper()
	raw, err := json.Marshal(manifest)
	if err != nil {
		tb.Fatal(err)
	}
	m, err := ParseManifest(raw)
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

var development = Origin{Unsigned: true}

// forwards makes a plugin of a forwarder.
func forwards(tb testing.TB, o *LoadOptions, permissions map[string]any, functions ...string) *Plugin {
	tb.Helper()
	return forwardsAs(tb, "tests.forward", o, permissions, functions...)
}

func forwardsAs(tb testing.TB, id string, o *LoadOptions, permissions map[string]any, functions ...string) *Plugin {
	tb.Helper()
	p, err := New(parsed(tb, forwardManifest(id, permissions, functions...)), forwarder(functions...), development, o)
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

func instanceOf(tb testing.TB, p *Plugin, o *InstanceOptions) *Instance {
	tb.Helper()
	i, err := p.NewInstance(context.Background(), o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(i.Close)
	return i
}

// ask has a forwarder send a request and gives the response: the value, or "!" and code and message of the error.
func ask(tb testing.TB, i *Instance, function, request string) string {
	tb.Helper()
	return askIn(tb, context.Background(), i, function, request)
}

func askIn(tb testing.TB, ctx context.Context, i *Instance, function, request string) string {
	tb.Helper()
	out, err := i.Call(ctx, function, json.RawMessage(request))
	if err != nil {
		tb.Fatalf("%s(%.100s): %v", function, request, err)
	}
	var res guestabi.PluginResponse
	if err := schema.DecodeInto(out, &res, nil); err != nil || res.ABI != ABIVersion || (res.Value == nil) == (res.Error == nil) {
		tb.Fatalf("%s(%.100s) = %.300s, which is not a PluginResponse: %v", function, request, out, err)
	}
	if res.Error != nil {
		return "!" + res.Error.Code + ": " + res.Error.Message
	}
	return string(res.Value)
}
