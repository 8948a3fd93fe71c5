package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cloister-wasm/cloister/host/mcp"
	"github.com/cloister-wasm/cloister/host/settings"
	"github.com/cloister-wasm/cloister/internal/clientconfig"
)

const mcpImportLong = `Takes over the MCP servers of another client's configuration: of Claude Code and
Claude Desktop (claude is both), Codex, Cursor, Gemini CLI, Goose, opencode, VS
Code, Windsurf or Zed, from where these keep theirs for a user, or of a FILE in
the format of one of them, such as a project's .mcp.json. Without --from all of
them are looked at.

It shows what will run, asks, then connects to each server and writes its tools
down in the lock file, as "mcp add" does. A server of a name that is there
already is left out, and so is Cloister itself, which that client may have. A
secret in plain text is taken as it is, pointed out, and makes the file readable
for you alone. Lists of tools that a server may or may not give come with it;
one that cannot be kept is a reason to refuse the server.

Of Claude Code's servers of single projects, those of the working folder and of
folders above it are taken, or those of --project.

Nothing is changed in the client, whose model then reaches the servers both
ways, and only one of them has policy and approval: take them out there, or have
"cloister connect CLIENT --import" do both.

` + mcpExitHelp

type mcpImportFlags struct {
	from, config, lock, project string
	dryRun, noTest, yes, asJSON bool

	// skip leaves a server out of sight; nil: none. quietEmpty: a file without servers is none to complain of.
	skip       func(*imported) bool
	quietEmpty bool
	// others are the projects of Claude Code that have servers and were not looked at.
	others []string
}

func (a *app) mcpImport() *cobra.Command {
	f := &mcpImportFlags{}
	cmd := &cobra.Command{
		Use:   "import",
		Short: "Take over the MCP servers of another client",
		Long:  mcpImportLong,
		Example: `  cloister mcp import --dry-run
  cloister mcp import --from cursor
  cloister mcp import --from .mcp.json --yes`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return operatorFault(cmd.Context(), a.importServers(cmd.Context(), f))
		},
	}
	configFlag(cmd, &f.config)
	mcpLockFlag(cmd, &f.lock)
	fs := cmd.Flags()
	fs.StringVar(&f.from, "from", "", "`CLIENT` or file: claude, "+strings.Join(clientconfig.Names(), ", ")+", or the path of a file")
	fs.StringVar(&f.project, "project", "", "take Claude Code's servers of the project in `DIR` (default: the working folder)")
	fs.BoolVarP(&f.dryRun, "dry-run", "n", false, "only show what would be taken")
	fs.BoolVar(&f.noTest, "no-test", false, "do not connect; the tools are agreed to later, with cloister lock accept")
	fs.BoolVarP(&f.yes, "yes", "y", false, "agree without being asked")
	jsonFlag(cmd, &f.asJSON)
	mustComplete(cmd.MarkFlagDirname("project"))
	mustComplete(cmd.RegisterFlagCompletionFunc("from", cobra.FixedCompletions(slices.Sorted(maps.Keys(clientFiles())), cobra.ShellCompDirectiveDefault)))
	return cmd
}

// importedJSON is what the command prints about a server.
type importedJSON struct {
	serverJSON
	Original string   `json:"original"`
	Notes    []string `json:"notes,omitempty"`
	// Result is "taken", "refused", "exists", or with --dry-run "new".
	Result string `json:"result"`
	Error  string `json:"error,omitempty"`
	Tools  *int   `json:"tools,omitempty"`
	// Project is the folder that the server was for, of a client that has such.
	Project string `json:"project,omitempty"`
}

// Results of an import.
const (
	importNew     = "new"
	importTaken   = "taken"
	importRefused = "refused"
	importExists  = "exists"
)

// importServers is the command.
func (a *app) importServers(ctx context.Context, f *mcpImportFlags) error {
	rows, failed, err := a.runImport(ctx, f)
	if err != nil {
		return err
	}
	if f.asJSON {
		return errors.Join(a.printJSON(rows), silently(map[bool]int{true: exitFailed}[failed > 0]))
	}
	if slices.ContainsFunc(rows, func(r importedJSON) bool { return r.Result == importTaken }) {
		a.complain("note: what was taken is in the client as well, and the model reaches it there without policy and approval", "take it out there; cloister connect CLIENT --import does so")
	}
	if failed > 0 {
		return &exitError{code: exitFailed, err: fmt.Errorf("%s could not be used", count(failed, "server")), hint: "cloister mcp test NAME says why; once it works, cloister lock accept mcp:NAME agrees to its tools"}
	}
	return nil
}

