package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cloister-wasm/cloister/internal/clientconfig"
	"github.com/cloister-wasm/cloister/internal/forms"
	"github.com/cloister-wasm/cloister/internal/suggest"
	"github.com/cloister-wasm/cloister/quickjs"
)

const connectLong = `Writes Cloister into the configuration file of an MCP client, which then starts
"cloister serve" by itself and has two tools, exec and wait. The clients are:

  claude-code  claude-desktop  codex   cursor    gemini
  goose        opencode        vscode  windsurf  zed

It shows the change, asks, keeps a copy of the file beside it, and changes one
entry in the text: comments and layout stay. A file that cannot be changed so is
left alone, and what to write by hand is printed. What follows -- are flags of
"cloister serve".

With --http the client connects to a "cloister serve --http" that runs already.
The token is not written into the file: the client takes it from the variable
CLOISTER_TOKEN.

With --import the client's own servers are first taken behind Cloister, as
"cloister mcp import" does, and then out of the client: what stays there reaches
the model without policy, approval and trace.

"cloister disconnect CLIENT" undoes it.

` + connectExitHelp

const connectExitHelp = `Exit codes:
  0    done, or there was nothing to do
  1    you did not agree, or the file changed meanwhile
  2    the command line or the client's file is wrong
  6    Cloister itself failed
  130  interrupted with Ctrl-C (143: by SIGTERM)`

type connectFlags struct {
	config, http, name            string
	takeOver, yes, dryRun, asJSON bool
	force                         bool
}

// register adds the flags that connect and disconnect share.
func (f *connectFlags) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.config, "config", "", "the client's `FILE`, instead of the one of your user")
	fs.StringVar(&f.name, "name", clientconfig.Name, "`NAME` of Cloister there")
	fs.BoolVarP(&f.dryRun, "dry-run", "n", false, "only show the change")
	fs.BoolVarP(&f.yes, "yes", "y", false, "agree without being asked")
	jsonFlag(cmd, &f.asJSON)
	mustComplete(cmd.MarkFlagFilename("config", "json", "jsonc", "toml", "yaml"))
}

func (a *app) connectCommand() *cobra.Command {
	f := &connectFlags{}
	cmd := &cobra.Command{
		Use:   "connect CLIENT [flags] [-- FLAG...]",
		Short: "Put Cloister into the configuration of an MCP client",
		Long:  connectLong,
		Example: `  cloister connect claude-code
  cloister connect cursor --import
  cloister connect vscode --config .vscode/mcp.json -- --config cloister.json5
  cloister connect codex --http http://127.0.0.1:7420/mcp`,
		DisableFlagsInUseLine: true,
		Args:                  oneClient("connect"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return operatorFault(cmd.Context(), a.connect(cmd.Context(), f, args[0], args[1:]))
		},
		ValidArgsFunction: completeClients,
	}
	f.register(cmd)
	cmd.Flags().StringVar(&f.http, "http", "", "`URL` of a cloister serve --http that runs, instead of starting one")
	cmd.Flags().BoolVar(&f.takeOver, "import", false, "take the client's own servers behind Cloister, and out of the client")
	return cmd
}

func oneClient(command string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		before := cmd.ArgsLenAtDash()
		if before < 0 {
			before = len(args)
		}
		if before != 1 {
			return fmt.Errorf("%s takes one CLIENT and was given %d; the clients are %s", command, before, strings.Join(clientconfig.Names(), ", "))
		}
		return nil
	}
}

