package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/host/mcp"
	"github.com/cloister-wasm/cloister/host/settings"
	"github.com/cloister-wasm/cloister/internal/forms"
)

const mcpAddLong = `Adds an MCP server: a program with its arguments after --, or an address with
--url.

It shows what will run, connects, shows what the server tells the model and its
tools with what calls of them need, asks, writes all of that down in the lock
file and adds the server to the file that --config or CLOISTER_CONFIG names,
else to your own list.

The value of --env and --header is a text, env:VARIABLE or file:PATH. Of the
last two the place is written into the file, and what stands there is read each
time that the server is started: so secrets belong there. A text is written as
it is; if it looks like a secret, that is said, and the file is made readable
for you alone. A header needs the whole value, "Bearer " included;
--bearer env:VARIABLE puts it in front.

A program gets few variables of your environment: PATH, HOME and such.
--inherit-env hands others on.

--approval says when calls need approval: never, ask, or always (whatever was
approved before). Without it tools ask whose server says that they can destroy
something.

` + mcpExitHelp

type mcpAddFlags struct {
	config, lock                 string
	env, headers, inherit        []string
	url, dir, approval, bearer   string
	allow, deny                  []string
	oauth, private               bool
	clientID, clientSecret       string
	scopes                       []string
	noTest, replace, yes, asJSON bool
	connectTimeout               time.Duration
}

