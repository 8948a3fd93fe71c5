package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/host/mcp"
	"github.com/cloister-wasm/cloister/host/settings"
	"github.com/cloister-wasm/cloister/host/setup"
	"github.com/cloister-wasm/cloister/internal/forms"
	"github.com/cloister-wasm/cloister/plugins"
)

// toolFlags are the flags that decide which tools there are. Commands that run
// cells and commands that show the catalog share them.
type toolFlags struct {
	config        string
	dirs          []string
	allowUnsigned bool
	allow, deny   []string
	sandboxed     bool
	root          string
	// noInstalled, trust and lock are about installed plugins; strict makes one
	// that is refused an error.
	noInstalled, strict bool
	trust, lock         string
	mcp                 mcpFlags
}

func (f *toolFlags) register(cmd *cobra.Command) {
	f.registerPlugins(cmd)
	fs := cmd.Flags()
	fs.BoolVar(&f.noInstalled, "no-installed", false, "leave installed plugins out")
	fs.BoolVar(&f.strict, "strict", false, "an installed plugin that is refused, or a tool that drifted from the lock file, is an error")
	fs.StringVar(&f.lock, "lock", "", "lock `FILE` (default: $CLOISTER_LOCK, else cloister.lock beside the configuration, else that of what is installed)")
	mustComplete(cmd.MarkFlagFilename("lock", "lock"))
	fs.StringArrayVar(&f.allow, "allow", nil, "only tools that `RULE` matches: an id, a name or an owner, with *; repeatable")
	fs.StringArrayVar(&f.deny, "deny", nil, "no tools that `RULE` matches; wins over --allow; repeatable")
	fs.BoolVar(&f.sandboxed, "sandboxed", false, "only core tools, or what tools.sandbox.tools of the configuration allows instead")
	fs.StringVar(&f.root, "root", "", "let cells read files below the folder `DIR`: adds the tools read_file and list_files")
	mustComplete(cmd.MarkFlagDirname("root"))
	for _, name := range []string{"allow", "deny"} {
		mustComplete(cmd.RegisterFlagCompletionFunc(name, completeRules(f)))
	}
}

// registerPlugins registers the flags that say which plugins there are.
func (f *toolFlags) registerPlugins(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.config, "config", "", "configuration `FILE` (default: $CLOISTER_CONFIG, else cloister.json5 in the working folder)")
	fs.StringArrayVar(&f.dirs, "tool-dir", nil, "folder `DIR` of a development plugin, or of several of them; repeatable")
	fs.BoolVar(&f.allowUnsigned, "allow-unsigned-unsafe", false, "load plugins of folders, which nobody has signed")
	trustFlag(cmd, &f.trust)
	f.mcp.register(cmd, &f.config)
	mustComplete(cmd.MarkFlagDirname("tool-dir"))
	mustComplete(cmd.MarkFlagFilename("config", "json5", "json"))
}

// mustComplete panics on a mistake in the registration of a completion.
func mustComplete(err error) {
	if err != nil {
		panic("cloister: " + err.Error())
	}
}

// cliAgent is the agent that the command line's own runs belong to.
const cliAgent = "cloister-cli"

// session is a host with one run, for the length of one command.
type session struct {
	*setup.Setup
	run *host.Run
	// codeMode are the settings of code mode that apply.
	codeMode host.CodeModeConfig
	root     *os.Root
}

// sessionOptions is what a command adds to the flags.
type sessionOptions struct {
	host host.Options // fields that neither the flags nor the configuration set
	// limits changes the settings of code mode.
	limits     func(*host.CodeModeConfig) error
	onProgress func(*host.ToolCall, host.Progress)
	plugins    plugins.LoadOptions // callbacks
	// mustRun says that code mode has to be on, and the engine has to be there.
	mustRun bool
	// app is told of plugins that are refused and tools that drifted; nil tells
	// nobody.
	app *app
}

