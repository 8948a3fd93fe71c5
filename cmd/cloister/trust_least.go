package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cloister-wasm/cloister/plugins/trust"
)

func (a *app) trustThreshold() *cobra.Command {
	file := ""
	cmd := &cobra.Command{
		Use:   "threshold PUBLISHER N",
		Short: "Want several signers for each plugin of a publisher",
		Long: `Says how many of a publisher's keys and identities must have signed a plugin,
so that a single stolen key is not enough: 2 of three, say. 1 means any one of
them. It holds at installation and at every load: what is installed and has
fewer good signatures is refused from then on.`,
		Example: `  cloister trust add acme --key second.pub
  cloister trust threshold acme 2`,
		Args: exactly(2, "trust threshold takes a PUBLISHER and a number"),
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := strconv.Atoi(args[1])
			if err != nil || n < 1 || n > trust.MaxThreshold {
				return usageError(fmt.Errorf("%q is no number of signers", args[1]), fmt.Sprintf("write a number from 1 to %d", trust.MaxThreshold))
			}
			done := fmt.Sprintf("%s of %s must have signed", count(n, "signer"), args[0])
			return operatorFault(cmd.Context(), a.changePolicy(file, done, func(p *trust.Policy) error { return p.SetThreshold(args[0], n) }))
		},
		ValidArgsFunction: completePublishers(&file),
	}
	trustFlag(cmd, &file)
	return cmd
}

func (a *app) trustMinVersion() *cobra.Command {
	file, none := "", false
	cmd := &cobra.Command{
		Use:   "min-version ID VERSION | ID --none",
		Short: "Refuse old versions of a plugin",
		Long: `Says the lowest version of a plugin that is accepted. A registry can answer
with an old release, whose signature is as good as that of a new one: what is
lower than VERSION is refused, when it is installed and at every load. --none
accepts every version again.`,
		Example: `  cloister trust min-version acme.hello 0.2.0
  cloister trust min-version acme.hello --none`,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case none && len(args) != 1:
				return errors.New("trust min-version takes one ID with --none")
			case !none && len(args) != 2:
				return errors.New("trust min-version takes an ID and a VERSION, or an ID and --none")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if none {
				return operatorFault(cmd.Context(), a.changePolicy(file, "every version of "+args[0]+" is accepted", func(p *trust.Policy) error {
					return p.RemoveMinVersion(args[0])
				}))
			}
			return operatorFault(cmd.Context(), a.changePolicy(file, args[0]+" "+args[1]+" is the least version", func(p *trust.Policy) error {
				return p.SetMinVersion(args[0], args[1])
			}))
		},
		ValidArgsFunction: completeLeast(&file),
	}
	trustFlag(cmd, &file)
	cmd.Flags().BoolVar(&none, "none", false, "accept every version again")
	return cmd
}

// completeLeast offers the plugins that are installed, and those that have a least
// version.
func completeLeast(file *string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		list, _ := completeInstalled(cmd, args, toComplete)
		if p, _, err := readPolicy(*file); err == nil {
			for id, least := range p.MinVersions {
				if !slices.ContainsFunc(list, func(c string) bool { return strings.HasPrefix(c, id+"\t") }) {
					list = append(list, id+"\tleast version "+least)
				}
			}
		}
		slices.Sort(list)
		return list, cobra.ShellCompDirectiveNoFileComp
	}
}