func (a *app) mcpAdd() *cobra.Command {
	f := &mcpAddFlags{}
	cmd := &cobra.Command{
		Use:   "add NAME [flags] (-- COMMAND [ARG...] | --url URL)",
		Short: "Add an MCP server",
		Long:  mcpAddLong,
		Example: `  cloister mcp add files -- npx -y @modelcontextprotocol/server-filesystem ~/notes
  cloister mcp add tickets --env TICKETS_TOKEN=file:$HOME/.tickets --approval ask -- tickets-mcp
  cloister mcp add search --url https://mcp.example/mcp --bearer env:SEARCH_TOKEN`,
		DisableFlagsInUseLine: true,
		Args: func(cmd *cobra.Command, args []string) error {
			switch dash := cmd.ArgsLenAtDash(); {
			case len(args) == 0, dash == 0:
				return errors.New("mcp add needs a NAME before the command")
			case dash > 1:
				return fmt.Errorf("mcp add takes one NAME before --, and was given %d", dash)
			case dash < 0:
				return a.flagsOfCommand(cmd, nil)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return operatorFault(cmd.Context(), a.addServer(cmd.Context(), f, args[0], args[1:]))
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return nil, cobra.ShellCompDirectiveDefault
		},
	}
	configFlag(cmd, &f.config)
	mcpLockFlag(cmd, &f.lock)
	fs := cmd.Flags()
	fs.StringVar(&f.url, "url", "", "`URL` of a server that is reached by streamable HTTP")
	fs.StringArrayVar(&f.env, "env", nil, "`NAME=VALUE` of a variable for the program: a text, env:VARIABLE or file:PATH; repeatable")
	fs.StringArrayVar(&f.inherit, "inherit-env", nil, "`NAME` of a variable of your environment that the program gets; repeatable")
	fs.StringVar(&f.dir, "dir", "", "folder `DIR` that the program starts in")
	fs.StringArrayVar(&f.headers, "header", nil, "`NAME=VALUE` of a header for the url: a text, env:VARIABLE or file:PATH; repeatable")
	fs.StringVar(&f.bearer, "bearer", "", "bearer token for the url: env:VARIABLE or file:`PATH`")
	fs.BoolVar(&f.oauth, "oauth", false, "get tokens for the url with OAuth, in a browser")
	fs.StringVar(&f.clientID, "oauth-client-id", "", "`ID` of a client that is registered with the authorization server")
	fs.StringVar(&f.clientSecret, "oauth-client-secret", "", "its secret: env:VARIABLE or file:`PATH`")
	fs.StringArrayVar(&f.scopes, "oauth-scope", nil, "`SCOPE` to ask for; repeatable")
	fs.BoolVar(&f.private, "allow-private", false, "the url may be in a private network, and without TLS")
	fs.StringVar(&f.approval, "approval", "", "`WHEN` calls need approval: never, ask or always (default: as the server says of each tool)")
	fs.StringArrayVar(&f.allow, "allow", nil, "only tools whose name `PATTERN` matches, with * and ?; repeatable")
	fs.StringArrayVar(&f.deny, "deny", nil, "no tools whose name `PATTERN` matches; repeatable")
	fs.DurationVar(&f.connectTimeout, "connect-timeout", 0, "how long the server may take to start, such as `2m` where npx fetches it first (default: 30s)")
	fs.BoolVar(&f.noTest, "no-test", false, "do not connect; the tools are agreed to later, with cloister lock accept")
	fs.BoolVar(&f.replace, "replace", false, "replace a server of this name")
	fs.BoolVarP(&f.yes, "yes", "y", false, "agree without being asked")
	jsonFlag(cmd, &f.asJSON)
	cmd.SetFlagErrorFunc(a.flagsOfCommand)
	mustComplete(cmd.MarkFlagDirname("dir"))
	mustComplete(cmd.RegisterFlagCompletionFunc("approval", cobra.FixedCompletions(forms.Approvals, cobra.ShellCompDirectiveNoFileComp)))
	return cmd
}

// server makes the server that the command line describes.
func (f *mcpAddFlags) server(name string, command []string) (*mcp.Server, error) {
	if wrong := forms.ServerName(name); wrong != "" {
		return nil, fmt.Errorf("%q: %s", name, wrong)
	}
	if f.approval != "" && !slices.Contains(forms.Approvals, f.approval) {
		return nil, fmt.Errorf("--approval must be one of %s", strings.Join(forms.Approvals, ", "))
	}
	if f.connectTimeout != 0 && (f.connectTimeout < time.Millisecond || f.connectTimeout > time.Hour) {
		return nil, errors.New("--connect-timeout must be 1ms to 1h")
	}
	s := &mcp.Server{
		Limits: mcp.Limits{ConnectTimeout: f.connectTimeout},
		Name:   name, URL: f.url, InheritEnv: f.inherit, Approval: host.Approval(f.approval),
		Allow: f.allow, Deny: f.deny, AllowPrivate: f.private,
	}
	switch {
	case len(command) == 0 && f.url == "":
		return nil, errors.New("what is the server? give a command after --, or --url")
	case len(command) > 0 && f.url != "":
		return nil, errors.New("a server is a command or a url, not both")
	}
	if itself(command) {
		return nil, errItself
	}
	var err error
	if len(command) > 0 {
		s.Args = command[1:]
		if s.Command, err = programPath(command[0]); err != nil {
			return nil, err
		}
	}
	if f.dir != "" {
		if s.Dir, err = filepath.Abs(f.dir); err != nil {
			return nil, err
		}
	}
	if s.Env, err = assignments("--env", f.env, forms.Variable); err != nil {
		return nil, err
	}
	if s.Headers, err = assignments("--header", f.headers, forms.Header); err != nil {
		return nil, err
	}
	return s, f.credentials(s)
}

// credentials adds what --bearer and the flags of OAuth say.
func (f *mcpAddFlags) credentials(s *mcp.Server) error {
	secret := func(flag, text string) (mcp.Value, error) {
		v, err := parseValue(text)
		if err == nil && isPlain(v) {
			err = errors.New("must be env:VARIABLE or file:PATH: a command line can be read by others")
		}
		if err != nil {
			return v, fmt.Errorf("%s: %w", flag, err)
		}
		return v, nil
	}
	if f.bearer != "" {
		v, err := secret("--bearer", f.bearer)
		if err != nil {
			return err
		}
		if s.Headers == nil {
			s.Headers = map[string]mcp.Value{}
		}
		v.Prefix = "Bearer "
		s.Headers["Authorization"] = v
	}
	if !f.oauth && f.clientID == "" && f.clientSecret == "" && len(f.scopes) == 0 {
		return nil
	}
	s.OAuth = &mcp.OAuth{ClientID: f.clientID, Scopes: f.scopes}
	var err error
	if f.clientSecret != "" {
		s.OAuth.ClientSecret, err = secret("--oauth-client-secret", f.clientSecret)
	}
	return err
}

// programPath looks the program up as the server will be started: a path is one of
// now and here, a name is looked up each time.
func programPath(name string) (string, error) {
	if strings.ContainsRune(name, filepath.Separator) || strings.ContainsRune(name, '/') {
		full, err := filepath.Abs(name)
		if err != nil {
			return "", err
		}
		_, err = exec.LookPath(full)
		return full, err
	}
	if _, err := exec.LookPath(name); err != nil {
		return "", fmt.Errorf("the program %s: %w", name, err)
	}
	return name, nil
}

// assignments reads NAME=VALUE.
func assignments(flag string, list []string, bad func(string) string) (map[string]mcp.Value, error) {
	if len(list) == 0 {
		return nil, nil
	}
	out := map[string]mcp.Value{}
	for _, text := range list {
		name, value, ok := strings.Cut(text, "=")
		if !ok {
			// NB: it may be a secret, so it is not quoted.
			return nil, fmt.Errorf("%s takes NAME=VALUE", flag)
		}
		if wrong := bad(name); wrong != "" {
			return nil, fmt.Errorf("%s: %q %s", flag, name, wrong)
		}
		v, err := parseValue(value)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", flag, name, err)
		}
		out[name] = v
	}
	return out, nil
}

