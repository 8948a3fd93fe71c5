package main

import (
	"github.com/spf13/cobra"
)

func (a *app) policyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "policy",
		Short: "Try out policies on tool calls",
		Long: `Policies in Cedar decide about each tool call, after the rules of --allow and --deny
and whoever makes it: a cell, a plugin, or a client. The configuration names their
files in policy.files. Without it what the rules let pass is allowed; with it a call
needs a policy that permits it, and none that forbids it.

  @id("mail-inside") @approval("ask")
  permit (principal, action, resource == Cloister::Tool::"mcp:mail:send")
  when { context.input has to && context.input.to like "*@example.com" };

The package host/policy documents all that a policy can look at.`,
		Args: noArguments, RunE: group,
	}
	cmd.AddCommand(a.policyTest(), a.policyExplain(), a.policySchema())
	return cmd
}
