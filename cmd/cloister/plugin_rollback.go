package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/cloister-wasm/cloister/plugins"
	"github.com/cloister-wasm/cloister/plugins/lock"
	"github.com/cloister-wasm/cloister/plugins/store"
)

const rollbackLong = `Returns to an earlier state of what is installed: the one before the current,
or that of a number that "cloister plugin generations" shows. It shows what
changes, and asks when a plugin comes back, gets something that it does not
have now, or is not what it is now in what a model reads of it or what its
functions call.

Going back grants no trust: a plugin that was revoked meanwhile, or is below
the least version of the trust policy, is refused when it is loaded.`

func (a *app) pluginRollback() *cobra.Command {
	yes, asJSON := false, false
	cmd := &cobra.Command{
		Use:   "rollback [GENERATION]",
		Short: "Return to an earlier state of what is installed",
		Long:  rollbackLong,
		Example: `  cloister plugin rollback
  cloister plugin rollback 3`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return fmt.Errorf("rollback takes one GENERATION and was given %d", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			number := 0
			if len(args) > 0 {
				var err error
				if number, err = strconv.Atoi(args[0]); err != nil || number < 1 {
					return usageError(fmt.Errorf("%q is not the number of a generation", args[0]), "cloister plugin generations shows them")
				}
			}
			return operatorFault(cmd.Context(), a.rollback(cmd.Context(), number, yes, asJSON))
		},
		ValidArgsFunction: completeGenerations,
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "agree without being asked")
	jsonFlag(cmd, &asJSON)
	return cmd
}

// rollbackJSON is what rollback prints.
type rollbackJSON struct {
	// Generation is the new one, Back the one whose plugins it has.
	Generation int          `json:"generation"`
	Back       int          `json:"back"`
	Widens     bool         `json:"widens"`
	Asks       bool         `json:"asks"`
	Changes    []changeJSON `json:"changes"`
}

func (a *app) rollback(ctx context.Context, number int, yes, asJSON bool) error {
	s, err := openInstalledStore()
	if err != nil {
		return err
	}
	now, target, err := rollbackTarget(s, number)
	if err != nil {
		return err
	}
	d, manifests, err := generationChanges(s, now, target)
	if err != nil {
		return err
	}
	if !asJSON {
		if err := a.write(fmt.Sprintf("back to generation %d: %s\n%s\n", target.Number, escapeLine(target.Reason), changesText(a.stdout, d)+legend(a.stdout, d))); err != nil {
			return err
		}
	}
	if d.Asks() {
		if err := a.consent(ctx, fmt.Sprintf("go back to generation %d?", target.Number), yes, asJSON); err != nil {
			return err
		}
	}
	g, err := s.Rollback(ctx, target.Number)
	if err != nil {
		return err
	}
	if err := changeDataLock(func(l *lock.File) { relock(l, now, g, manifests) }); err != nil {
		return fmt.Errorf("generation %d is installed, but not written down in the lock file; cloister lock accept does it: %w", g.Number, err)
	}
	if asJSON {
		return a.printJSON(rollbackJSON{Generation: g.Number, Back: target.Number, Widens: d.Widens(), Asks: d.Asks(), Changes: changesJSON(d)})
	}
	return a.write(fmt.Sprintf("installed is what generation %d had (generation %d)\n", target.Number, g.Number))
}

// rollbackTarget finds the current generation and the one to return to. With a
// number it works where the current one is damaged, which then counts as empty.
func rollbackTarget(s *store.Store, number int) (now, target *store.Generation, err error) {
	now, err = s.Current()
	if err != nil {
		if number == 0 || !errors.Is(err, store.ErrDamaged) {
			return nil, nil, err
		}
		now = &store.Generation{}
	}
	list, err := s.Generations()
	for i := len(list) - 1; i >= 0; i-- {
		g := list[i]
		if g.Number == number || number == 0 && g.Number < now.Number {
			return now, g, nil
		}
	}
	if err == nil || number == 0 {
		what := "before the current one"
		if number != 0 {
			what = strconv.Itoa(number)
		}
		err = errors.Join(fmt.Errorf("%w: %s", store.ErrNoGeneration, what), err)
	}
	return nil, nil, err
}

// generationChanges compares two generations, plugin by plugin, and gives the
// manifests of the second.
func generationChanges(s *store.Store, now, target *store.Generation) (*plugins.Difference, map[string]*plugins.Manifest, error) {
	d, manifests := &plugins.Difference{}, map[string]*plugins.Manifest{}
	for i := range target.Entries {
		after := &target.Entries[i]
		m, err := manifestOf(s, after)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", after.ID, err)
		}
		manifests[after.ID] = m
		before, ok := now.Entry(after.ID)
		area := after.ID
		switch {
		case !ok:
			d.Changes = append(d.Changes, plugins.Change{Area: area, Widens: true, Asks: true, Text: fmt.Sprintf("It comes back, in version %s, signed by %s.", after.Version, after.Publisher)})
			for _, sentence := range m.Permissions.InWords() {
				d.Changes = append(d.Changes, plugins.Change{Area: area, Widens: true, Asks: true, Text: sentence})
			}
			continue
		case before.Signer != after.Signer:
			d.Changes = append(d.Changes, plugins.Change{Area: area, Widens: true, Asks: true, Before: before.Signer, After: after.Signer,
				Text: fmt.Sprintf("It is signed by another: %s of %s, before it was %s of %s.", after.Signer, after.Publisher, before.Signer, before.Publisher)})
		}
		d.Changes = append(d.Changes, entryChanges(s, before, after, m)...)
	}
	for i := range now.Entries {
		if _, ok := target.Entry(now.Entries[i].ID); !ok {
			d.Changes = append(d.Changes, plugins.Change{Area: now.Entries[i].ID, Text: "It is not installed any more."})
		}
	}
	return d, manifests, nil
}

// entryChanges compares two versions of one plugin.
func entryChanges(s *store.Store, before, after *store.Entry, m *plugins.Manifest) []plugins.Change {
	var changes []plugins.Change
	if before.Disabled != after.Disabled {
		text := map[bool]string{true: "It is disabled.", false: "It is enabled."}[after.Disabled]
		changes = append(changes, plugins.Change{Area: after.ID, Text: text, Widens: before.Disabled, Asks: before.Disabled})
	}
	if before.Digest == after.Digest {
		return changes
	}
	// What cannot be read of the present state counts as nothing: all is new.
	old, err := manifestOf(s, before)
	if err != nil {
		old = nil
	}
	// An older version has the faults that the newer one mended: somebody has to want it.
	changes = append(changes, plugins.Change{Area: after.ID, Widens: true, Asks: true, Before: before.Version, After: after.Version,
		Text: fmt.Sprintf("It goes from version %s to %s.", before.Version, after.Version)})
	for _, c := range plugins.Compare(old, m).Changes {
		c.Area = after.ID
		changes = append(changes, c)
	}
	return changes
}

// relock writes down what a rollback changed, and nothing else: what drifted before
// is not accepted by the way.
func relock(l *lock.File, before, after *store.Generation, manifests map[string]*plugins.Manifest) {
	for i := range before.Entries {
		if _, ok := after.Entry(before.Entries[i].ID); !ok {
			dropPlugin(l, before.Entries[i].ID)
		}
	}
	for i := range after.Entries {
		e := &after.Entries[i]
		was, ok := before.Entry(e.ID)
		if m := manifests[e.ID]; m != nil && (!ok || was.Digest != e.Digest || was.Signer != e.Signer) {
			takePlugin(l, e, m)
		}
	}
}
