package bundle

import (
	"bytes"
	"maps"
	"slices"
	"time"

	"github.com/cloister-wasm/cloister/internal/schema"
)

// What is signed has one form by its digest. What is around it, the index and the OCI manifests of signatures, nobody has
// signed: it has fixed forms, so that each copy that was damaged is found, and no text in it is anybody's choice. NB: what
// [Artifact.WriteTar] writes must stay one of them, or files of earlier versions cannot be read any more.

func badForm(what string) error {
	return fail(ErrFormat, "the %s is not written in a form that it has: it was damaged or edited; fetch it again", what)
}

// checkReferrerForm checks how a signature's OCI manifest is written: as here, or as cosign writes it, with a real date and
// the empty config inside as well.
func checkReferrerForm(a *Artifact, e *layoutEntry, signature []byte) error {
	const what = "signature's OCI manifest"
	if bytes.Equal(e.raw, a.referrer(signature)) {
		return nil
	}
	m := e.manifest
	want := signatureAnnotations(signature)
	if at, ok := m.Annotations[annotationCreated]; ok {
		if _, err := time.Parse(time.RFC3339, at); err != nil {
			return badForm(what)
		}
		want[annotationCreated] = at
	}
	switch {
	case !onOneLine(e.raw, false), !onlyKnown[ociManifest](e.raw),
		len(m.Annotations) > 0 && !maps.Equal(m.Annotations, want),
		!slices.Contains([]string{typeEmpty, typeOCIConfig, SignatureType}, m.Config.MediaType),
		!plain(&m.Config, SignatureType), !plain(&m.Layers[0], SignatureType), !plain(m.Subject, ArtifactType):
		return badForm(what)
	}
	return nil
}

// plain says whether a descriptor has nothing but what it needs: no annotations, and the type of artifact or none.
func plain(d *descriptor, artifactType string) bool {
	return len(d.Annotations) == 0 && (d.ArtifactType == "" || d.ArtifactType == artifactType)
}

// checkIndexForm checks how index.json is written. The only annotations are those that oras copies from a manifest, and the
// tag by which other tools find the plugin: its version, or in a directory, which such tools fill, any tag. Nobody here
// believes them.
func (f *files) checkIndexForm(a *Artifact, entries []layoutEntry) error {
	const what = "file index.json"
	if bytes.Equal(f.index, a.layout()[1].data) {
		return nil
	}
	var index ociIndex
	if err := decodeOCI(f.index, &index, what); err != nil {
		return err
	}
	if !onOneLine(f.index, false) || !onlyKnown[ociIndex](f.index) || len(index.Annotations) > 0 || index.Subject != nil || index.ArtifactType != "" {
		return badForm(what)
	}
	for i := range entries {
		e := &entries[i]
		for name, text := range e.listed.Annotations {
			tag := name == annotationRefName && e.manifest.Subject == nil && (text == a.refName()[name] || f.foreign && tagForm.MatchString(text))
			copied, ok := e.manifest.Annotations[name]
			if !tag && !(ok && copied == text) {
				return badForm(what)
			}
		}
	}
	return nil
}

// onlyKnown says whether a document has no other members than those of its type.
func onlyKnown[T any](data []byte) bool {
	var v T
	return schema.DecodeInto(data, &v, nil) == nil
}

// onOneLine says whether JSON has no white space between its tokens, and no escapes but those that JSON needs. With spaced it may
// have one blank after each comma, after all or none: cosign's writer of JSON (protojson) does the one or the other, which
// depends on how it was built. The JSON was checked before.
func onOneLine(data []byte, spaced bool) bool {
	inside, commas, blanks := false, 0, 0
	for i := 0; i < len(data); i++ {
		c := data[i]
		switch {
		case inside && c == '\\':
			n := escapeLength(data[i:])
			if n == 0 {
				return false
			}
			i += n - 1
		case c == '"':
			inside = !inside
		case inside:
		case c == ',':
			commas++
			if spaced && i+1 < len(data) && data[i+1] == ' ' {
				blanks++
				i++
			}
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			return false
		}
	}
	return blanks == 0 || blanks == commas
}

// escapeLength is the length of an escape that JSON needs, 0 for another: a character that can stand for itself, or has a
// shorter escape.
func escapeLength(s []byte) int {
	if len(s) > 1 && bytes.IndexByte([]byte(`"\bfnrt`), s[1]) >= 0 {
		return 2
	}
	if len(s) < 6 || string(s[1:4]) != "u00" || s[4] != '0' && s[4] != '1' {
		return 0
	}
	low := bytes.IndexByte([]byte("0123456789abcdef"), s[5])
	if low < 0 || s[4] == '0' && bytes.IndexByte([]byte("89acd"), s[5]) >= 0 {
		return 0
	}
	return 6
}
