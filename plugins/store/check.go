package store

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/semver"

	"github.com/cloister-wasm/cloister/internal/plaintext"
)

// Bounds of an entry. The manifest's schema has those of id, version, tools and namespaces; trust those of publishers.
const (
	maxID         = 80
	maxVersion    = 64
	maxRef        = 1024
	maxPublisher  = 256
	maxSigner     = 2048
	maxName       = 128
	maxNames      = 256
	maxBlobs      = 16
	maxSignatures = 16
)

var (
	idForm     = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*\.[a-z][a-z0-9]*(-[a-z0-9]+)*$`)
	toolForm   = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*$`)
	globalForm = regexp.MustCompile(`^[A-Za-z_$][A-Za-z0-9_$]*$`)
)

// check holds the rules that every generation keeps, whether it was read or is about to be written.
func (g *Generation) check() error {
	switch {
	case g.Number < 0 || g.Number > MaxGeneration:
		return fail(ErrInvalid, "the number %d is out of bounds", g.Number)
	case !wholeSeconds(g.Created):
		return fail(ErrInvalid, "the time is not UTC in whole seconds")
	case !readable(g.Reason, maxReason):
		return fail(ErrInvalid, "the reason cannot be read")
	case len(g.Entries) > MaxEntries:
		return fail(ErrFull, "%d plugins are more than %d", len(g.Entries), MaxEntries)
	case g.Entries == nil:
		return fail(ErrInvalid, "the list of entries is missing")
	}
	taken := claims{}
	for i := range g.Entries {
		e := &g.Entries[i]
		if i > 0 && cmp.Compare(g.Entries[i-1].ID, e.ID) >= 0 {
			return fail(ErrInvalid, "the entries are not sorted by id, or one is there twice")
		}
		if err := e.check(); err != nil {
			return err
		}
		if err := taken.add(e); err != nil {
			return err
		}
	}
	return nil
}

func (e *Entry) check() error {
	bad := func(what string) error {
		return fail(ErrInvalid, "the %s of %q is not valid", what, plaintext.Line(e.ID, maxID))
	}
	switch {
	case len(e.ID) > maxID || !idForm.MatchString(e.ID):
		return bad("id")
	case len(e.Version) > maxVersion || !fullVersion(e.Version):
		return bad("version")
	case !isDigest(e.Digest):
		return bad("digest")
	case e.Ref != "" && !readable(e.Ref, maxRef):
		return bad("reference")
	case !readable(e.Publisher, maxPublisher):
		return bad("publisher")
	case !readable(e.Signer, maxSigner):
		return bad("signer")
	case !digests(e.Signatures, maxSignatures):
		return bad("list of signatures")
	case !digests(e.Blobs, maxBlobs) || !slices.Contains(e.Blobs, e.Digest):
		return bad("list of blobs")
	case !names(e.Tools, toolForm) || len(e.Tools) == 0:
		return bad("list of tools")
	case !names(e.Globals, globalForm):
		return bad("list of globals")
	case !wholeSeconds(e.Installed):
		return bad("time of installation")
	}
	return nil
}

// fullVersion wants all three parts, which package semver does not, and no leading v, which it does.
func fullVersion(s string) bool {
	core, _, _ := strings.Cut(s, "+")
	core, _, _ = strings.Cut(core, "-")
	return semver.IsValid("v"+s) && strings.Count(core, ".") == 2
}

// readable says whether a text is there, bounded and of visible characters.
func readable(s string, most int) bool {
	return s != "" && len(s) <= most && plaintext.Plain(s)
}

func wholeSeconds(t time.Time) bool {
	_, offset := t.Zone()
	return offset == 0 && t.Nanosecond() == 0 && t.Year() >= 1970 && t.Year() <= 9999
}

// digests checks a list: bounded, sorted, each once.
func digests(list []string, most int) bool {
	if list == nil || len(list) > most || slices.ContainsFunc(list, func(d string) bool { return !isDigest(d) }) {
		return false
	}
	return increasing(list)
}

func names(list []string, form *regexp.Regexp) bool {
	if len(list) > maxNames || slices.ContainsFunc(list, func(n string) bool { return len(n) > maxName || !form.MatchString(n) }) {
		return false
	}
	return increasing(list)
}

func increasing(list []string) bool {
	for i := 1; i < len(list); i++ {
		if list[i-1] >= list[i] {
			return false
		}
	}
	return true
}

// claims are the names that plugins have, and whose they are. Case does not count in names of tools: models mistake it.
type claims map[string]string

// add enters the names of a plugin, or says which one is taken.
func (c claims) add(e *Entry) error {
	if err := c.check("tool", e.ID, e.Tools); err != nil {
		return err
	}
	if err := c.check("global", e.ID, e.Globals); err != nil {
		return err
	}
	for _, n := range e.Tools {
		c["tool "+strings.ToLower(n)] = e.ID
	}
	for _, n := range e.Globals {
		c["global "+n] = e.ID
	}
	return nil
}

func (c claims) check(kind, id string, names []string) error {
	for _, n := range names {
		key := kind + " " + n
		if kind == "tool" {
			key = kind + " " + strings.ToLower(n)
		}
		if owner, taken := c[key]; taken {
			return &ConflictError{Kind: kind, Name: n, Plugin: id, Owner: owner}
		}
	}
	return nil
}
