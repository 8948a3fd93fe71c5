package bundle

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"oras.land/oras-go/v2/errdef"
)

// Bounds of the work where signatures of known signers are looked for among referrers to which others may add what they like.
// The list is not bounded but by what is read of it; a signature and its OCI manifest have a few kilobytes.
const (
	// maxLooked is the number of referrers that are fetched, and of signatures that are judged.
	maxLooked = 256
	// maxLookedBytes is how much is fetched of them.
	maxLookedBytes = 8 << 20
)

// chooser looks for the signatures that count. What is wrong with one referrer keeps it from no other.
type chooser struct {
	*session
	a     *Artifact
	left  int64 // bytes that may be fetched
	wrong error // the first thing that was
	cut   bool  // there is more that was not looked at
}

// chooseSignatures gives the signatures of known signers, one for each, and as many others as there is room for.
func (s *session) chooseSignatures(ctx context.Context, a *Artifact) ([][]byte, error) {
	c := &chooser{session: s, a: a, left: maxLookedBytes}
	layers, err := c.layers(ctx)
	if err != nil {
		return nil, err
	}
	known, others := map[string][]byte{}, [][]byte{}
	for i := range layers {
		b, err := c.signature(ctx, &layers[i])
		if err != nil {
			return nil, err
		}
		if b == nil {
			continue
		}
		// One for each signer: a signature can be written in many ways, and crowd others out.
		if who := s.Signer(a, b); who == "" || known[who] != nil {
			others = append(others, b)
		} else {
			known[who] = b
		}
	}
	return c.result(known, others)
}

// layers are the descriptors of what may be signatures, the smallest first, so that large ones cannot use up what may be
// fetched. The order is the same whatever that of the registry.
func (c *chooser) layers(ctx context.Context) ([]descriptor, error) {
	list, err := c.candidates(ctx)
	if err != nil {
		return nil, err
	}
	var layers []descriptor
	for i := range list {
		m, err := c.manifest(ctx, &list[i])
		if err != nil {
			return nil, err
		}
		if m != nil {
			layers = append(layers, m.Layers[0])
		}
	}
	smallestFirst(layers)
	return slices.CompactFunc(layers, func(a, b descriptor) bool { return a.Digest == b.Digest }), nil
}

func smallestFirst(list []descriptor) {
	slices.SortFunc(list, func(a, b descriptor) int {
		return cmp.Or(cmp.Compare(a.Size, b.Size), cmp.Compare(a.Digest, b.Digest))
	})
}

// candidates lists referrers, up to a bound.
func (c *chooser) candidates(ctx context.Context) ([]descriptor, error) {
	var list []descriptor
	err := c.eachReferrer(ctx, c.a, func(d descriptor) error {
		if len(list) == maxLooked {
			return errEnough
		}
		if err := checkDescriptor(&d, "referrer", typeOCIManifest, MaxOCIManifestBytes); err != nil {
			return c.skip(ctx, err)
		}
		list = append(list, d)
		return nil
	})
	if errors.Is(err, errEnough) || errors.Is(err, errdef.ErrTooManyPages) {
		c.cut, err = true, nil
	}
	smallestFirst(list)
	return list, err
}

// manifest fetches and checks one referrer; nil stands for one that is no signature of the artifact.
func (c *chooser) manifest(ctx context.Context, d *descriptor) (*ociManifest, error) {
	if !c.afford(d) {
		return nil, nil
	}
	m, err := c.fetchReferrer(ctx, d)
	if err != nil {
		return nil, c.skip(ctx, err)
	}
	if m.ArtifactType != SignatureType && d.ArtifactType != SignatureType {
		return nil, nil // the list did not say what it is, and it is something else
	}
	if err := checkReferrer(m, c.a); err != nil {
		return nil, c.skip(ctx, err)
	}
	return m, nil
}

// signature fetches one signature and checks its form; nil stands for one that has another.
func (c *chooser) signature(ctx context.Context, d *descriptor) ([]byte, error) {
	if !c.afford(d) {
		return nil, nil
	}
	b, err := c.fetchBlob(ctx, d, "signature")
	if err == nil {
		err = checkBytes(d, b, "signature")
	}
	if err == nil {
		err = checkSignature(b)
	}
	if err != nil {
		return nil, c.skip(ctx, err)
	}
	return b, nil
}

// afford says whether what a descriptor names may be fetched; fetching reads no more than its size.
func (c *chooser) afford(d *descriptor) bool {
	if d.Size > c.left {
		c.cut = true
		return false
	}
	c.left -= d.Size
	return true
}

// skip notes what is wrong with one referrer. A call that was stopped, and a registry that keeps us waiting, end the look.
func (c *chooser) skip(ctx context.Context, err error) error {
	if ctx.Err() != nil || errors.Is(err, ErrSlow) {
		return err
	}
	if c.wrong == nil {
		c.wrong = err
	}
	return nil
}

// result puts the known ones first. Where there is none, whatever was wrong or left out may have been the one: then the answer
// is an error, since otherwise a registry could make a signed plugin look unsigned.
func (c *chooser) result(known map[string][]byte, others [][]byte) ([][]byte, error) {
	list := slices.SortedFunc(maps.Values(known), bytes.Compare)
	const mend = "have those removed that nobody needs, add the signer to the trust policy, or use a .cloister file"
	switch {
	case len(list) > 0:
	case c.wrong != nil:
		return nil, c.wrong
	case c.cut:
		return nil, fail(ErrBounds, "%s has more referrers than are looked at (%d, %d bytes), and none of these is a signature by a known signer; %s",
			c.ref, maxLooked, maxLookedBytes, mend)
	case len(others) > MaxSignatures:
		return nil, fail(ErrBounds, "%s has more than %d signatures, and none of them is by a known signer; %s", c.ref, MaxSignatures, mend)
	}
	slices.SortFunc(others, bytes.Compare)
	list = append(list, others...)
	return list[:min(len(list), MaxSignatures)], nil
}
