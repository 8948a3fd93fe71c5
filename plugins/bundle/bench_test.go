package bundle

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// large is a bundle as a small Go plugin makes it: 3.5 MB of module.
func large(b *testing.B) *Artifact {
	b.Helper()
	f := testFiles()
	f.Wasm = make([]byte, 3_500_000)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range f.Wasm {
		f.Wasm[i] = byte(r.Uint32())
	}
	a := mustBuild(b, f)
	if err := a.AddSignature(testSignature("one")); err != nil {
		b.Fatal(err)
	}
	return a
}

func BenchmarkBuild(b *testing.B) {
	f := large(b).Files()
	b.SetBytes(int64(len(f.Wasm)))
	for b.Loop() {
		if _, err := Build(f); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFromBlobs(b *testing.B) {
	a := large(b)
	blobs := a.Blobs()
	b.SetBytes(int64(len(a.Files().Wasm)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := FromBlobs(a.Digest(), func(d string, _ int64) ([]byte, error) { return blobs[d], nil }, a.Signatures()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReadTar(b *testing.B) {
	a := large(b)
	var file bytes.Buffer
	if err := a.WriteTar(&file); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(a.Files().Wasm)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ReadTar(bytes.NewReader(file.Bytes())); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReadDirectory(b *testing.B) {
	a := large(b)
	dir := dirOf(b, a.layout())
	b.SetBytes(int64(len(a.Files().Wasm)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Read(dir); err != nil {
			b.Fatal(err)
		}
	}
}
