package bundle

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
)

// roundTrips writes an artifact in every form and reads it back.
func roundTrips(t testing.TB, a *Artifact) {
	t.Helper()
	var b bytes.Buffer
	if err := a.WriteTar(&b); err != nil {
		t.Fatal(err)
	}
	got, err := ReadTar(iotest.OneByteReader(bytes.NewReader(b.Bytes())))
	if err != nil {
		t.Fatal(err)
	}
	same(t, got, a)

	file := filepath.Join(t.TempDir(), "a.cloister")
	if err := a.WriteFile(file); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "layout")
	if err := a.WriteLayout(dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{file, dir} {
		got, err := Read(name)
		if err != nil {
			t.Fatal(err)
		}
		same(t, got, a)
	}

	blobs := a.Blobs()
	asked := map[string]bool{}
	got, err = FromBlobs(a.Digest(), func(digest string, most int64) ([]byte, error) {
		asked[digest] = true
		return blobs[digest], nil
	}, a.Signatures())
	if err != nil {
		t.Fatal(err)
	}
	same(t, got, a)
	if len(asked) != len(blobs) {
		t.Errorf("asked for %d blobs of %d", len(asked), len(blobs))
	}
}

func TestRoundTrips(t *testing.T) {
	roundTrips(t, signed(t))
	roundTrips(t, signed(t, "one", "two", "three"))
}

// The bytes survive a second round: what was read writes the same tar.
func TestReadTarWritesTheSame(t *testing.T) {
	var first, second bytes.Buffer
	if err := signed(t, "one", "two").WriteTar(&first); err != nil {
		t.Fatal(err)
	}
	a, err := ReadTar(bytes.NewReader(first.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if err := a.WriteTar(&second); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("the second tar differs from the first")
	}
}

func TestFromBlobsRefuses(t *testing.T) {
	a := mustBuild(t, testFiles())
	wasm := a.manifest.Layers[1].Digest
	from := func(edit func(m map[string][]byte)) error {
		m := a.Blobs()
		edit(m)
		_, err := FromBlobs(a.Digest(), func(digest string, most int64) ([]byte, error) {
			b, ok := m[digest]
			if !ok {
				return nil, fmt.Errorf("blob %s: %w", digest, fs.ErrNotExist)
			}
			return b, nil
		}, nil)
		return err
	}
	wantError(t, from(func(m map[string][]byte) { m[wasm] = bytes.Repeat([]byte("x"), len(m[wasm])) }), ErrDigest, "wasm has the digest")
	wantError(t, from(func(m map[string][]byte) { m[wasm] = m[wasm][1:] }), ErrDigest, "wasm has 2007 bytes")
	wantError(t, from(func(m map[string][]byte) { m[wasm] = append(bytes.Clone(m[wasm]), 0) }), ErrBounds, "wasm has 2009 bytes")
	wantError(t, from(func(m map[string][]byte) { m[a.Digest()] = append(bytes.Clone(a.raw), ' ') }), ErrDigest, "OCI manifest has the digest")
	wantError(t, from(func(m map[string][]byte) { m[a.Digest()] = make([]byte, MaxOCIManifestBytes+1) }), ErrBounds, "OCI manifest has 65537 bytes")
	err := from(func(m map[string][]byte) { delete(m, wasm) })
	wantError(t, err, ErrFiles, "the wasm: blob")
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v is not fs.ErrNotExist", err)
	}
	_, err = FromBlobs("sha512:00", nil, nil)
	wantError(t, err, ErrFormat, "no digest")
	blobs := a.Blobs()
	_, err = FromBlobs(a.Digest(), func(d string, _ int64) ([]byte, error) { return blobs[d], nil }, [][]byte{[]byte("x")})
	wantError(t, err, ErrFormat, "signature")
}

func TestReadMissing(t *testing.T) {
	_, err := Read(filepath.Join(t.TempDir(), "none.cloister"))
	wantError(t, err, ErrFiles, "none.cloister")
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v is not fs.ErrNotExist", err)
	}
}

func TestWriteFileReplaces(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "a.cloister")
	if err := os.WriteFile(name, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	a := signed(t, "one")
	if err := a.WriteFile(name); err != nil {
		t.Fatal(err)
	}
	got, err := Read(name)
	if err != nil {
		t.Fatal(err)
	}
	same(t, got, a)
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	wantError(t, a.WriteFile(filepath.Join(dir, "no", "a.cloister")), ErrFiles, "no")
	wantError(t, a.WriteTar(failingWriter{}), ErrFiles, "disk full")
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestWriteLayoutIntoWhat(t *testing.T) {
	a := signed(t, "one")
	empty := t.TempDir()
	if err := a.WriteLayout(empty); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(empty); err != nil {
		t.Fatal(err)
	}
	wantError(t, a.WriteLayout(empty), ErrFiles, "not empty")
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	wantError(t, a.WriteLayout(file), ErrFiles, "file")
	parent := filepath.Dir(empty)
	if left, err := filepath.Glob(filepath.Join(parent, ".cloister-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestErrorTextIsOneLine(t *testing.T) {
	e := fail(ErrRegistry, "a\nb\x1b[31m%s", strings.Repeat("x", 5000))
	wantError(t, e, ErrRegistry, "a b\ufffd[31m")
	if (&Error{Kind: ErrAuth}).Error() != ErrAuth.Error() {
		t.Error("an error without detail")
	}
}
