package bundle

import (
	"archive/tar"
	"bytes"
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const testManifest = `{
  "abi": "cloister.plugin/1",
  "id": "acme.hello",
  "version": "1.2.3+build.7",
  "description": "Greets <people> & others.",
  "license": "Apache-2.0",
  "tools": [{"name": "greet", "description": "Greets.", "parameters": {"type": "object"}}]
}
`

func testFiles() Files {
	return Files{
		Manifest: []byte(testManifest),
		Wasm:     append([]byte("\x00asm\x01\x00\x00\x00"), bytes.Repeat([]byte{0, 1, 2, 3}, 500)...),
		Readme:   []byte("# Hello\n"),
		License:  []byte("Apache License\n"),
	}
}

func mustBuild(t testing.TB, f Files) *Artifact {
	t.Helper()
	a, err := Build(f)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// testSignature has the outer form of a Sigstore bundle with a DSSE envelope.
func testSignature(salt string) []byte {
	statement := `{"_type":"https://in-toto.io/Statement/v1","predicateType":"https://sigstore.dev/cosign/sign/v1","subject":[]}`
	return []byte(`{"mediaType":"application/vnd.dev.sigstore.bundle.v0.3+json","verificationMaterial":{},"dsseEnvelope":{"payload":"` +
		base64.StdEncoding.EncodeToString([]byte(statement)) + `","payloadType":"application/vnd.in-toto+json","signatures":[{"sig":"` + salt + `"}]}}`)
}

func signed(t testing.TB, salts ...string) *Artifact {
	t.Helper()
	a := mustBuild(t, testFiles())
	for _, s := range salts {
		if err := a.AddSignature(testSignature(s)); err != nil {
			t.Fatal(err)
		}
	}
	return a
}

// same holds two artifacts against each other, byte by byte.
func same(t testing.TB, got, want *Artifact) {
	t.Helper()
	if got.Digest() != want.Digest() || !bytes.Equal(got.OCIManifest(), want.OCIManifest()) {
		t.Fatalf("digest %s, want %s", got.Digest(), want.Digest())
	}
	g, w := got.Files(), want.Files()
	for _, p := range [][2][]byte{{g.Manifest, w.Manifest}, {g.Wasm, w.Wasm}, {g.Readme, w.Readme}, {g.License, w.License}} {
		if !bytes.Equal(p[0], p[1]) {
			t.Fatalf("%d bytes differ from %d", len(p[0]), len(p[1]))
		}
	}
	sameSignatures(t, got, want)
}

// sameSignatures ignores the order, since registries have none.
func sameSignatures(t testing.TB, got, want *Artifact) {
	t.Helper()
	have := map[string]bool{}
	for _, s := range got.Signatures() {
		have[string(s)] = true
	}
	for _, s := range want.Signatures() {
		if !have[string(s)] {
			t.Fatalf("a signature is missing: %s", s)
		}
	}
	if len(got.Signatures()) != len(want.Signatures()) {
		t.Fatalf("%d signatures, want %d", len(got.Signatures()), len(want.Signatures()))
	}
}

// wantError checks the kind, the step that goes with it, the type and a part of the text.
func wantError(t testing.TB, err, kind error, text string) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v (%T), want a *bundle.Error with %q", err, err, text)
	}
	step := steps[kind]
	if step == "" {
		step = StepRegistry
	}
	if e.Kind != kind || e.Step != step || !errors.Is(err, kind) || !strings.Contains(err.Error(), text) {
		t.Fatalf("got %q (step %s), want %q with %q", err, e.Step, kind, text)
	}
	if strings.ContainsAny(err.Error(), "\n\r\x1b") || len(err.Error()) > maxDetail+200 {
		t.Fatalf("the text is not one bounded line: %q", err)
	}
}

// blobFile is a blob under its right name.
func blobFile(b []byte) namedFile {
	return namedFile{dirSHA256 + "/" + strings.TrimPrefix(digestOf(b), digestStart), b}
}

// replaced swaps a text in one of the layout's files, by name or by a part of its content.
func replaced(t testing.TB, files []namedFile, name, old, new string) []namedFile {
	t.Helper()
	for i := range files {
		if files[i].name == name {
			files[i].data = swap(t, files[i].data, old, new)
			return files
		}
	}
	t.Fatalf("no file %q", name)
	return nil
}

func swap(t testing.TB, b []byte, old, new string) []byte {
	t.Helper()
	if !bytes.Contains(b, []byte(old)) {
		t.Fatalf("%q is not in %s", old, b)
	}
	return bytes.Replace(b, []byte(old), []byte(new), 1)
}

// withManifest is the layout of an artifact whose OCI manifest has other bytes, under their right digest.
func withManifest(t testing.TB, a *Artifact, raw []byte) []namedFile {
	t.Helper()
	files := a.layout()
	now := describe(typeOCIManifest, raw)
	for i := range files {
		if files[i].name == blobFile(a.raw).name {
			files[i] = blobFile(raw)
		}
	}
	files[1].data = encode(ociIndex{SchemaVersion: 2, Manifests: []descriptor{now}})
	return files
}

func tarOf(t testing.TB, files []namedFile) []byte {
	t.Helper()
	var b bytes.Buffer
	tw := tar.NewWriter(&b)
	for _, f := range files {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: f.name, Size: int64(len(f.data)), Mode: 0o644, Format: tar.FormatUSTAR}
		if err := tw.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := tw.Write(f.data); err != nil {
			t.Fatal(err)
		}
	}
	if err := tw.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func dirOf(t testing.TB, files []namedFile) string {
	t.Helper()
	dir := t.TempDir()
	for _, f := range files {
		name := filepath.Join(dir, filepath.FromSlash(f.name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, f.data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
