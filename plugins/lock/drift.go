package lock

import (
	"maps"
	"slices"

	"github.com/cloister-wasm/cloister/internal/plaintext"
)

// What is a part of a plugin or a tool that can drift.
type What string

// Values of [What].
const (
	WhatPlugin      What = "plugin"      // all of it: it is new or gone
	WhatDigest      What = "digest"      // the artifact
	WhatSigner      What = "signer"      // who signed it
	WhatPublisher   What = "publisher"   // the publisher's name in the trust policy
	WhatVersion     What = "version"     // the version
	WhatTool        What = "tool"        // all of it: it is new or gone
	WhatParameters  What = "parameters"  // the schema of the input; Before and After are hashes
	WhatReturns     What = "returns"     // the schema of the result; Before and After are hashes
	WhatTitle       What = "title"       // the title for people
	WhatDescription What = "description" // the description, as far as it is kept
	WhatDefinition  What = "definition"  // the name, or what is not kept of the description; Before and After are hashes

	// What the author says that the tool does, each "true", "false" or ""; and when he wants a person to be asked.
	WhatReadOnly    What = "readOnlyHint"
	WhatDestructive What = "destructiveHint"
	WhatIdempotent  What = "idempotentHint"
	WhatOpenWorld   What = "openWorldHint"
	WhatApproval    What = "approval"

	WhatAnnotations What = "annotations" // title, hints and approval of an entry that version 1 wrote, which did not hold them
)

// Difference is one thing that is not as it was locked.
type Difference struct {
	// ID is that of a plugin ("acme.hello") or of a tool in the catalog ("cloister:acme.hello:greet").
	ID string
	// What is the part that differs.
	What What
	// New: the file does not have it. Gone: it is not there any more. Neither: it changed.
	New, Gone bool
	// Stricter says that a hint or the approval changed so that approvals and policies ask for more: that is applied as it
	// is, and no drift.
	Stricter bool
	// Before and After are what was locked and what is there now; "" for nothing. They are foreign texts of up to
	// [MaxDescriptionBytes].
	Before, After string
}

// Changed says that both sides have it, and differ.
func (d Difference) Changed() bool { return !d.New && !d.Gone }

// Claim says that it is about a hint or the approval, whose values are no foreign text.
func (d Difference) Claim() bool { return isClaim(d.What) }

// String is one bounded line.
func (d Difference) String() string {
	id := plaintext.Line(d.ID, 300)
	switch {
	case d.New:
		return id + " is new: the lock file does not have it"
	case d.Gone:
		return id + " is gone: only the lock file has it"
	}
	if d.What == WhatAnnotations && d.After != "" {
		return id + ": its title and annotations were not locked before, and are now " + plaintext.Line(d.After, 300)
	}
	return id + ": its " + string(d.What) + " changed from " + d.side(d.Before) + " to " + d.side(d.After)
}

func (d Difference) side(s string) string {
	switch {
	case s == "":
		return "none"
	case hashForm.MatchString(s), isClaim(d.What):
		return plaintext.Line(s, 160)
	}
	return `"` + plaintext.Line(s, 160) + `"`
}

// CheckPlugin compares a plugin with the file: nil if digest and signer are as it says, else a [*DriftError]. A nil file
// is an empty one.
func (f *File) CheckPlugin(id, digest, signer string) error {
	was, ok := f.plugin(id)
	if !ok {
		return drift([]Difference{{ID: id, What: WhatPlugin, New: true, After: digest}})
	}
	now := was
	now.Digest, now.Signer = digest, signer
	return drift(comparePlugins(id, was, now))
}

// CheckTool compares a tool, by its id in the catalog, with the file: nil if it is as the file says or stricter, else a
// [*DriftError]. A nil file is an empty one.
//
// Of an entry that version 1 wrote nobody knows which title and which hints were agreed to. It lets a tool in that has no
// title and whose hints are the strictest, so that they cannot be looser than those, and one of a plugin that is
// locked by its digest, which covers them. All others have drifted: their hints are to be looked at, once.
func (f *File) CheckTool(id string, t Tool) error {
	was, ok := f.tool(id)
	if !ok {
		return drift([]Difference{{ID: id, What: WhatTool, New: true, After: t.Description}})
	}
	return drift(f.compareTools(id, &was, &t))
}

