package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	modzip "golang.org/x/mod/zip"
)

const modulePath = "github.com/cloister-wasm/cloister"

func repository(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// put writes a file that may be run, with the folders above it.
func put(t *testing.T, path string, data []byte) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// trackedFile is a file of the repository, for its archive.
type trackedFile struct{ root, name string }

func (f trackedFile) Path() string                 { return f.name }
func (f trackedFile) Lstat() (os.FileInfo, error)  { return os.Lstat(filepath.Join(f.root, f.name)) }
func (f trackedFile) Open() (io.ReadCloser, error) { return os.Open(filepath.Join(f.root, f.name)) }

// trackedFiles are those that git knows, and those that are about to be added.
func trackedFiles(t *testing.T) []modzip.File {
	t.Helper()
	root := repository(t)
	out, err := exec.Command("git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		t.Fatalf("git ls-files: %v", err)
	}
	var files []modzip.File
	for _, name := range strings.Split(strings.TrimRight(string(out), "\x00"), "\x00") {
		f := trackedFile{root, name}
		if _, err := f.Lstat(); err == nil { // not about to be removed
			files = append(files, f)
		}
	}
	if len(files) < 1000 {
		t.Fatalf("git lists %d files", len(files))
	}
	return files
}

// moduleZip makes the archive that a module proxy would make of the tracked files.
func moduleZip(t *testing.T) (path string, version module.Version) {
	t.Helper()
	version = module.Version{Path: modulePath, Version: "v0.0.0-20060102150405-abcdefabcdef"}
	f, err := os.Create(filepath.Join(t.TempDir(), "module.zip"))
	if err != nil {
		t.Fatal(err)
	}
	if err := modzip.Create(f, version, trackedFiles(t)); err != nil {
		t.Fatalf("no module proxy can serve this: %v", err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return f.Name(), version
}

// unpackModule gives the folder of that archive, as `go install` has it in its cache.
func unpackModule(t *testing.T) string {
	t.Helper()
	path, version := moduleZip(t)
	dir := filepath.Join(t.TempDir(), "module")
	if err := modzip.Unzip(dir, version, path); err != nil {
		t.Fatal(err)
	}
	// Unpacked files are read only, and the folder of a test must be removable.
	if err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			err = os.Chmod(path, 0o755)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return dir
}

// What a module proxy makes of the repository can be installed: names that an archive of
// a module may have, sizes that it may have, and no directive with which
// `go install PACKAGE@VERSION` refuses a module.
func TestModuleZip(t *testing.T) {
	path, version := moduleZip(t)
	checked, err := modzip.CheckZip(version, path)
	if err != nil {
		t.Fatal(err)
	}
	if err := checked.Err(); err != nil {
		t.Error(err)
	}
	name := filepath.Join(repository(t), "go.mod")
	mod, err := modfile.Parse(name, read(t, name), nil)
	if err != nil {
		t.Fatal(err)
	}
	if mod.Module.Mod.Path != modulePath || len(mod.Replace) > 0 || len(mod.Exclude) > 0 {
		t.Errorf("go.mod is of %s, with %d replacements and %d exclusions", mod.Module.Mod.Path, len(mod.Replace), len(mod.Exclude))
	}
	valid := strings.Join(checked.Valid, "\n")
	for _, want := range []string{"LICENSE", "cmd/cloister/main.go", "quickjs/engine/.npmrc", "quickjs/engine/package-lock.json"} {
		if !strings.Contains(valid+"\n", "@"+version.Version+"/"+want+"\n") {
			t.Errorf("%s is not in the archive", want)
		}
	}
}

// The command builds from that archive, without any file that is not in it, and a
// program of somebody else that uses it takes the engine along with embed_engine.
func TestInstallFromModuleZip(t *testing.T) {
	if testing.Short() {
		t.Skip("builds programs")
	}
	dir := unpackModule(t)
	exe := map[string]string{"windows": ".exe"}[runtime.GOOS]
	program := filepath.Join(t.TempDir(), "cloister"+exe)
	goBuild(t, dir, "-o", program, "./cmd/cloister")
	home := t.TempDir()
	if out, err := run(context.Background(), program, home, "version"); err != nil || !strings.HasPrefix(string(out), "cloister  ") {
		t.Fatalf("version: %v, %s", err, out)
	}

	app := t.TempDir()
	mod := string(read(t, filepath.Join(dir, "go.mod")))
	mod = strings.Replace(mod, "module "+modulePath, "module example.com/app", 1) +
		fmt.Sprintf("\nrequire %s v0.0.0\n\nreplace %s => %s\n", modulePath, modulePath, modfile.AutoQuote(dir))
	put(t, filepath.Join(app, "go.mod"), []byte(mod))
	put(t, filepath.Join(app, "go.sum"), read(t, filepath.Join(dir, "go.sum")))
	put(t, filepath.Join(app, "main.go"), []byte(`package main

import (
	"fmt"

	"github.com/cloister-wasm/cloister/quickjs"
)

func main() {
	found, err := quickjs.FindEngine()
	if err != nil {
		fmt.Print(err)
		return
	}
	fmt.Print(found.Path, len(found.Wasm) > 0)
}
`))
	engine := filepath.Join(repository(t), "quickjs", "engine", "node_modules", "quickjs-wasi", "quickjs.wasm")
	embed := exec.Command(program, "engine", "embed", app)
	embed.Env = append(os.Environ(), "CLOISTER_ENGINE="+engine)
	if out, err := embed.CombinedOutput(); err != nil {
		t.Fatalf("engine embed: %v\n%s", err, out)
	}
	own := filepath.Join(t.TempDir(), "app"+exe)
	for tag, want := range map[string]string{"-tags=embed_engine": "embeddedtrue", "-tags=": "is not installed"} {
		goBuild(t, app, tag, "-o", own, ".")
		if out, err := run(context.Background(), own, home); err != nil || !strings.Contains(string(out), want) {
			t.Errorf("built with %s: %q, %v, want %q", tag, out, err, want)
		}
	}
}

// goBuild builds without network, from modules that are in the cache, and as go test does: so that what
// does not depend on the folder is compiled already.
func goBuild(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("go", append([]string{"build", "-buildvcs=false"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
}
