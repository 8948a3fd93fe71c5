package bundle

import (
	"bytes"
	"context"
	"strings"
)

// Push sends a plugin and its signatures, and gives its digest. What the registry has already is not sent again, also not
// a signature that another tool put there. The tag is set last: whoever follows it finds everything.
//
// A reference with a digest must have the artifact's own. A tag that reads as another version than the plugin's is refused, see
// [Reference.Contradicts]: whoever asks for that version would get this one.
func (r *Remote) Push(ctx context.Context, ref string, a *Artifact) (digest string, err error) {
	parsed, err := ParseReference(ref)
	if err != nil {
		return "", err
	}
	if parsed.Digest != "" && parsed.Digest != a.digest {
		return "", fail(ErrReference, "%s names another artifact; this one is %s", parsed, a.digest)
	}
	// A manifest that cannot be read says no version; pushing it makes nothing worse.
	if m, err := a.Manifest(); err == nil && parsed.Contradicts(m.Version) {
		return "", fail(ErrTag, "the tag is %s and this is %s %s; push it with the tag %s, or with one that is no version",
			parsed.Tag, m.ID, m.Version, strings.ReplaceAll(m.Version, "+", "_"))
	}
	s, err := r.open(parsed)
	if err != nil {
		return "", err
	}
	defer s.close()
	ctx, finish := r.bounded(ctx)
	defer func() { err = finish(err) }()
	if err := s.pushArtifact(ctx, a); err != nil {
		return "", err
	}
	if err := s.pushSignatures(ctx, a); err != nil {
		return "", err
	}
	if parsed.Tag != "" {
		d := describe(typeOCIManifest, a.raw)
		if err := s.repo.Manifests().PushReference(ctx, d.oci(), bytes.NewReader(a.raw), parsed.Tag); err != nil {
			return "", registryError(parsed.Registry, "setting the tag "+parsed.Tag, err)
		}
	}
	return a.digest, nil
}

func (s *session) pushArtifact(ctx context.Context, a *Artifact) error {
	if err := s.pushBlob(ctx, "config", &a.manifest.Config, a.blobs[a.manifest.Config.Digest]); err != nil {
		return err
	}
	for i := range a.manifest.Layers {
		l := &a.manifest.Layers[i]
		if err := s.pushBlob(ctx, layerName(l.MediaType), l, a.blobs[l.Digest]); err != nil {
			return err
		}
	}
	return s.pushManifest(ctx, "OCI manifest", ArtifactType, a.raw)
}

// pushSignatures adds the signatures that the registry does not list yet.
func (s *session) pushSignatures(ctx context.Context, a *Artifact) error {
	if len(a.signatures) == 0 {
		return nil
	}
	listed, err := s.signaturesThere(ctx, a)
	if err != nil {
		return err
	}
	for _, b := range a.signatures {
		d := describe(SignatureType, b)
		if listed[d.Digest] {
			s.track(OperationPush, "signature", d.Size).end(true)
			continue
		}
		if s.Signer == nil && len(listed) >= MaxSignatures {
			return fail(ErrBounds, "%s would have more than %d signatures; remove those that nobody needs", s.ref, MaxSignatures)
		}
		listed[d.Digest] = true
		if err := s.pushSignature(ctx, a, b, &d); err != nil {
			return err
		}
	}
	return nil
}

// signaturesThere are the digests of the signatures that the registry has. With [Remote.Signer], what others added keeps nobody
// from adding his own.
func (s *session) signaturesThere(ctx context.Context, a *Artifact) (map[string]bool, error) {
	listed := map[string]bool{}
	if s.Signer != nil {
		c := &chooser{session: s, a: a, left: maxLookedBytes}
		layers, err := c.layers(ctx)
		for _, d := range layers {
			listed[d.Digest] = true
		}
		return listed, err
	}
	there, err := s.signatureManifests(ctx, a)
	for _, m := range there {
		listed[m.Layers[0].Digest] = true
	}
	return listed, err
}

func (s *session) pushSignature(ctx context.Context, a *Artifact, b []byte, d *descriptor) error {
	if err := s.pushBlob(ctx, "signature", d, b); err != nil {
		return err
	}
	empty := describe(typeEmpty, emptyConfig)
	if err := s.pushBlob(ctx, "signature's config", &empty, emptyConfig); err != nil {
		return err
	}
	return s.pushManifest(ctx, "signature's OCI manifest", SignatureType, a.referrer(b))
}

func (s *session) pushBlob(ctx context.Context, name string, d *descriptor, b []byte) error {
	t := s.track(OperationPush, name, d.Size)
	there, err := s.repo.Blobs().Exists(ctx, d.oci())
	if err == nil && !there {
		err = s.repo.Blobs().Push(t.context(ctx), d.oci(), bytes.NewReader(b))
	}
	t.end(err == nil)
	if err != nil {
		return registryError(s.ref.Registry, "sending the "+name, err)
	}
	return nil
}

// pushManifest sends a manifest by its digest. For one with a subject the library keeps the list of referrers where the
// registry does not.
func (s *session) pushManifest(ctx context.Context, name, artifactType string, raw []byte) error {
	d := describe(typeOCIManifest, raw)
	d.ArtifactType = artifactType
	t := s.track(OperationPush, name, d.Size)
	err := s.repo.Manifests().Push(ctx, d.oci(), bytes.NewReader(raw))
	t.end(err == nil)
	if err != nil {
		return registryError(s.ref.Registry, "sending the "+name, err)
	}
	return nil
}
