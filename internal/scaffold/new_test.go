package scaffold

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNewFiles(t *testing.T) {
	common := []string{".gitignore", "README.md", "cells/hello.js", "cells/hello.json", "cloister.plugin.json"}
	for language, own := range map[string][]string{
		Go: {"main.go", "main_test.go", "go.mod", "go.sum", "cloister/go.mod", "cloister/go.sum", "cloister/guestabi/plugin.go", "cloister/sdk/doc.go",
			"cloister/sdk/host_wasip1.go", "cloister/sdk/tool.go"},
		AssemblyScript: {"package.json", "package-lock.json", ".npmrc", "asconfig.json", "assembly/index.ts", "assembly/cloister/index.ts", "assembly/cloister/abort.ts"},
		C:              {"plugin.c", "cloister.h"},
	} {
		t.Run(language, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "new", "plugin")
			list, err := New(dir, "acme.my-hello", language)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range append(own, common...) {
				if !slices.Contains(list, name) {
					t.Errorf("no %s", name)
				}
			}
			var there []string
			err = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return err
				}
				rel, err := filepath.Rel(dir, p)
				there = append(there, filepath.ToSlash(rel))
				checkFile(t, p)
				return err
			})
			slices.Sort(there)
			if diff := cmp.Diff(list, there); err != nil || diff != "" {
				t.Errorf("%v (-said +there):\n%s", err, diff)
			}
		})
	}
}

// checkFile looks for what a template might leave behind.
func checkFile(t *testing.T, path string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil || len(b) == 0 {
		t.Errorf("%s: %d bytes, %v", path, len(b), err)
	}
	if strings.Contains(string(b), "<<.") || strings.HasSuffix(path, ".tmpl") || strings.HasSuffix(path, "LICENSE") {
		t.Errorf("%s is not finished", path)
	}
	if strings.Contains(string(b), `"resolved"`) {
		t.Errorf("%s has addresses", path)
	}
	if strings.HasSuffix(path, ".json") && !json.Valid(b) {
		t.Errorf("%s is not JSON", path)
	}
}

func TestNewRefuses(t *testing.T) {
	used := t.TempDir()
	if err := os.WriteFile(filepath.Join(used, "x"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, dir, id, language string
		want                    error
	}{
		{"no point", t.TempDir(), "hello", Go, ErrID},
		{"capitals", t.TempDir(), "Acme.hello", Go, ErrID},
		{"path", t.TempDir(), "acme.../x", Go, ErrID},
		{"template", t.TempDir(), "acme.<<.ID>>", Go, ErrID},
		{"line end", t.TempDir(), "acme.hello\n", Go, ErrID},
		{"hyphens", t.TempDir(), "acme.a--b", Go, ErrID},
		{"long", t.TempDir(), "acme." + strings.Repeat("a", 100), Go, ErrID},
		{"empty", t.TempDir(), "", Go, ErrID},
		{"language", t.TempDir(), "acme.hello", "rust", ErrLanguage},
		{"used", used, "acme.hello", Go, ErrNotEmpty},
		{"a file", filepath.Join(used, "x"), "acme.hello", Go, fs.ErrExist},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			list, err := New(tt.dir, tt.id, tt.language)
			if err == nil || len(list) > 0 || tt.want != fs.ErrExist && !errors.Is(err, tt.want) {
				t.Fatalf("New = %v, %v, want %v", list, err, tt.want)
			}
			if entries, err := os.ReadDir(tt.dir); err == nil && tt.dir != used && len(entries) > 0 {
				t.Errorf("left %v", entries)
			}
		})
	}
}

func TestNewInRepository(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := New(dir, "acme.hello", C); err != nil {
		t.Error(err)
	}
	if _, err := New(dir, "acme.hello", C); !errors.Is(err, ErrNotEmpty) {
		t.Errorf("a second time: %v", err)
	}
}

// A file that cannot be made takes the others with it.
func TestNewIsWholeOrNothing(t *testing.T) {
	dir := t.TempDir()
	_, err := write(dir, map[string][]byte{"a": {1}, "b/c": {1}, "b/c/d": {1}})
	if err == nil {
		t.Fatal("wrote a file below a file")
	}
	for _, name := range []string{"a", "b/c"} {
		if _, err := os.Stat(filepath.Join(dir, name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is there: %v", name, err)
		}
	}
	if _, err := write(dir, map[string][]byte{"../x": {1}}); err == nil {
		t.Error("wrote outside of the folder")
	}
}

func TestAuthorsCodeIsShort(t *testing.T) {
	files, err := render(names{ID: "acme.hello", Tool: "hello_greet", Project: "acme-hello"}, Go)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(files["main.go"]), "\n"); n >= 25 {
		t.Errorf("main.go has %d lines", n)
	}
}

// The checksums that a new plugin starts with are the repository's.
func TestChecksums(t *testing.T) {
	ours, err := os.ReadFile("../../go.sum")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"templates/go/go.sum.tmpl", "templates/go/cloister/go.sum.tmpl"} {
		sums, err := templates.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(string(sums)), "\n")
		if len(lines) != 2 {
			t.Errorf("%s has %d lines", name, len(lines))
		}
		for _, line := range lines {
			if !strings.Contains(string(ours), line+"\n") {
				t.Errorf("%s: go.sum has no %q", name, line)
			}
		}
	}
}