// load reads the configuration that the flags name.
func (f *toolFlags) load() (*settings.Settings, error) {
	return loadSettings(&settings.Options{File: f.config, Places: settings.Places{Trust: f.trust, Lock: f.lock}})
}

// setup is what the flags say about the making of a host.
func (f *toolFlags) setup(cfg *settings.Settings) (*setup.Options, error) {
	if f.mcp.none && len(f.mcp.only) > 0 {
		return nil, usageError(errors.New("--no-mcp and --mcp are given both"), "")
	}
	if err := f.checkRules(); err != nil {
		return nil, err
	}
	return &setup.Options{
		Settings: cfg, Dirs: f.dirs, AllowUnsignedUnsafe: f.allowUnsigned, NoInstalled: f.noInstalled,
		NoServers: f.mcp.none, OnlyServers: f.mcp.only, MCP: mcp.Options{Version: readVersion().Version},
	}, nil
}

// open makes a session. The caller closes it.
func (f *toolFlags) open(ctx context.Context, o sessionOptions) (s *session, err error) {
	cfg, err := f.load()
	if err != nil {
		return nil, err
	}
	if o.mustRun && cfg.CodeModeOff {
		return nil, usageError(fmt.Errorf("%s turns code mode off", cfg.File), "set tools.codeMode to true there, or remove the key")
	}
	opts, err := f.setup(cfg)
	if err != nil {
		return nil, err
	}
	s = &session{codeMode: cfg.CodeMode}
	defer func() {
		if err != nil {
			s.close()
			s = nil
		}
	}()
	if o.limits != nil {
		if err := o.limits(&s.codeMode); err != nil {
			return s, err
		}
	}
	opts.Host, opts.CodeMode, opts.Plugins = o.host, &s.codeMode, o.plugins
	if s.root, err = f.addTools(&opts.Host); err != nil {
		return s, err
	}
	if o.mustRun {
		if err := engineFor(&opts.Host); err != nil {
			return s, err
		}
	}
	if s.Setup, err = setup.New(ctx, opts); err != nil {
		return s, setupFault(ctx, err)
	}
	if o.app != nil {
		if err := o.app.tellNotes(s.Setup, f.strict); err != nil {
			return s, err
		}
	}
	// One command is one agent run; ids that match nothing else keep it apart.
	id := "cli-" + uuid(7, time.Now())
	s.run, err = s.Host().NewRun(ctx, host.RunOptions{
		AgentID: cliAgent, AgentRunID: id, SessionID: id, SessionKey: id, Sandboxed: f.sandboxed,
		Allow: f.allow, Deny: f.deny, OnProgress: o.onProgress,
	})
	return s, hostError(err)
}

// addTools adds the command line's own tools, and those of --root, whose folder is to be
// closed after the host; nil without one.
func (f *toolFlags) addTools(opts *host.Options) (*os.Root, error) {
	opts.Tools = append(slices.Clone(opts.Tools), coreTools()...)
	if f.root == "" {
		return nil, nil
	}
	root, err := os.OpenRoot(f.root)
	if err != nil {
		return nil, usageError(fmt.Errorf("--root: %w", err), "give a folder that exists")
	}
	opts.Tools = append(opts.Tools, fileTools(root)...)
	return root, nil
}

// checkRules reports a malformed rule by its flag.
func (f *toolFlags) checkRules() error {
	for flag, rules := range map[string][]string{"--allow": f.allow, "--deny": f.deny} {
		for _, rule := range rules {
			if wrong := forms.Rule(rule); wrong != "" {
				return usageError(fmt.Errorf("%s: %s", flag, wrong), "")
			}
		}
	}
	return nil
}

// close releases everything, also after half an open. What fails to close has
// done its work.
func (s *session) close() {
	if s.run != nil {
		s.run.Close()
	}
	var errs []error
	if s.Setup != nil {
		errs = append(errs, s.Close(context.Background()))
	}
	if s.root != nil {
		errs = append(errs, s.root.Close())
	}
	_ = errors.Join(errs...) // see above
}
