package store

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/cloister-wasm/cloister/internal/plaintext"
	"github.com/cloister-wasm/cloister/plugins/bundle"
)

func blobFile(digest string) string { return blobDir + "/" + strings.TrimPrefix(digest, digestStart) }

// blob reads a blob and checks it: what comes back has the digest.
func (f folder) blob(digest string, most int64) ([]byte, error) {
	if !isDigest(digest) {
		return nil, fail(ErrInvalid, "%q is not a digest", digest)
	}
	name := blobFile(digest)
	data, err := f.read(name, most)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, damage(name, err, mendBlob, "is missing")
	case err != nil:
		return nil, damage(name, err, mendBlob, "cannot be read: %v", err)
	case digestOf(data) != digest:
		return nil, damage(name, nil, mendBlob, "does not have the bytes that its name says")
	}
	return data, nil
}

// putBlob writes a blob unless it is there and right. healed says that a damaged one was replaced.
func (f folder) putBlob(digest string, data []byte) (healed bool, err error) {
	if digestOf(data) != digest {
		return false, fail(ErrInvalid, "the bytes of %s are others", digest)
	}
	have, err := f.blob(digest, int64(len(data)))
	if err == nil && bytes.Equal(have, data) {
		return false, nil
	}
	healed = !errors.Is(err, fs.ErrNotExist)
	name := blobFile(digest)
	if info, err := f.Lstat(name); err == nil && !info.Mode().IsRegular() {
		if err := f.RemoveAll(name); err != nil { // a directory would stop the rename
			return healed, err
		}
	}
	return healed, f.write(name, data)
}

// artifact reads an entry's artifact and signatures. Errors name the plugin.
func (f folder) artifact(e *Entry) (*bundle.Artifact, error) {
	a, err := f.readArtifact(e)
	if err == nil {
		return a, nil
	}
	if damaged := f.checkBlobs(e); damaged != nil {
		return nil, damaged
	}
	var de *DamageError
	if errors.As(err, &de) {
		de.Plugin = e.ID
		return nil, err
	}
	return nil, fmt.Errorf("the artifact of %s: %w", e.ID, err)
}

// readArtifact leaves checking the artifact's digests to package bundle, which does so on the bytes that it keeps.
func (f folder) readArtifact(e *Entry) (*bundle.Artifact, error) {
	var signatures [][]byte
	for _, d := range e.Signatures {
		b, err := f.blob(d, bundle.MaxSignatureBytes)
		if err != nil {
			return nil, err
		}
		signatures = append(signatures, b)
	}
	var unlisted error
	get := func(digest string, most int64) ([]byte, error) {
		if !slices.Contains(e.Blobs, digest) { // Collect would take it away
			unlisted = damage(genDir, nil, mendBlob, "does not list the blob %s", digest)
			return nil, unlisted
		}
		return f.read(blobFile(digest), most)
	}
	a, err := bundle.FromBlobs(e.Digest, get, signatures)
	if unlisted != nil {
		return nil, unlisted
	}
	return a, err
}

// checkBlobs makes sure that everything an entry needs is there and right.
func (f folder) checkBlobs(e *Entry) error {
	for _, d := range e.files() {
		if _, err := f.blob(d, maxBlobBytes); err != nil {
			var de *DamageError
			if errors.As(err, &de) {
				de.Plugin = e.ID
			}
			return err
		}
	}
	return nil
}

// maxBlobBytes bounds any blob: the module is the largest.
const maxBlobBytes = bundle.MaxWasmBytes

// Artifact reads an artifact of any generation that is kept, with its signatures, by its digest. It is whole but not
// verified: ask a trust.Policy. Errors are ErrNotInstalled for a digest that no generation has, and ErrDamaged.
func (s *Store) Artifact(digest string) (*bundle.Artifact, error) {
	f, now, done, err := s.look()
	if err != nil {
		return nil, err
	}
	defer done()
	if e, ok := now.withDigest(digest); ok {
		return f.artifact(e)
	}
	numbers, err := f.numbers()
	if err != nil {
		return nil, err
	}
	for _, n := range slices.Backward(numbers) {
		if g, _, err := f.generation(n); err == nil && n < now.Number { // a damaged one is for Repair to report
			if e, ok := g.withDigest(digest); ok {
				return f.artifact(e)
			}
		}
	}
	return nil, fmt.Errorf("%w: no generation has the artifact %s", ErrNotInstalled, plaintext.Line(digest, 100))
}

func (g *Generation) withDigest(digest string) (*Entry, bool) {
	i := slices.IndexFunc(g.Entries, func(e Entry) bool { return e.Digest == digest })
	if i < 0 {
		return nil, false
	}
	return &g.Entries[i], true
}
