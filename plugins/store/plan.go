package store

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"

	"golang.org/x/mod/semver"

	"github.com/cloister-wasm/cloister/plugins"
	"github.com/cloister-wasm/cloister/plugins/trust"
)

// Change is what installing a plugin would do.
type Change struct {
	// Before is the entry that would be replaced, nil for a plugin that is not installed.
	Before *Entry
	// After is the entry as it would be. Ref and Installed are not set.
	After Entry
	// Diff compares the manifests. Where Before's artifact is damaged everything counts as new.
	Diff *plugins.Difference
	// SignerChanged: somebody else signed it than what is installed.
	SignerChanged bool
	// Downgrade: its version is lower than that of what is installed.
	Downgrade bool
	// CodeChanged: the module differs from that of what is installed, or nothing can be said about the latter.
	CodeChanged bool
	// Same: this artifact with these signatures is installed already.
	Same bool
}

// Asks says that a person should agree first: the plugin is new, is signed by somebody else, is an older version, which may
// have faults that were mended since, or [plugins.Difference.Asks].
func (c *Change) Asks() bool {
	return c.Before == nil || c.SignerChanged || c.Downgrade || c.Diff.Asks()
}

// Widens is [Change.Asks]: programs that decide by it whether to ask do so for all that needs consent.
func (c *Change) Widens() bool { return c.Asks() }

// Plan says what [Store.Install] would do, without doing it. Errors are those of Install that can be known before:
// ErrUnverified, ErrConflict, ErrInvalid, ErrDamaged for the store's own files.
func (s *Store) Plan(v *trust.Verified) (*Change, error) {
	after, err := entryOf(v)
	if err != nil {
		return nil, err
	}
	f, now, done, err := s.look()
	if err != nil {
		return nil, err
	}
	defer done()
	if err := now.conflicts(&after); err != nil {
		return nil, err
	}
	c := &Change{After: after}
	before, ok := now.Entry(after.ID)
	if !ok {
		c.Diff, c.CodeChanged = plugins.Compare(nil, v.Manifest), true
		return c, nil
	}
	c.Before = before
	c.After.Disabled = before.Disabled
	c.SignerChanged = before.Signer != after.Signer
	c.Downgrade = semver.Compare("v"+after.Version, "v"+before.Version) < 0
	c.Same = same(before, &after)
	return c, f.compare(c, v)
}

// compare fills in what differs from what is installed. Where that is damaged, or has a manifest that this version does not
// take any more, everything counts as new.
func (f folder) compare(c *Change, v *trust.Verified) error {
	m := v.Manifest
	c.Diff, c.CodeChanged = plugins.Compare(m, m), false
	if c.Before.Digest == c.After.Digest {
		return nil
	}
	c.Diff, c.CodeChanged = plugins.Compare(nil, m), true
	a, err := f.artifact(c.Before)
	if err != nil {
		if isDamage(err) {
			return nil
		}
		return err
	}
	c.CodeChanged = !bytes.Equal(a.Files().Wasm, v.Artifact.Files().Wasm)
	old, err := a.Manifest()
	if err != nil { // it was good when it was installed, under the rules of another version
		var me *plugins.ManifestError
		if errors.As(err, &me) {
			return nil
		}
		return err
	}
	c.Diff = plugins.Compare(old, m)
	return nil
}

// same says whether installing would change nothing.
func same(before, after *Entry) bool {
	return before.Digest == after.Digest && before.Signer == after.Signer && slices.Equal(before.Signatures, after.Signatures)
}

// entryOf describes what was verified. Only trust.Policy.Verify makes a Verified with an origin.
func entryOf(v *trust.Verified) (Entry, error) {
	if v == nil || v.Artifact == nil || v.Manifest == nil {
		return Entry{}, fail(ErrUnverified, "there is nothing; verify the artifact with a trust policy first")
	}
	o := v.Origin("")
	if o.Unsigned || o.Publisher == "" || o.Signer == "" || o.Digest != v.Artifact.Digest() {
		return Entry{}, fail(ErrUnverified, "nobody vouches for %s; verify the artifact with a trust policy first", v.Manifest.ID)
	}
	e := Entry{ID: v.Manifest.ID, Version: v.Manifest.Version, Digest: o.Digest, Publisher: o.Publisher, Signer: o.Signer, Signatures: []string{}}
	for d := range v.Artifact.Blobs() {
		e.Blobs = append(e.Blobs, d)
	}
	for _, b := range v.Artifact.Signatures() {
		e.Signatures = append(e.Signatures, digestOf(b))
	}
	for _, t := range v.Manifest.Tools {
		e.Tools = append(e.Tools, t.Name)
	}
	for _, n := range v.Manifest.Namespaces {
		e.Globals = append(e.Globals, n.GlobalName)
	}
	for _, list := range []*[]string{&e.Blobs, &e.Signatures, &e.Tools, &e.Globals} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return e, nil
}

