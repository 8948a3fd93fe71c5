package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// root builds the tree of commands.
func (a *app) root() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cloister",
		Short: "Run code that a language model wrote, sealed, with tools",
		Long: `Cloister runs cells: JavaScript or TypeScript that a language model wrote, in a
sealed guest without files, network, timers or modules. A cell reaches the
outside through tools alone: Go functions of the host, WebAssembly plugins and MCP
servers, each call checked against policy and schema. "cloister serve" gives all of
them to an MCP client as two tools.

Environment:
  CLOISTER_CONFIG     configuration file, instead of ./cloister.json5
  CLOISTER_ENGINE     quickjs.wasm to use instead of the installed engine
  CLOISTER_CACHE_DIR  folder for compiled code; "off" for none
  CLOISTER_DATA_DIR   folder of installed plugins and of your own list of MCP servers
  CLOISTER_TRUST      trust policy: whose plugins may be loaded
  CLOISTER_LOCK       lock file: which plugins and tools were agreed to
  NO_COLOR            no colours, if not empty`,
		Example: `  cloister engine install              # once: fetch the JavaScript engine
  cloister run cell.ts
  echo 'return 6 * 7' | cloister run -
  cloister catalog search "hash a text"`,
		SilenceUsage: true, SilenceErrors: true,
		Args: noArguments, RunE: group,
	}
	cmd.SetIn(a.stdin)
	cmd.SetOut(a.stdout)
	cmd.SetErr(a.stderr)
	cmd.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
	cmd.SetUsageTemplate(usageTemplate(cmd.UsageTemplate()))
	cobra.AddTemplateFunc("flagUsages", func(fs *pflag.FlagSet) string {
		return strings.TrimRight(fs.FlagUsagesWrapped(min(a.stdout.width(), fileWidth)), "\n")
	})
	cmd.AddCommand(a.runCommand(), a.catalogCommand(), a.engineCommand(), a.versionCommand(),
		a.pluginCommand(), a.trustCommand(), a.lockCommand(), a.mcpCommand(), a.serveCommand(), a.connectCommand(), a.disconnectCommand(), a.approvalsCommand(), a.loginCommand(), a.logoutCommand(), a.traceCommand(), a.policyCommand(), a.manCommand())
	cmd.InitDefaultCompletionCmd()
	for _, c := range cmd.Commands() {
		if c.Name() == "completion" {
			c.Args, c.RunE = noArguments, group // cobra's own ignores unknown shells
			c.Short = "Print a completion script for a shell"
		}
	}
	return cmd
}

// usageTemplate is cobra's, with flags laid out for the terminal, and without the
// line for running a command that only holds others.
func usageTemplate(template string) string {
	return strings.NewReplacer(
		"{{if .Runnable}}", "{{if and .Runnable (not .HasAvailableSubCommands)}}",
		"{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}", "{{flagUsages .LocalFlags}}",
	).Replace(template)
}

// group is what a command does that only holds others: it shows its help.
func group(cmd *cobra.Command, _ []string) error { return cmd.Help() }

// noArguments refuses words that are no command, with the ones that were meant.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	text := fmt.Sprintf("%s has no command %q", cmd.CommandPath(), args[0])
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		text += "; did you mean " + near[0] + "?"
	}
	return fmt.Errorf("%s", text)
}
