package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cloister-wasm/cloister/plugins/trust"
	"github.com/cloister-wasm/cloister/quickjs"
)

const testVersion = "v9.8.7-rc.1"

var twice = flag.Bool("twice", false, "build a release for this machine twice, and use what is in it")

// TestRelease builds a release for this machine twice, in this checkout and in another
// folder, and uses what is in it as its users do.
func TestRelease(t *testing.T) {
	if !*twice {
		t.Skip("builds two releases, which takes minutes: make reproduce")
	}
	here := target{runtime.GOOS, runtime.GOARCH}
	if !slices.Contains(allTargets, here.String()) {
		t.Skipf("there are no releases for %s", here)
	}
	private, public, err := trust.GenerateKey(trust.KeyECDSAP256, []byte("open sesame"))
	if err != nil {
		t.Fatal(err)
	}
	if err := trust.WriteKeys(filepath.Join(t.TempDir(), "release"), private, public); err != nil {
		t.Fatal(err)
	}
	key := put(t, filepath.Join(t.TempDir(), "release.key"), private)
	t.Setenv("SOURCE_DATE_EPOCH", "1700000000")
	out := filepath.Join(t.TempDir(), "dist")
	built := func(root, out, key string) string {
		t.Setenv("CLOISTER_RELEASE_KEY", key)
		t.Setenv("CLOISTER_KEY_PASSWORD", "open sesame")
		var log strings.Builder
		args := []string{"--root", root, "--out", out, "--version", testVersion, "--revision", "0123456789ab", "--targets", here.String()}
		if err := command(context.Background(), args, &log); err != nil {
			t.Fatalf("%v\n%s", err, log.String())
		}
		return log.String()
	}
	if log := built(repository(t), out, key); !strings.Contains(log, "is signed by sha256:") {
		t.Errorf("log: %s", log)
	}

	again := filepath.Join(t.TempDir(), "dist")
	other := unpackModule(t)
	engine := filepath.Join("quickjs", "engine", "node_modules", "quickjs-wasi")
	for _, name := range []string{"quickjs.wasm", "LICENSE"} {
		put(t, filepath.Join(other, engine, name), read(t, filepath.Join(repository(t), engine, name)))
	}
	if log := built(other, again, ""); !strings.Contains(log, "is unsigned: CLOISTER_RELEASE_KEY names no key") {
		t.Errorf("log: %s", log)
	}
	if diff := cmp.Diff(string(read(t, filepath.Join(out, sumsFile))), string(read(t, filepath.Join(again, sumsFile)))); diff != "" {
		t.Errorf("another folder gives other bytes (-here +there):\n%s", diff)
	}
	if got := read(t, filepath.Join(out, "cloister.pub")); !bytes.Equal(got, public) {
		t.Errorf("cloister.pub is %s", got)
	}
	if !json.Valid(read(t, filepath.Join(out, signatureFile))) {
		t.Errorf("%s is no JSON", signatureFile)
	}

	base := "cloister_9.8.7-rc.1_" + here.os + "_" + here.arch
	var files map[string][]byte
	if here.os == "windows" {
		files = unzip(t, read(t, filepath.Join(out, base+".zip")))
	} else {
		files = untar(t, read(t, filepath.Join(out, base+".tar.gz")))
	}
	program := put(t, filepath.Join(t.TempDir(), "cloister"+here.exe()), files[base+"/cloister"+here.exe()])
	t.Run("sums", func(t *testing.T) { checkSums(t, out) })
	t.Run("archive", func(t *testing.T) { checkArchive(t, base, files) })
	t.Run("program", func(t *testing.T) { checkProgram(t, program) })
	t.Run("sbom", func(t *testing.T) { checkSBOM(t, read(t, filepath.Join(out, base+".cdx.json")), read(t, program)) })
	t.Run("debian", func(t *testing.T) {
		if here.os != "linux" {
			t.Skip("there are Debian packages for linux only")
		}
		checkDebian(t, filepath.Join(out, "cloister_9.8.7~rc.1_"+here.arch+".deb"))
	})
	t.Run("service", func(t *testing.T) {
		if here.os != "linux" {
			t.Skip("the service is one of linux")
		}
		checkService(t, program)
	})
	t.Run("image", func(t *testing.T) { checkImage(t, out, here) })
}

