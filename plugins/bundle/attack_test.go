package bundle

import (
	"bytes"
	"strings"
	"testing"
)

// layoutAttack is a layout with something wrong. It is tried as a tar and, where a file system can hold it, as a
// directory.
type layoutAttack struct {
	name  string
	files func(t *testing.T) []namedFile
	kind  error
	text  string
	tar   bool // only a tar can hold it
}

func drop(files []namedFile, name string) []namedFile {
	var out []namedFile
	for _, f := range files {
		if f.name != name {
			out = append(out, f)
		}
	}
	return out
}

func layoutAttacks() []layoutAttack {
	add := func(f ...namedFile) func(*testing.T) []namedFile {
		return func(t *testing.T) []namedFile { return append(signed(t, "one").layout(), f...) }
	}
	edit := func(name, old, new string) func(*testing.T) []namedFile {
		return func(t *testing.T) []namedFile { return replaced(t, signed(t, "one").layout(), name, old, new) }
	}
	without := func(name string) func(*testing.T) []namedFile {
		return func(t *testing.T) []namedFile { return drop(signed(t, "one").layout(), name) }
	}
	blob := func(pick func(a *Artifact) []byte, edit func([]byte) []byte) func(*testing.T) []namedFile {
		return func(t *testing.T) []namedFile {
			a := signed(t, "one")
			files := a.layout()
			for i := range files {
				if bytes.Equal(files[i].data, pick(a)) {
					files[i].data = edit(bytes.Clone(files[i].data))
				}
			}
			return files
		}
	}
	wasm := func(a *Artifact) []byte { return a.Files().Wasm }
	flip := func(b []byte) []byte { b[len(b)-1] ^= 1; return b }
	name64 := strings.Repeat("a", 64)
	return []layoutAttack{
		{"added file", add(namedFile{"README", []byte("x")}), ErrFormat, `"README"`, false},
		{"added hidden file", add(namedFile{".x", []byte("x")}), ErrFormat, `".x"`, false},
		{"added folder", add(namedFile{"ingest/x", []byte("x")}), ErrFormat, `"ingest`, false},
		{"file beside sha256", add(namedFile{"blobs/x", []byte("x")}), ErrFormat, `"blobs/x"`, false},
		{"other algorithm", add(namedFile{"blobs/sha512/" + name64, []byte("x")}), ErrFormat, `"blobs/sha512`, false},
		{"name too short", add(namedFile{"blobs/sha256/" + name64[1:], []byte("x")}), ErrFormat, "not part of a plugin", false},
		{"name too long", add(namedFile{"blobs/sha256/" + name64 + "a", []byte("x")}), ErrFormat, "not part of a plugin", false},
		{"name in upper case", add(namedFile{"blobs/sha256/" + strings.ToUpper(name64), []byte("x")}), ErrFormat, "not part of a plugin", false},
		{"case trick", add(namedFile{"Index.json", []byte("{}")}), ErrFormat, `"Index.json"`, false},
		{"parent", add(namedFile{"../evil", []byte("x")}), ErrFormat, `"../evil"`, true},
		{"parent inside", add(namedFile{"blobs/sha256/../../index.json", []byte("x")}), ErrFormat, "not part of a plugin", true},
		{"absolute", add(namedFile{"/etc/evil", []byte("x")}), ErrFormat, `"/etc/evil"`, true},
		{"dot", add(namedFile{"./index.json", []byte("{}")}), ErrFormat, `"./index.json"`, true},
		{"backslash", add(namedFile{`blobs\sha256\x`, []byte("x")}), ErrFormat, "not part of a plugin", true},
		{"blob is no file name", add(namedFile{"blobs/sha256/" + name64 + "/x", []byte("x")}), ErrFormat, "not", false},
		{"two indexes", add(namedFile{"index.json", []byte("{}")}), ErrFormat, "twice", true},
		{"two markers", add(namedFile{"oci-layout", []byte("{}")}), ErrFormat, "twice", true},
		{"a blob twice", func(t *testing.T) []namedFile { f := signed(t).layout(); return append(f, f[2]) }, ErrFormat, "twice", true},
		{"unreferenced blob", add(blobFile([]byte("more"))), ErrFormat, "nothing refers to", false},
		{"too many blobs", func(t *testing.T) []namedFile {
			f := signed(t).layout()
			for i := range maxBlobs {
				f = append(f, blobFile([]byte{byte(i)}))
			}
			return f
		}, ErrBounds, "more than 54", false},
		{"no marker", without(fileMarker), ErrFormat, "oci-layout", false},
		{"no index", without(fileIndex), ErrFormat, "index.json", false},
		{"large marker", edit(fileMarker, "}", "}"+strings.Repeat(" ", maxMarkerBytes)), ErrBounds, "oci-layout", false},
		{"large index", edit(fileIndex, "{", "{"+strings.Repeat(" ", MaxIndexBytes)), ErrBounds, "index.json", false},
		{"other layout version", edit(fileMarker, "1.0.0", "2.0.0"), ErrFormat, `"2.0.0"`, false},
		{"empty marker", func(t *testing.T) []namedFile {
			f := signed(t).layout()
			f[0].data = nil
			return f
		}, ErrFormat, "oci-layout", false},
		{"swapped bytes", blob(wasm, flip), ErrDigest, "has the digest", false},
		{"truncated blob", blob(wasm, func(b []byte) []byte { return b[1:] }), ErrDigest, "has the digest", false},
		{"swapped config", blob(func(a *Artifact) []byte { return a.blobs[a.manifest.Config.Digest] }, flip), ErrDigest, "has the digest", false},
		{"swapped signature", blob(func(a *Artifact) []byte { return a.signatures[0] }, flip), ErrDigest, "has the digest", false},
		{"missing wasm", func(t *testing.T) []namedFile {
			a := signed(t)
			return drop(a.layout(), blobFile(a.Files().Wasm).name)
		}, ErrFormat, "the wasm, sha256:", false},
		{"missing signature", func(t *testing.T) []namedFile {
			a := signed(t, "one")
			return drop(a.layout(), blobFile(a.signatures[0]).name)
		}, ErrFormat, "the signature, sha256:", false},
		{"missing manifest", func(t *testing.T) []namedFile {
			a := signed(t)
			return drop(a.layout(), blobFile(a.raw).name)
		}, ErrFormat, "the OCI manifest, sha256:", false},
		{"missing empty config", func(t *testing.T) []namedFile {
			return drop(signed(t, "one").layout(), blobFile(emptyConfig).name)
		}, ErrFormat, "signature's config", false},
		{"two plugins", func(t *testing.T) []namedFile {
			f := testFiles()
			f.Readme = []byte("other")
			return merged(t, signed(t), mustBuild(t, f))
		}, ErrFormat, "two artifacts", false},
		{"signature of another", func(t *testing.T) []namedFile {
			f := testFiles()
			f.Readme = []byte("other")
			other := mustBuild(t, f)
			if err := other.AddSignature(testSignature("one")); err != nil {
				t.Fatal(err)
			}
			return withReferrer(t, signed(t), other.referrer(testSignature("one")), testSignature("one"))
		}, ErrFormat, "not about this plugin", false},
		{"only a signature", func(t *testing.T) []namedFile {
			a := signed(t, "one")
			f := a.layout()
			f[1].data = encode(ociIndex{SchemaVersion: 2, Manifests: []descriptor{describe(typeOCIManifest, a.referrer(a.signatures[0]))}})
			return f
		}, ErrFormat, "no plugin", false},
	}
}