// runImport takes servers over, as far as somebody agrees. It gives what became of each, and how many could not be used.
func (a *app) runImport(ctx context.Context, f *mcpImportFlags) (rows []importedJSON, failed int, err error) {
	list, err := f.find()
	if err != nil {
		return nil, 0, usageError(err, "--from FILE names another file")
	}
	if f.skip != nil {
		list = slices.DeleteFunc(list, func(s imported) bool { return f.skip(&s) })
	}
	target, err := serverFileOf(f.config)
	if err != nil {
		return nil, 0, err
	}
	cfg, err := loadConfig(f.config)
	if err != nil {
		return nil, 0, err
	}
	rows, fresh := planImport(list, target, cfg)
	if !f.asJSON {
		if err := a.write(a.importText(list, rows)); err != nil {
			return nil, 0, err
		}
		if len(f.others) > 0 {
			a.complain("note: servers of other projects are left out: "+strings.Join(f.others, ", "), "--project DIR takes those of one")
		}
	}
	if f.dryRun || fresh == 0 {
		if f.asJSON {
			return rows, 0, nil
		}
		return rows, 0, a.write(fmt.Sprintf("%s to take over\n", count(fresh, "server")))
	}
	what := "add " + count(fresh, "server") + " to " + target.Path + ", and start each to see its tools?"
	if f.noTest {
		what = "add " + count(fresh, "server") + " to " + target.Path + "?"
	}
	if err := a.consent(ctx, what, f.yes, f.asJSON); err != nil {
		return nil, 0, err
	}
	for i := range rows {
		if rows[i].Result != importNew {
			continue
		}
		if err := a.importOne(ctx, f, target, &list[i].Server, &rows[i]); err != nil {
			return nil, 0, err
		}
		if rows[i].Error != "" {
			failed++
		}
	}
	return rows, failed, nil
}

// importOne adds one server. One that cannot be used is added too, without its tools.
func (a *app) importOne(ctx context.Context, f *mcpImportFlags, target settings.ServerFile, s *mcp.Server, row *importedJSON) error {
	var report *mcp.Report
	if !f.noTest && !s.Disabled {
		var err error
		if report, err = a.probe(ctx, s); err != nil {
			if ctx.Err() != nil {
				return errInterrupted
			}
			report, row.Error = nil, err.Error()
			if !f.asJSON {
				a.complain("note: "+err.Error(), "")
			}
		} else {
			n := len(report.List)
			row.Tools = &n
		}
	}
	target.Private = len(plainSecrets(s)) > 0
	if _, err := adopt(target, f.lock, s, report); err != nil {
		return err
	}
	row.Result = importTaken
	if f.asJSON {
		return nil
	}
	text := "added " + s.Name
	if report != nil {
		text += " with " + count(len(report.List), "tool")
	} else if target.User && !s.Disabled && row.Error == "" {
		text += "; " + notAgreed(s.Name)
	}
	if target.Private {
		text += "\n" + privateNote(a.stdout, target)
	}
	return a.write(text + "\n")
}

// planImport says what will become of each server.
func planImport(list []imported, target settings.ServerFile, cfg *settings.Settings) (rows []importedJSON, fresh int) {
	sortImports(list)
	taken := map[string]bool{}
	rows = []importedJSON{}
	for i := range list {
		s := &list[i]
		row := importedJSON{serverJSON: serverReport(&settings.Server{Server: s.Server, File: s.file}), Original: s.original, Notes: s.notes, Project: s.project, Result: importNew}
		if s.refused == "" && itself(append([]string{s.Command}, s.Args...)) {
			s.refused = errItself.Error()
		}
		if s.refused == "" {
			s.refused = faultsOf(&s.Server)
		}
		switch {
		case s.refused != "":
			row.Result, row.Error = importRefused, s.refused
		case serverIn(target, cfg, s.Name) != nil || taken[strings.ToLower(s.Name)]:
			row.Result = importExists
		default:
			taken[strings.ToLower(s.Name)] = true
			fresh++
		}
		rows = append(rows, row)
	}
	return rows, fresh
}

// faultsOf gives what the library finds wrong with a server.
func faultsOf(s *mcp.Server) string {
	manager, err := mcp.New([]mcp.Server{*s}, nil)
	if err == nil {
		err = manager.Close()
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// importText shows the servers and what will become of them. All of it is of files of
// others.
func (a *app) importText(list []imported, rows []importedJSON) string {
	var b strings.Builder
	for i, row := range rows {
		s := &list[i]
		switch row.Result {
		case importNew:
			b.WriteString(plannedText(a.stdout, &s.Server))
			if s.Disabled {
				b.WriteString("  it is disabled there, and stays so\n")
			}
		case importExists:
			b.WriteString(a.stdout.paint(styleBold, escapeLine(row.Name)) + "\n  left out: a server of that name is there already\n")
		default:
			b.WriteString(a.stdout.paint(styleBold, escapeLine(s.original)) + "\n  " + a.stdout.paint(styleYellow, "refused") + ": " + escapeLine(row.Error) + "\n")
		}
		for _, note := range row.Notes {
			b.WriteString("  " + escapeLine(note) + "\n")
		}
		from := "from " + escapeLine(s.file)
		if s.project != "" {
			from += ", for " + escapeLine(s.project)
		}
		b.WriteString("  " + a.stdout.paint(styleDim, from) + "\n\n")
	}
	return b.String()
}
