package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/cloister-wasm/cloister/plugins"
	"github.com/cloister-wasm/cloister/plugins/bundle"
	"github.com/cloister-wasm/cloister/plugins/lock"
	"github.com/cloister-wasm/cloister/plugins/store"
	"github.com/cloister-wasm/cloister/plugins/trust"
)

const installLong = `Installs a plugin, or updates it. It is fetched and checked against the trust
policy: signature, signer, what the signer may own, and the rest, see
"cloister plugin verify". Then it shows what a person needs to decide, and
asks.

A new plugin is always asked about. An update is asked about where the plugin
gets more than it had; where what a model reads of it differs (descriptions,
schemas, examples, prompts), what a function of a global calls, or what a tool
claims about itself; where it is signed by somebody else, or is an older
version; and where its version is not the one that the tag of REF says. What
only narrows, and other code behind the same manifest, is said and not asked.
--yes agrees without being asked; without a terminal there is no other way.

Then the plugin is compiled, which takes a moment for large ones and refuses
code that cannot be used. What is installed is written down in the lock file
of the data folder: from then on the plugin is loaded only as it was agreed
to.`

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
	Asks       bool         `json:"asks"`
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
	f.remote.signer = policy.SignerOf
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
	return a.settle(ctx, f, s, &planned{Verified: v, change: change, ref: ref, tag: otherVersion(ref, v.Manifest.Version)})
}

// planned is a plugin that may be installed.
type planned struct {
	*trust.Verified
	change *store.Change
	ref    string
	// tag is that of the reference where it is another version's, "" otherwise.
	tag string
	// agreed: what is installed now is what the lock file has, so that a difference
	// from it is a difference from what somebody agreed to.
	agreed bool
}

// otherVersion is the tag of a reference where it reads as a version that the plugin
// does not have.
func otherVersion(ref, version string) string {
	if parsed, err := bundle.ParseReference(ref); err == nil && parsed.Contradicts(version) {
		return parsed.Tag
	}
	return "" // also for a file, which has no reference
}

// agreedTo says whether the lock file has an installed plugin as it is.
func agreedTo(s *store.Store, locked *lock.File, e *store.Entry) bool {
	m, err := manifestOf(s, e)
	return err == nil && !drifted(locked, e, m)
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
	p.agreed = p.change.Before == nil || agreedTo(s, locked, p.change.Before)
	report := p.report()
	if p.change.Same && !drifted(locked, &p.change.After, p.Manifest) {
		report.Status = outcomeUnchanged
		if f.json {
			return report, nil
		}
		for _, c := range p.warnings() {
			a.complain("note: "+c.Text, "")
		}
		return report, a.write(fmt.Sprintf("%s %s is installed as it is there\n", escapeLine(report.ID), escapeLine(report.Version)))
	}
	if !f.json {
		if err := a.write(planText(a.stdout, p)); err != nil {
			return nil, err
		}
	}
	if report.Asks || p.change.Same {
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
