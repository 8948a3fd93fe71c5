package bundle

import (
	"archive/tar"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "write the corpora of the fuzz targets anew")

// FuzzReadTar wants: no panic; every error typed; and of what is read that the standard library's reader sees the same
// files and nothing else, and that writing and reading it again changes nothing.
func FuzzReadTar(f *testing.F) {
	f.Add(tarOf(f, signed(f).layout()))
	f.Add(tarOf(f, signed(f, "one").layout()))
	f.Add(append(tarOf(f, signed(f).layout()), 'x'))
	f.Add(tarOf(f, []namedFile{{"x", nil}}))
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := ReadTar(bytes.NewReader(data))
		if err != nil {
			typed(t, err)
			return
		}
		onlyLayoutFiles(t, data, a)
		var out bytes.Buffer
		if err := a.WriteTar(&out); err != nil {
			t.Fatal(err)
		}
		b, err := ReadTar(&out)
		if err != nil {
			t.Fatal(err)
		}
		same(t, b, a)
	})
}

func onlyLayoutFiles(t *testing.T, data []byte, a *Artifact) {
	t.Helper()
	known := map[string]bool{fileMarker: true, fileIndex: true, dirBlobs + "/": true, dirSHA256 + "/": true}
	seen := map[string]bool{}
	for r := tar.NewReader(bytes.NewReader(data)); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if seen[h.Name] || !known[h.Name] && blobFile(b).name != h.Name {
			t.Fatalf("%q was read", h.Name)
		}
		seen[h.Name] = true
	}
	for digest, b := range a.Blobs() {
		if !seen[blobFile(b).name] || digestOf(b) != digest {
			t.Fatalf("%s came from nowhere", digest)
		}
	}
}

func typed(t *testing.T, err error) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || e.Step != StepBounds && e.Step != StepDigests && e.Step != StepFormat {
		t.Fatalf("%v (%T)", err, err)
	}
}

// FuzzIndex feeds index.json and the OCI manifest: the manifest's bytes are under their right digest, so that what is
// tried is the reading of JSON.
func FuzzIndex(f *testing.F) {
	a, err := Build(testFiles())
	if err != nil {
		f.Fatal(err)
	}
	one := signed(f, "one")
	f.Add(one.layout()[1].data, one.raw)
	f.Fuzz(func(t *testing.T, index, manifest []byte) {
		fs := &files{marker: []byte(`{"imageLayoutVersion":"1.0.0"}`), index: index, blobs: map[string][]byte{digestOf(manifest): manifest}}
		for digest, b := range a.blobs {
			fs.blobs[digest] = b
		}
		fs.blobs[digestOf(testSignature("one"))] = testSignature("one")
		fs.blobs[digestOf(emptyConfig)] = emptyConfig
		if got, err := fs.artifact(); err != nil {
			typed(t, err)
		} else if got.Digest() != digestOf(manifest) || len(got.Files().Wasm) == 0 || len(got.Files().Manifest) == 0 {
			t.Fatalf("read %s", got.Digest())
		}
		m, err := decodeManifest(manifest)
		if err != nil {
			typed(t, err)
			return
		}
		if err := checkReferrer(m, a); err != nil {
			typed(t, err)
		} else if m.Subject.Digest != a.Digest() || len(m.Layers) != 1 {
			t.Fatalf("a signature of %s", m.Subject.Digest)
		}
	})
}

// TestCorpora keeps the checked-in corpora what they were: whole bundles, and some with something wrong.
func TestCorpora(t *testing.T) {
	plain, one := signed(t), signed(t, "one")
	index := func(a *Artifact) []byte { return a.layout()[1].data }
	tars := map[string][]byte{
		"cut":     tarOf(t, one.layout())[:3000],
		"symlink": tarWith(t, &tar.Header{Typeflag: tar.TypeSymlink, Name: "index.json", Linkname: "x"}),
		"pax":     tarWith(t, &tar.Header{Typeflag: tar.TypeDir, Name: "blobs/", PAXRecords: map[string]string{"mtime": "1.5"}}),
		"added":   tarOf(t, append(plain.layout(), namedFile{"README", []byte("x")})),
		"two":     tarOf(t, merged(t, plain, mustBuild(t, Files{Manifest: []byte(testManifest), Wasm: []byte("x")}))),
	}
	for name, b := range tars {
		corpus(t, "FuzzReadTar", name, b)
	}
	corpus(t, "FuzzIndex", "unsigned", index(plain), plain.raw)
	corpus(t, "FuzzIndex", "referrer", index(one), one.referrer(one.signatures[0]))
	corpus(t, "FuzzIndex", "case", swap(t, index(plain), `"manifests"`, `"Manifests"`), swap(t, plain.raw, `"layers"`, `"Layers"`))
	corpus(t, "FuzzIndex", "twice", swap(t, index(plain), `"manifests":[`, `"manifests":[],"manifests":[`), plain.raw)
	corpus(t, "FuzzIndex", "empty", []byte("{}"), []byte("{}"))
}

func corpus(t *testing.T, target, name string, args ...[]byte) {
	t.Helper()
	text := "go test fuzz v1\n"
	for _, a := range args {
		text += fmt.Sprintf("[]byte(%q)\n", a)
	}
	file := filepath.Join("testdata", "fuzz", target, name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != text {
		t.Errorf("%s is not what it was (%v); write it anew with -update", file, err)
	}
}