func checkSums(t *testing.T, dir string) {
	listed := map[string]bool{sumsFile: true, signatureFile: true, "cloister.pub": true, marker: true}
	for line := range strings.Lines(string(read(t, filepath.Join(dir, sumsFile)))) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		if got := fmt.Sprintf("%x", sha256.Sum256(read(t, filepath.Join(dir, name)))); got != sum {
			t.Errorf("%s has the digest %s, listed is %s", name, got, sum)
		}
		listed[name] = true
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !e.IsDir() && !listed[e.Name()] {
			t.Errorf("%s is not listed", e.Name())
		}
	}
}

func checkArchive(t *testing.T, base string, files map[string][]byte) {
	for name, want := range map[string]string{
		"LICENSE": "Apache License", "README.md": "Cloister", "install.md": "# Installing",
		"NOTICES.txt": "github.com/tetratelabs/wazero v", "cloister.json5": "serve",
		"completions/cloister.bash": "__start_cloister", "completions/_cloister": "#compdef cloister",
		"completions/cloister.fish": "complete -c cloister", "completions/cloister.ps1": "Register-ArgumentCompleter",
		"man/man1/cloister.1": ".TH \"CLOISTER\" 1", "man/man1/cloister-plugin-install.1": "cloister " + strings.ReplaceAll(testVersion, "-", `\-`),
		"systemd/cloister.service": "MemoryDenyWriteExecute=no",
	} {
		if !bytes.Contains(files[base+"/"+name], []byte(want)) {
			t.Errorf("%s does not hold %q", name, want)
		}
	}
	for _, part := range []string{"quickjs-wasi " + quickjs.EngineVersion + ": LICENSE", "Go " + strings.TrimPrefix(runtime.Version(), "go") + ": LICENSE"} {
		if !bytes.Contains(files[base+"/NOTICES.txt"], []byte(part)) {
			t.Errorf("NOTICES.txt has nothing of %s", part)
		}
	}
}

// checkProgram holds that the program runs where nothing is installed.
func checkProgram(t *testing.T, program string) {
	home := t.TempDir()
	out, err := run(context.Background(), program, home, "version")
	if err != nil || !bytes.HasPrefix(out, []byte("cloister  "+testVersion+"\nrevision  0123456789ab\n")) {
		t.Errorf("version: %v, %s", err, out)
	}
	for name, code := range map[string]string{"cell.js": "return 6 * 7", "cell.ts": "const n: number = 42; return n;"} {
		out, err := run(context.Background(), program, home, "run", put(t, filepath.Join(home, name), []byte(code)))
		if err != nil || string(out) != "42\n" {
			t.Errorf("%s: %q, %v", name, out, err)
		}
	}
	if out, err := run(context.Background(), program, home, "engine", "install"); err != nil || !strings.Contains(string(out), "is inside this program") {
		t.Errorf("engine install: %q, %v", out, err)
	}
	config := filepath.Join(repository(t), "release", "files", "cloister.json5")
	if out, err := run(context.Background(), program, home, "catalog", "list", "--config", config); err != nil || !bytes.Contains(out, []byte("hash_text")) {
		t.Errorf("the service's configuration: %v, %s", err, out)
	}
	for _, path := range []string{repository(t), home} {
		if bytes.Contains(read(t, program), []byte(path)) {
			t.Errorf("the program holds the path %s", path)
		}
	}
}

func checkSBOM(t *testing.T, text, program []byte) {
	var bom cycloneDX
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&bom); err != nil {
		t.Fatal(err)
	}
	main := bom.Metadata.Component
	if want := fmt.Sprintf("%x", sha256.Sum256(program)); main.Version != testVersion || len(main.Hashes) != 1 || main.Hashes[0].Content != want {
		t.Errorf("it is about %+v, want version %s and digest %s", main, testVersion, want)
	}
	refs := map[string]bool{}
	for _, c := range bom.Components {
		if refs[c.Ref] || c.Version == "" {
			t.Errorf("%+v is listed twice, or without version", c)
		}
		refs[c.Ref] = true
	}
	for _, want := range []string{"pkg:npm/quickjs-wasi@" + quickjs.EngineVersion, "pkg:golang/stdlib@" + strings.TrimPrefix(runtime.Version(), "go")} {
		if !refs[want] {
			t.Errorf("%s is missing", want)
		}
	}
	if n := strings.Count(string(text), `"pkg:golang/github.com/tetratelabs/wazero@v`); n < 3 {
		t.Errorf("wazero is named %d times", n)
	}
	if got := bom.Dependencies[0]; got.Ref != main.Ref || len(got.DependsOn) != len(bom.Components) {
		t.Errorf("the program depends on %d of %d components", len(got.DependsOn), len(bom.Components))
	}
}

