package main

import (
	"fmt"
	"strings"

	"github.com/cloister-wasm/cloister/plugins"
)

func (p *planned) report() *installReport {
	c := p.change
	r := &installReport{
		Status: outcomeInstalled, ID: p.Manifest.ID, Version: p.Manifest.Version, Digest: c.After.Digest, Ref: p.ref,
		Publisher: c.After.Publisher, Signer: c.After.Signer, Permitted: p.Manifest.Permissions.InWords(),
	}
	d := p.changes()
	r.Widens, r.Asks, r.Changes = c.Before == nil || d.Widens(), c.Before == nil || d.Asks(), changesJSON(d)
	if c.Before != nil {
		r.Status = outcomeUpdated
	}
	return r
}

// changes adds to the difference of the manifests what is not in them.
func (p *planned) changes() *plugins.Difference {
	c, d := p.change, &plugins.Difference{Changes: p.warnings()}
	if c.Before == nil {
		return d
	}
	if c.SignerChanged {
		d.Changes = append(d.Changes, plugins.Change{Area: "signer", Path: "/signature", Before: c.Before.Signer, After: c.After.Signer, Widens: true, Asks: true,
			Text: fmt.Sprintf("It is signed by another: %s of %s, before it was %s of %s.", c.After.Signer, c.After.Publisher, c.Before.Signer, c.Before.Publisher)})
	}
	if c.Downgrade {
		d.Changes = append(d.Changes, plugins.Change{Area: "version", Path: "/version", Before: c.Before.Version, After: c.After.Version, Widens: true, Asks: true,
			Text: fmt.Sprintf("It goes back from %s to the older version %s, which may have faults that were mended since.", c.Before.Version, c.After.Version)})
	}
	d.Changes = append(d.Changes, c.Diff.Changes...)
	switch {
	case c.CodeChanged:
		d.Changes = append(d.Changes, plugins.Change{Area: "code", Path: "/wasm", Text: "The code differs."})
	case len(d.Changes) == 0 && c.Before.Digest != c.After.Digest:
		d.Changes = append(d.Changes, plugins.Change{Area: "texts", Text: "Only the layout of the manifest, the README or the license differs."})
	}
	return d
}

// warnings are what is odd about the way to the plugin, or about what it is compared
// with.
func (p *planned) warnings() (list []plugins.Change) {
	if p.tag != "" {
		list = append(list, plugins.Change{Area: "reference", Path: "/tag", Before: p.tag, After: p.Manifest.Version, Asks: true,
			Text: fmt.Sprintf("The tag %s is another version's: the registry answered with %s. It may hold newer ones back.", p.tag, p.Manifest.Version)})
	}
	if !p.agreed {
		list = append(list, plugins.Change{Area: "lock", Asks: true,
			Text: "What is installed now is not what the lock file has: nobody agreed to what this is compared with."})
	}
	return list
}

// planText shows what a person needs to decide: of a new plugin all that it may do,
// of an update what changes.
func planText(s *stream, p *planned) string {
	var b strings.Builder
	m, c := p.Manifest, p.change
	title := m.ID + " " + m.Version
	if c.Before != nil {
		title = fmt.Sprintf("%s %s -> %s", m.ID, c.Before.Version, m.Version)
	}
	b.WriteString(s.paint(styleBold, escapeLine(title)) + "\nsigned by " + escapeLine(signerLine(p.Signer)) + "\n")
	if p.ref != "" {
		b.WriteString("from " + escapeLine(p.ref) + "\n")
	}
	b.WriteString("digest " + c.After.Digest + "\n")
	if c.Before != nil {
		d := p.changes()
		return b.String() + changesText(s, d) + legend(s, d) + "\n"
	}
	for _, line := range wrapText(escapeText(m.Description), min(s.width(), 100)) {
		b.WriteString(line + "\n")
	}
	if d := p.changes(); len(d.Changes) > 0 {
		b.WriteString(changesText(s, d) + legend(s, d))
	}
	inspectContents(&b, s, m, m.Permissions.InWords(), membersOf(m))
	return b.String() + "\n"
}
