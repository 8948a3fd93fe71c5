package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cloister-wasm/cloister/host"
)

type catalogFlags struct {
	tools toolFlags
	json  bool
	limit int
}

func (a *app) catalogCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "catalog",
		Short: "Show the tools that a cell can call",
		Long: `Shows the tools that a cell can call, with the flags and the configuration that
"cloister run" takes: what policy hides is not there.`,
		Args: noArguments, RunE: group,
	}
	cmd.AddCommand(a.catalogList(), a.catalogSearch(), a.catalogDescribe())
	return cmd
}

func (f *catalogFlags) register(cmd *cobra.Command) {
	f.tools.register(cmd)
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON; tools are as tools.search and tools.describe give them to cells")
}

func (a *app) catalogList() *cobra.Command {
	f := &catalogFlags{}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List all tools, by owner",
		Long: `Lists all tools, by owner, and who vouches for them; the globals that plugins give
cells, with their functions; the MCP servers, with their state; the installed plugins
that were refused, at which step; and the tools that differ from the lock file. With --json all of it is one object.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.open(cmd.Context(), func(s *session) error {
				info := s.info()
				if f.json {
					return a.printJSON(info)
				}
				return a.write(listText(a.stdout, info.Tools, info.vouches) + info.extraText(a.stdout))
			})
		},
	}
	f.register(cmd)
	return cmd
}

func (a *app) catalogSearch() *cobra.Command {
	f := &catalogFlags{}
	cmd := &cobra.Command{
		Use:   "search QUERY...",
		Short: "Search tools as a cell would, best first",
		Long: `Searches tools as a cell would, best first: what tools.search finds, then the tools of
MCP servers, which MCP.$search finds.`,
		Args: atLeastOne("search", "QUERY"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.limit < 0 || f.limit == 0 && cmd.Flags().Changed("limit") {
				return usageError(errors.New("--limit must be at least 1"), "")
			}
			return f.with(cmd.Context(), func(r *host.Run) error {
				query := strings.Join(args, " ")
				entries, err := r.Search(query, f.limit)
				var servers []host.CatalogEntry
				if err == nil {
					servers, err = r.SearchMCP(query, f.limit)
				}
				if err != nil {
					return &exitError{code: exitFailed, err: err}
				}
				entries = append(entries, servers...)
				if f.json {
					return a.printJSON(nonNil(entries))
				}
				if len(entries) == 0 {
					return &exitError{code: exitFailed, err: fmt.Errorf("no tool matches %q", query), hint: "cloister catalog list shows all tools"}
				}
				return a.write(searchText(a.stdout, entries))
			})
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	f.register(cmd)
	cmd.Flags().IntVar(&f.limit, "limit", 0, "at most `N` tools, and as many of MCP servers (default: tools.codeMode.searchDefaultLimit)")
	return cmd
}

func (a *app) catalogDescribe() *cobra.Command {
	f := &catalogFlags{}
	cmd := &cobra.Command{
		Use:   "describe ID",
		Short: "Show what a tool takes and gives",
		Args:  exactlyOne("describe", "ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.open(cmd.Context(), func(s *session) error {
				entry, err := describeTool(s.run, args[0])
				if err != nil {
					return err
				}
				if f.json {
					return a.printJSON(entry)
				}
				return a.write(describeText(a.stdout, entry, s.info().vouches))
			})
		},
		ValidArgsFunction: completeTools(&f.tools),
	}
	f.register(cmd)
	return cmd
}

// describeTool also takes the name of a tool without its owner, if only one has it.
func describeTool(r *host.Run, id string) (*host.CatalogEntry, error) {
	entry, err := r.Describe(id)
	if err == nil {
		return entry, nil
	}
	var named []string
	for _, e := range r.Catalog() {
		if e.Name == id {
			named = append(named, e.ID)
		}
	}
	switch len(named) {
	case 1:
		entry, err = r.Describe(named[0])
	case 0:
		var te *host.ToolError
		if errors.As(err, &te) {
			err = errors.New(strings.Replace(te.Message, "find ids with tools.search(query)", "cloister catalog list shows all", 1))
		}
	default:
		err = fmt.Errorf("several tools are named %s: %s", id, strings.Join(named, ", "))
	}
	if err != nil {
		return nil, &exitError{code: exitFailed, err: err}
	}
	return entry, nil
}

// with runs fn on a run made from the flags.
func (f *catalogFlags) with(ctx context.Context, fn func(*host.Run) error) error {
	return f.open(ctx, func(s *session) error { return fn(s.run) })
}

// open runs fn on a session made from the flags.
func (f *catalogFlags) open(ctx context.Context, fn func(*session) error) error {
	s, err := f.tools.open(ctx, sessionOptions{})
	if err != nil {
		return err
	}
	defer s.close()
	if f.tools.strict { // otherwise list shows what is refused
		if err := strictly(setupNotes(s.Setup)); err != nil {
			return err
		}
	}
	return fn(s)
}

// write puts text on standard output.
func (a *app) write(text string) error {
	if _, err := io.WriteString(a.stdout, text); err != nil {
		return &exitError{code: exitInternal, err: fmt.Errorf("writing to standard output: %w", err)}
	}
	return nil
}

// printJSON writes a value as indented JSON.
func (a *app) printJSON(v any) error {
	return a.write(prettyJSON(marshalPlain(v), a.stdout.width()) + "\n")
}

func nonNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

func exactlyOne(command, what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return fmt.Errorf("%s takes one %s and was given %d", command, what, len(args))
		}
		return nil
	}
}

func atLeastOne(command, what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return fmt.Errorf("%s needs a %s", command, what)
		}
		return nil
	}
}
