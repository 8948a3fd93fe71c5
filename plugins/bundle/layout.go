package bundle

import (
	"bytes"
	"strings"
)

// files are the files of an OCI image layout, read within bounds, with every blob's bytes checked against its name. The
// rest is not checked yet.
type files struct {
	marker, index []byte
	blobs         map[string][]byte // by digest
	total         int64
	foreign       bool // other tools write it too: a directory
}

// most is the bound of a file of the layout by its name, or false for a name that a layout of a plugin does not have. A
// blob's own bound shows only when the manifest was read.
func most(name string) (int64, bool) {
	switch {
	case name == fileMarker:
		return maxMarkerBytes, true
	case name == fileIndex:
		return MaxIndexBytes, true
	case strings.HasPrefix(name, dirSHA256+"/") && hexDigest.MatchString(name[len(dirSHA256)+1:]):
		return MaxWasmBytes, true
	default:
		return 0, false
	}
}

// admit says whether a file may be read: its name, its size, how many there are and how large they are together.
func (f *files) admit(name string, size int64) error {
	m, ok := most(name)
	switch {
	case !ok:
		return fail(ErrFormat, "%q is not part of a plugin: only oci-layout, index.json and blobs/sha256/DIGEST are; remove it", name)
	case f.has(name):
		return fail(ErrFormat, "the file %q is there twice", name)
	case size < 0 || size > m:
		return fail(ErrBounds, "the file %q has %d bytes, more than %d", name, size, m)
	}
	if f.total += size; f.total > maxTotalBytes {
		return fail(ErrBounds, "the files have more than %d bytes together", int64(maxTotalBytes))
	}
	if len(f.blobs) >= maxBlobs && strings.HasPrefix(name, dirSHA256) {
		return fail(ErrBounds, "there are more than %d blobs", maxBlobs)
	}
	return nil
}

func (f *files) has(name string) bool {
	switch name {
	case fileMarker:
		return f.marker != nil
	case fileIndex:
		return f.index != nil
	default:
		_, ok := f.blobs[digestStart+strings.TrimPrefix(name, dirSHA256+"/")]
		return ok
	}
}

// put takes in a file that was admitted.
func (f *files) put(name string, b []byte) error {
	if b == nil {
		b = []byte{} // an empty file is there
	}
	switch name {
	case fileMarker:
		f.marker = b
	case fileIndex:
		f.index = b
	default:
		digest := digestStart + strings.TrimPrefix(name, dirSHA256+"/")
		if got := digestOf(b); got != digest {
			return fail(ErrDigest, "the blob %s has the digest %s", digest, got)
		}
		if f.blobs == nil {
			f.blobs = map[string][]byte{}
		}
		f.blobs[digest] = b
	}
	return nil
}

// artifact reads the layout: the marker, the index, the one plugin in it and its signatures. Every blob must have a part
// in it: what nothing names has no place in a signed thing.
func (f *files) artifact() (*Artifact, error) {
	if err := f.checkMarker(); err != nil {
		return nil, err
	}
	r := layoutReader{files: f, used: map[string]bool{}}
	entries, err := r.manifests()
	if err != nil {
		return nil, err
	}
	a, err := r.plugin(entries)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.manifest.Subject == nil {
			continue
		}
		if err := r.signature(a, &e); err != nil {
			return nil, err
		}
	}
	for digest := range f.blobs {
		if !r.used[digest] {
			return nil, fail(ErrFormat, "nothing refers to the blob %s; make the file anew", digest)
		}
	}
	if err := f.checkIndexForm(a, entries); err != nil {
		return nil, err
	}
	return a, nil
}

func (f *files) checkMarker() error {
	if f.marker == nil || f.index == nil {
		return fail(ErrFormat, "oci-layout or index.json is missing: this is no OCI image layout, or only a part of one")
	}
	var m layoutMarker
	if err := decodeOCI(f.marker, &m, "file oci-layout"); err != nil {
		return err
	}
	if m.Version != layoutVersion {
		return fail(ErrFormat, "the layout has version %q; %s is read", m.Version, layoutVersion)
	}
	if !bytes.Equal(f.marker, encode(layoutMarker{layoutVersion})) {
		return badForm("file oci-layout")
	}
	return nil
}

