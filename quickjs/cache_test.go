//go:build unix

package quickjs

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCacheFolderMustBePrivate(t *testing.T) {
	for _, mode := range []os.FileMode{0o755, 0o750, 0o705, 0o777, 0o701, 0o710, 0o1777} {
		dir := filepath.Join(t.TempDir(), "cache")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		_, err := Load(context.Background(), &EngineOptions{CacheDir: dir})
		if !errors.Is(err, ErrEngineUnavailable) || !strings.Contains(err.Error(), "chmod 700 "+dir) {
			t.Errorf("mode %04o: %v", mode, err)
		}
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(context.Background(), &EngineOptions{CacheDir: file}); !errors.Is(err, ErrEngineUnavailable) {
		t.Errorf("a file: %v", err)
	}
	private := t.TempDir()
	if err := os.Chmod(private, 0o700); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(private, link); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(context.Background(), &EngineOptions{CacheDir: link}); !errors.Is(err, ErrEngineUnavailable) {
		t.Errorf("a symbolic link: %v", err)
	}
	if os.Geteuid() == 0 { // only root can give a folder away
		other := filepath.Join(t.TempDir(), "other")
		if err := os.Mkdir(other, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(other, 12345, 12345); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(context.Background(), &EngineOptions{CacheDir: other}); !errors.Is(err, ErrEngineUnavailable) {
			t.Errorf("another user's folder: %v", err)
		}
	}
}

// cacheFiles lists the compiled code and the rewritten engine in a cache.
func cacheFiles(t *testing.T, dir string) (compiled, rewritten string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		switch {
		case err != nil || d.IsDir():
		case strings.HasSuffix(path, ".wasm"):
			rewritten = path
		default:
			compiled = path
		}
		return err
	})
	if err != nil || compiled == "" {
		t.Fatalf("no compiled code in %s: %v", dir, err)
	}
	return compiled, rewritten
}

// A damaged cache costs time and nothing else: the engine works.
func TestDamagedCacheIsMended(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the engine for each kind of damage")
	}
	ctx := context.Background()
	dir := filepath.Join(t.TempDir(), "cache")
	works := func(what string) {
		t.Helper()
		e, err := Load(ctx, &EngineOptions{CacheDir: dir})
		if err != nil {
			t.Errorf("%s: %v", what, err)
			return
		}
		defer e.Close(ctx)
		tmpl, err := e.NewTemplate(ctx, &TemplateOptions{Prelude: testPrelude, Entries: entryCount})
		if err != nil {
			t.Errorf("%s: the engine loads and makes no template: %v", what, err)
			return
		}
		defer tmpl.Close()
		if got := mustRun(t, tmpl, "return 6 * 7"); got != "42" {
			t.Errorf("%s: %q", what, got)
		}
	}
	works("an empty cache")
	compiled, rewritten := cacheFiles(t, dir)
	whole, err := os.ReadFile(compiled)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		damage func() []byte
	}{
		{"an empty entry", func() []byte { return nil }},
		{"half an entry", func() []byte { return whole[:len(whole)/2] }},
		{"another magic", func() []byte { return append([]byte("NOTWZR"), whole[6:]...) }},
		{"another version", func() []byte { b := append([]byte(nil), whole...); b[8] ^= 1; return b }},
		{"changed code", func() []byte { b := append([]byte(nil), whole...); b[len(b)/2] ^= 0x40; return b }},
	} {
		write(t, compiled, c.damage())
		works(c.name)
	}
	works("a mended cache")
	if rewritten != "" {
		b, err := os.ReadFile(rewritten)
		if err != nil {
			t.Fatal(err)
		}
		for name, bad := range map[string][]byte{"an empty engine": nil, "an altered engine": altered(b), "an engine cut short": b[:len(b)/2]} {
			write(t, rewritten, bad)
			works(name)
		}
	}
}

// fakeNPM puts a program named npm, and no other, on the PATH. Its text is a shell
// script that runs in the folder of the package.
func fakeNPM(t *testing.T, text string) {
	t.Helper()
	dir := t.TempDir()
	if text != "" {
		if err := os.WriteFile(filepath.Join(dir, "npm"), []byte("#!/bin/sh\n"+text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir)
}

func TestInstallEngine(t *testing.T) {
	wasm, cached := home(t)
	ctx := context.Background()
	good := write(t, filepath.Join(t.TempDir(), "good.wasm"), wasm)
	bad := write(t, filepath.Join(t.TempDir(), "bad.wasm"), altered(wasm))
	into := "/bin/mkdir -p node_modules/" + EngineName + " && /bin/cp "
	to := " node_modules/" + EngineName + "/" + engineFile
	for _, c := range []struct{ name, npm, want string }{
		{"no npm", "", "npm client is not on the PATH"},
		{"npm fails", "echo no network >&2; exit 1", "npm could not fetch"},
		{"npm brings nothing", "exit 0", "no such file"},
		{"npm brings altered bytes", into + bad + to, EngineSHA256},
	} {
		fakeNPM(t, c.npm)
		path, err := InstallEngine(ctx, nil)
		if !errors.Is(err, ErrEngineUnavailable) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %q, %v, want %q", c.name, path, err, c.want)
		}
		if _, err := os.Stat(cached); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: something was installed: %v", c.name, err)
		}
	}
	// The arguments, and that the package's files are where npm runs.
	fakeNPM(t, `[ "$*" = "ci --ignore-scripts --no-audit --no-fund --loglevel=error" ] || exit 3
[ -f package.json ] && [ -f package-lock.json ] && [ -f .npmrc ] || exit 4
`+into+good+to)
	var log strings.Builder
	path, err := InstallEngine(ctx, &log)
	if err != nil || path != cached {
		t.Fatalf("%q, %v, want %q", path, err, cached)
	}
	if !strings.Contains(log.String(), EngineName+" "+EngineVersion) {
		t.Errorf("log: %q", log.String())
	}
	finds(t, cached)
	left, err := filepath.Glob(filepath.Join(filepath.Dir(cached), ".new-*"))
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := InstallEngine(cancelled, nil); !errors.Is(err, ErrEngineUnavailable) {
		t.Errorf("cancelled: %v", err)
	}
}
