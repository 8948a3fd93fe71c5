package scaffold

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/internal/extism"
	"github.com/cloister-wasm/cloister/internal/wasmbin"
	"github.com/cloister-wasm/cloister/plugins"
)

// needsBuild leaves a test out of -short: npm ci, a compiler, and then another one that
// makes the module native take seconds for each plugin.
func needsBuild(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("builds a plugin")
	}
}

// build makes and builds a new plugin.
func build(t *testing.T, language string) (dir string, wasm []byte) {
	t.Helper()
	needsBuild(t)
	dir = filepath.Join(t.TempDir(), "[a] plugin")
	if _, err := New(dir, "acme.hello", language); err != nil {
		t.Fatal(err)
	}
	if language == AssemblyScript {
		shareModules(t, dir)
	}
	return dir, buildDir(t, dir)
}

func buildDir(t *testing.T, dir string) []byte {
	t.Helper()
	var out bytes.Buffer
	wasm, err := Build(context.Background(), dir, &out)
	if errors.Is(err, ErrMissingTool) {
		t.Skipf("the language's tools are not installed here: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return wasm
}

var sharedModules struct {
	sync.Once
	dir string
	err error
}

// TestMain removes what the tests share.
func TestMain(m *testing.M) {
	code := m.Run()
	if sharedModules.dir != "" {
		if err := os.RemoveAll(sharedModules.dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	os.Exit(code)
}

// shareModules gives a new AssemblyScript plugin the node_modules of the first one: installing them takes long. Build
// finds them there, since npm's mark is younger than the lock file.
func shareModules(t *testing.T, dir string) {
	t.Helper()
	if _, err := exec.LookPath("npm"); err != nil {
		return // Build says so
	}
	sharedModules.Do(func() {
		sharedModules.dir, sharedModules.err = os.MkdirTemp("", "scaffold-test-")
		if sharedModules.err == nil {
			_, sharedModules.err = New(filepath.Join(sharedModules.dir, "p"), "acme.first", AssemblyScript)
		}
		if sharedModules.err == nil {
			sharedModules.err = (&builder{ctx: context.Background(), dir: filepath.Join(sharedModules.dir, "p")}).install()
		}
	})
	if sharedModules.err != nil {
		t.Fatal(sharedModules.err)
	}
	if err := os.Chtimes(filepath.Join(dir, "package-lock.json"), time.Unix(0, 0), time.Unix(0, 0)); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(sharedModules.dir, "p", "node_modules"), filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
}

// inspect gives a module's imports other than WASI's, and its exports.
func inspect(t *testing.T, wasm []byte) (imports, exports []string) {
	t.Helper()
	m, err := wasmbin.Decode(wasm)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range m.Imports {
		if i.Module != "wasi_snapshot_preview1" {
			imports = append(imports, i.Module+"."+i.Name)
		}
	}
	for _, e := range m.Exports {
		exports = append(exports, e.Name)
	}
	return imports, exports
}

// instance makes one that has the functions.
func instance(t *testing.T, wasm []byte, functions ...extism.HostFunction) *extism.Instance {
	t.Helper()
	i, _ := loggedInstance(t, wasm, functions...)
	return i
}

// loggedInstance also gives what the plugin logs by Extism's own functions.
func loggedInstance(t *testing.T, wasm []byte, functions ...extism.HostFunction) (*extism.Instance, *[]string) {
	t.Helper()
	var lines []string
	m, err := extism.Compile(context.Background(), wasm, extism.Config{Functions: functions, Log: func(r extism.LogRecord) {
		lines = append(lines, r.Level+": "+r.Text)
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	i, err := m.NewInstance(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(i.Close)
	return i, &lines
}

func call(t *testing.T, i *extism.Instance, export, request string) string {
	t.Helper()
	out, err := i.Call(context.Background(), export, []byte(request))
	if err != nil {
		t.Fatalf("%s: %v", export, err)
	}
	return string(out)
}

// TestNewPlugins builds a new plugin of each language without a network and calls it.
func TestNewPlugins(t *testing.T) {
	for _, language := range Languages() {
		t.Run(language, func(t *testing.T) {
			if language != AssemblyScript {
				t.Setenv("GOPROXY", "off") // what is in the module cache is enough
			}
			dir, wasm := build(t, language)
			imports, exports := inspect(t, wasm)
			for _, name := range imports {
				if !strings.HasPrefix(name, "extism:host/env.") {
					t.Errorf("imports %s, which it does not use", name)
				}
			}
			for _, name := range []string{guestabi.ExportCall, guestabi.ExportDescribe} {
				if !slices.Contains(exports, name) {
					t.Errorf("exports %v, not %s", exports, name)
				}
			}
			if err := extism.Check(wasm, nil, guestabi.ExportCall, guestabi.ExportDescribe); err != nil {
				t.Error(err)
			}
			i := instance(t, wasm)
			var e envelope
			e.read(t, call(t, i, guestabi.ExportCall, `{"abi":1,"tool":"hello_greet","input":{"name":"Zo\u00eb \"<\ud83d\ude80>\""}}`))
			if got := e.text(t, "text"); got != "Hello, Zoë \"<🚀>\"!" {
				t.Errorf("greets with %q", got)
			}
			e.read(t, call(t, i, guestabi.ExportCall, `{"abi":1,"tool":"hello_greet","input":{"name":""}}`))
			if e.Error == nil || e.Error.Code != "nobody" {
				t.Errorf("nobody: %+v", e.Error)
			}
			e.read(t, call(t, i, guestabi.ExportCall, `{"abi":1,"tool":"nosuch","input":{}}`))
			if e.Error == nil || e.Error.Code != "unknown_tool" {
				t.Errorf("an unknown tool: %+v", e.Error)
			}
			e.read(t, call(t, i, guestabi.ExportCall, `{"abi":2,"tool":"hello_greet","input":{"name":"x"}}`))
			if e.Error == nil || e.Error.Code != "unsupported_abi" {
				t.Errorf("a newer version: %+v", e.Error)
			}
			e.read(t, call(t, i, guestabi.ExportDescribe, ``))
			checkManifest(t, dir, e.Value)
		})
	}
}

type envelope struct {
	ABI   int
	Value json.RawMessage
	Error *guestabi.PluginFailure
}

func (e *envelope) read(t *testing.T, text string) {
	t.Helper()
	*e = envelope{}
	if err := json.Unmarshal([]byte(text), e); err != nil || e.ABI != 1 || (e.Value == nil) == (e.Error == nil) {
		t.Fatalf("the answer %q: %v", text, err)
	}
}

func (e *envelope) text(t *testing.T, member string) string {
	t.Helper()
	var m map[string]string
	if err := json.Unmarshal(e.Value, &m); err != nil {
		t.Fatalf("%s, %+v: %v", e.Value, e.Error, err)
	}
	return m[member]
}

// checkManifest completes a new plugin's manifest from its description, as `cloister plugin build` does, and checks it.
func checkManifest(t *testing.T, dir string, description []byte) {
	t.Helper()
	var d struct{ Tools []map[string]any }
	if err := json.Unmarshal(description, &d); err != nil || len(d.Tools) != 1 || d.Tools[0]["name"] != "hello_greet" {
		t.Fatalf("describes %s, %v", description, err)
	}
	raw, err := os.ReadFile(filepath.Join(dir, plugins.ManifestFile))
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(raw, &m); err != nil {
		t.Fatal(err)
	}
	tool := m["tools"].([]any)[0].(map[string]any)
	for name, v := range d.Tools[0] {
		if tool[name] == nil {
			tool[name] = v
		}
	}
	if raw, err = json.Marshal(m); err != nil {
		t.Fatal(err)
	}
	if _, err := plugins.ParseManifest(raw); err != nil {
		t.Errorf("%v\n%s", err, raw)
	}
}

func TestBuildIsReproducible(t *testing.T) {
	for _, language := range []string{Go, C} {
		t.Run(language, func(t *testing.T) {
			_, first := build(t, language)
			dir, second := build(t, language)
			if !bytes.Equal(first, second) {
				t.Error("two folders, two modules")
			}
			if bytes.Contains(second, []byte(filepath.Dir(dir))) {
				t.Error("the module names the folder")
			}
		})
	}
}

// TestNewGoPluginTests runs what an author would run first.
func TestNewGoPluginTests(t *testing.T) {
	needsBuild(t)
	dir := t.TempDir()
	if _, err := New(dir, "acme.hello", Go); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"vet", "./..."}, {"test", "./..."}, {"mod", "verify"}} {
		cmd := exec.Command("go", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOFLAGS=-mod=readonly", "GOWORK=off", "GOPROXY=off")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("go %v: %v\n%s", args, err, out)
		}
	}
}

func TestBuildFails(t *testing.T) {
	dir := t.TempDir()
	if _, err := Build(context.Background(), dir, nil); !errors.Is(err, ErrLanguage) {
		t.Errorf("an empty folder: %v", err)
	}
	if _, err := Build(context.Background(), filepath.Join(dir, "x"), nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no folder: %v", err)
	}
	if _, err := New(filepath.Join(dir, "p"), "acme.hello", Go); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "p", "more.go"), []byte("package main\n\nvar x int = \"text\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	_, err := Build(context.Background(), filepath.Join(dir, "p"), &out)
	var be *BuildError
	if !errors.As(err, &be) || !errors.Is(err, ErrBuild) || !strings.Contains(be.Output, "more.go:3") || !strings.Contains(out.String(), "more.go:3") {
		t.Errorf("a mistake: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Build(ctx, filepath.Join(dir, "p"), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	t.Setenv("PATH", t.TempDir())
	for _, language := range Languages() {
		p := filepath.Join(dir, language)
		if _, err := New(p, "acme.hello", language); err != nil {
			t.Fatal(err)
		}
		if _, err := Build(context.Background(), p, nil); !errors.Is(err, ErrMissingTool) || !strings.Contains(err.Error(), "install") {
			t.Errorf("%s without tools: %v", language, err)
		}
	}
}

func TestTail(t *testing.T) {
	var e tail
	for range 100 {
		if _, err := e.Write(bytes.Repeat([]byte("x"), 99)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := e.Write([]byte("end")); err != nil || len(e.b) != maxTail || !bytes.HasSuffix(e.b, []byte("xend")) {
		t.Errorf("%d bytes", len(e.b))
	}
}
