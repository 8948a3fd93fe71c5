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
}

func (f *toolFlags) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.config, "config", "", "configuration `FILE` (default: $CLOISTER_CONFIG, else cloister.json5 in the working folder)")
	fs.StringArrayVar(&f.dirs, "tool-dir", nil, "folder `DIR` of a development plugin, or of several of them; repeatable")
	fs.BoolVar(&f.allowUnsigned, "allow-unsigned-unsafe", false, "load plugins of folders, which nobody has signed")
	fs.StringArrayVar(&f.allow, "allow", nil, "only tools that `RULE` matches: an id, a name or an owner, with *; repeatable")
	fs.StringArrayVar(&f.deny, "deny", nil, "no tools that `RULE` matches; wins over --allow; repeatable")
	fs.BoolVar(&f.sandboxed, "sandboxed", false, "apply tools.sandbox.tools of the configuration as well")
	fs.StringVar(&f.root, "root", "", "let cells read files below the folder `DIR`: adds the tools read_file and list_files")
	for _, name := range []string{"tool-dir", "root"} {
		mustComplete(cmd.MarkFlagDirname(name))
	}
	mustComplete(cmd.MarkFlagFilename("config", "json5", "json"))
	for _, name := range []string{"allow", "deny"} {
		mustComplete(cmd.RegisterFlagCompletionFunc(name, completeRules(f)))
	}
}

// mustComplete panics on a mistake in the registration of a completion.
func mustComplete(err error) {
	if err != nil {
		panic("cloister: " + err.Error())
	}
}

// session is a host with one run, for the length of one command.
type session struct {
	cfg     *config
	host    *host.Host
	run     *host.Run
	plugins []*plugins.Plugin
	root    *os.Root
}

// sessionOptions is what a command adds to the flags.
type sessionOptions struct {
	host host.Options // fields that the flags do not set
	// limits changes the settings of code mode.
	limits     func(*host.CodeModeConfig) error
	onProgress func(*host.ToolCall, any)
	plugins    plugins.LoadOptions // callbacks
	// mustRun says that code mode has to be on.
	mustRun bool
}

// open makes a session. The caller closes it.
func (f *toolFlags) open(ctx context.Context, o sessionOptions) (s *session, err error) {
	cfg, err := loadConfig(f.config)
	if err != nil {
		return nil, err
	}
	s = &session{cfg: cfg}
	defer func() {
		if err != nil {
			s.close()
			s = nil
		}
	}()
	if o.mustRun && cfg.turnedOff {
		return s, usageError(fmt.Errorf("%s turns code mode off", cfg.file), "set tools.codeMode to true there, or remove the key")
	}
	if err := f.checkRules(); err != nil {
		return s, err
	}
	if o.limits != nil {
		if err := o.limits(&cfg.codeMode); err != nil {
			return s, err
		}
	}
	opts := o.host
	opts.CodeMode = cfg.codeMode
	opts.Allow, opts.Deny, opts.Sandbox = cfg.allow, cfg.deny, cfg.sandbox
	opts.CacheDir = os.Getenv("CLOISTER_CACHE_DIR")
	opts.Tools = append(slices.Clone(opts.Tools), coreTools()...)
	if err := s.openRoot(f.root, &opts); err != nil {
		return s, err
	}
	if s.plugins, err = f.loadPlugins(ctx, cfg, o.plugins); err != nil {
		return s, err
	}
	opts.Plugins = s.plugins
	if s.host, err = host.New(ctx, &opts); err != nil {
		return s, hostError(err)
	}
	// One command is one agent run; ids that match nothing else keep it apart.
	id := "cli-" + uuid(7, time.Now())
	s.run, err = s.host.NewRun(ctx, host.RunOptions{
		AgentID: "cloister-cli", AgentRunID: id, SessionID: id, SessionKey: id, Sandboxed: f.sandboxed,
		Allow: f.allow, Deny: f.deny, OnProgress: o.onProgress,
	})
	return s, hostError(err)
}

// checkRules reports a malformed rule by its flag.
func (f *toolFlags) checkRules() error {
	for flag, rules := range map[string][]string{"--allow": f.allow, "--deny": f.deny} {
		for _, rule := range rules {
			if wrong := badRule(rule); wrong != "" {
				return usageError(fmt.Errorf("%s: %s", flag, wrong), "")
			}
		}
	}
	return nil
}

func (s *session) openRoot(dir string, opts *host.Options) error {
	if dir == "" {
		return nil
	}
	var err error
	if s.root, err = os.OpenRoot(dir); err != nil {
		return usageError(fmt.Errorf("--root: %w", err), "give a folder that exists")
	}
	opts.Tools = append(opts.Tools, fileTools(s.root)...)
	return nil
}

// close releases everything, also after half an open. What fails to close has
// done its work.
func (s *session) close() {
	if s.run != nil {
		s.run.Close()
	}
	var errs []error
	if s.host != nil {
		errs = append(errs, s.host.Close())
	}
	for _, p := range s.plugins {
		errs = append(errs, p.Close())
	}
	if s.root != nil {
		errs = append(errs, s.root.Close())
	}
	_ = errors.Join(errs...) // see above
}
