package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cloister-wasm/cloister/plugins"
	"github.com/cloister-wasm/cloister/plugins/bundle"
	"github.com/cloister-wasm/cloister/plugins/lock"
	"github.com/cloister-wasm/cloister/plugins/store"
	"github.com/cloister-wasm/cloister/plugins/trust"
)

const installLong = `Installs a plugin, or updates it. It is fetched and checked against the trust
policy: signature, signer, what the signer may own, and the rest, see "cloister
plugin verify". Then it shows what a person needs to decide, and asks.

A new plugin is always asked about. An update is asked about when the plugin gets
more than it had, is signed by somebody else, or is an older version. --yes
agrees without being asked; without a terminal there is no other way.

Then the plugin is compiled, which takes a moment for large ones and refuses code
that cannot be used. What is installed is written down in the lock file of the
data folder: from then on the plugin is loaded only as it was agreed to.`

// installFlags are the flags of install and update.
type installFlags struct {
	trust     string
	yes, json bool
	remote    remoteFlags
}

func (f *installFlags) register(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&f.yes, "yes", "y", false, "agree without being asked")
	trustFlag(cmd, &f.trust)
	f.remote.register(cmd)
	jsonFlag(cmd, &f.json)
}

func (a *app) pluginInstall() *cobra.Command {
	f := &installFlags{}
	cmd := &cobra.Command{
		Use:   "install FILE|DIR|REF",
		Short: "Install a plugin, or update it",
		Long:  installLong,
		Example: `  cloister plugin install registry.example/acme/hello:0.1.0
  cloister plugin install acme.hello-0.1.0.cloister --yes`,
		Args: exactly(1, "install takes one FILE, DIR or REF"),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.remote.quiet = f.json
			report, err := a.install(cmd.Context(), f, args[0], "")
			if err == nil && f.json {
				err = a.printJSON(report)
			}
			return operatorFault(cmd.Context(), err)
		},
		ValidArgsFunction: completePlugins(1),
	}
	f.register(cmd)
	return cmd
}

// Outcomes of an installation.
const (
	outcomeInstalled = "installed"
	outcomeUpdated   = "updated"
	outcomeUnchanged = "unchanged"
)

// installReport is what install and update print.
type installReport struct {
	Status     string       `json:"status"`
	ID         string       `json:"id"`
	Version    string       `json:"version"`
	Digest     string       `json:"digest"`
	Ref        string       `json:"ref,omitempty"`
	Publisher  string       `json:"publisher"`
	Signer     string       `json:"signer"`
	Generation int          `json:"generation,omitempty"`
	Widens     bool         `json:"widens"`
	Permitted  []string     `json:"permitted"`
	Changes    []changeJSON `json:"changes"`
}

// install installs one plugin. With an id it must have that one: a tag may point to
// anything tomorrow.
func (a *app) install(ctx context.Context, f *installFlags, arg, id string) (*installReport, error) {
	// Before anything is fetched: without a policy there is nothing to check against.
	policy, err := loadPolicy(f.trust)
	if err != nil {
		return nil, err
	}
	o, err := a.open(ctx, arg, &f.remote)
	if err != nil {
		return nil, err
	}
	ref := ""
	switch o.place {
	case placeStore:
		return nil, usageError(fmt.Errorf("%s is installed already", arg), "cloister plugin update "+arg+" looks for a newer one")
	case placeRegistry:
		ref = arg
	}
	v, err := verified(ctx, policy, o.artifact, ref)
	if err != nil {
		return nil, err
	}
	if id != "" && v.Manifest.ID != id {
		return nil, usageError(fmt.Errorf("%s is now another plugin: %s instead of %s", arg, v.Manifest.ID, id), "cloister plugin install installs it, if that is what you want")
	}
	dir, err := storeDir()
	if err != nil {
		return nil, err
	}
	s, err := store.Open(dir, nil)
	if err != nil {
		return nil, err
	}
	change, err := s.Plan(v)
	if err != nil {
		return nil, err
	}
	return a.settle(ctx, f, s, &planned{v, change, ref})
}

// planned is a plugin that may be installed.
type planned struct {
	*trust.Verified
	change *store.Change
	ref    string
}

// verified checks a plugin as loading it will.
func verified(ctx context.Context, policy *trust.Policy, artifact *bundle.Artifact, ref string) (*trust.Verified, error) {
	v, err := policy.Verify(ctx, artifact)
	if err != nil {
		return nil, err
	}
	p, err := plugins.New(v.Manifest, artifact.Files().Wasm, v.Origin(ref), nil)
	if err != nil {
		return nil, trust.Classify(err)
	}
	return v, p.Close()
}

