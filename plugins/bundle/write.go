package bundle

import (
	"archive/tar"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/cloister-wasm/cloister/internal/safefile"
)

type namedFile struct {
	name string
	data []byte
}

// layout gives the files of the OCI image layout in their order: what names others comes first. Same artifact and
// signatures, same bytes.
func (a *Artifact) layout() []namedFile {
	index := ociIndex{SchemaVersion: 2, MediaType: typeOCIIndex}
	out := []namedFile{{fileMarker, encode(layoutMarker{layoutVersion})}, {}}
	seen := map[string]bool{}
	add := func(b []byte) {
		if d := digestOf(b); !seen[d] {
			seen[d] = true
			out = append(out, namedFile{dirSHA256 + "/" + strings.TrimPrefix(d, digestStart), b})
		}
	}
	list := func(artifactType string, raw []byte, annotations map[string]string) {
		d := describe(typeOCIManifest, raw)
		d.ArtifactType, d.Annotations = artifactType, annotations
		index.Manifests = append(index.Manifests, d)
		add(raw)
	}
	list(ArtifactType, a.raw, a.refName())
	add(a.blobs[a.manifest.Config.Digest])
	for _, l := range a.manifest.Layers {
		add(a.blobs[l.Digest])
	}
	for _, s := range a.signatures {
		list(SignatureType, a.referrer(s), nil)
		add(emptyConfig)
		add(s)
	}
	out[1] = namedFile{fileIndex, encode(index)}
	return out
}

// refName is the tag under which other tools find the artifact in a layout: its version. Tags have no plus sign.
func (a *Artifact) refName() map[string]string {
	tag := strings.ReplaceAll(a.manifest.Annotations[annotationVersion], "+", "_")
	if !tagForm.MatchString(tag) {
		return nil
	}
	return map[string]string{annotationRefName: tag}
}

// WriteTar writes the bundle as an uncompressed tar of its OCI image layout, reproducibly: same artifact and signatures,
// same bytes. Errors are those of w, below ErrFiles.
func (a *Artifact) WriteTar(w io.Writer) error {
	tw := tar.NewWriter(w)
	for _, f := range a.layout() {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: f.name, Size: int64(len(f.data)), Mode: 0o644,
			ModTime: time.Unix(0, 0), Format: tar.FormatUSTAR}
		if err := tw.WriteHeader(h); err != nil {
			return fail(ErrFiles, "writing the tar: %v", err)
		}
		if _, err := tw.Write(f.data); err != nil {
			return fail(ErrFiles, "writing the tar: %v", err)
		}
	}
	if err := tw.Close(); err != nil {
		return fail(ErrFiles, "writing the tar: %v", err)
	}
	return nil
}

// WriteFile writes a .cloister file, see [Artifact.WriteTar]. A file of that name is replaced whole or stays as it was.
func (a *Artifact) WriteFile(name string) error {
	return filesError(safefile.Replace(name, 0o644, a.WriteTar))
}

// WriteLayout writes the OCI image layout into a directory, which must be new or empty. It is there whole or not at all.
func (a *Artifact) WriteLayout(dir string) error {
	dir = filepath.Clean(dir)
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return fail(ErrFiles, "%s is not empty; name a new directory", dir)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fail(ErrFiles, "%v", err)
	}
	temp, err := os.MkdirTemp(filepath.Dir(dir), ".cloister-*")
	if err != nil {
		return fail(ErrFiles, "%v", err)
	}
	defer os.RemoveAll(temp) // fails after the rename, when there is nothing to remove
	if err := a.writeFiles(temp); err != nil {
		return filesError(err)
	}
	// An empty directory gives way: not every system renames onto one. If it is not there, or no longer empty, the rename
	// says so.
	_ = os.Remove(dir)
	return filesError(os.Rename(temp, dir))
}

func (a *Artifact) writeFiles(dir string) error {
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(dir, filepath.FromSlash(dirSHA256)), 0o755); err != nil {
		return err
	}
	for _, f := range a.layout() {
		if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(f.name)), f.data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func filesError(err error) error {
	var e *Error
	if err == nil || errors.As(err, &e) {
		return err
	}
	return fail(ErrFiles, "%v", err)
}
