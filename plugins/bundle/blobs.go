package bundle

import (
	"errors"
	"io"
)

// FromBlobs puts an artifact together from a content-addressed store. It calls get for the OCI manifest, then for the
// config and each layer, with the largest size that it will take; every answer is checked against its digest and its
// size, so that get need not. Signatures are those kept beside it.
//
// An error of get that is no [*Error] becomes ErrFiles, with the error below it.
func FromBlobs(manifestDigest string, get func(digest string, most int64) ([]byte, error), signatures [][]byte) (*Artifact, error) {
	if !isDigest(manifestDigest) {
		return nil, fail(ErrFormat, "%q is no digest of the form sha256:…", manifestDigest)
	}
	fetch := func(d *descriptor, what string) ([]byte, error) {
		b, err := get(d.Digest, d.Size)
		if err != nil {
			return nil, blobError(what, err)
		}
		if int64(len(b)) > d.Size {
			return nil, fail(ErrBounds, "the %s has %d bytes, more than %d", what, len(b), d.Size)
		}
		return b, nil
	}
	raw, err := fetch(&descriptor{Digest: manifestDigest, Size: MaxOCIManifestBytes}, "OCI manifest")
	if err != nil {
		return nil, err
	}
	if got := digestOf(raw); got != manifestDigest {
		return nil, fail(ErrDigest, "the OCI manifest has the digest %s instead of %s", got, manifestDigest)
	}
	a, err := assemble(raw, manifestDigest, fetch, checkBytes)
	if err != nil {
		return nil, err
	}
	for _, s := range signatures {
		if err := a.AddSignature(s); err != nil {
			return nil, err
		}
	}
	return a, nil
}

func blobError(what string, err error) error {
	var e *Error
	if errors.As(err, &e) {
		return err
	}
	return fail(ErrFiles, "the %s: %v", what, err)
}

// fetcher gives the bytes that a checked descriptor names. It may give other bytes, but no more than the size.
type fetcher func(d *descriptor, what string) ([]byte, error)

// checker holds bytes against their descriptor: checkBytes, or checkSize where their digest was checked before.
type checker func(d *descriptor, b []byte, what string) error

// assemble makes an artifact of an OCI manifest, whose digest the caller has checked, and what it names.
func assemble(raw []byte, digest string, get fetcher, check checker) (*Artifact, error) {
	m, err := decodeArtifact(raw)
	if err != nil {
		return nil, err
	}
	a := &Artifact{digest: digest, raw: raw, manifest: m, blobs: map[string][]byte{}}
	if err := a.take(&m.Config, "config", get, check); err != nil {
		return nil, err
	}
	if err := checkConfig(m, a.blobs[m.Config.Digest]); err != nil {
		return nil, err
	}
	for i := range m.Layers {
		if err := a.take(&m.Layers[i], layerName(m.Layers[i].MediaType), get, check); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// take fetches one blob. Two layers of the same bytes are one blob.
func (a *Artifact) take(d *descriptor, what string, get fetcher, check checker) error {
	b, ok := a.blobs[d.Digest]
	if !ok {
		var err error
		if b, err = get(d, what); err != nil {
			return err
		}
	}
	if err := check(d, b, what); err != nil {
		return err
	}
	a.blobs[d.Digest] = b
	return nil
}

func layerName(mediaType string) string {
	for _, k := range kinds {
		if k.mediaType == mediaType {
			return k.name
		}
	}
	return "layer"
}

// readBounded reads to the end, and at most the given number of bytes: one more is ErrBounds. The memory grows with what
// was read, not with what was declared, and no further than that number.
func readBounded(r io.Reader, most int64, what string) ([]byte, error) {
	b := make([]byte, 0, min(most+1, 32<<10))
	for {
		if len(b) == cap(b) {
			grown := make([]byte, len(b), min(2*int64(cap(b)), most+1))
			copy(grown, b)
			b = grown
		}
		n, err := r.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		switch {
		case int64(len(b)) > most:
			return nil, fail(ErrBounds, "the %s has more than %d bytes", what, most)
		case err == io.EOF:
			return b, nil
		case err != nil:
			return nil, err
		}
	}
}