func (a *app) addServer(ctx context.Context, f *mcpAddFlags, name string, command []string) error {
	s, err := f.server(name, command)
	if err != nil {
		return usageError(err, "")
	}
	target, err := serverFileOf(f.config)
	if err != nil {
		return err
	}
	cfg, err := loadConfig(f.config)
	if err != nil {
		return err
	}
	if there := serverIn(target, cfg, name); there != nil && !f.replace {
		return usageError(fmt.Errorf("%s has an MCP server %s", target.Path, name), "--replace replaces it; cloister mcp remove removes it")
	}
	if !f.asJSON {
		if err := a.write(plannedText(a.stdout, s)); err != nil {
			return err
		}
	}
	var report *mcp.Report
	if !f.noTest {
		if report, err = a.probe(ctx, s); err != nil {
			var ee *exitError
			if errors.As(err, &ee) && ee.code == exitFailed {
				err = &exitError{ee.code, fmt.Errorf("nothing was added: %w", err), strings.TrimPrefix(ee.hint+"; --no-test adds it as it is", "; ")}
			}
			return err
		}
		if !f.asJSON {
			if err := a.write("\n" + probeText(a.stdout, report) + "\n"); err != nil {
				return err
			}
		}
	}
	if err := a.consent(ctx, "add "+name+" to "+target.Path+"?", f.yes, f.asJSON); err != nil {
		return err
	}
	target.Private = len(plainSecrets(s)) > 0
	locked, err := adopt(target, f.lock, s, report)
	if err != nil {
		return err
	}
	if f.asJSON {
		return a.printJSON(map[string]any{"file": target.Path, "lock": locked, "server": probeJSON(report, nil), "private": target.User || target.Private})
	}
	text := "added " + name + " to " + a.stdout.text(target.Path)
	if locked != "" {
		text += ", and its tools to " + a.stdout.text(locked)
	}
	if target.Private {
		text += "\n" + privateNote(a.stdout, target)
	}
	if report == nil && target.User {
		text += "\n" + notAgreed(name)
	}
	if at := cfg.Server(name); at != nil && target.User && !at.User {
		text += "\nnot used as long as " + a.stdout.text(at.File) + " has another of that name"
	}
	return a.write(text + "\n")
}

// privateNote says that a file with a secret in it is readable for its owner alone,
// where permissions say so.
func privateNote(s *stream, target settings.ServerFile) string {
	readers := ": only you can read it now (mode 0600)"
	if runtime.GOOS == "windows" {
		readers = ", whose access list stays as it is"
	}
	return "a secret stands in " + s.text(target.Path) + readers + "; env:VARIABLE or file:PATH would keep it out"
}

// serverIn gives the server of a name that stands in the file of a change, or nil.
func serverIn(target settings.ServerFile, cfg *settings.Settings, name string) *settings.Server {
	for _, list := range [][]settings.Server{cfg.Servers, cfg.Shadowed} {
		for i := range list {
			if list[i].Name == name && list[i].User == target.User {
				return &list[i]
			}
		}
	}
	return nil
}
