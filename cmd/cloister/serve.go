package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/cloister-wasm/cloister/host/gateway"
	"github.com/cloister-wasm/cloister/host/mcp"
	"github.com/cloister-wasm/cloister/host/settings"
	"github.com/cloister-wasm/cloister/internal/forms"
)

const serveLong = `Serves MCP: a client that starts this command gets the tools exec and wait, and
with them all plugins and MCP servers, each call checked against policy and
approval. With --no-code-mode, or tools.codeMode: false, it gets the tools
themselves. Their names depend on nothing but their ids: SERVER__TOOL for one of
an MCP server, PUBLISHER--PLUGIN__TOOL for one of a plugin, TOOL for Cloister's
own.

Without --http it speaks MCP on standard input and output: a client starts it,
whose configuration "cloister connect CLIENT" writes and --print-config prints.
With --http it listens on an address of this machine, at /mcp; clients need a
bearer token, that of --token-file, or those of serve.tokens in the
configuration. Where there is none, one is made at the first start and kept in
the data folder, for you alone. Other addresses need serve.allowedHosts, and
something in front that speaks TLS.

Calls that need approval are put to the client's user, if the client can do
that, and to "cloister approvals" in another terminal, which finds this command
by itself. It has another token: a client cannot approve what its own model asks
for.

No client can hold what others need: sessions, programs that run at once, their
memory and open requests have bounds, for all and for each token, which
serve.limits sets. A program over its bound waits, and is then refused with
"too many running programs".

What is installed, configured or locked while it runs counts from then on: it
looks every two seconds, and at once at SIGHUP. Settings of tools, serve and
approvals need a new start. It ends at the end of standard input, at Ctrl-C and
at SIGTERM.

Exit codes:
  0    it was asked to end
  2    the command line, the configuration or a plugin is wrong
  3    the JavaScript engine is missing or unusable
  6    Cloister itself failed`

// serveFlags are the flags of serve.
type serveFlags struct {
	tools                               toolFlags
	http, tokenFile, approvalsTokenFile string
	noCodeMode, noElicit, noApprovals   bool
	trace, otlp, printConfig            string
	verbose                             bool
}

func (a *app) serveCommand() *cobra.Command {
	f := &serveFlags{}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve all tools to an MCP client, as exec and wait",
		Long:  serveLong,
		Example: `  cloister serve --print-config claude     # what to paste into the client
  cloister serve --http 127.0.0.1:7420
  cloister approvals watch                 # in another terminal`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.printConfig != "" {
				return a.printClientConfig(f, cmd)
			}
			return operatorFault(context.WithoutCancel(cmd.Context()), a.serve(cmd.Context(), f))
		},
	}
	f.tools.register(cmd)
	fs := cmd.Flags()
	fs.StringVar(&f.http, "http", "", "listen on `ADDRESS`, such as 127.0.0.1:7420, instead of standard input")
	fs.BoolVar(&f.noCodeMode, "no-code-mode", false, "give clients the tools themselves, not exec and wait")
	fs.StringVar(&f.tokenFile, "token-file", "", "`FILE` of the bearer token of clients; made if it is not there")
	fs.StringVar(&f.approvalsTokenFile, "approvals-token-file", "", "`FILE` of the bearer token for approvals; made if it is not there")
	fs.BoolVar(&f.noElicit, "no-elicit", false, "do not put approvals to the client's user")
	fs.BoolVar(&f.noApprovals, "no-approvals", false, "do not take approvals from elsewhere")
	fs.StringVar(&f.trace, "trace", "", "write what happens as JSON lines to `FILE`")
	fs.StringVar(&f.otlp, "otlp", "", "send what happens to the OpenTelemetry collector at `URL`")
	fs.BoolVarP(&f.verbose, "verbose", "v", false, "log more, such as what MCP servers write to standard error")
	fs.StringVar(&f.printConfig, "print-config", "", "print the configuration for `CLIENT`; \"cloister connect CLIENT\" writes it")
	for _, name := range []string{"token-file", "approvals-token-file", "trace"} {
		mustComplete(cmd.MarkFlagFilename(name))
	}
	mustComplete(cmd.RegisterFlagCompletionFunc("print-config", cobra.FixedCompletions(printedClients(), cobra.ShellCompDirectiveNoFileComp)))
	return cmd
}

// logger writes to standard error. Its lines quote what a terminal would obey.
func (a *app) logger(verbose bool) *slog.Logger {
	level := slog.LevelInfo
	if verbose {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(a.stderr, &slog.HandlerOptions{Level: level}))
}

// closeTime bounds an orderly end.
const closeTime = 10 * time.Second

// serve is the command `serve`.
func (a *app) serve(ctx context.Context, f *serveFlags) (err error) {
	if _, err := mcp.Depth(); err != nil {
		return usageError(err, "cloister mcp list shows the servers; a shell that inherited "+mcp.DepthVariable+" can unset it")
	}
	cfg, err := f.tools.load()
	if err != nil {
		return err
	}
	if f.http == "" {
		f.http = cfg.Serve.HTTP
	} else if wrong := forms.Address(f.http); wrong != "" {
		return usageError(fmt.Errorf("--http %s %s", f.http, wrong), "")
	}
	if err := checkListen(f.http, cfg); err != nil {
		return err
	}
	if f.trace == "-" && f.verbose {
		return usageError(errors.New("--trace - and --verbose both write to standard error"), "")
	}
	s, err := a.startService(ctx, f, cfg)
	if err != nil {
		return interruptedOr(ctx, err)
	}
	defer func() { err = errors.Join(err, s.close()) }()
	watching, stop := context.WithCancel(ctx)
	var watch sync.WaitGroup
	watch.Go(func() { s.follow(watching) })
	defer watch.Wait()
	defer stop()
	if f.http == "" {
		return s.serveStdio(ctx)
	}
	return s.serveHTTP(ctx)
}

// interruptedOr ends a command that was asked to end while it started, without a
// fault.
func interruptedOr(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// checkListen refuses addresses of other machines, unless somebody said which names
// are served.
func checkListen(address string, cfg *settings.Settings) error {
	if address == "" || len(cfg.Serve.AllowedHosts) > 0 {
		return nil
	}
	name, _, err := net.SplitHostPort(address)
	if err != nil {
		return usageError(fmt.Errorf("the address to listen on: %w", err), "")
	}
	if ip := net.ParseIP(name); name == "localhost" || ip != nil && ip.IsLoopback() {
		return nil
	}
	return usageError(fmt.Errorf("%s is reached from other machines, and this speaks HTTP without TLS", address),
		"listen on 127.0.0.1; or put a proxy with TLS in front, and name it in serve.allowedHosts of a file that --config names")
}

// serveStdio serves one client on standard input and output.
func (s *service) serveStdio(ctx context.Context) error {
	if err := s.listenForApprovals(ctx); err != nil {
		return err
	}
	if term.IsTerminal(int(s.app.stdin.Fd())) {
		s.app.complain("this speaks MCP on standard input; a client starts it by itself", "cloister serve --print-config claude shows what to put into a client")
	}
	s.log.Info("serving MCP on standard input and output", "approvals", s.approvalsURL)
	err := s.Gateway().ServeStdio(ctx, s.debug.Reader("client", s.app.stdin), s.debug.Writer("client", noClose{s.app.stdout.Writer}))
	if ctx.Err() != nil || errors.Is(err, gateway.ErrClosed) {
		return nil
	}
	if err != nil {
		return &exitError{code: exitInternal, err: err}
	}
	return nil
}
