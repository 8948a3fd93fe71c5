package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cloister-wasm/cloister/internal/schema"
)

// formatVersion is the version of the store's files.
const formatVersion = 1

// Bounds of a store.
const (
	// MaxEntries bounds the plugins of a generation.
	MaxEntries = 512
	// MaxGeneration is the highest number of a generation.
	MaxGeneration = 999_999_999

	maxGenerationBytes = 8 << 20
	maxReason          = 400
)

// Generation is the list of installed plugins as it was after one change. It never changes itself: treat it as read-only.
type Generation struct {
	// Number counts from 1; 0 is the empty store.
	Number int `json:"number"`
	// Created is when it was made, UTC, in whole seconds.
	Created time.Time `json:"created"`
	// Reason says what was done, in one line.
	Reason string `json:"reason"`
	// Entries are sorted by id; ids differ, and so do the names of tools (case does not count) and globals.
	Entries []Entry `json:"entries"`
}

// Entry is one installed plugin. What it says was true when it was installed; [Store.Load] verifies everything again.
type Entry struct {
	// ID is publisher.name.
	ID string `json:"id"`
	// Version is the plugin's semantic version.
	Version string `json:"version"`
	// Digest is that of the artifact, "sha256:…".
	Digest string `json:"digest"`
	// Ref is where it was installed from, or "".
	Ref string `json:"ref,omitempty"`
	// Publisher is the name in the trust policy, Signer whose signature was good, as plugins.Origin has them.
	Publisher string `json:"publisher"`
	Signer    string `json:"signer"`
	// Signatures are the digests of the signatures, Blobs those of everything else that the artifact is made of.
	Signatures []string `json:"signatures"`
	Blobs      []string `json:"blobs"`
	// Tools are the names of its tools, Globals those of its namespaces' globals: no other plugin may have them.
	Tools   []string `json:"tools"`
	Globals []string `json:"globals,omitempty"`
	// Disabled plugins are not loaded. They keep their names.
	Disabled bool `json:"disabled,omitempty"`
	// Installed is when this version was installed, UTC, in whole seconds.
	Installed time.Time `json:"installed"`
}

// Entry finds a plugin by id.
func (g *Generation) Entry(id string) (*Entry, bool) {
	i := slices.IndexFunc(g.Entries, func(e Entry) bool { return e.ID == id })
	if i < 0 {
		return nil, false
	}
	e := g.Entries[i].clone()
	return &e, true
}

func (e Entry) clone() Entry {
	e.Signatures, e.Blobs = slices.Clone(e.Signatures), slices.Clone(e.Blobs)
	e.Tools, e.Globals = slices.Clone(e.Tools), slices.Clone(e.Globals)
	return e
}

// files are all blobs that the entry needs.
func (e *Entry) files() []string { return slices.Concat(e.Blobs, e.Signatures) }

// generationFile is the text of a generation's file. Sum is over the bytes of Generation as they stand: it finds damage
// without the help of another file.
type generationFile struct {
	Version    int             `json:"version"`
	Sum        string          `json:"sum"`
	Generation json.RawMessage `json:"generation"`
}

// encodeGeneration writes a generation's file, and refuses what parseGeneration would.
func encodeGeneration(g *Generation) ([]byte, error) {
	inner, err := encode(g, "  ")
	if err != nil {
		return nil, err
	}
	// By hand: an encoder would write the generation's bytes anew, and the sum is over them.
	text := slices.Concat([]byte("{\n  \"version\": 1,\n  \"sum\": \""+digestOf(inner)+"\",\n  \"generation\": "), inner, []byte("\n}\n"))
	if len(text) > maxGenerationBytes {
		return nil, fail(ErrFull, "the list of plugins has %d bytes, more than %d", len(text), maxGenerationBytes)
	}
	if _, err := parseGeneration(text); err != nil { // what cannot be read is not written
		return nil, fmt.Errorf("the new list of plugins: %w", err)
	}
	return text, nil
}

func encode(v any, prefix string) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent(prefix, "  ")
	if err := enc.Encode(v); err != nil {
		return nil, fail(ErrInvalid, "%v", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// errNotWhole: the file was written differently.
var errNotWhole = errors.New("its bytes do not match its checksum")

// parseGeneration reads a generation's file: bounds, strict JSON, checksum, then the rules of its content.
func parseGeneration(data []byte) (*Generation, error) {
	if len(data) > maxGenerationBytes {
		return nil, fail(ErrInvalid, "%d bytes are more than %d", len(data), maxGenerationBytes)
	}
	var head struct {
		Version json.RawMessage `json:"version"`
	}
	if err := schema.DecodeInto(data, &head, &schema.DecodeOptions{AllowUnknown: true}); err != nil {
		return nil, err
	}
	if n, err := strconv.ParseInt(string(head.Version), 10, 64); err == nil && n > formatVersion {
		return nil, fail(ErrTooNew, "version %d, this Cloister knows version %d; use a newer one", n, formatVersion)
	}
	var file generationFile
	if err := schema.DecodeInto(data, &file, &schema.DecodeOptions{Checked: true}); err != nil {
		return nil, err
	}
	if file.Version != formatVersion {
		return nil, fail(ErrInvalid, "version %d, not %d", file.Version, formatVersion)
	}
	if digestOf(file.Generation) != file.Sum {
		return nil, errNotWhole
	}
	var g Generation
	if err := schema.DecodeInto(file.Generation, &g, &schema.DecodeOptions{Checked: true}); err != nil {
		return nil, err
	}
	if err := g.check(); err != nil {
		return nil, err
	}
	return &g, nil
}

// digestOf is "sha256:…" of the bytes.
func digestOf(b []byte) string {
	sum := sha256.Sum256(b)
	return digestStart + hex.EncodeToString(sum[:])
}

const digestStart = "sha256:"

// isDigest says whether the text is a SHA-256 digest, and so a safe file name.
func isDigest(s string) bool {
	rest, ok := strings.CutPrefix(s, digestStart)
	if !ok || len(rest) != 64 {
		return false
	}
	for i := range len(rest) {
		if c := rest[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
