package bundle

import (
	"context"
	"io"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// Pull fetches a plugin by tag or digest, with its signatures: referrers of the type [SignatureType], found with the
// referrers API or, where a registry has none, with the tag that stands for it. Other referrers are left alone. Nothing is
// verified but bounds, digests and form, and nothing was written anywhere.
//
// Without [Remote.Signer], a signature that is listed but cannot be fetched, or is over a bound, or is about something else,
// fails the whole call: otherwise a registry could make a signed plugin look unsigned. With it, what is wrong with one referrer
// keeps nobody from another: whoever may add referrers could make any plugin fail otherwise. Then the call fails if no signature
// is by a known signer and anything was wrong or left out.
func (r *Remote) Pull(ctx context.Context, ref string) (a *Artifact, err error) {
	parsed, err := ParseReference(ref)
	if err != nil {
		return nil, err
	}
	s, err := r.open(parsed)
	if err != nil {
		return nil, err
	}
	defer s.close()
	ctx, finish := r.bounded(ctx)
	defer func() { err = finish(err) }()
	raw, err := s.fetchManifest(ctx)
	if err != nil {
		return nil, err
	}
	a, err = assemble(raw, digestOf(raw), func(d *descriptor, what string) ([]byte, error) {
		return s.fetchBlob(ctx, d, what)
	}, checkBytes)
	if err != nil {
		return nil, err
	}
	signatures, err := s.fetchSignatures(ctx, a)
	if err != nil {
		return nil, err
	}
	for _, b := range signatures {
		if err := a.AddSignature(b); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// fetchManifest fetches the manifest that the session's reference names. A digest in the reference decides.
func (s *session) fetchManifest(ctx context.Context) ([]byte, error) {
	name := s.ref.Digest
	if name == "" {
		name = s.ref.Tag
	}
	what := "fetching " + s.ref.String()
	d, body, err := s.repo.Manifests().FetchReference(ctx, name)
	if err != nil {
		return nil, registryError(s.ref.Registry, what, err)
	}
	defer body.Close()
	switch {
	case d.MediaType != typeOCIManifest:
		return nil, fail(ErrFormat, "%s is of the type %q, not a plugin", s.ref, d.MediaType)
	case d.Size > MaxOCIManifestBytes:
		return nil, fail(ErrBounds, "the OCI manifest of %s has %d bytes, more than %d", s.ref, d.Size, MaxOCIManifestBytes)
	}
	raw, err := s.read(body, "OCI manifest", max(d.Size, 0), MaxOCIManifestBytes)
	if err != nil {
		return nil, registryError(s.ref.Registry, what, err)
	}
	got := digestOf(raw)
	for _, want := range []string{s.ref.Digest, d.Digest.String()} {
		if want != "" && want != got {
			return nil, fail(ErrDigest, "the registry sent an OCI manifest with the digest %s instead of %s", got, want)
		}
	}
	return raw, nil
}

// fetchBlob is a [fetcher], after checkDescriptor.
func (s *session) fetchBlob(ctx context.Context, d *descriptor, what string) ([]byte, error) {
	body, err := s.repo.Blobs().Fetch(ctx, d.oci())
	if err != nil {
		return nil, registryError(s.ref.Registry, "fetching the "+what, err)
	}
	defer body.Close()
	b, err := s.read(body, what, d.Size, d.Size)
	if err != nil {
		return nil, registryError(s.ref.Registry, "fetching the "+what, err)
	}
	return b, nil
}

// read reads an answer and tells of it. Whether it is whole shows by its digest.
func (s *session) read(body io.ReadCloser, what string, total, most int64) ([]byte, error) {
	t := s.track(OperationPull, what, total)
	b, err := readBounded(t.count(body), most, what)
	t.end(err == nil && int64(len(b)) == total)
	return b, err
}

func (d *descriptor) oci() ocispec.Descriptor {
	return ocispec.Descriptor{MediaType: d.MediaType, Digest: digest.Digest(d.Digest), Size: d.Size, ArtifactType: d.ArtifactType}
}

func (s *session) fetchReferrer(ctx context.Context, d *descriptor) (*ociManifest, error) {
	const what = "signature's OCI manifest"
	body, err := s.repo.Manifests().Fetch(ctx, d.oci())
	if err != nil {
		return nil, registryError(s.ref.Registry, "fetching a "+what, err)
	}
	defer body.Close()
	raw, err := readBounded(body, d.Size, what)
	if err != nil {
		return nil, registryError(s.ref.Registry, "fetching a "+what, err)
	}
	if err := checkBytes(d, raw, what); err != nil {
		return nil, err
	}
	return decodeManifest(raw)
}