func completeClients(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var out []cobra.Completion
	if len(args) == 0 {
		for _, c := range clientconfig.Clients {
			out = append(out, cobra.CompletionWithDesc(c.Name, c.Title))
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// findClient finds a client by its name, or says which was meant.
func findClient(name string) (*clientconfig.Client, error) {
	if c := clientconfig.Find(name); c != nil {
		return c, nil
	}
	text := fmt.Sprintf("%s is not a client that is known; they are %s", name, strings.Join(clientconfig.Names(), ", "))
	if name == "claude" {
		text = "there are two: claude-code and claude-desktop"
	} else if near := suggest.Closest(name, clientconfig.Names()); near != "" {
		text += "; did you mean " + near + "?"
	}
	return nil, usageError(errors.New(text), "cloister serve --print-config claude prints what others that start MCP servers take")
}

// connectEntry is what is written for Cloister.
func (a *app) connectEntry(f *connectFlags, client *clientconfig.Client, serveArgs []string) (json.RawMessage, error) {
	if f.http != "" {
		if len(serveArgs) > 0 {
			return nil, usageError(errors.New("with --http the client starts nothing: flags of serve have no place"), "")
		}
		if err := checkServeURL(f.http); err != nil {
			return nil, usageError(fmt.Errorf("--http: %w", err), "")
		}
		entry, err := client.HTTP(f.http)
		if err != nil {
			return nil, usageError(fmt.Errorf("%s: %w", client.Title, err), "without --http it starts cloister serve by itself")
		}
		return entry, nil
	}
	serve := a.serveCommand()
	if err := serve.ParseFlags(serveArgs); err != nil {
		return nil, usageError(fmt.Errorf("the flags of serve: %w", err), "see cloister serve --help")
	}
	if rest := serve.Flags().Args(); len(rest) > 0 {
		return nil, usageError(fmt.Errorf("the flags of serve: %q is none", rest[0]), "see cloister serve --help")
	}
	for _, name := range []string{"http", "print-config", "help"} {
		if serve.Flags().Changed(name) {
			return nil, usageError(fmt.Errorf("--%s has no place among the flags of serve here", name), "--http URL before -- connects to one that runs")
		}
	}
	if err := a.checkServed(serve.Flags().Lookup("config").Value.String()); err != nil {
		return nil, err
	}
	s, err := clientByCommand(serve, "")
	if err != nil {
		return nil, err
	}
	return client.Stdio(clientconfig.Launch{Command: s.Command, Args: s.Args, Env: s.Env}), nil
}

// checkServed finds out now what would go wrong when the client starts.
func (a *app) checkServed(config string) error {
	cfg, err := loadConfig(config)
	switch {
	case err != nil && (config != "" || os.Getenv("CLOISTER_CONFIG") != ""):
		return err
	case err == nil && cfg.Found:
		a.complain("note: "+cfg.File+" of this folder is not part of it: the client starts elsewhere", "-- --config "+quoteWord(cfg.File)+" at the end names it")
	}
	if _, err := quickjs.FindEngine(); err != nil {
		a.complain("note: programs cannot run yet: "+err.Error(), "cloister engine install")
	}
	return nil
}

// checkServeURL wants an address that a token may be sent to.
func checkServeURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return errors.New("it is no address, such as http://127.0.0.1:7420/mcp")
	}
	ip := net.ParseIP(u.Hostname())
	here := u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
	if u.Scheme != "https" && (u.Scheme != "http" || !here) {
		return errors.New("a token is sent to https, and to http on this machine, only")
	}
	return nil
}

func (f *connectFlags) check() error {
	if wrong := forms.ServerName(f.name); wrong != "" {
		return usageError(fmt.Errorf("--name %s: %s", f.name, wrong), "")
	}
	return nil
}

// connect is the command.
func (a *app) connect(ctx context.Context, f *connectFlags, name string, serveArgs []string) error {
	client, err := findClient(name)
	if err == nil {
		err = f.check()
	}
	if err != nil {
		return err
	}
	entry, err := a.connectEntry(f, client, serveArgs)
	if err != nil {
		return err
	}
	file, err := openClientFile(client, f.config)
	if err != nil {
		return err
	}
	d, err := file.document(f.name, entry)
	if err != nil {
		return err
	}
	c := &connecting{app: a, flags: f, file: file, entry: entry, before: d}
	if err := c.checkOthers(); err != nil {
		return err
	}
	return c.run(ctx)
}