// settle shows a plugin, asks, and installs it.
func (a *app) settle(ctx context.Context, f *installFlags, s *store.Store, p *planned) (*installReport, error) {
	locked, err := openDataLock()
	if err != nil {
		return nil, err
	}
	report := p.report()
	if p.change.Same && !drifted(locked, &p.change.After, p.Manifest) {
		report.Status = outcomeUnchanged
		if f.json {
			return report, nil
		}
		return report, a.write(fmt.Sprintf("%s %s is installed as it is there\n", escapeLine(report.ID), escapeLine(report.Version)))
	}
	if !f.json {
		if err := a.write(planText(a.stdout, p)); err != nil {
			return nil, err
		}
	}
	if p.change.Widens() || p.change.Same {
		what := "install"
		if p.change.Before != nil {
			what = "update to"
		}
		if err := a.consent(ctx, fmt.Sprintf("%s %s %s?", what, report.ID, report.Version), f.yes, f.json); err != nil {
			return nil, err
		}
	}
	if err := a.compileAhead(ctx, f, p); err != nil {
		return nil, err
	}
	g, err := s.InstallPlanned(ctx, p.Verified, p.ref, p.change)
	if err != nil && !errors.Is(err, store.ErrSame) {
		return nil, err
	}
	if g != nil {
		report.Generation = g.Number
	} else {
		report.Status = outcomeUnchanged
	}
	if err := changeDataLock(func(l *lock.File) { takePlugin(l, &p.change.After, p.Manifest) }); err != nil {
		return nil, fmt.Errorf("%s is installed, but not written down in the lock file, and is refused until cloister lock accept %s: %w", report.ID, report.ID, err)
	}
	if os.Getenv("CLOISTER_LOCK") != "" {
		a.complain("note: CLOISTER_LOCK names a lock file of its own", "cloister lock accept "+report.ID+" takes the plugin there")
	}
	if f.json {
		return report, nil
	}
	text := fmt.Sprintf("%s %s %s", report.Status, escapeLine(report.ID), escapeLine(report.Version))
	if g != nil {
		text += fmt.Sprintf(" (generation %d)", g.Number)
	} else {
		text += "; the lock file has it as it is now"
	}
	if p.change.After.Disabled {
		text += "; it is disabled"
	}
	return report, a.write(text + "\n")
}

// compileAhead makes the machine code of a plugin before it is installed: one whose
// code cannot be used is refused here, and the first run need not wait for it.
func (a *app) compileAhead(ctx context.Context, f *installFlags, p *planned) error {
	u := &ui{out: a.stdout, err: a.stderr, open: map[string]string{}, noCell: true, progress: a.stderr.tty && !f.json}
	done := u.watch(ctx)
	defer done()
	compiled, err := plugins.New(p.Manifest, p.Artifact.Files().Wasm, p.Origin(p.ref), &plugins.LoadOptions{CacheDir: pluginCache(), Progress: u.compiling})
	if err == nil {
		err = errors.Join(compiled.Compile(ctx), compiled.Close())
	}
	if err != nil {
		return trust.Classify(err)
	}
	return nil
}

func (p *planned) report() *installReport {
	c := p.change
	r := &installReport{
		Status: outcomeInstalled, ID: p.Manifest.ID, Version: p.Manifest.Version, Digest: c.After.Digest, Ref: p.ref,
		Publisher: c.After.Publisher, Signer: c.After.Signer, Widens: c.Widens(), Permitted: p.Manifest.Permissions.InWords(), Changes: []changeJSON{},
	}
	if c.Before != nil {
		r.Status = outcomeUpdated
	}
	for _, change := range p.changes().Changes {
		r.Changes = append(r.Changes, changeJSON(change))
	}
	return r
}

// changes adds to the difference of the manifests what is not in them.
func (p *planned) changes() *plugins.Difference {
	c, d := p.change, &plugins.Difference{}
	if c.Before == nil {
		return d
	}
	if c.SignerChanged {
		d.Changes = append(d.Changes, plugins.Change{Area: "signer", Path: "/signature", Before: c.Before.Signer, After: c.After.Signer, Widens: true,
			Text: fmt.Sprintf("It is signed by another: %s of %s, before it was %s of %s.", c.After.Signer, c.After.Publisher, c.Before.Signer, c.Before.Publisher)})
	}
	if c.Downgrade {
		d.Changes = append(d.Changes, plugins.Change{Area: "version", Path: "/version", Before: c.Before.Version, After: c.After.Version, Widens: true,
			Text: fmt.Sprintf("It goes back from %s to the older version %s, which may have faults that were mended since.", c.Before.Version, c.After.Version)})
	}
	d.Changes = append(d.Changes, c.Diff.Changes...)
	if len(d.Changes) == 0 && c.Before.Digest != c.After.Digest {
		d.Changes = append(d.Changes, plugins.Change{Area: "code", Path: "/wasm", Before: c.Before.Digest, After: c.After.Digest, Text: "Only code or texts changed."})
	}
	return d
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
		b.WriteString(changesText(s, d))
		if d.Widens() {
			b.WriteString("\n" + s.paint(styleYellow, "!") + " marks what the plugin did not have before.\n")
		}
		return b.String() + "\n"
	}
	for _, line := range wrapText(escapeText(m.Description), min(s.width(), 100)) {
		b.WriteString(line + "\n")
	}
	heading(&b, s, "Permissions")
	for _, sentence := range m.Permissions.InWords() {
		bullet(&b, s, "- ", sentence)
	}
	heading(&b, s, "Tools")
	for i := range m.Tools {
		inspectTool(&b, s, &m.Tools[i])
	}
	if len(m.Namespaces) > 0 {
		heading(&b, s, "Globals of cells")
	}
	for i := range m.Namespaces {
		inspectNamespace(&b, s, &m.Namespaces[i], membersOf(m))
	}
	return b.String() + "\n"
}