// merged is a layout with two artifacts.
func merged(t *testing.T, a, b *Artifact) []namedFile {
	t.Helper()
	files := a.layout()
	files[1].data = encode(ociIndex{SchemaVersion: 2, MediaType: typeOCIIndex,
		Manifests: []descriptor{describe(typeOCIManifest, a.raw), describe(typeOCIManifest, b.raw)}})
	have := map[string]bool{}
	for _, f := range files {
		have[f.name] = true
	}
	for _, f := range b.layout()[2:] {
		if !have[f.name] {
			files = append(files, f)
		}
	}
	return files
}

// withReferrer is the layout of an unsigned artifact with one more manifest and blob.
func withReferrer(t *testing.T, a *Artifact, manifest []byte, blobs ...[]byte) []namedFile {
	t.Helper()
	files := a.layout()
	files[1].data = encode(ociIndex{SchemaVersion: 2, MediaType: typeOCIIndex,
		Manifests: []descriptor{describe(typeOCIManifest, a.raw), describe(typeOCIManifest, manifest)}})
	files = append(files, blobFile(manifest), blobFile(emptyConfig))
	for _, b := range blobs {
		files = append(files, blobFile(b))
	}
	return files
}

func TestLayoutAttacks(t *testing.T) {
	for _, tt := range layoutAttacks() {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ReadTar(bytes.NewReader(tarOf(t, tt.files(t))))
			wantError(t, err, tt.kind, tt.text)
			if !tt.tar {
				_, err := Read(dirOf(t, tt.files(t)))
				wantError(t, err, tt.kind, "")
			}
		})
	}
}