// layoutReader reads the manifests of a layout and notes which blobs have a part in it.
type layoutReader struct {
	*files
	used map[string]bool
}

type layoutEntry struct {
	digest   string
	raw      []byte
	manifest *ociManifest
	listed   *descriptor // in index.json
}

// manifests reads what index.json lists: a plugin and signatures, in its order.
func (r *layoutReader) manifests() ([]layoutEntry, error) {
	var index ociIndex
	if err := decodeOCI(r.index, &index, "file index.json"); err != nil {
		return nil, err
	}
	if index.SchemaVersion != 2 || index.MediaType != "" && index.MediaType != typeOCIIndex {
		return nil, fail(ErrFormat, "index.json has schemaVersion %d and mediaType %q instead of 2 and %q", index.SchemaVersion, index.MediaType, typeOCIIndex)
	}
	if n := len(index.Manifests); n > 1+MaxSignatures {
		return nil, fail(ErrBounds, "index.json lists %d manifests, more than a plugin and %d signatures", n, MaxSignatures)
	}
	var entries []layoutEntry
	for i := range index.Manifests {
		d := &index.Manifests[i]
		if r.used[d.Digest] {
			return nil, fail(ErrFormat, "index.json lists %s twice", d.Digest)
		}
		if err := checkDescriptor(d, "manifest in index.json", typeOCIManifest, MaxOCIManifestBytes); err != nil {
			return nil, err
		}
		raw, err := r.blob(d, "OCI manifest")
		if err != nil {
			return nil, err
		}
		m, err := decodeManifest(raw)
		if err != nil {
			return nil, err
		}
		// Some tools name the type of the config, as OCI 1.0 had it.
		if d.ArtifactType != "" && d.ArtifactType != m.ArtifactType && d.ArtifactType != m.Config.MediaType {
			return nil, fail(ErrFormat, "index.json says that %s is of type %q, but it is of type %q", d.Digest, d.ArtifactType, m.ArtifactType)
		}
		entries = append(entries, layoutEntry{d.Digest, raw, m, d})
	}
	return entries, nil
}

// get is a [fetcher]. What it gives has the right digest: files.put has seen to that.
func (r *layoutReader) get(d *descriptor, what string) ([]byte, error) {
	b, ok := r.blobs[d.Digest]
	if !ok {
		return nil, fail(ErrFormat, "the %s, %s, is missing", what, d.Digest)
	}
	r.used[d.Digest] = true
	return b, nil
}

// plugin finds the one artifact. What has a subject refers to another manifest; anything else is a plugin or a mistake.
func (r *layoutReader) plugin(entries []layoutEntry) (*Artifact, error) {
	var found *layoutEntry
	for i := range entries {
		if entries[i].manifest.Subject != nil {
			continue
		}
		if found != nil {
			return nil, fail(ErrFormat, "index.json lists two artifacts, %s and %s; a bundle is one plugin", found.digest, entries[i].digest)
		}
		found = &entries[i]
	}
	if found == nil {
		return nil, fail(ErrFormat, "index.json lists no plugin")
	}
	return assemble(found.raw, found.digest, r.get, checkSize)
}

func (r *layoutReader) signature(a *Artifact, e *layoutEntry) error {
	m := e.manifest
	if err := checkReferrer(m, a); err != nil {
		return err
	}
	if _, err := r.blob(&m.Config, "signature's config"); err != nil {
		return err
	}
	b, err := r.blob(&m.Layers[0], "signature")
	if err != nil {
		return err
	}
	if err := checkReferrerForm(a, e, b); err != nil {
		return err
	}
	return a.AddSignature(b)
}

// blob is get with its size checked.
func (r *layoutReader) blob(d *descriptor, what string) ([]byte, error) {
	b, err := r.get(d, what)
	if err != nil {
		return nil, err
	}
	return b, checkSize(d, b, what)
}