// checkDebian asks dpkg-deb, which is the reader that counts.
func checkDebian(t *testing.T, deb string) {
	if _, err := os.Stat(deb); err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath("dpkg-deb"); err != nil {
		t.Skip("dpkg-deb is not here: the package is not read")
	}
	dpkg := func(args ...string) string {
		out, err := exec.Command("dpkg-deb", args...).CombinedOutput()
		if err != nil {
			t.Fatalf("dpkg-deb %s: %v\n%s", args[0], err, out)
		}
		return string(out)
	}
	info := dpkg("--info", deb)
	for _, want := range []string{" Package: cloister\n", " Version: 9.8.7~rc.1\n", " Architecture: " + runtime.GOARCH + "\n", "conffiles"} {
		if !strings.Contains(info, want) {
			t.Errorf("--info lacks %q:\n%s", want, info)
		}
	}
	contents := dpkg("--contents", deb)
	for _, want := range []string{
		`(?m)^-rwxr-xr-x root/root +\d+ \S+ \S+ \./usr/bin/cloister$`, `(?m)^drwxr-xr-x root/root .* \./usr/share/man/man1/$`,
		`\./usr/share/man/man1/cloister-serve\.1\.gz\n`, `\./usr/lib/systemd/system/cloister\.service\n`, `\./etc/cloister/cloister\.json5\n`,
		`\./usr/share/zsh/vendor-completions/_cloister\n`, `\./usr/share/doc/cloister/copyright\n`,
	} {
		if !regexp.MustCompile(want).MatchString(contents) {
			t.Errorf("--contents lacks %s", want)
		}
	}
	dir := t.TempDir()
	dpkg("--extract", deb, dir)
	checkProgram(t, filepath.Join(dir, "usr", "bin", "cloister"))
	dpkg("--control", deb, filepath.Join(dir, "DEBIAN"))
	for line := range strings.Lines(string(read(t, filepath.Join(dir, "DEBIAN", "md5sums")))) {
		if _, name, _ := strings.Cut(strings.TrimSpace(line), "  "); len(read(t, filepath.Join(dir, name))) == 0 {
			t.Errorf("%s is empty", name)
		}
	}
}

// checkImage holds what the image's definition promises, as far as that needs no engine
// of containers: what it copies is there, and the program runs with nothing around it
// and without privileges.
func checkImage(t *testing.T, dist string, here target) {
	text := string(read(t, filepath.Join(repository(t), "release", "files", "Containerfile")))
	_, last, ok := strings.Cut(text, "\nFROM scratch\n")
	if !ok || strings.Contains(last, "\nFROM ") || strings.Contains(last, "\nRUN ") {
		t.Error("the last stage does not begin from scratch")
	}
	for _, want := range []string{"\nUSER 65532:65532\n", "\nENTRYPOINT [\"/usr/bin/cloister\"]\n"} {
		if !strings.Contains(last, want) {
			t.Errorf("it lacks %q", want)
		}
	}
	if here.os != "linux" {
		t.Skip("images are of linux")
	}
	m := regexp.MustCompile(`(?m)^COPY (linux_\$\{TARGETARCH\}/cloister) `).FindStringSubmatch(last)
	if m == nil {
		t.Fatal("no program is copied")
	}
	program := read(t, filepath.Join(dist, strings.ReplaceAll(m[1], "${TARGETARCH}", here.arch)))
	inEmptyRoot(t, program)
}

