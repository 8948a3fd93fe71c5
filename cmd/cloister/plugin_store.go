package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cloister-wasm/cloister/plugins"
	"github.com/cloister-wasm/cloister/plugins/lock"
	"github.com/cloister-wasm/cloister/plugins/store"
	"github.com/cloister-wasm/cloister/plugins/trust"
)

// openInstalledStore opens the store for a command that needs something in it.
func openInstalledStore() (*store.Store, error) {
	s, err := existingStore()
	if err == nil && s == nil {
		err = usageError(errors.New("no plugin was ever installed"), "cloister plugin install REF installs one")
	}
	return s, err
}

// installedNow is the store and its current generation.
func installedNow() (*store.Store, *store.Generation, error) {
	s, err := openInstalledStore()
	if err != nil {
		return nil, nil, err
	}
	now, err := s.Current()
	return s, now, err
}

const listLong = `Lists the installed plugins. Each enabled one is checked as loading it would: one
that would be refused says at which step and why.`

func (a *app) pluginList() *cobra.Command {
	trustFile, lockFile, asJSON := "", "", false
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the installed plugins and whether they would be loaded",
		Long:  listLong,
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return operatorFault(cmd.Context(), a.listInstalled(cmd.Context(), trustFile, lockFile, asJSON))
		},
	}
	trustFlag(cmd, &trustFile)
	cmd.Flags().StringVar(&lockFile, "lock", "", "lock `FILE` (default: $CLOISTER_LOCK, else that of what is installed)")
	jsonFlag(cmd, &asJSON)
	return cmd
}

// States of an installed plugin.
const (
	stateEnabled  = "enabled"
	stateDisabled = "disabled"
	stateRefused  = "refused"
)

// installedJSON is one plugin of the list.
type installedJSON struct {
	ID        string       `json:"id"`
	Version   string       `json:"version"`
	State     string       `json:"state"`
	Refusal   *refusalJSON `json:"refusal,omitempty"`
	Publisher string       `json:"publisher"`
	Signer    string       `json:"signer"`
	Ref       string       `json:"ref,omitempty"`
	Digest    string       `json:"digest"`
	Tools     []string     `json:"tools"`
	Globals   []string     `json:"globals,omitempty"`
	Installed string       `json:"installed"`
}

type listJSON struct {
	Generation int             `json:"generation"`
	Plugins    []installedJSON `json:"plugins"`
}

func (a *app) listInstalled(ctx context.Context, trustFile, lockFile string, asJSON bool) error {
	report := &listJSON{Plugins: []installedJSON{}}
	s, err := existingStore()
	if err != nil {
		return err
	}
	if s != nil {
		now, err := s.Current()
		if err != nil {
			return err
		}
		refused, err := refusals(ctx, s, now, trustFile, lockFile)
		if err != nil {
			return err
		}
		report.Generation = now.Number
		for i := range now.Entries {
			report.Plugins = append(report.Plugins, installedEntry(&now.Entries[i], refused[now.Entries[i].ID]))
		}
	}
	if asJSON {
		return a.printJSON(report)
	}
	return a.write(installedText(a.stdout, report))
}

func installedEntry(e *store.Entry, refused *trust.Error) installedJSON {
	row := installedJSON{
		ID: e.ID, Version: e.Version, State: stateEnabled, Publisher: e.Publisher, Signer: e.Signer, Ref: e.Ref, Digest: e.Digest,
		Tools: e.Tools, Globals: e.Globals, Installed: e.Installed.Format("2006-01-02T15:04:05Z"),
	}
	switch {
	case e.Disabled:
		row.State = stateDisabled
	case refused != nil:
		row.State, row.Refusal = stateRefused, &refusalJSON{refused.Step, refused.State, refused.Detail}
	}
	return row
}