// conflicts says whether somebody else has what e claims. Disabled plugins keep their names: enabling one must not fail.
func (g *Generation) conflicts(e *Entry) error {
	taken := claims{}
	for i := range g.Entries {
		other := &g.Entries[i]
		if other.ID != e.ID {
			if err := taken.add(other); err != nil {
				return err
			}
			continue
		}
		if other.Publisher != e.Publisher {
			return &ConflictError{Kind: "id", Name: e.ID, Plugin: e.Publisher, Owner: other.Publisher}
		}
	}
	return taken.add(e)
}

// with gives the entries with e in place of that of the same id.
func (g *Generation) with(e Entry) []Entry {
	list := g.without(e.ID)
	list = append(list, e)
	slices.SortFunc(list, func(a, b Entry) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

func (g *Generation) without(id string) []Entry {
	list := []Entry{}
	for _, e := range g.Entries {
		if e.ID != id {
			list = append(list, e.clone())
		}
	}
	return list
}

// Install installs a plugin, or updates it, and gives the new generation. ref is where it came from, and may be "". A
// plugin that is disabled stays so.
//
// It does not ask: show the [Change] of [Store.Plan] first, and use [Store.InstallPlanned] to install what was shown.
// Blobs that are damaged are written again, also when the error is ErrSame. Other errors: ErrUnverified, ErrConflict,
// ErrFull, ErrInvalid, ErrBusy, ErrDamaged, and those of the file system. After an error the store is as it was.
func (s *Store) Install(ctx context.Context, v *trust.Verified, ref string) (*Generation, error) {
	return s.install(ctx, v, ref, nil)
}

// InstallPlanned is [Store.Install], unless the installed plugin is no longer the one that c was planned for (ErrMoved), or
// v is not what c was planned with.
func (s *Store) InstallPlanned(ctx context.Context, v *trust.Verified, ref string, c *Change) (*Generation, error) {
	return s.install(ctx, v, ref, c)
}

func (s *Store) install(ctx context.Context, v *trust.Verified, ref string, planned *Change) (*Generation, error) {
	e, err := entryOf(v)
	if err != nil {
		return nil, err
	}
	e.Ref, e.Installed = ref, s.time()
	if err := e.check(); err != nil {
		return nil, err
	}
	blobs := v.Artifact.Blobs()
	for _, b := range v.Artifact.Signatures() {
		blobs[digestOf(b)] = b
	}
	return s.edit(ctx, func(c *change) ([]Entry, string, error) {
		before, had := c.now.Entry(e.ID)
		if planned != nil && !planned.holds(before, &e) {
			return nil, "", fail(ErrMoved, "%s; look at the difference again", e.ID)
		}
		if err := c.now.conflicts(&e); err != nil {
			return nil, "", err
		}
		healed, err := c.putBlobs(ctx, blobs)
		if err != nil {
			return nil, "", err
		}
		if !had {
			return c.now.with(e), "install " + e.ID + " " + e.Version, nil
		}
		if same(before, &e) {
			return nil, "", sameAs(before, healed)
		}
		e.Disabled = before.Disabled
		if before.Digest == e.Digest {
			return c.now.with(e), "take other signatures of " + e.ID + " " + e.Version, nil
		}
		return c.now.with(e), "update " + e.ID + " " + before.Version + " → " + e.Version, nil
	})
}

// holds says whether a plan is about replacing before with after.
func (c *Change) holds(before, after *Entry) bool {
	if c.After.Digest != after.Digest || (c.Before == nil) != (before == nil) {
		return false
	}
	return before == nil || c.Before.Digest == before.Digest && c.Before.Signer == before.Signer
}

func sameAs(e *Entry, healed int) error {
	more := ""
	if healed > 0 {
		more = "; its damaged files were written again"
	}
	if e.Disabled {
		more += "; it is disabled, enable it with `cloister plugin enable " + e.ID + "`"
	}
	return fail(ErrSame, "%s %s is installed already%s", e.ID, e.Version, more)
}

// putBlobs writes what is missing or damaged, and says how many were damaged.
func (c *change) putBlobs(ctx context.Context, blobs map[string][]byte) (healed int, err error) {
	for digest, data := range blobs {
		if err := ctx.Err(); err != nil {
			return healed, err
		}
		was, err := c.putBlob(digest, data)
		if err != nil {
			return healed, err
		}
		if was {
			healed++
		}
		c.s.stepped("a blob is written")
	}
	return healed, c.sync(blobDir)
}