// The same files, in whatever order, make the same archives, which the standard readers
// read.
func TestArchives(t *testing.T) {
	files := []file{{"b", 0o755, []byte("program")}, {"a/c", 0o644, []byte("text")}, {"a/b", 0o644, nil}}
	reversed := slices.Clone(files)
	slices.Reverse(reversed)
	want := map[string][]byte{"x/b": []byte("program"), "x/a/c": []byte("text"), "x/a/b": {}}
	at := time.Unix(1700000000, 0).UTC()
	for name, c := range map[string]struct {
		pack   func(string, []file, time.Time) ([]byte, error)
		unpack func(*testing.T, []byte) map[string][]byte
	}{"tar.gz": {tarGz, untar}, "zip": {zipped, unzip}} {
		first, err := c.pack("x", files, at)
		if err != nil {
			t.Fatal(err)
		}
		second, err := c.pack("x", reversed, at)
		if err != nil || !bytes.Equal(first, second) {
			t.Errorf("%s: the order of files is in the bytes: %v", name, err)
		}
		if diff := cmp.Diff(want, c.unpack(t, first)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestDebianVersions(t *testing.T) {
	// In the order that dpkg must see.
	versions := []struct{ version, want string }{
		{"v0.1.0-0.20260101000000-aaaaaaaaaaaa", "0.1.0~0.20260101000000~aaaaaaaaaaaa"},
		{"v0.1.0-rc.1", "0.1.0~rc.1"}, {"v0.1.0", "0.1.0"}, {"v0.1.0+dirty", "0.1.0+dirty"}, {"v0.1.1", "0.1.1"}, {"v0.10.0", "0.10.0"},
	}
	_, missing := exec.LookPath("dpkg")
	for i, c := range versions {
		if got := (&options{version: c.version}).debianVersion(); got != c.want {
			t.Errorf("%s: %s, want %s", c.version, got, c.want)
		}
		if i > 0 && missing == nil {
			if out, err := exec.Command("dpkg", "--compare-versions", versions[i-1].want, "lt", c.want).CombinedOutput(); err != nil {
				t.Errorf("%s is not before %s: %v%s", versions[i-1].want, c.want, err, out)
			}
		}
	}
}

// What cannot become a release is refused before anything is built.
func TestRefusals(t *testing.T) {
	t.Setenv("CLOISTER_RELEASE_KEY", "")
	mine := t.TempDir()
	put(t, filepath.Join(mine, "thesis.txt"), []byte("years of work"))
	for _, c := range []struct {
		name, epoch, key, want string
		args                   []string
	}{
		{"platform", "", "", `not "plan9/amd64"`, []string{"--targets", "plan9/amd64"}},
		{"version", "", "", "no version such as v0.2.0", []string{"--version", "1.0"}},
		{"half a version", "", "", "no version such as v0.2.0", []string{"--version", "v1"}},
		{"time", "yesterday", "", "SOURCE_DATE_EPOCH", []string{"--version", "v1.0.0"}},
		{"time before zip", "1", "", "SOURCE_DATE_EPOCH", []string{"--version", "v1.0.0"}},
		{"key", "", filepath.Join(mine, "thesis.txt"), "CLOISTER_RELEASE_KEY: ", []string{"--version", "v1.0.0"}},
		{"somebody's folder", "", "", "holds files that are not of a release", []string{"--version", "v1.0.0", "--out", mine}},
		{"no checkout", "1700000000", "", "give --version", []string{"--root", mine}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("SOURCE_DATE_EPOCH", c.epoch)
			t.Setenv("CLOISTER_RELEASE_KEY", c.key)
			args := append([]string{"--root", repository(t), "--out", filepath.Join(t.TempDir(), "out")}, c.args...)
			err := command(context.Background(), args, io.Discard)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	if got := read(t, filepath.Join(mine, "thesis.txt")); string(got) != "years of work" {
		t.Error("somebody's file is gone")
	}
}

// A part without a licence is not shipped.
func TestNoticeIsWanted(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "license.go"), []byte("package p"))
	var b bytes.Buffer
	if err := notice(&b, "part v1", dir); err == nil {
		t.Errorf("accepted: %s", b.String())
	}
	if err := notice(&b, "part v1", filepath.Join(dir, "missing")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing folder: %v", err)
	}
}

func untar(t *testing.T, data []byte) map[string][]byte {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		if out[h.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
}

func unzip(t *testing.T, data []byte) map[string][]byte {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{}
	for _, f := range z.File {
		if out[f.Name], err = fs.ReadFile(z, f.Name); err != nil {
			t.Fatal(err)
		}
	}
	return out
}