// refusals are the enabled plugins that would not be loaded, by id. Without a policy
// that is all of them.
func refusals(ctx context.Context, s *store.Store, now *store.Generation, trustFile, lockFile string) (map[string]*trust.Error, error) {
	out := map[string]*trust.Error{}
	l, err := loadLock(lockFile)
	if err != nil {
		return nil, err
	}
	policy, err := loadPolicy(trustFile)
	if errors.Is(err, trust.ErrNoPolicy) {
		for _, e := range now.Entries {
			out[e.ID] = &trust.Error{Step: trust.StepPolicy, State: trust.StateInternal, Plugin: e.ID, Detail: err.Error()}
		}
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	loaded, err := s.Load(ctx, policy, l, nil)
	if err != nil {
		return nil, err
	}
	for _, e := range loaded.Refused {
		out[e.Plugin] = e
	}
	return out, loaded.Close()
}

// installedText is the table of installed plugins.
func installedText(s *stream, r *listJSON) string {
	if len(r.Plugins) == 0 {
		return "No plugins are installed.\n"
	}
	idWidth, versionWidth := 0, 0
	for _, p := range r.Plugins {
		idWidth, versionWidth = max(idWidth, textWidth(escapeLine(p.ID))), max(versionWidth, textWidth(escapeLine(p.Version)))
	}
	var b strings.Builder
	for _, p := range r.Plugins {
		state := pad(p.State, 9)
		switch p.State {
		case stateRefused:
			state = s.paint(styleRed, p.State) + strings.Repeat(" ", 9-len(p.State))
		case stateDisabled:
			state = s.paint(styleDim, p.State) + strings.Repeat(" ", 9-len(p.State))
		}
		from := p.Ref
		if from == "" {
			from = "a file"
		}
		fmt.Fprintf(&b, "%s  %s  %s %s, from %s\n", pad(escapeLine(p.ID), idWidth), pad(escapeLine(p.Version), versionWidth), state, escapeLine(p.Publisher), escapeLine(from))
		if p.Refusal != nil {
			bullet(&b, s, "", fmt.Sprintf("refused at %s, %s: %s", p.Refusal.Step, p.Refusal.State, p.Refusal.Detail))
		}
	}
	fmt.Fprintf(&b, "\n%s\n", s.paint(styleDim, fmt.Sprintf("generation %d", r.Generation)))
	return b.String()
}

// onePlugin makes a command that changes one installed plugin.
func (a *app) onePlugin(use, short string, do func(ctx context.Context, s *store.Store, id string) (*store.Generation, string, error)) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:   use + " ID",
		Short: short,
		Args:  exactly(1, use+" takes one ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			s, err := openInstalledStore()
			if err != nil {
				return operatorFault(ctx, err)
			}
			g, done, err := do(ctx, s, args[0])
			if errors.Is(err, store.ErrSame) {
				if g, err = s.Current(); err == nil {
					done = args[0] + " is so already"
				}
			}
			if err != nil {
				return operatorFault(ctx, err)
			}
			if asJSON {
				return a.printJSON(map[string]any{"id": args[0], "generation": g.Number})
			}
			return a.write(fmt.Sprintf("%s (generation %d)\n", escapeLine(done), g.Number))
		},
		ValidArgsFunction: completeInstalled,
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func (a *app) pluginEnable() *cobra.Command {
	return a.onePlugin("enable", "Have a disabled plugin loaded again", func(ctx context.Context, s *store.Store, id string) (*store.Generation, string, error) {
		g, err := s.SetEnabled(ctx, id, true)
		return g, "enabled " + id, err
	})
}

func (a *app) pluginDisable() *cobra.Command {
	return a.onePlugin("disable", "Keep a plugin installed, and do not load it", func(ctx context.Context, s *store.Store, id string) (*store.Generation, string, error) {
		g, err := s.SetEnabled(ctx, id, false)
		return g, "disabled " + id, err
	})
}

func (a *app) pluginRemove() *cobra.Command {
	return a.onePlugin("remove", "Remove an installed plugin; rollback brings it back", func(ctx context.Context, s *store.Store, id string) (*store.Generation, string, error) {
		g, err := s.Remove(ctx, id)
		if err == nil {
			err = changeDataLock(func(l *lock.File) { dropPlugin(l, id) })
		}
		return g, "removed " + id, err
	})
}

// completeInstalled offers the ids of installed plugins.
func completeInstalled(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	s, err := existingStore()
	if s == nil || err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	now, err := s.Current()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var out []cobra.Completion
	for _, e := range now.Entries {
		out = append(out, cobra.CompletionWithDesc(e.ID, e.Version))
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// completeGenerations offers the numbers of generations, newest first.
func completeGenerations(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	s, err := existingStore()
	if s == nil || err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	list, err := s.Generations()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var out []cobra.Completion
	for i := len(list) - 2; i >= 0; i-- {
		out = append(out, cobra.CompletionWithDesc(strconv.Itoa(list[i].Number), escapeLine(list[i].Reason)))
	}
	return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// manifestOf reads the manifest of an entry. A generation that is kept may have a
// damaged file.
func manifestOf(s *store.Store, e *store.Entry) (*plugins.Manifest, error) {
	artifact, err := s.Artifact(e.Digest)
	if err != nil {
		return nil, err
	}
	return artifact.Manifest()
}
