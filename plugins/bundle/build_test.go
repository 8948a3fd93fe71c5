package bundle

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cloister-wasm/cloister/plugins"
)

// The golden digests. NB: must not change: every published plugin would have another identity than its rebuild.
const (
	goldenDigest    = "sha256:aefd8355426f56af92128635addc0dcc5fe769027c4a0d3ec14e97d8947e2dac"
	goldenTarDigest = "sha256:39c3594349ba4ab572f9b1a354ed46cee352aa43ef043fc59668fcc0d3925643"
)

func TestBuildIsReproducible(t *testing.T) {
	a := mustBuild(t, testFiles())
	if a.Digest() != goldenDigest {
		t.Errorf("digest %s, want %s", a.Digest(), goldenDigest)
	}
	if b := mustBuild(t, testFiles()); b.Digest() != a.Digest() {
		t.Errorf("two builds: %s and %s", a.Digest(), b.Digest())
	}
	if b := mustBuild(t, a.Files()); b.Digest() != a.Digest() {
		t.Errorf("rebuilt from its own files: %s", b.Digest())
	}
	var b bytes.Buffer
	if err := signed(t, "one", "two").WriteTar(&b); err != nil {
		t.Fatal(err)
	}
	if got := digestOf(b.Bytes()); got != goldenTarDigest {
		t.Errorf("digest of the tar %s, want %s", got, goldenTarDigest)
	}
}

func TestBuildForm(t *testing.T) {
	a := mustBuild(t, testFiles())
	var m ociManifest
	if err := json.Unmarshal(a.OCIManifest(), &m); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"org.opencontainers.image.title":       "acme.hello",
		"org.opencontainers.image.version":     "1.2.3+build.7",
		"org.opencontainers.image.description": "Greets <people> & others.",
		"org.opencontainers.image.licenses":    "Apache-2.0",
		"org.opencontainers.image.created":     "1970-01-01T00:00:00Z",
	}
	if d := cmp.Diff(want, m.Annotations); d != "" {
		t.Errorf("annotations (-want +got):\n%s", d)
	}
	var types []string
	for _, l := range m.Layers {
		types = append(types, l.MediaType)
	}
	if d := cmp.Diff([]string{ManifestType, WasmType, DocsType, LicenseType}, types); d != "" {
		t.Errorf("layers (-want +got):\n%s", d)
	}
	config := string(a.blobs[m.Config.Digest])
	for _, part := range []string{`{"created":"1970-01-01T00:00:00Z","architecture":"wasm","os":"wasip1","layerDigests":["sha256:`, m.Layers[3].Digest} {
		if !strings.Contains(config, part) {
			t.Errorf("config %s lacks %s", config, part)
		}
	}
	if pm, err := a.Manifest(); err != nil || pm.ID != "acme.hello" {
		t.Errorf("manifest: %v, %v", pm, err)
	}
}

func TestBuildWithoutOptions(t *testing.T) {
	f := testFiles()
	f.Readme, f.License = nil, nil
	f.Manifest = []byte(strings.Replace(testManifest, `"license": "Apache-2.0",`, "", 1))
	a := mustBuild(t, f)
	if len(a.manifest.Layers) != 2 || a.manifest.Annotations[annotationLicenses] != "" {
		t.Errorf("manifest %s", a.OCIManifest())
	}
	if got := a.Files(); got.Readme != nil || got.License != nil {
		t.Errorf("files %v", got)
	}
	roundTrips(t, a)
}

// Two layers of the same bytes are one blob.
func TestBuildSameBytesTwice(t *testing.T) {
	f := testFiles()
	f.License = f.Readme
	roundTrips(t, mustBuild(t, f))
}

func TestBuildCopies(t *testing.T) {
	f := testFiles()
	a := mustBuild(t, f)
	f.Wasm[10] ^= 0xff
	f.Manifest[3] = 'X'
	roundTrips(t, a)
}

