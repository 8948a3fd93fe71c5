package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/cloister-wasm/cloister/plugins/bundle"
	"github.com/cloister-wasm/cloister/plugins/store"
)

const updateLong = `Looks where plugins were installed from, and installs what is there now. Each
plugin is checked and asked about as "cloister plugin install" does it.
Plugins that were installed from files, or by a digest, have nowhere to look;
with --all they are passed over. Under a tag that is a version nothing newer
comes: "cloister plugin install" takes another one. One that fails does not
keep the others from being updated.`

func (a *app) pluginUpdate() *cobra.Command {
	f, all := &installFlags{}, false
	cmd := &cobra.Command{
		Use:   "update [ID...]",
		Short: "Install what is now where plugins were installed from",
		Long:  updateLong,
		Example: `  cloister plugin update acme.hello
  cloister plugin update --all --yes`,
		Args: func(_ *cobra.Command, args []string) error {
			if all == (len(args) > 0) {
				return errors.New("update takes IDs, or --all")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			f.remote.quiet = f.json
			return operatorFault(cmd.Context(), a.update(cmd.Context(), f, args))
		},
		ValidArgsFunction: completeInstalled,
	}
	cmd.Flags().BoolVar(&all, "all", false, "all plugins that were installed from a registry by a tag")
	f.register(cmd)
	return cmd
}

// update installs anew what was installed by a tag.
func (a *app) update(ctx context.Context, f *installFlags, ids []string) error {
	_, now, err := installedNow()
	if err != nil {
		return err
	}
	all := len(ids) == 0
	if all {
		for _, e := range now.Entries {
			ids = append(ids, e.ID)
		}
	}
	reports, errs := []*installReport{}, []error{}
	for _, id := range ids {
		ref, err := tagOf(now, id)
		if err != nil && all {
			if !f.json {
				a.complain("note: passed over: "+err.Error(), "")
			}
			continue
		}
		var report *installReport
		if err == nil {
			report, err = a.install(ctx, f, ref, id)
		}
		if ctx.Err() != nil {
			return errInterrupted
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", id, err))
			continue
		}
		reports = append(reports, report)
		if parsed, err := bundle.ParseReference(ref); err == nil && !f.json && report.Status == outcomeUnchanged && parsed.Names(report.Version) {
			a.complain(fmt.Sprintf("note: the tag %s of %s is this version's own: nothing newer comes under it", parsed.Tag, id),
				"cloister plugin install REGISTRY/NAME:VERSION installs another version")
		}
	}
	if f.json {
		if err := a.printJSON(reports); err != nil {
			return err
		}
	}
	if len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}

// tagOf is where a plugin was installed from, if something else may be there now.
func tagOf(now *store.Generation, id string) (string, error) {
	e, ok := now.Entry(id)
	if !ok {
		return "", usageError(fmt.Errorf("%s is not installed", id), "cloister plugin list shows what is")
	}
	ref, err := bundle.ParseReference(e.Ref)
	switch {
	case e.Ref == "" || err != nil:
		return "", usageError(fmt.Errorf("%s was not installed from a registry", id), "cloister plugin install FILE|REF updates it")
	case ref.Digest != "":
		return "", usageError(fmt.Errorf("%s was installed by its digest, which always is the same plugin", id), "cloister plugin install REF updates it")
	}
	return e.Ref, nil
}
