package trust

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/cloister-wasm/cloister/plugins/bundle"
)

const (
	greetTool    = `{"name": "acme_greet", "description": "Greets.", "parameters": {"type": "object"}}`
	helloJSON    = `{"abi": "cloister.plugin/1", "id": "acme.hello", "version": "1.0.0", "description": "Says hello.", "tools": [` + greetTool + `]}`
	issuesScope  = `"namespaces": [{"id": "issues", "globalName": "Issues", "description": "Issues.", "requiredToolNames": ["acme_greet"], "scope": {"greet": {"$tool": "acme_greet"}}}]`
	issuesJSON   = `{"abi": "cloister.plugin/1", "id": "acme.issues", "version": "1.0.0", "description": "Issues.", "tools": [` + greetTool + `], ` + issuesScope + `}`
	wasmPreamble = "\x00asm\x01\x00\x00\x00"
)

// artifact makes an artifact with this manifest, right or wrong.
func artifact(t testing.TB, manifest string) *bundle.Artifact {
	t.Helper()
	blobs := map[string][]byte{}
	put := func(mediaType string, b []byte) map[string]any {
		sum := sha256.Sum256(b)
		d := "sha256:" + hex.EncodeToString(sum[:])
		blobs[d] = b
		return map[string]any{"mediaType": mediaType, "digest": d, "size": len(b)}
	}
	m := put(bundle.ManifestType, []byte(manifest))
	w := put(bundle.WasmType, []byte(wasmPreamble))
	config := fmt.Sprintf(`{"created":"1970-01-01T00:00:00Z","architecture":"wasm","os":"wasip1","layerDigests":[%q,%q]}`, m["digest"], w["digest"])
	oci, err := json.Marshal(map[string]any{
		"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "artifactType": bundle.ArtifactType,
		"config": put(bundle.ConfigType, []byte(config)), "layers": []any{m, w},
	})
	if err != nil {
		t.Fatal(err)
	}
	a, err := bundle.FromBlobs(put("", oci)["digest"].(string), func(d string, most int64) ([]byte, error) { return blobs[d], nil }, nil)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// testKey is an Ed25519 key that is the same in every run.
func testKey(t testing.TB, name string) *SigningKey {
	t.Helper()
	seed := sha256.Sum256([]byte("test key " + name))
	k := ed25519.NewKeyFromSeed(seed[:])
	pub, err := newPublic(k.Public(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return &SigningKey{k, pub}
}

// newKey is a fresh key of a kind.
func newKey(t testing.TB, kind KeyKind) *SigningKey {
	t.Helper()
	private, _, err := GenerateKey(kind, nil)
	if err != nil {
		t.Fatal(err)
	}
	k, err := LoadKey(private, nil)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// signWith adds signatures by these keys.
func signWith(t testing.TB, a *bundle.Artifact, keys ...*SigningKey) *bundle.Artifact {
	t.Helper()
	for _, k := range keys {
		add(t, a, sig(t, a, k))
	}
	return a
}

func sig(t testing.TB, a *bundle.Artifact, k *SigningKey) []byte {
	t.Helper()
	b, err := Sign(t.Context(), a, k)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func add(t testing.TB, a *bundle.Artifact, signature []byte) {
	t.Helper()
	if err := a.AddSignature(signature); err != nil {
		t.Fatal(err)
	}
}

func publisher(name string, k ...*SigningKey) Publisher {
	p := Publisher{Name: name, Owns: Ownership{IDs: []string{name + "."}, Tools: []string{name + "_"}}}
	if name == "acme" {
		p.Owns.Globals = []string{"Issues"}
	}
	for _, k := range k {
		p.Keys = append(p.Keys, Key{PublicKey: string(k.PublicPEM())})
	}
	return p
}

// policy makes a checked policy.
func policy(t testing.TB, publishers ...Publisher) *Policy {
	t.Helper()
	p, err := ParsePolicy((&Policy{Publishers: publishers}).Marshal())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// envelope signs any payload the way Sign does, and lets change change the bundle before it becomes JSON.
func envelope(t testing.TB, k *SigningKey, payloadType string, payload []byte, change func(map[string]any)) []byte {
	t.Helper()
	s, err := k.sign(preAuth(payloadType, payload))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(signatureBundle{bundle.SignatureType, verificationMaterial{keyHint{k.public.hint()}},
		dsseEnvelope{payload, payloadType, []dsseSignature{{s}}}})
	if err != nil {
		t.Fatal(err)
	}
	if change == nil {
		return raw
	}
	var m map[string]any
	if err := json.Unmarshal(raw, &m); err != nil {
		t.Fatal(err)
	}
	change(m)
	if raw, err = json.Marshal(m); err != nil {
		t.Fatal(err)
	}
	return raw
}

// statementJSON is the usual statement over a digest with some members changed.
func statementJSON(t testing.TB, digest string, change map[string]any) []byte {
	t.Helper()
	b, err := newStatement(digest)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	maps.Copy(m, change)
	if b, err = json.Marshal(m); err != nil {
		t.Fatal(err)
	}
	return bytes.TrimSpace(b)
}

func bare(digest string) string { return strings.TrimPrefix(digest, "sha256:") }
