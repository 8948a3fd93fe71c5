package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cloister-wasm/cloister/host/mcp"
	"github.com/cloister-wasm/cloister/host/settings"
	"github.com/cloister-wasm/cloister/host/setup"
)

func (a *app) mcpTest() *cobra.Command {
	file, asJSON := "", false
	cmd := &cobra.Command{
		Use:   "test NAME",
		Short: "Connect to an MCP server and show what it offers",
		Long: `Connects to a server, whatever was kept of it, and shows the protocol, its tools
with what they need, and tools that are left out, with the reason. Lines that a program
writes to standard error are shown if it fails.

` + mcpExitHelp,
		Args: exactlyOne("mcp test", "NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.testServer(cmd.Context(), file, args[0], asJSON)
		},
		ValidArgsFunction: oneServer(&file),
	}
	configFlag(cmd, &file)
	jsonFlag(cmd, &asJSON)
	return cmd
}

const mcpExitHelp = `Exit codes:
  0    done
  1    the server cannot be used, or you did not agree
  2    the command line or a file is wrong
  6    Cloister itself failed
  130  interrupted with Ctrl-C (143: by SIGTERM)`

func (a *app) testServer(ctx context.Context, file, name string, asJSON bool) error {
	_, s, err := loadServer(file, name)
	if err != nil {
		return err
	}
	report, err := a.probe(ctx, &s.Server)
	if ctx.Err() != nil {
		return errInterrupted
	}
	if asJSON {
		if wrong := a.printJSON(probeJSON(report, err)); wrong != nil {
			return wrong
		}
		if err != nil {
			return silently(exitFailed)
		}
		return nil
	}
	if err != nil {
		return err
	}
	return a.write(probeText(a.stdout, report))
}

// probe connects to a server and asks it for everything. What a program wrote to
// standard error is part of the error.
func (a *app) probe(ctx context.Context, s *mcp.Server) (report *mcp.Report, err error) {
	lines := &lastLines{}
	patient, note := firstStart(*s)
	one := &settings.Settings{Servers: []settings.Server{{Server: patient}}}
	manager, err := setup.NewManager(&setup.Options{Settings: one, MCP: mcp.Options{
		Version: readVersion().Version, Stderr: lines.add, Authorize: a.authorizer([]mcp.Server{*s}),
	}})
	if err != nil {
		return nil, setupFault(ctx, err)
	}
	defer func() { err = errors.Join(err, manager.Close()) }()
	// Of an address somebody may be asked for consent: there no line is drawn over the question.
	u := &ui{out: a.stdout, err: a.stderr, open: map[string]string{}, noCell: true, progress: a.stderr.tty && s.Command != "", note: note}
	stop := u.watch(ctx)
	report, err = manager.Test(ctx, s.Name)
	stop()
	if err == nil {
		return report, nil
	}
	text := fmt.Sprintf("the MCP server %s: %v", s.Name, err)
	if said := lines.text(); said != "" {
		text += "\nit wrote:\n" + said
	}
	return report, &exitError{code: exitFailed, err: errors.New(text), hint: probeHint(s, err)}
}

// probeHint says what may mend a server that cannot be used.
func probeHint(s *mcp.Server, err error) string {
	var file *settings.FileError
	switch {
	case errors.As(err, &file) && file.Mend != "":
		return file.Mend
	case errors.Is(err, mcp.ErrSecret):
		return "set it, or give another source in the configuration"
	case errors.Is(err, mcp.ErrAuthorization) && s.OAuth == nil:
		return "--header Authorization=env:VARIABLE or =file:PATH sends credentials; --oauth asks in a browser"
	case errors.Is(err, mcp.ErrAuthorization):
		return "cloister mcp test " + s.Name + " at a terminal asks for your consent"
	case errors.Is(err, mcp.ErrStartTimeout):
		return "if it needs longer, such as to be fetched first: --connect-timeout 5m of mcp add, or limits.connectTimeoutMs; does it work in your shell?"
	case s.Command != "":
		return "does it work in your shell? a server gets few variables; --inherit-env NAME hands one on"
	}
	return ""
}

// fetchTime is how long a server may take that may have to be fetched first.
const fetchTime = 5 * time.Minute

// fetchers are the programs that fetch a package before they run it.
var fetchers = map[string][]string{
	"npx": nil, "bunx": nil, "uvx": nil, "pnpx": nil, "pipx": {"run"}, "uv": {"run", "tool", "x"}, "npm": {"exec", "x"}, "pnpm": {"dlx", "exec"},
	"yarn": {"dlx"}, "bun": {"x"}, "deno": {"run"}, "docker": {"run"}, "podman": {"run"}, "go": {"run"}, "cargo": {"run"},
}

// firstStart gives a server that may have to be fetched the time for it, if nobody said how long it may take, and says what is
// waited for. Later starts find it fetched.
func firstStart(s mcp.Server) (mcp.Server, string) {
	note := "starting " + escapeLine(s.Name)
	program := strings.ToLower(filepath.Base(s.Command))
	for _, ext := range []string{".exe", ".cmd", ".bat"} {
		program = strings.TrimSuffix(program, ext)
	}
	first, known := fetchers[program]
	if !known || len(first) > 0 && (len(s.Args) == 0 || !slices.Contains(first, s.Args[0])) {
		return s, note
	}
	if s.Limits.ConnectTimeout == 0 {
		s.Limits.ConnectTimeout = fetchTime
	}
	return s, note + ", which " + program + " may fetch first"
}
