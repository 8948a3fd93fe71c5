package quickjs

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// inside makes wasm the engine inside of this program for a test.
func inside(t *testing.T, wasm []byte) {
	t.Helper()
	before := embeddedEngine
	t.Cleanup(func() { EmbedEngine(before) })
	EmbedEngine(wasm)
}

// What is inside of a program wins over what is installed: a release works on a
// machine whose installed engine is damaged. The file that somebody named wins over
// both.
func TestEmbeddedEngine(t *testing.T) {
	wasm, installed := home(t)
	write(t, installed, altered(wasm))
	inside(t, wasm)
	if f, err := FindEngine(); err != nil || f.Path != EmbeddedPath {
		t.Fatalf("%+v, %v", f, err)
	}
	named := write(t, filepath.Join(t.TempDir(), "named.wasm"), wasm)
	t.Setenv("CLOISTER_ENGINE", named)
	finds(t, named)

	t.Setenv("CLOISTER_ENGINE", "")
	inside(t, altered(wasm))
	_, err := FindEngine()
	unavailable(t, err, "the engine inside this program is not")
}

// The engine is data: a cleaner of caches does not take it away. What older versions
// put into the cache is still found.
func TestInstalledEngineIsData(t *testing.T) {
	wasm, installed := home(t)
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"CLOISTER_DATA_DIR": filepath.Join(dir, "own", "engine", EngineName+"-"+EngineVersion, engineFile), "": installed,
	} {
		if name != "" {
			t.Setenv(name, filepath.Join(dir, "own"))
		} else {
			t.Setenv("CLOISTER_DATA_DIR", "")
		}
		if got, err := InstalledEnginePath(); err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", name, got, err, want)
		}
	}
	t.Setenv("CLOISTER_DATA_DIR", "")
	base, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	old := write(t, filepath.Join(base, "cloister", "engine", EngineName+"-"+EngineVersion, engineFile), wasm)
	finds(t, old)
	write(t, old, altered(wasm))
	if _, err := FindEngine(); !errors.Is(err, ErrEngineUnavailable) || !strings.Contains(err.Error(), old) {
		t.Errorf("an altered engine in the cache: %v", err)
	}
	// Installing mends it.
	write(t, installed, wasm)
	finds(t, installed)
}

// The text of an error says which copy it is about, what is wrong with it and what
// mends it.
func TestEngineErrors(t *testing.T) {
	wasm, installed := home(t)
	dir := t.TempDir()
	bad := write(t, filepath.Join(dir, "bad.wasm"), altered(wasm))
	missing := filepath.Join(dir, "missing.wasm")
	for _, c := range []struct {
		name, variable string
		want           EngineError
		text           string
	}{
		{"nowhere", "", EngineError{Problem: EngineMissing}, EngineName + " " + EngineVersion + " is not installed; run: "},
		{"named, missing", missing, EngineError{Problem: EngineMissing, Path: missing, Named: true}, "CLOISTER_ENGINE names " + missing + ", which is not there; unset CLOISTER_ENGINE; "},
		{"named, altered", bad, EngineError{Problem: EngineAltered, Path: bad, Named: true}, "CLOISTER_ENGINE names " + bad + ", which is not " + EngineName + " " + EngineVersion + ": SHA-256 is "},
		{"named, a folder", dir, EngineError{Problem: EngineUnreadable, Path: dir, Named: true}, "CLOISTER_ENGINE names " + dir + ", which cannot be read: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("CLOISTER_ENGINE", c.variable)
			_, err := FindEngine()
			unavailable(t, err, c.text)
			var ee *EngineError
			if !errors.As(err, &ee) || ee.Problem != c.want.Problem || ee.Path != c.want.Path || ee.Named != c.want.Named {
				t.Errorf("got %+v, want %+v", ee, c.want)
			}
		})
	}
	write(t, installed, altered(wasm))
	_, err := FindEngine()
	unavailable(t, err, installed+" is not "+EngineName)
}
