package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cloister-wasm/cloister/host"
)

// completeFiles offers files with one of the extensions, for one argument.
func completeFiles(extensions ...string) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return extensions, cobra.ShellCompDirectiveFilterFileExt
	}
}

// completeTools offers the ids of the tools that the flags and the configuration
// give, with their descriptions.
func completeTools(f *toolFlags) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var out []cobra.Completion
		for _, e := range f.entries(cmd.Context()) {
			switch {
			case strings.HasPrefix(e.ID, typed):
				out = append(out, cobra.CompletionWithDesc(e.ID, firstSentence(e.Description)))
			case typed != "" && strings.HasPrefix(e.Name, typed):
				out = append(out, cobra.CompletionWithDesc(e.Name, firstSentence(e.Description)))
			}
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeRules offers owners and ids for --allow and --deny.
func completeRules(f *toolFlags) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		all := *f
		all.allow, all.deny = nil, nil // the rule being typed is not one yet
		var out []cobra.Completion
		owner := ""
		for _, e := range all.entries(cmd.Context()) {
			if next := ownerOf(e); next != owner {
				owner = next
				group := strings.TrimPrefix(owner, "cloister:")
				if strings.HasPrefix(group, typed) {
					out = append(out, cobra.CompletionWithDesc(group, "all tools of "+group))
				}
			}
			if strings.HasPrefix(e.ID, typed) {
				out = append(out, cobra.CompletionWithDesc(e.ID, firstSentence(e.Description)))
			}
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
}

// entries is the catalog, or nothing where it cannot be had: a completion is no
// place for errors.
func (f *toolFlags) entries(ctx context.Context) []host.CatalogEntry {
	if ctx == nil {
		ctx = context.Background()
	}
	quiet := *f
	quiet.mcp = mcpFlags{none: true} // a completion starts no programs
	s, err := quiet.open(ctx, sessionOptions{})
	if err != nil {
		return nil
	}
	defer s.close()
	return s.run.Catalog()
}
