package bundle

import (
	"cmp"
	"context"
	"errors"
	"slices"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// maxReferrers bounds how many referrers that could be signatures are looked at where each of them counts.
const maxReferrers = 4 * MaxSignatures

// fetchSignatures fetches the signatures of an artifact. They are ordered by digests, since registries list them in any order.
func (s *session) fetchSignatures(ctx context.Context, a *Artifact) ([][]byte, error) {
	if s.Signer != nil {
		return s.chooseSignatures(ctx, a)
	}
	manifests, err := s.signatureManifests(ctx, a)
	if err != nil {
		return nil, err
	}
	var out [][]byte
	for _, m := range manifests {
		b, err := s.fetchBlob(ctx, &m.Layers[0], "signature")
		if err != nil {
			return nil, err
		}
		if err := checkBytes(&m.Layers[0], b, "signature"); err != nil {
			return nil, err
		}
		out = append(out, b)
	}
	return out, nil
}

// signatureManifests fetches and checks the OCI manifests of the signatures: all of them, or it fails.
func (s *session) signatureManifests(ctx context.Context, a *Artifact) ([]*ociManifest, error) {
	list, err := s.referrers(ctx, a)
	if err != nil {
		return nil, err
	}
	var out []*ociManifest
	for i := range list {
		m, err := s.fetchReferrer(ctx, &list[i])
		if err != nil {
			return nil, err
		}
		if m.ArtifactType != SignatureType && list[i].ArtifactType != SignatureType {
			continue // the list did not say what it is, and it is something else
		}
		if err := checkReferrer(m, a); err != nil {
			return nil, err
		}
		if out = append(out, m); len(out) > MaxSignatures {
			return nil, fail(ErrBounds, "%s has more than %d signatures; remove those that nobody needs", s.ref, MaxSignatures)
		}
	}
	return out, nil
}

// referrers lists what may be a signature of the artifact: all of it, or it fails.
func (s *session) referrers(ctx context.Context, a *Artifact) ([]descriptor, error) {
	var list []descriptor
	err := s.eachReferrer(ctx, a, func(d descriptor) error {
		if err := checkDescriptor(&d, "referrer", typeOCIManifest, MaxOCIManifestBytes); err != nil {
			return err
		}
		if list = append(list, d); len(list) > maxReferrers {
			return fail(ErrBounds, "%s has more than %d referrers that may be signatures", s.ref, maxReferrers)
		}
		return nil
	})
	slices.SortFunc(list, func(a, b descriptor) int { return cmp.Compare(a.Digest, b.Digest) })
	return list, err
}

// eachReferrer gives what may be a signature of the artifact, without doubles and unchecked, until take fails. Some registries
// say nothing about a referrer's type, or name the type of its config, as OCI 1.0 had it; a signature's config is empty.
func (s *session) eachReferrer(ctx context.Context, a *Artifact, take func(descriptor) error) error {
	seen := map[string]bool{}
	subject := describe(typeOCIManifest, a.raw)
	err := s.repo.Referrers(ctx, subject.oci(), "", func(page []ocispec.Descriptor) error {
		for _, r := range page {
			d := descriptor{MediaType: r.MediaType, Digest: r.Digest.String(), Size: r.Size, ArtifactType: r.ArtifactType}
			switch d.ArtifactType {
			case SignatureType, typeEmpty, "":
			default:
				continue
			}
			if d.MediaType != typeOCIManifest && d.ArtifactType != SignatureType || seen[d.Digest] {
				continue
			}
			seen[d.Digest] = true
			if err := take(d); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return registryError(s.ref.Registry, "listing signatures", err)
	}
	return err
}

// errEnough ends a listing.
var errEnough = errors.New("enough")
