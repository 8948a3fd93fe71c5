package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	cedar "github.com/cloister-wasm/cloister/host/policy"
	"github.com/cloister-wasm/cloister/host/settings"
	"github.com/cloister-wasm/cloister/internal/safefile"
)

type policyTestFlags struct {
	config, cases string
	json, verbose bool
}

func (a *app) policyTest() *cobra.Command {
	f := &policyTestFlags{}
	cmd := &cobra.Command{
		Use:   "test [FILE...] --cases FILE",
		Short: "Hold policies to a table of cases",
		Long: `Tries the policies of FILE..., or those that the configuration names, on a table:

  {"cases": [
    {"name": "mail outside",
     "tool": {"id": "mcp:mail:send", "annotations": {"readOnly": false}},
     "scope": {"agent": "main", "sender": "ann"},
     "input": {"to": "eve@example.org"},
     "expect": "deny", "rule": "mail-inside"}
  ]}

expect is allow, deny, or hidden for a tool that no input could reach. rule, the
policy that should decide, and approval are compared if they are there. A tool may
also have signer, publisher, unsigned and approval; annotations may have readOnly,
destructive, idempotent and openWorld.

Exit codes:
  0    all cases are as expected
  1    some are not
  2    the command line, a policy or the table is wrong`,
		Example: `  cloister policy test policies/*.cedar --cases policies/cases.json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.testPolicies(cmd.Context(), f, args)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&f.cases, "cases", "", "`FILE` with the table; required")
	fs.StringVar(&f.config, "config", "", "configuration `FILE` (default: $CLOISTER_CONFIG, else cloister.json5 in the working folder)")
	fs.BoolVar(&f.json, "json", false, "print JSON")
	fs.BoolVarP(&f.verbose, "verbose", "v", false, "explain all cases, and not only those that fail")
	mustComplete(cmd.MarkFlagFilename("cases", "json"))
	mustComplete(cmd.MarkFlagFilename("config", "json5", "json"))
	cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return []cobra.Completion{"cedar"}, cobra.ShellCompDirectiveFilterFileExt
	}
	return cmd
}

func (a *app) testPolicies(ctx context.Context, f *policyTestFlags, files []string) error {
	if f.cases == "" {
		return usageError(errors.New("--cases FILE is missing"), `cloister policy test --help shows what a table looks like`)
	}
	set, err := policiesFor(f.config, files)
	if err != nil {
		return err
	}
	data, err := safefile.Read(f.cases, cedar.MaxTableBytes)
	if err != nil {
		return usageError(fmt.Errorf("--cases: %w", err), "")
	}
	r, err := set.RunTable(ctx, data)
	switch {
	case errors.Is(err, cedar.ErrTable):
		return usageError(fmt.Errorf("%s: %w", f.cases, err), "")
	case err != nil:
		return hostError(err)
	}
	if f.json {
		err = a.printJSON(r)
	} else {
		err = a.write(tableText(a.stdout, r, f.verbose))
	}
	if err == nil && r.Failed > 0 {
		err = silently(exitFailed)
	}
	return err
}

// policiesFor reads the files, or those of the configuration if there are none.
func policiesFor(configFile string, files []string) (*cedar.Set, error) {
	if len(files) > 0 {
		return loadPolicyFiles(files)
	}
	cfg, err := loadSettings(&settings.Options{File: configFile, NoServerList: true})
	if err != nil {
		return nil, err
	}
	set, err := policySet(cfg)
	if set == nil && err == nil {
		err = usageError(errors.New("there are no policies"), "give their files, or name them in policy.files of the configuration")
	}
	return set, err
}

// tableText is a line for each case, and what led to a decision below those that
// fail.
func tableText(s *stream, r *cedar.TableResult, verbose bool) string {
	width := 0
	for _, c := range r.Cases {
		width = max(width, min(textWidth(escapeLine(c.Name)), maxNameWidth))
	}
	var b strings.Builder
	for _, c := range r.Cases {
		mark, said := "ok  ", c.Got+" by "+c.Rule
		if c.Got == "allow" && c.Approval != "" && c.Approval != "never" {
			said += ", approval " + string(c.Approval)
		}
		if !c.OK {
			mark, said = s.paint(styleRed, "FAIL"), c.Wrong
		}
		fmt.Fprintf(&b, "%s  %s  %s\n", mark, pad(escapeLine(c.Name), width), escapeLine(said))
		if !c.OK || verbose {
			b.WriteString(indented(escapeText(c.Explanation.Text())))
		}
	}
	fmt.Fprintf(&b, "\n%s, %d failed\n", count(len(r.Cases), "case"), r.Failed)
	for _, p := range r.Unreached {
		fmt.Fprintf(&b, "no case is decided by %s (%s)\n", escapeLine(p.Name), escapeLine(p.Place()))
	}
	return b.String()
}
