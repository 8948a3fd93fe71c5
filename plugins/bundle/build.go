package bundle

import (
	"bytes"
	"encoding/json"

	"github.com/cloister-wasm/cloister/plugins"
)

// kinds are the layers of a bundle in the order in which Build writes them.
var kinds = []struct {
	mediaType, name string
	most            int64
	optional        bool
	of              func(*Files) []byte
}{
	{ManifestType, "manifest", MaxManifestBytes, false, func(f *Files) []byte { return f.Manifest }},
	{WasmType, "wasm", MaxWasmBytes, false, func(f *Files) []byte { return f.Wasm }},
	{DocsType, "readme", MaxReadmeBytes, true, func(f *Files) []byte { return f.Readme }},
	{LicenseType, "license", MaxLicenseBytes, true, func(f *Files) []byte { return f.License }},
}

// Build makes a bundle, reproducibly: the same files give the same bytes and the same digest, anywhere and at any time.
// It copies what it is given. The manifest must be complete and right: otherwise the error, ErrFormat, has the
// [*plugins.ManifestError] below it. The module is not looked at, beyond its size.
func Build(f Files) (*Artifact, error) {
	a := &Artifact{blobs: map[string][]byte{}}
	var layers []descriptor
	for _, k := range kinds {
		b := k.of(&f)
		if int64(len(b)) > k.most {
			return nil, fail(ErrBounds, "the %s has %d bytes, more than %d", k.name, len(b), k.most)
		}
		if len(b) == 0 {
			if !k.optional {
				return nil, fail(ErrFormat, "the %s is empty", k.name)
			}
			continue
		}
		layers = append(layers, a.keep(k.mediaType, bytes.Clone(b)))
	}
	m, err := plugins.ParseManifest(f.Manifest)
	if err != nil {
		return nil, fail(ErrFormat, "%v", err)
	}
	config := wasmConfig{Created: created, Architecture: wasmArch, OS: wasmOS}
	for _, d := range layers {
		config.LayerDigests = append(config.LayerDigests, d.Digest)
	}
	return a.seal(&ociManifest{
		SchemaVersion: 2,
		MediaType:     typeOCIManifest,
		ArtifactType:  ArtifactType,
		Config:        a.keep(ConfigType, encode(config)),
		Layers:        layers,
		Annotations:   annotations(m),
	})
}

// keep takes a blob in and describes it.
func (a *Artifact) keep(mediaType string, b []byte) descriptor {
	d := describe(mediaType, b)
	a.blobs[d.Digest] = b
	return d
}

func (a *Artifact) seal(m *ociManifest) (*Artifact, error) {
	raw := encode(m)
	if len(raw) > MaxOCIManifestBytes {
		return nil, fail(ErrBounds, "the OCI manifest has %d bytes, more than %d", len(raw), MaxOCIManifestBytes)
	}
	a.raw, a.manifest, a.digest = raw, m, digestOf(raw)
	return a, nil
}

func describe(mediaType string, b []byte) descriptor {
	return descriptor{MediaType: mediaType, Digest: digestOf(b), Size: int64(len(b))}
}

// annotations are for people who look at a registry. Nothing in this module believes them.
func annotations(m *plugins.Manifest) map[string]string {
	a := map[string]string{
		annotationTitle:   m.ID,
		annotationVersion: m.Version,
		annotationCreated: created,
	}
	if m.Description != "" {
		a[annotationDescription] = m.Description
	}
	if m.License != "" {
		a[annotationLicenses] = m.License
	}
	return a
}

// encode writes JSON without the escapes for HTML. NB: must not change, since digests depend on it; the golden digest of
// the tests watches.
func encode(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic("bundle: " + err.Error()) // the types above have nothing that JSON cannot hold
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
