package quickjs

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// home puts the tests of FindEngine into a world of their own: no engine is named
// by the environment, installed, or in a checkout.
func home(t *testing.T) (wasm []byte, cached string) {
	t.Helper()
	found, err := FindEngine()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	t.Setenv("CLOISTER_ENGINE", "")
	t.Setenv("CLOISTER_DATA_DIR", "")
	t.Setenv("XDG_DATA_HOME", filepath.Join(dir, "data"))
	t.Setenv("HOME", dir)
	t.Setenv("XDG_CACHE_HOME", filepath.Join(dir, "cache"))
	t.Setenv("LocalAppData", filepath.Join(dir, "cache"))
	t.Chdir(dir)
	if cached, err = InstalledEnginePath(); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(cached, dir) {
		t.Fatalf("the engine is installed at %s", cached)
	}
	return found.Wasm, cached
}

func write(t *testing.T, path string, b []byte) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// checkout makes a checkout of this project in the working folder, with an engine
// that npm has fetched.
func checkout(t *testing.T, wasm []byte) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "go.mod"), []byte("module github.com/cloister-wasm/cloister\n\ngo 1.26\n"))
	path := write(t, filepath.Join(dir, "quickjs", "engine", "node_modules", EngineName, engineFile), wasm)
	write(t, filepath.Join(dir, "deep", "inside", "file"), nil)
	t.Chdir(filepath.Join(dir, "deep", "inside"))
	return path
}

func altered(wasm []byte) []byte {
	b := bytes.Clone(wasm)
	b[len(b)/2] ^= 1
	return b
}

// finds holds that FindEngine gives the engine at path.
func finds(t *testing.T, path string) {
	t.Helper()
	got, err := FindEngine()
	if err != nil {
		t.Fatal(err)
	}
	want, err := filepath.EvalSymlinks(path)
	if err != nil {
		t.Fatal(err)
	}
	if at, err := filepath.EvalSymlinks(got.Path); at != want || err != nil {
		t.Errorf("found at %s, want %s", got.Path, path)
	}
	if verifyEngine(got.Wasm, "", false) != nil {
		t.Error("the bytes are not the engine")
	}
}

// unavailable holds that an error says so, and names the command that mends it.
func unavailable(t *testing.T, err error, texts ...string) {
	t.Helper()
	if !errors.Is(err, ErrEngineUnavailable) {
		t.Errorf("%v, want %v", err, ErrEngineUnavailable)
		return
	}
	for _, text := range append(texts, "cloister engine install") {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("%v does not say %q", err, text)
		}
	}
}

func TestFindEngineOrder(t *testing.T) {
	t.Run("environment", func(t *testing.T) {
		wasm, cached := home(t)
		write(t, cached, wasm)
		checkout(t, wasm)
		named := write(t, filepath.Join(t.TempDir(), "named.wasm"), wasm)
		t.Setenv("CLOISTER_ENGINE", named)
		finds(t, named)
	})
	t.Run("cache", func(t *testing.T) {
		wasm, cached := home(t)
		write(t, cached, wasm)
		checkout(t, wasm)
		finds(t, cached)
	})
	t.Run("checkout", func(t *testing.T) {
		wasm, _ := home(t)
		finds(t, checkout(t, wasm))
	})
	t.Run("nothing", func(t *testing.T) {
		home(t)
		_, err := FindEngine()
		unavailable(t, err, EngineName, EngineVersion)
		_, err = Load(context.Background(), &EngineOptions{CacheDir: "off"})
		unavailable(t, err)
	})
	t.Run("another project's checkout", func(t *testing.T) {
		wasm, _ := home(t)
		checkout(t, wasm)
		write(t, filepath.Join("..", "..", "go.mod"), []byte("module example.com/other\n"))
		_, err := FindEngine()
		unavailable(t, err)
	})
}

// A candidate that is there and is not the pinned engine is an error. To look on
// would hide an altered file, or run something other than what was named.
func TestFindEngineRefuses(t *testing.T) {
	t.Run("a missing file that was named", func(t *testing.T) {
		wasm, cached := home(t)
		write(t, cached, wasm)
		t.Setenv("CLOISTER_ENGINE", filepath.Join(t.TempDir(), "missing.wasm"))
		_, err := FindEngine()
		unavailable(t, err, "missing.wasm")
	})
	t.Run("altered bytes that were named", func(t *testing.T) {
		wasm, cached := home(t)
		write(t, cached, wasm)
		t.Setenv("CLOISTER_ENGINE", write(t, filepath.Join(t.TempDir(), "bad.wasm"), altered(wasm)))
		_, err := FindEngine()
		unavailable(t, err, "bad.wasm", EngineSHA256)
	})
	for name, change := range map[string]func([]byte) []byte{
		"altered": altered, "empty": func([]byte) []byte { return nil }, "cut short": func(b []byte) []byte { return b[:len(b)-1] },
		"longer": func(b []byte) []byte { return append(bytes.Clone(b), 0) }, "huge": func([]byte) []byte { return make([]byte, maxEngine+1) },
	} {
		t.Run(name+" bytes in the cache", func(t *testing.T) {
			wasm, cached := home(t)
			write(t, cached, change(wasm))
			checkout(t, wasm)
			_, err := FindEngine()
			unavailable(t, err, cached)
		})
	}
	t.Run("altered bytes in the checkout", func(t *testing.T) {
		wasm, _ := home(t)
		checkout(t, altered(wasm))
		_, err := FindEngine()
		unavailable(t, err)
	})
	t.Run("a folder", func(t *testing.T) {
		_, cached := home(t)
		if err := os.MkdirAll(cached, 0o700); err != nil {
			t.Fatal(err)
		}
		_, err := FindEngine()
		unavailable(t, err)
	})
}

func TestLoadRefusesOtherBytes(t *testing.T) {
	found, err := FindEngine()
	if err != nil {
		t.Fatal(err)
	}
	for name, wasm := range map[string][]byte{
		"altered": altered(found.Wasm), "empty": {}, "text": []byte("no engine"), "cut short": found.Wasm[:1000],
	} {
		_, err := Load(context.Background(), &EngineOptions{Wasm: wasm, CacheDir: cacheDir})
		unavailable(t, err)
		if err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

func TestLoadWithoutACache(t *testing.T) {
	wasm, _ := home(t)
	e, err := Load(context.Background(), &EngineOptions{Wasm: wasm, CacheDir: "off"})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close(context.Background())
	if got := mustRun(t, newTemplate(t, e, TemplateOptions{}), "return 6 * 7"); got != "42" {
		t.Errorf("%q", got)
	}
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			t.Errorf("left behind: %s", path)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

// The default cache is in the user's cache folder, private to the user.
func TestDefaultCache(t *testing.T) {
	wasm, _ := home(t)
	e, err := Load(context.Background(), &EngineOptions{Wasm: wasm})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close(context.Background())
	base, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"cloister", filepath.Join("cloister", "compiled")} {
		fi, err := os.Stat(filepath.Join(base, dir))
		if err != nil {
			t.Fatal(err)
		}
		if runtime.GOOS != "windows" && fi.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %04o", dir, fi.Mode().Perm())
		}
	}
}

func TestConcurrentLoads(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	var wg sync.WaitGroup
	for range shorter(3, 2) {
		wg.Go(func() {
			e, err := Load(context.Background(), &EngineOptions{CacheDir: dir})
			if err != nil {
				t.Error(err)
				return
			}
			if err := e.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}