// Differences lists what differs between f, what was agreed to, and now, what is there: plugins first, each by id.
func (f *File) Differences(now *File) []Difference {
	var list []Difference
	var before, after File
	if f != nil {
		before = *f
	}
	if now != nil {
		after = *now
	}
	for _, id := range ids(before.Plugins, after.Plugins) {
		was, had := before.Plugins[id]
		is, has := after.Plugins[id]
		switch {
		case !had:
			list = append(list, Difference{ID: id, What: WhatPlugin, New: true, After: is.Digest})
		case !has:
			list = append(list, Difference{ID: id, What: WhatPlugin, Gone: true, Before: was.Digest})
		default:
			list = append(list, comparePlugins(id, was, is)...)
		}
	}
	for _, id := range ids(before.Tools, after.Tools) {
		was, had := before.Tools[id]
		is, has := after.Tools[id]
		switch {
		case !had:
			list = append(list, Difference{ID: id, What: WhatTool, New: true, After: is.Description})
		case !has:
			list = append(list, Difference{ID: id, What: WhatTool, Gone: true, Before: was.Description})
		default:
			list = append(list, before.compareTools(id, &was, &is)...)
		}
	}
	return list
}

func (f *File) plugin(id string) (Plugin, bool) {
	if f == nil {
		return Plugin{}, false
	}
	p, ok := f.Plugins[id]
	return p, ok
}

func (f *File) tool(id string) (Tool, bool) {
	if f == nil {
		return Tool{}, false
	}
	t, ok := f.Tools[id]
	return t, ok
}

// ids are the keys of both maps, sorted, each once.
func ids[V any](a, b map[string]V) []string {
	all := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(all)
	return slices.Compact(all)
}

func comparePlugins(id string, was, now Plugin) []Difference {
	return compare(id, []part{
		{WhatDigest, was.Digest, now.Digest},
		{WhatSigner, was.Signer, now.Signer},
		{WhatPublisher, was.Publisher, now.Publisher},
		{WhatVersion, was.Version, now.Version},
	})
}

// compareTools lists what differs between an entry and a tool. What cannot be known of an entry counts as different,
// but for what is shown to be no looser.
func (f *File) compareTools(id string, was, now *Tool) []Difference {
	parts := []part{
		{WhatParameters, was.ParametersHash, now.ParametersHash},
		{WhatReturns, was.ReturnsHash, now.ReturnsHash},
		{WhatDescription, was.Description, now.Description},
	}
	whole := was.Annotations != nil && now.Annotations != nil
	if whole {
		parts = append(parts, part{WhatTitle, was.Title, now.Title})
	}
	list := compare(id, parts)
	if len(list) == 0 {
		list = compare(id, []part{{WhatDefinition, was.Hash, now.Hash}})
	}
	switch {
	case whole:
		list = append(list, compareClaims(id, was, now)...)
	case f.covers(id) || was.Annotations == nil && now.Annotations == nil:
	case was.Annotations != nil: // now is an entry that version 1 wrote
		list = append(list, Difference{ID: id, What: WhatAnnotations, Before: claimed(was)})
	case now.Title != "" || !strictest(id, now):
		list = append(list, Difference{ID: id, What: WhatAnnotations, After: claimed(now)})
	}
	return list
}

// covers says whether the file holds the digest of the plugin whose tool it is: the manifest, with all that is said of
// the tool, is part of what the digest is of.
func (f *File) covers(id string) bool {
	_, ok := f.plugin(PluginOf(id))
	return ok
}

type part struct {
	what          What
	before, after string
}

func compare(id string, parts []part) []Difference {
	var list []Difference
	for _, p := range parts {
		if p.before != p.after {
			list = append(list, Difference{ID: id, What: p.what, Before: p.before, After: p.after})
		}
	}
	return list
}

// drift makes an error of the differences that take away from what was agreed to.
func drift(list []Difference) error {
	list = slices.DeleteFunc(list, func(d Difference) bool { return d.Stricter })
	if len(list) == 0 {
		return nil
	}
	return &DriftError{Difference: list[0], More: list[1:]}
}
