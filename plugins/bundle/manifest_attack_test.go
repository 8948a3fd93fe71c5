package bundle

import (
	"bytes"
	"strings"
	"testing"
)

// The OCI manifest of the artifact, altered but under its right digest.
func TestArtifactManifestAttacks(t *testing.T) {
	const wasmHead = `{"mediaType":"application/wasm",`
	tests := []struct {
		name, old, new string
		kind           error
		text           string
	}{
		{"other artifactType", ArtifactType, "application/vnd.cloister.plugin.v2+json", ErrFormat, "not a plugin"},
		{"other config", ConfigType, "application/vnd.oci.image.config.v1+json", ErrFormat, "config has the type"},
		{"other schemaVersion", `"schemaVersion":2`, `"schemaVersion":1`, ErrFormat, "schemaVersion 1"},
		{"fractional schemaVersion", `"schemaVersion":2`, `"schemaVersion":2.5`, ErrFormat, "OCI manifest"},
		{"an index", typeOCIManifest, typeOCIIndex, ErrFormat, "mediaType"},
		{"no mediaType", `"mediaType":"` + typeOCIManifest + `",`, "", ErrFormat, "mediaType"},
		{"no wasm", WasmType, DocsType, ErrFormat, "0 layers of type application/wasm"},
		{"two manifests", DocsType, ManifestType, ErrFormat, "2 layers of type"},
		{"two licences", DocsType, LicenseType, ErrFormat, "2 layers of type"},
		{"unknown layer", DocsType, "application/x-evil", ErrFormat, "1 layers of types"},
		{"one more layer", `"layers":[`, `"layers":[{"mediaType":"x","digest":"sha256:00","size":1},`, ErrFormat, "5 layers"},
		{"no layers", `"layers":[`, `"layers":[],"x":[`, ErrFormat, "0 layers"},
		{"layers are null", `"layers":[`, `"layers":null,"x":[`, ErrFormat, "0 layers"},
		{"layers are an object", `"layers":[`, `"layers":{},"x":[`, ErrFormat, "/layers"},
		{"sha512", wasmHead + `"digest":"sha256:`, wasmHead + `"digest":"sha512:`, ErrFormat, "wasm has the digest"},
		{"upper-case digest", wasmHead + `"digest":"sha256:`, wasmHead + `"digest":"SHA256:`, ErrFormat, "wasm has the digest"},
		{"short digest", wasmHead + `"digest":"sha256:`, wasmHead + `"digest":"sha256:ab","x":"`, ErrFormat, "wasm has the digest"},
		{"huge size", `"size":2008`, `"size":33554433`, ErrBounds, "wasm has 33554433 bytes"},
		{"size overflows", `"size":2008`, `"size":99999999999999999999`, ErrFormat, "size"},
		{"negative size", `"size":2008`, `"size":-1`, ErrFormat, "wasm has the size -1"},
		{"size is zero", `"size":2008`, `"size":0`, ErrFormat, "wasm has the size 0"},
		{"wrong size", `"size":2008`, `"size":2007`, ErrDigest, "wasm has 2008 bytes, but its descriptor says 2007"},
		{"size is a string", `"size":2008`, `"size":"2008"`, ErrFormat, "size"},
		{"urls", wasmHead, wasmHead + `"urls":["https://example.com/x"],`, ErrFormat, "urls or data"},
		{"data", wasmHead, wasmHead + `"data":"AAAA",`, ErrFormat, "urls or data"},
		{"subject", `"annotations"`, `"subject":{"mediaType":"x","digest":"sha256:00","size":1},"annotations"`, ErrFormat, "no plugin"},
		{"duplicate key", `"layers":[`, `"layers":[],"layers":[`, ErrFormat, "twice"},
		{"case trick", `"layers":[`, `"Layers":[],"layers":[`, ErrFormat, `member "Layers"`},
		{"case trick within", wasmHead, wasmHead + `"DIGEST":"x",`, ErrFormat, `member "DIGEST"`},
		{"case trick beyond ASCII", wasmHead, wasmHead + `"ſize":1,`, ErrFormat, `member "ſize"`},
		{"invalid UTF-8", `"annotations":{`, `"annotations":{"x":"` + "\xff" + `",`, ErrFormat, "not valid JSON"},
		{"lone surrogate", `"annotations":{`, `"annotations":{"x":"\ud800",`, ErrFormat, "not valid JSON"},
		{"annotation is no text", `"annotations":{`, `"annotations":{"x":1,`, ErrFormat, "annotations"},
		{"deep", `"annotations":{`, `"x":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `,"annotations":{`, ErrFormat, "deeper"},
		{"too large", `"annotations":{`, `"annotations":{"x":"` + strings.Repeat("x", MaxOCIManifestBytes) + `",`, ErrBounds, "manifest in index.json has"},
		{"other layers than the config's", `"layers":[{"mediaType":"` + ManifestType + `"`, `"layers":[{"mediaType":"` + ManifestType + `"`, nil, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := signed(t)
			files := withManifest(t, a, swap(t, a.raw, tt.old, tt.new))
			got, err := ReadTar(bytes.NewReader(tarOf(t, files)))
			if tt.kind == nil { // nothing altered: the tool of this test works
				if err != nil {
					t.Fatal(err)
				}
				same(t, got, a)
				return
			}
			wantError(t, err, tt.kind, tt.text)
		})
	}
}

// What OCI lets a manifest have is no error.
func TestArtifactManifestTolerates(t *testing.T) {
	for _, tt := range []struct{ name, old, new string }{
		{"unknown member", `"annotations"`, `"com.example":{"a":[1,2]},"annotations"`},
		{"unknown member of a layer", `"size":2008`, `"size":2008,"platform":{"architecture":"wasm","os":"wasip1"}`},
		{"annotation in another case", `"annotations":{`, `"annotations":{"Size":"x",`},
		{"spaces", `{"schemaVersion"`, "\n{ \"schemaVersion\""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := signed(t)
			files := withManifest(t, a, swap(t, a.raw, tt.old, tt.new))
			got, err := ReadTar(bytes.NewReader(tarOf(t, files)))
			if err != nil {
				t.Fatal(err)
			}
			if got.Digest() == a.Digest() || !bytes.Equal(got.Files().Wasm, a.Files().Wasm) {
				t.Errorf("digest %s", got.Digest())
			}
		})
	}
}

func TestConfigAttacks(t *testing.T) {
	tests := []struct {
		name, old, new, text string
	}{
		{"other architecture", `"wasm"`, `"amd64"`, `"amd64"`},
		{"component", `"wasip1"`, `"wasip2"`, `"wasip2"`},
		{"fewer layers", `"layerDigests":[`, `"layerDigests":[],"x":[`, "layerDigests"},
		{"other digests", `"layerDigests":["sha256:`, `"layerDigests":["sha256:0`, "layerDigests"},
		{"case trick", `"os"`, `"OS":"x","os"`, `"OS"`},
		{"no object", `{`, `[{`, "not valid JSON"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := signed(t)
			old := a.blobs[a.manifest.Config.Digest]
			now := swap(t, old, tt.old, tt.new)
			m := *a.manifest
			m.Config = describe(ConfigType, now)
			files := append(drop(withManifest(t, a, encode(m)), blobFile(old).name), blobFile(now))
			_, err := ReadTar(bytes.NewReader(tarOf(t, files)))
			wantError(t, err, ErrFormat, tt.text)
		})
	}
}

func TestIndexAttacks(t *testing.T) {
	tests := []struct {
		name, old, new string
		kind           error
		text           string
	}{
		{"empty list", `"manifests":[`, `"manifests":[],"x":[`, ErrFormat, "no plugin"},
		{"an image manifest", `"mediaType":"` + typeOCIIndex + `"`, `"mediaType":"` + typeOCIManifest + `"`, ErrFormat, "mediaType"},
		{"other schemaVersion", `"schemaVersion":2`, `"schemaVersion":3`, ErrFormat, "schemaVersion 3"},
		{"nested index", `{"mediaType":"` + typeOCIManifest + `"`, `{"mediaType":"` + typeOCIIndex + `"`, ErrFormat, "type"},
		{"wrong type", `"artifactType":"` + ArtifactType + `"`, `"artifactType":"x"`, ErrFormat, "but it is of type"},
		{"wrong size", `"size":`, `"size":1`, ErrDigest, "bytes, but its descriptor says"},
		{"huge size", `"size":`, `"size":9999`, ErrBounds, "more than 65536"},
		{"data", `"size":`, `"data":"e30=","size":`, ErrFormat, "urls or data"},
		{"many", `"manifests":[`, `"manifests":[` + strings.Repeat(`{"mediaType":"x","digest":"y","size":1},`, 17), ErrBounds, "18 manifests"},
		{"duplicate key", `"manifests":[`, `"manifests":[],"manifests":[`, ErrFormat, "twice"},
		{"case trick", `"manifests":[`, `"Manifests":[],"manifests":[`, ErrFormat, `"Manifests"`},
		{"trailing data", `{"schemaVersion"`, `{}{"schemaVersion"`, ErrFormat, "more text"},
		{"no object", `{"schemaVersion"`, `null {"schemaVersion"`, ErrFormat, "not valid JSON"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			files := replaced(t, signed(t).layout(), fileIndex, tt.old, tt.new)
			_, err := ReadTar(bytes.NewReader(tarOf(t, files)))
			wantError(t, err, tt.kind, tt.text)
		})
	}
	t.Run("listed twice", func(t *testing.T) {
		a := signed(t)
		_, err := ReadTar(bytes.NewReader(tarOf(t, merged(t, a, a))))
		wantError(t, err, ErrFormat, "twice")
	})
}

// Signatures' manifests, altered but under their right digests.
func TestReferrerAttacks(t *testing.T) {
	tests := []struct {
		name, old, new string
		kind           error
		text           string
	}{
		{"other type", `"artifactType":"` + SignatureType, `"artifactType":"application/spdx+json`, ErrFormat, "artifactType"},
		{"no type", `"artifactType":"` + SignatureType + `",`, ``, ErrFormat, "artifactType"},
		{"a plugin with a subject", `"artifactType":"` + SignatureType, `"artifactType":"` + ArtifactType, ErrFormat, "artifactType"},
		{"two layers", `"layers":[`, `"layers":[{"mediaType":"x","digest":"sha256:00","size":1},`, ErrFormat, "2 layers"},
		{"no layers", `"layers":[`, `"layers":[],"x":[`, ErrFormat, "0 layers"},
		{"other layer", `{"mediaType":"` + SignatureType, `{"mediaType":"text/plain`, ErrFormat, "signature has the type"},
		{"subject's type", `"subject":{"mediaType":"` + typeOCIManifest, `"subject":{"mediaType":"` + typeOCIIndex, ErrFormat, "not about this plugin"},
		{"subject's digest", `"subject":{"mediaType":"` + typeOCIManifest + `","digest":"sha256:`, `"subject":{"mediaType":"` + typeOCIManifest + `","digest":"sha256:0`, ErrFormat, "not about this plugin"},
		{"case trick", `"subject":{`, `"Subject":{},"subject":{`, ErrFormat, `"Subject"`},
		{"config with urls", `{"mediaType":"` + typeEmpty + `"`, `{"urls":["x"],"mediaType":"` + typeEmpty + `"`, ErrFormat, "urls"},
		{"config's digest", `{"mediaType":"` + typeEmpty + `","digest":"sha256:`, `{"mediaType":"` + typeEmpty + `","digest":"md5:`, ErrFormat, "digest"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := signed(t)
			b := testSignature("one")
			files := withReferrer(t, a, swap(t, a.referrer(b), tt.old, tt.new), b)
			_, err := ReadTar(bytes.NewReader(tarOf(t, files)))
			wantError(t, err, tt.kind, tt.text)
		})
	}
	t.Run("size of the subject", func(t *testing.T) {
		a := signed(t)
		b := testSignature("one")
		m, err := decodeManifest(a.referrer(b))
		if err != nil {
			t.Fatal(err)
		}
		m.Subject.Size++
		_, err = ReadTar(bytes.NewReader(tarOf(t, withReferrer(t, a, encode(m), b))))
		wantError(t, err, ErrFormat, "not about this plugin")
	})
	t.Run("the signature is no JSON", func(t *testing.T) {
		a := signed(t)
		b := []byte("not json")
		_, err := ReadTar(bytes.NewReader(tarOf(t, withReferrer(t, a, a.referrer(b), b))))
		wantError(t, err, ErrFormat, "signature is not valid JSON")
	})
	t.Run("large signature", func(t *testing.T) {
		a := signed(t)
		b := bytes.Repeat([]byte(" "), MaxSignatureBytes+1)
		_, err := ReadTar(bytes.NewReader(tarOf(t, withReferrer(t, a, a.referrer(b), b))))
		wantError(t, err, ErrBounds, "signature has 262145 bytes")
	})
}

// A signature as other tools write it: with a date, and the empty config inline as well.
func TestReferrerTolerates(t *testing.T) {
	a := signed(t)
	b := testSignature("one")
	for _, tt := range []struct{ name, old, new string }{
		{"date", created, "2026-01-02T03:04:05Z"},
		{"inline config, with the type as cosign has it", `{"mediaType":"` + typeEmpty + `"`, `{"artifactType":"` + SignatureType + `","data":"e30=","mediaType":"` + typeEmpty + `"`},
		{"type of the config", typeEmpty, "application/vnd.oci.image.config.v1+json"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			files := withReferrer(t, a, swap(t, a.referrer(b), tt.old, tt.new), b)
			got, err := ReadTar(bytes.NewReader(tarOf(t, files)))
			if err != nil {
				t.Fatal(err)
			}
			same(t, got, signed(t, "one"))
		})
	}
}