func TestBuildRefuses(t *testing.T) {
	tests := []struct {
		name string
		edit func(*Files)
		kind error
		text string
	}{
		{"no manifest", func(f *Files) { f.Manifest = nil }, ErrFormat, "manifest is empty"},
		{"no wasm", func(f *Files) { f.Wasm = nil }, ErrFormat, "wasm is empty"},
		{"large manifest", func(f *Files) { f.Manifest = make([]byte, MaxManifestBytes+1) }, ErrBounds, "manifest has 262145 bytes"},
		{"large wasm", func(f *Files) { f.Wasm = make([]byte, MaxWasmBytes+1) }, ErrBounds, "wasm has"},
		{"large readme", func(f *Files) { f.Readme = make([]byte, MaxReadmeBytes+1) }, ErrBounds, "readme has"},
		{"large licence", func(f *Files) { f.License = make([]byte, MaxLicenseBytes+1) }, ErrBounds, "license has"},
		{"wrong manifest", func(f *Files) { f.Manifest = []byte(`{"abi":"cloister.plugin/1"}`) }, ErrFormat, `missing required property "id"`},
		{"manifest is no JSON", func(f *Files) { f.Manifest = []byte("hello") }, ErrFormat, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := testFiles()
			tt.edit(&f)
			_, err := Build(f)
			wantError(t, err, tt.kind, tt.text)
		})
	}
	_, err := Build(Files{Manifest: []byte(`{"abi":"cloister.plugin/1"}`), Wasm: []byte("x")})
	var me *plugins.ManifestError
	if !errors.As(err, &me) || len(me.Problems) < 2 {
		t.Errorf("the mistakes of the manifest are not below the error: %v", err)
	}
}

func TestAddSignature(t *testing.T) {
	a := mustBuild(t, testFiles())
	b := testSignature("one")
	for range 2 {
		if err := a.AddSignature(b); err != nil {
			t.Fatal(err)
		}
	}
	b[5] = 'X'
	if got := a.Signatures(); len(got) != 1 || !bytes.Equal(got[0], testSignature("one")) {
		t.Errorf("signatures %q", got)
	}
	for _, tt := range []struct {
		name string
		b    []byte
		kind error
		text string
	}{
		{"large", append(testSignature("x"), bytes.Repeat([]byte(" "), MaxSignatureBytes)...), ErrBounds, "signature has"},
		{"empty", nil, ErrFormat, "not valid JSON"},
		{"array", []byte("[]"), ErrFormat, "not valid JSON"},
		{"null", []byte("null"), ErrFormat, "null"},
		{"twice", []byte(`{"a":1,"a":2}`), ErrFormat, "twice"},
		{"deep", []byte(`{"a":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`), ErrFormat, "deeper"},
		{"trailing", []byte(`{} {}`), ErrFormat, "more text"},
	} {
		t.Run(tt.name, func(t *testing.T) { wantError(t, a.AddSignature(tt.b), tt.kind, tt.text) })
	}
	for i := range MaxSignatures - 1 {
		if err := a.AddSignature(testSignature(strings.Repeat("n", i+5))); err != nil {
			t.Fatal(err)
		}
	}
	wantError(t, a.AddSignature(testSignature("more")), ErrBounds, "more than 16 signatures")
	roundTrips(t, a)
}

func TestSignatureAnnotations(t *testing.T) {
	tests := []struct {
		name, signature string
		want            map[string]string
	}{
		{"dsse", string(testSignature("x")), map[string]string{"dev.sigstore.bundle.content": "dsse-envelope",
			"dev.sigstore.bundle.predicateType": "https://sigstore.dev/cosign/sign/v1"}},
		{"message", `{"messageSignature":{"signature":"eA=="}}`, map[string]string{"dev.sigstore.bundle.content": "message-signature"}},
		{"neither", `{"x":1}`, nil},
		{"payload is no base64", `{"dsseEnvelope":{"payload":"%%%"}}`, map[string]string{"dev.sigstore.bundle.content": "dsse-envelope"}},
		{"envelope is no object", `{"dsseEnvelope":"x"}`, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			want := map[string]string{"org.opencontainers.image.created": "1970-01-01T00:00:00Z"}
			for k, v := range tt.want {
				want[k] = v
			}
			if d := cmp.Diff(want, signatureAnnotations([]byte(tt.signature))); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}
