package bundle

import (
	"strings"

	"github.com/cloister-wasm/cloister/internal/schema"
)

// known are the members that this package reads from OCI documents. OCI has readers ignore unknown members, but one that
// differs from these only in case is an attack: readers that ignore case, among them encoding/json, would see another
// document than we do.
var known = []string{
	"schemaVersion", "mediaType", "artifactType", "config", "layers", "subject", "annotations", "manifests",
	"digest", "size", "urls", "data", "created", "architecture", "os", "layerDigests", "imageLayoutVersion",
}

// decodeOCI reads an OCI document: strict JSON, unknown members allowed, see [known].
func decodeOCI[T any](data []byte, dst *T, what string) error {
	v, err := schema.Decode(data)
	if err != nil {
		return fail(ErrFormat, "the %s is not valid JSON: %v", what, err)
	}
	if _, ok := v.(map[string]any); !ok {
		return fail(ErrFormat, "the %s is not a JSON object", what)
	}
	if name := caseTrick(v); name != "" {
		return fail(ErrFormat, "the %s has the member %q, which differs from a known one only in case", what, name)
	}
	if err := schema.DecodeInto(data, dst, &schema.DecodeOptions{AllowUnknown: true, Checked: true}); err != nil {
		return fail(ErrFormat, "the %s: %v", what, err)
	}
	return nil
}

// caseTrick finds a member that equals a known one only when case is ignored. Annotations have names of their own.
func caseTrick(v any) string {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			if name := caseTrick(e); name != "" {
				return name
			}
		}
	case map[string]any:
		for name, e := range v {
			for _, k := range known {
				if name != k && strings.EqualFold(name, k) {
					return name
				}
			}
			if name == "annotations" {
				continue
			}
			if name := caseTrick(e); name != "" {
				return name
			}
		}
	}
	return ""
}

// decodeManifest reads an OCI image manifest, of an artifact or of a signature.
func decodeManifest(data []byte) (*ociManifest, error) {
	if len(data) > MaxOCIManifestBytes {
		return nil, fail(ErrBounds, "an OCI manifest has %d bytes, more than %d", len(data), MaxOCIManifestBytes)
	}
	var m ociManifest
	if err := decodeOCI(data, &m, "OCI manifest"); err != nil {
		return nil, err
	}
	if m.SchemaVersion != 2 || m.MediaType != typeOCIManifest {
		return nil, fail(ErrFormat, "the OCI manifest has schemaVersion %d and mediaType %q instead of 2 and %q",
			m.SchemaVersion, m.MediaType, typeOCIManifest)
	}
	return &m, nil
}

// decodeArtifact reads the OCI manifest of a plugin: one manifest, one module, at most one of each optional layer, and
// nothing else.
func decodeArtifact(data []byte) (*ociManifest, error) {
	m, err := decodeManifest(data)
	if err != nil {
		return nil, err
	}
	return m, checkArtifact(m)
}

func checkArtifact(m *ociManifest) error {
	if m.ArtifactType != ArtifactType {
		return fail(ErrFormat, "the artifactType is %q instead of %q: this is not a plugin", m.ArtifactType, ArtifactType)
	}
	if m.Subject != nil {
		return fail(ErrFormat, "a plugin has no subject")
	}
	if err := checkDescriptor(&m.Config, "config", ConfigType, maxConfigBytes); err != nil {
		return err
	}
	if len(m.Layers) > len(kinds) {
		return fail(ErrFormat, "there are %d layers, more than the %d that a plugin can have", len(m.Layers), len(kinds))
	}
	left := m.Layers
	for _, k := range kinds {
		n := 0
		for i := range m.Layers {
			if m.Layers[i].MediaType != k.mediaType {
				continue
			}
			n++
			if err := checkDescriptor(&m.Layers[i], k.name, k.mediaType, k.most); err != nil {
				return err
			}
		}
		if n > 1 || n == 0 && !k.optional {
			return fail(ErrFormat, "there are %d layers of type %s, which is the %s", n, k.mediaType, k.name)
		}
		left = left[n:]
	}
	if len(left) > 0 {
		return fail(ErrFormat, "there are %d layers of types that a plugin does not have", len(left))
	}
	return nil
}

// checkDescriptor checks everything that a descriptor says before anything is fetched by it. Content elsewhere (urls) or
// inside (data) would be a second way to the same bytes, so there is none.
func checkDescriptor(d *descriptor, what, mediaType string, most int64) error {
	switch {
	case d.MediaType != mediaType:
		return fail(ErrFormat, "the %s has the type %q instead of %q", what, d.MediaType, mediaType)
	case !isDigest(d.Digest):
		return fail(ErrFormat, "the %s has the digest %q; sha256: and 64 lower-case hexadecimal digits are read", what, d.Digest)
	case d.Size <= 0:
		return fail(ErrFormat, "the %s has the size %d", what, d.Size)
	case d.Size > most:
		return fail(ErrBounds, "the %s has %d bytes, more than %d", what, d.Size, most)
	case len(d.URLs) > 0 || d.Data != nil:
		return fail(ErrFormat, "the %s has urls or data, which a plugin may not have", what)
	}
	return nil
}

// checkBytes holds bytes against the descriptor that names them.
func checkBytes(d *descriptor, b []byte, what string) error {
	if err := checkSize(d, b, what); err != nil {
		return err
	}
	if got := digestOf(b); got != d.Digest {
		return fail(ErrDigest, "the %s has the digest %s, but its descriptor says %s", what, got, d.Digest)
	}
	return nil
}

// checkSize is for bytes that were found by their digest.
func checkSize(d *descriptor, b []byte, what string) error {
	if int64(len(b)) != d.Size {
		return fail(ErrDigest, "the %s has %d bytes, but its descriptor says %d", what, len(b), d.Size)
	}
	return nil
}

// checkConfig reads the config, which repeats the layers' digests.
func checkConfig(m *ociManifest, data []byte) error {
	var c wasmConfig
	if err := decodeOCI(data, &c, "config"); err != nil {
		return err
	}
	if c.Architecture != wasmArch || c.OS != wasmOS {
		return fail(ErrFormat, "the config is for %q on %q instead of %q on %q", c.Architecture, c.OS, wasmArch, wasmOS)
	}
	same := len(c.LayerDigests) == len(m.Layers)
	for i := 0; same && i < len(m.Layers); i++ {
		same = c.LayerDigests[i] == m.Layers[i].Digest
	}
	if !same {
		return fail(ErrFormat, "the layerDigests of the config are not those of the layers")
	}
	return nil
}
