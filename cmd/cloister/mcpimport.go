package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cloister-wasm/cloister/host/mcp"
	"github.com/cloister-wasm/cloister/host/settings"
	"github.com/cloister-wasm/cloister/internal/safefile"
	"github.com/cloister-wasm/cloister/internal/suggest"
)

const mcpImportLong = `Takes over the MCP servers of another client's configuration: of Claude Desktop
and Claude Code (claude), Cursor, VS Code (vscode), Windsurf, Zed or Codex, from
where these keep theirs for a user, or of a FILE in the format of one of them,
such as a project's .mcp.json. Without --from all of them are looked at.

It shows what will run, asks, then connects to each server and writes its tools
down in the lock file, as "mcp add" does. A server of a name that is there
already is left out, and so is Cloister itself, which that client may have. A
secret in plain text is taken as it is, pointed out, and makes the file readable
for you alone.

` + mcpExitHelp

type mcpImportFlags struct {
	from, config, lock          string
	dryRun, noTest, yes, asJSON bool
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
	fs.StringVar(&f.from, "from", "", "`CLIENT` or file: claude, cursor, vscode, windsurf, zed, codex, or the path of a file")
	fs.BoolVarP(&f.dryRun, "dry-run", "n", false, "only show what would be taken")
	fs.BoolVar(&f.noTest, "no-test", false, "do not connect; the tools are agreed to later, with cloister lock accept")
	fs.BoolVarP(&f.yes, "yes", "y", false, "agree without being asked")
	jsonFlag(cmd, &f.asJSON)
	mustComplete(cmd.RegisterFlagCompletionFunc("from", cobra.FixedCompletions(slices.Sorted(maps.Keys(clientFiles())), cobra.ShellCompDirectiveDefault)))
	return cmd
}

// clientFiles are the files where clients keep a user's servers.
func clientFiles() map[string][]string {
	home, err := os.UserHomeDir()
	if err != nil {
		home = "" // then only files that are named
	}
	config, err := os.UserConfigDir()
	if err != nil {
		config = filepath.Join(home, ".config")
	}
	dot := config
	if runtime.GOOS == "darwin" {
		dot = filepath.Join(home, ".config")
	}
	return map[string][]string{
		"claude":   {filepath.Join(config, "Claude", "claude_desktop_config.json"), filepath.Join(home, ".claude.json")},
		"cursor":   {filepath.Join(home, ".cursor", "mcp.json")},
		"vscode":   {filepath.Join(config, "Code", "User", "mcp.json")},
		"windsurf": {filepath.Join(home, ".codeium", "windsurf", "mcp_config.json")},
		"zed":      {filepath.Join(dot, "zed", "settings.json")},
		"codex":    {filepath.Join(home, ".codex", "config.toml")},
	}
}

// find reads the servers of the files that --from means.
func (f *mcpImportFlags) find() ([]imported, error) {
	clients := clientFiles()
	var files []string
	if f.from == "" {
		for _, client := range slices.Sorted(maps.Keys(clients)) {
			files = append(files, clients[client]...)
		}
	} else if files = clients[f.from]; files == nil {
		list, err := readImportFile(f.from)
		if errors.Is(err, fs.ErrNotExist) {
			if near := suggest.Closest(f.from, slices.Sorted(maps.Keys(clients))); near != "" {
				err = fmt.Errorf("%w; did you mean %s?", err, near)
			}
		}
		return list, err
	}
	var all []imported
	seen := 0
	for _, file := range files {
		list, err := readImportFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if seen++; errors.Is(err, errNoServers) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	if seen == 0 {
		return nil, fmt.Errorf("no configuration is there to import from; looked for %s", strings.Join(files, ", "))
	}
	return all, nil
}

func readImportFile(file string) ([]imported, error) {
	data, err := safefile.Read(file, maxImportBytes)
	if err != nil {
		return nil, err
	}
	return readImport(file, data)
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
}

// Results of an import.
const (
	importNew     = "new"
	importTaken   = "taken"
	importRefused = "refused"
	importExists  = "exists"
)

func (a *app) importServers(ctx context.Context, f *mcpImportFlags) error {
	list, err := f.find()
	if err != nil {
		return usageError(err, "--from FILE names another file")
	}
	target, err := serverFileOf(f.config)
	if err != nil {
		return err
	}
	cfg, err := loadConfig(f.config)
	if err != nil {
		return err
	}
	rows, fresh := planImport(list, target, cfg)
	if !f.asJSON {
		if err := a.write(a.importText(list, rows)); err != nil {
			return err
		}
	}
	if f.dryRun || fresh == 0 {
		if f.asJSON {
			return a.printJSON(rows)
		}
		return a.write(fmt.Sprintf("%s to take over\n", count(fresh, "server")))
	}
	what := "add " + count(fresh, "server") + " to " + target.Path + ", and start each to see its tools?"
	if f.noTest {
		what = "add " + count(fresh, "server") + " to " + target.Path + "?"
	}
	if err := a.consent(ctx, what, f.yes, f.asJSON); err != nil {
		return err
	}
	failed := 0
	for i := range rows {
		if rows[i].Result != importNew {
			continue
		}
		if err := a.importOne(ctx, f, target, &list[i].Server, &rows[i]); err != nil {
			return err
		}
		if rows[i].Error != "" {
			failed++
		}
	}
	if f.asJSON {
		return errors.Join(a.printJSON(rows), silently(map[bool]int{true: exitFailed}[failed > 0]))
	}
	if failed > 0 {
		return &exitError{code: exitFailed, err: fmt.Errorf("%s could not be used", count(failed, "server")), hint: "cloister mcp test NAME says why; once it works, cloister lock accept mcp:NAME agrees to its tools"}
	}
	return nil
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
		row := importedJSON{serverJSON: serverReport(&settings.Server{Server: s.Server, File: s.file}), Original: s.original, Notes: s.notes, Result: importNew}
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
		b.WriteString("  " + a.stdout.paint(styleDim, "from "+escapeLine(s.file)) + "\n\n")
	}
	return b.String()
}
