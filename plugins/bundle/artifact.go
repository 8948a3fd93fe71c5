package bundle

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"slices"

	"github.com/cloister-wasm/cloister/plugins"
)

// Files are the contents of a bundle, byte for byte.
type Files struct {
	// Manifest is the complete cloister.plugin.json.
	Manifest []byte
	// Wasm is the module.
	Wasm []byte
	// Readme is Markdown, nil for none.
	Readme []byte
	// License is plain text, nil for none.
	License []byte
}

// Artifact is a plugin bundle in memory, whole and with every digest checked. Nothing is said about who made it: that is
// for package trust.
//
// The byte slices that its methods return are its own: do not change them. Concurrent use is safe as long as nobody calls
// [Artifact.AddSignature].
type Artifact struct {
	digest     string
	raw        []byte // the OCI manifest
	manifest   *ociManifest
	blobs      map[string][]byte // by digest: config and layers
	signatures [][]byte
}

// Digest is "sha256:…" of the OCI manifest, which names everything else by digest. It is the identity of the artifact: the
// same in a registry, a layout, a tar and a store. Signatures are not part of it.
func (a *Artifact) Digest() string { return a.digest }

// OCIManifest is the OCI image manifest, whose digest is [Artifact.Digest].
func (a *Artifact) OCIManifest() []byte { return a.raw }

// Files gives the contents.
func (a *Artifact) Files() Files {
	return Files{
		Manifest: a.layer(ManifestType),
		Wasm:     a.layer(WasmType),
		Readme:   a.layer(DocsType),
		License:  a.layer(LicenseType),
	}
}

func (a *Artifact) layer(mediaType string) []byte {
	for _, d := range a.manifest.Layers {
		if d.MediaType == mediaType {
			return a.blobs[d.Digest]
		}
	}
	return nil
}

// Manifest parses the plugin manifest. Reading an artifact does not: its signature is checked first. The error is a
// [*plugins.ManifestError].
func (a *Artifact) Manifest() (*plugins.Manifest, error) {
	return plugins.ParseManifest(a.layer(ManifestType))
}

// Blobs gives what [FromBlobs] asks for, by digest: the OCI manifest, the config and the layers.
func (a *Artifact) Blobs() map[string][]byte {
	m := make(map[string][]byte, len(a.blobs)+1)
	for d, b := range a.blobs {
		m[d] = b
	}
	m[a.digest] = a.raw
	return m
}

// Signatures gives the signatures, Sigstore bundles in JSON. None of them was verified.
func (a *Artifact) Signatures() [][]byte { return slices.Clone(a.signatures) }

// AddSignature adds a Sigstore bundle over the artifact's digest, and keeps a copy. One that is there already is not
// added again. It does not verify anything but bounds (ErrBounds) and form (ErrFormat).
func (a *Artifact) AddSignature(b []byte) error {
	if err := checkSignature(b); err != nil {
		return err
	}
	for _, s := range a.signatures {
		if bytes.Equal(s, b) {
			return nil
		}
	}
	if len(a.signatures) >= MaxSignatures {
		return fail(ErrBounds, "there are more than %d signatures; remove those that nobody needs", MaxSignatures)
	}
	a.signatures = append(a.signatures, bytes.Clone(b))
	return nil
}

// digestOf is "sha256:…" of the bytes.
func digestOf(b []byte) string {
	sum := sha256.Sum256(b)
	return digestStart + hex.EncodeToString(sum[:])
}

var hexDigest = regexp.MustCompile(`^[0-9a-f]{64}$`)

// isDigest says whether the text is a digest as this package reads them: sha256, 64 lower-case hexadecimal digits.
func isDigest(s string) bool {
	return len(s) == len(digestStart)+64 && s[:len(digestStart)] == digestStart && hexDigest.MatchString(s[len(digestStart):])
}
