package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cloister-wasm/cloister/plugins/store"
)

func (a *app) pluginGenerations() *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:   "generations",
		Short: "List the states that rollback can return to",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return operatorFault(cmd.Context(), a.generations(asJSON))
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

// generationJSON is one line of the list of generations.
type generationJSON struct {
	Number  int      `json:"number"`
	Current bool     `json:"current"`
	Created string   `json:"created"`
	Reason  string   `json:"reason"`
	Plugins []string `json:"plugins"`
}

func (a *app) generations(asJSON bool) error {
	s, err := existingStore()
	if err != nil {
		return err
	}
	rows := []generationJSON{}
	var damage error
	if s != nil {
		var list []*store.Generation
		list, damage = s.Generations()
		for i, g := range list {
			row := generationJSON{Number: g.Number, Current: i == len(list)-1, Created: g.Created.Format("2006-01-02T15:04:05Z"), Reason: g.Reason, Plugins: []string{}}
			for _, e := range g.Entries {
				name := e.ID + " " + e.Version
				if e.Disabled {
					name += " (disabled)"
				}
				row.Plugins = append(row.Plugins, name)
			}
			rows = append(rows, row)
		}
	}
	if asJSON {
		err = a.printJSON(rows)
	} else {
		err = a.write(generationsText(a.stdout, rows))
	}
	return errors.Join(err, damage)
}

func generationsText(s *stream, rows []generationJSON) string {
	if len(rows) == 0 {
		return "No plugins were ever installed.\n"
	}
	var b strings.Builder
	for _, r := range rows {
		mark := " "
		if r.Current {
			mark = s.paint(styleBold, "*")
		}
		fmt.Fprintf(&b, "%s %4d  %s  %s\n", mark, r.Number, r.Created, escapeLine(r.Reason))
		if len(r.Plugins) > 0 {
			bullet(&b, s, "        ", strings.Join(r.Plugins, ", "))
		}
	}
	return b.String()
}

const gcLong = `Removes the files that no kept generation needs, and all but the newest
generations. What is installed now is never touched; what was removed cannot be
rolled back to.`

func (a *app) pluginGC() *cobra.Command {
	keep, asJSON := 0, false
	cmd := &cobra.Command{
		Use:   "gc",
		Short: "Remove old generations and files that nothing needs",
		Long:  gcLong,
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			if keep < 1 {
				return usageError(errors.New("--keep must be at least 1"), "")
			}
			s, err := existingStore()
			if err != nil {
				return operatorFault(ctx, err)
			}
			var gone store.Collected
			if s != nil {
				if gone, err = s.Collect(ctx, keep); err != nil {
					return operatorFault(ctx, err)
				}
			}
			if asJSON {
				return a.printJSON(map[string]any{"generations": nonNil(gone.Generations), "blobs": gone.Blobs, "bytes": gone.Bytes})
			}
			return a.write(fmt.Sprintf("removed %s and %s, %s\n", count(len(gone.Generations), "generation"), count(gone.Blobs, "file"), fileSize(int(gone.Bytes))))
		},
	}
	cmd.Flags().IntVar(&keep, "keep", 10, "the newest `N` generations stay, the current one among them")
	jsonFlag(cmd, &asJSON)
	return cmd
}

const repairLong = `Reads everything that is installed again. Where files are damaged it goes back to
the newest state that is whole, and says so: an older state may have plugins that
were removed or updated since. Plugins are checked anew whenever they are loaded, so
nothing is trusted for having been repaired.`

func (a *app) pluginRepair() *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:   "repair",
		Short: "Mend the store of installed plugins",
		Long:  repairLong,
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			s, err := openInstalledStore()
			if err != nil {
				return operatorFault(ctx, err)
			}
			r, err := s.Repair(ctx)
			if err != nil {
				return operatorFault(ctx, err)
			}
			if asJSON {
				return a.printJSON(map[string]any{"generation": r.Generation.Number, "found": nonNil(r.Found), "done": nonNil(r.Done)})
			}
			if len(r.Found)+len(r.Done) == 0 {
				return a.write("all is well\n")
			}
			var b strings.Builder
			for _, line := range append(r.Found, r.Done...) {
				b.WriteString(escapeLine(line) + "\n")
			}
			return a.write(b.String())
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}
