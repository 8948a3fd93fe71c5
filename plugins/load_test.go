package plugins

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestUnsignedIsRefused(t *testing.T) {
	for name, o := range map[string]*LoadOptions{"nil": nil, "zero": {}} {
		// Refused before the folder is looked at: it does not even exist.
		_, err := LoadDir(context.Background(), "/nonexistent", o)
		if !errors.Is(err, ErrUnsigned) || !strings.Contains(err.Error(), "AllowUnsignedUnsafe") {
			t.Errorf("%s options: LoadDir = %v, want ErrUnsigned and how to mend it", name, err)
		}
	}
	p := load(t, folder(t, t.TempDir(), minimal("a.b", "t"), tiny("run")), devOptions())
	if !p.Unsigned() {
		t.Error("a plugin from a folder claims to be signed")
	}
}

func TestLoadDir(t *testing.T) {
	p := load(t, folder(t, t.TempDir(), minimal("acme.hello", "greet"), tiny("run")), devOptions())
	if p.ID() != "acme.hello" || p.Version() != "1.0.0" || len(p.Digest()) != 64 || p.Manifest().Description != "x" {
		t.Errorf("%s %s %s", p.ID(), p.Version(), p.Digest())
	}
	tools := p.Tools()
	if len(tools) != 1 || tools[0].Name != "greet" {
		t.Fatalf("Tools = %+v", tools)
	}
	tools[0].Name = "changed"
	if p.Tools()[0].Name != "greet" {
		t.Error("a caller can change the plugin's list of tools")
	}
}

func TestLoadDirRefuses(t *testing.T) {
	good, wasm := minimal("a.b", "t"), tiny("run")
	other := folder(t, t.TempDir(), good, wasm)
	link := func(name string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(filepath.Join(other, name), filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	dirAs := func(name string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
				t.Fatal(err)
			}
		}
	}
	component := []byte("\x00asm\x0d\x00\x01\x00")
	importing := bytes.Replace(tiny("run"), []byte("\x03\x02\x01\x00"), []byte("\x02\x19\x01\x10extism:host/envx\x04host\x00\x00\x03\x02\x01\x00"), 1)
	tests := []struct {
		name     string
		manifest any
		wasm     []byte
		change   func(t *testing.T, dir string)
		kind     error
		detail   string
	}{
		{"no manifest", nil, wasm, nil, ErrFiles, ManifestFile},
		{"no wasm", good, nil, nil, ErrFiles, "building the plugin makes"},
		{"manifest is a link out", good, wasm, link(ManifestFile), ErrFiles, "symbolic link"},
		{"wasm is a link out", good, wasm, link(WasmFile), ErrFiles, "symbolic link"},
		{"manifest is a directory", nil, wasm, dirAs(ManifestFile), ErrFiles, "a directory"},
		{"wasm is a directory", good, nil, dirAs(WasmFile), ErrFiles, "a directory"},
		{"manifest too large", strings.Repeat(" ", MaxManifestBytes+1), wasm, nil, ErrFiles, "more than"},
		{"wasm too large", good, nil, func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, WasmFile), nil)
			if err := os.Truncate(filepath.Join(dir, WasmFile), 1<<40); err != nil { // a hole: nothing is stored
				t.Fatal(err)
			}
		}, ErrFiles, "more than"},
		{"manifest with mistakes", `{"abi":1}`, wasm, nil, ErrManifest, ManifestFile},
		{"not WebAssembly", good, []byte("MZ"), nil, ErrModule, "GOOS=wasip1"},
		{"sections without end", good, append(tiny("run"), bytes.Repeat([]byte{0, 1, 0}, 2000)...), nil, ErrModule, "more than 1000 sections"},
		{"component", good, component, nil, ErrModule, "core module"},
		{"import", good, importing, nil, ErrImport, "host"},
		{"missing export", good, tiny("ran"), nil, ErrExport, `"run" is not exported`},
		{"missing envelope export", strings.Replace(good, `,"export":"run"`, "", 1), tiny("run"), nil, ErrExport, CallExport},
		{"memory over the host's", strings.Replace(good, `"tools"`, `"permissions":{"memoryBytes":1073741824},"tools"`, 1), wasm, nil, ErrPermission, "Limits.MemoryBytes"},
		{"host of everything", strings.Replace(good, `"tools"`, `"permissions":{"hosts":[{"host":"*"}]},"tools"`, 1), wasm, nil, ErrManifest, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := folder(t, t.TempDir(), tt.manifest, tt.wasm)
			if tt.change != nil {
				tt.change(t, dir)
			}
			p, err := LoadDir(context.Background(), dir, devOptions())
			if err == nil {
				t.Error(p.Close())
			}
			var pe *PluginError
			if !errors.As(err, &pe) || !errors.Is(err, tt.kind) {
				t.Fatalf("LoadDir = %v, want %v", err, tt.kind)
			}
			if !strings.Contains(err.Error(), tt.detail) || len(err.Error()) > 1500 || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %q, want one line that says %q", err, tt.detail)
			}
		})
	}
	if _, err := LoadDir(context.Background(), filepath.Join(other, "nothing"), devOptions()); !errors.Is(err, ErrFiles) {
		t.Errorf("a missing folder = %v, want ErrFiles", err)
	}
	var me *ManifestError
	_, err := LoadDir(context.Background(), folder(t, t.TempDir(), `{"abi":1}`, wasm), devOptions())
	if !errors.As(err, &me) || len(me.Problems) < 4 {
		t.Errorf("the problems of a manifest do not come through: %v", err)
	}
}

