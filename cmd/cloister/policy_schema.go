package main

import (
	"github.com/spf13/cobra"

	cedar "github.com/cloister-wasm/cloister/host/policy"
)

func (a *app) policySchema() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the Cedar schema of what policies can look at",
		Long: `Prints the Cedar schema of what policies can look at, for editors and validators.
Arguments of tools are not in it: its comments say where to write them.`,
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error { return a.write(cedar.CedarSchema()) },
	}
}
