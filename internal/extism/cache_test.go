package extism

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// addTwo is a module whose machine code is worth caching.
func cacheModule() []byte { return runModule([]byte{0x41, 2, 0x41, 3, 0x6a, 0x1a, 0x41, 0}).bytes() }

func compiledFrom(t *testing.T, dir string) *Module {
	t.Helper()
	m := compileFor(t, cacheModule(), Config{CacheDir: dir})
	if _, err := instance(t, m).Call(context.Background(), "run", nil); err != nil {
		t.Fatal(err)
	}
	return m
}

func privateDir(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "cache")
}

// entryFiles lists the files of the only entry: machine code and the list of checksums.
func entryFiles(t *testing.T, dir string) (code []string, sums string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || d.IsDir():
		case d.Name() == sumsName:
			sums = path
		default:
			code = append(code, path)
		}
		return err
	})
	if err != nil || len(code) == 0 || sums == "" {
		t.Fatalf("no entry in %s: %v, %v", dir, code, err)
	}
	return code, sums
}

func TestCache(t *testing.T) {
	dir := privateDir(t)
	if compiledFrom(t, dir).FromCache() {
		t.Error("the first one came from an empty cache")
	}
	if !compiledFrom(t, dir).FromCache() {
		t.Error("the second one did not come from the cache")
	}
	if got, err := os.ReadDir(dir); err != nil || len(got) != 1 || !strings.HasPrefix(got[0].Name(), entryPrefix) {
		t.Errorf("the directory holds %v, %v; want one entry", got, err)
	}
}

// A damaged entry never reaches wazero, which takes sizes from it, or stops at an error. It is made anew.
func TestDamagedCache(t *testing.T) {
	flip := func(at func(size int) int) func(t *testing.T, path string) {
		return func(t *testing.T, path string) {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			b[at(len(b))] ^= 0xff
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	damages := map[string]func(t *testing.T, path string){
		"first byte":     flip(func(int) int { return 0 }),
		"function count": flip(func(n int) int { return 6 + 1 + len("v1.12.0") + 3 }), // 4 billion functions to wazero
		"middle":         flip(func(n int) int { return n / 2 }),
		"last byte":      flip(func(n int) int { return n - 1 }),
		"emptied": func(t *testing.T, path string) {
			if err := os.Truncate(path, 0); err != nil {
				t.Fatal(err)
			}
		},
		"cut off": func(t *testing.T, path string) {
			if err := os.Truncate(path, 20); err != nil {
				t.Fatal(err)
			}
		},
		"gone": func(t *testing.T, path string) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		},
		"a link elsewhere": func(t *testing.T, path string) {
			if err := os.Rename(path, path+".moved"); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(path+".moved", path); err != nil {
				t.Fatal(err)
			}
		},
		"another file beside it": func(t *testing.T, path string) {
			if err := os.WriteFile(filepath.Join(filepath.Dir(path), "extra"), []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
		},
	}
	for name, damage := range sample(damages, 4) {
		t.Run(name, func(t *testing.T) {
			dir := privateDir(t)
			compiledFrom(t, dir)
			code, _ := entryFiles(t, dir)
			for _, path := range code {
				damage(t, path)
			}
			if compiledFrom(t, dir).FromCache() {
				t.Error("a damaged entry was used")
			}
			if !compiledFrom(t, dir).FromCache() {
				t.Error("the entry was not made anew")
			}
		})
	}
	sums := map[string]func(t *testing.T, path string){"emptied": damages["emptied"], "gone": damages["gone"], "first byte": damages["first byte"]}
	for name, damage := range sample(sums, 3) {
		t.Run("checksums "+name, func(t *testing.T) {
			dir := privateDir(t)
			compiledFrom(t, dir)
			_, sums := entryFiles(t, dir)
			damage(t, sums)
			if compiledFrom(t, dir).FromCache() {
				t.Error("an entry without its checksums was used")
			}
			if !compiledFrom(t, dir).FromCache() {
				t.Error("the entry was not made anew")
			}
		})
	}
}

// Several processes, here goroutines, fill one directory at once. Each gets a module, the directory one entry.
func TestCacheIsShared(t *testing.T) {
	dir := privateDir(t)
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			m, err := Compile(context.Background(), cacheModule(), Config{CacheDir: dir})
			if err != nil {
				t.Error(err)
				return
			}
			if err := m.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if !compiledFrom(t, dir).FromCache() {
		t.Error("no entry was left")
	}
	if got, err := os.ReadDir(dir); err != nil || len(got) != 1 {
		t.Errorf("the directory holds %v, %v; want one entry", got, err)
	}
}

// A cache that cannot be written costs time, not the plugin.
func TestReadOnlyCache(t *testing.T) {
	dir := privateDir(t)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	blocker := filepath.Join(dir, "x")
	if err := os.WriteFile(blocker, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.Chmod(dir, 0o700); err != nil {
			t.Error(err)
		}
	})
	compiledFrom(t, dir) // as root the directory is writable all the same; either way there is a module
}