func TestLoadDirs(t *testing.T) {
	root := t.TempDir()
	folder(t, filepath.Join(root, "a-good"), minimal("acme.a", "one"), tiny("run"))
	folder(t, filepath.Join(root, "b-broken"), `{"abi":`, tiny("run"))
	folder(t, filepath.Join(root, "c-good"), minimal("acme.c", "two"), tiny("run"))
	folder(t, filepath.Join(root, "d-same-id"), minimal("acme.a", "three"), tiny("run"))
	folder(t, filepath.Join(root, "e-same-tool"), minimal("acme.e", "ONE"), tiny("run"))
	folder(t, filepath.Join(root, "f-empty"), nil, nil)
	folder(t, filepath.Join(root, ".hidden"), minimal("acme.h", "four"), tiny("run"))
	write(t, filepath.Join(root, "README.md"), []byte("x"))
	if err := os.Symlink(filepath.Join(root, "a-good"), filepath.Join(root, "g-link")); err != nil {
		t.Fatal(err)
	}
	plugins, errs := LoadDirs(context.Background(), root, devOptions())
	var ids, faults []string
	for _, p := range plugins {
		ids = append(ids, p.ID())
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
	kinds := []error{ErrManifest, ErrConflict, ErrFiles}
	for _, err := range errs {
		for _, k := range kinds {
			if errors.Is(err, k) {
				faults = append(faults, k.Error())
			}
		}
	}
	if diff := cmp.Diff([]string{"acme.a", "acme.c"}, ids); diff != "" {
		t.Errorf("plugins (-want +got):\n%s", diff)
	}
	want := []string{ErrManifest.Error(), ErrConflict.Error(), ErrConflict.Error(), ErrFiles.Error(), ErrFiles.Error()}
	if diff := cmp.Diff(want, faults); diff != "" {
		t.Errorf("errors (-want +got):\n%s\n%v", diff, errs)
	}

	if plugins, errs := LoadDirs(context.Background(), root, nil); len(plugins) != 0 || len(errs) != 7 || !errors.Is(errs[0], ErrUnsigned) {
		t.Errorf("without the option: %d plugins, %v", len(plugins), errs)
	}
	if plugins, errs := LoadDirs(context.Background(), filepath.Join(root, "none"), devOptions()); len(plugins) != 0 || len(errs) != 1 || !errors.Is(errs[0], ErrFiles) {
		t.Errorf("a missing folder: %d plugins, %v", len(plugins), errs)
	}
}

func TestCompileIsLazyAndToldOf(t *testing.T) {
	var mu sync.Mutex
	var events []CompileEvent
	o := devOptions()
	o.CacheDir = filepath.Join(t.TempDir(), "cache")
	o.Progress = func(e CompileEvent) {
		mu.Lock()
		defer mu.Unlock()
		if e.Done != (e.Elapsed > 0) {
			t.Errorf("%+v", e)
		}
		e.Elapsed = 0
		events = append(events, e)
	}
	dir := folder(t, t.TempDir(), minimal("acme.lazy", "t"), tiny("run"))
	p := load(t, dir, o)
	if len(events) != 0 {
		t.Errorf("compiled while loading: %+v", events)
	}
	var wg sync.WaitGroup
	for range 5 {
		wg.Go(func() {
			i, err := p.NewInstance(context.Background(), nil)
			if err != nil {
				t.Error(err)
				return
			}
			i.Close()
		})
	}
	wg.Wait()
	o.Eager = true
	load(t, dir, o)
	want := []CompileEvent{
		{Plugin: "acme.lazy"}, {Plugin: "acme.lazy", Done: true},
		{Plugin: "acme.lazy"}, {Plugin: "acme.lazy", Done: true, FromCache: true},
	}
	if diff := cmp.Diff(want, events); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCompileFails(t *testing.T) {
	invalid := bytes.Replace(tiny("run"), []byte{0x41, 0, 0x0b}, []byte{0x6a, 0, 0x0b}, 1)
	dir := folder(t, t.TempDir(), minimal("acme.bad", "t"), invalid)
	o := devOptions()
	var failed error
	o.Progress = func(e CompileEvent) { failed = e.Err }
	p := load(t, dir, o)
	for range 2 {
		if _, err := p.NewInstance(context.Background(), nil); !errors.Is(err, ErrModule) || !errors.Is(failed, ErrModule) {
			t.Errorf("NewInstance = %v, progress %v, want ErrModule", err, failed)
		}
	}
	o.Eager = true
	if _, err := LoadDir(context.Background(), dir, o); !errors.Is(err, ErrModule) {
		t.Errorf("eager LoadDir = %v, want ErrModule", err)
	}
}

func TestCacheDirOfOthersIsRefused(t *testing.T) {
	o := devOptions()
	o.CacheDir = t.TempDir()
	if err := os.Chmod(o.CacheDir, 0o777); err != nil {
		t.Fatal(err)
	}
	p := load(t, folder(t, t.TempDir(), minimal("a.b", "t"), tiny("run")), o)
	if err := p.Compile(context.Background()); !errors.Is(err, ErrHost) || !strings.Contains(err.Error(), "chmod 700") {
		t.Errorf("Compile = %v, want ErrHost and how to mend it", err)
	}
}

func TestClosedPlugin(t *testing.T) {
	p := load(t, folder(t, t.TempDir(), minimal("a.b", "t"), tiny("run")), devOptions())
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := p.NewInstance(ctx, nil); !errors.Is(err, ErrStopped) || !errors.Is(err, context.Canceled) {
		t.Errorf("NewInstance with an ended context = %v", err)
	}
	i := newInstance(t, p)
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := i.Call(context.Background(), "t", []byte(`{}`)); !errors.Is(err, ErrClosed) {
		t.Errorf("Call after Close = %v, want ErrClosed", err)
	}
	if _, err := p.NewInstance(context.Background(), nil); !errors.Is(err, ErrClosed) {
		t.Errorf("NewInstance after Close = %v, want ErrClosed", err)
	}
}
