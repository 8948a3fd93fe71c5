package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/cloister-wasm/cloister/plugins/trust"
)

const lockLong = `The lock file says which plugins, and what of their tools, you agreed to: names,
titles, descriptions, schemas, and what the author says that a tool does (only
reads, destroys, ...), which approvals and policies rest on. A plugin that
differs is not loaded, a tool that differs leaves the catalog, until "cloister
lock accept" shows the difference and takes it. Where a tool says that it does
more harm than it said, that counts at once; where it says less, the tool is
left out.

The file is that of --file, else of CLOISTER_LOCK, else plugins.lock of the
configuration, else cloister.lock beside the configuration file, else that of
what is installed, in the data folder. "cloister plugin install", remove and
rollback keep the last one as it has to be; the others are yours, to be kept in
version control. Where there is no file, you agreed to nothing.

A plugin under development is held to a lock file of yours that knows its tools,
and never to that of the data folder. Otherwise it is loaded as it is:
--allow-unsigned-unsafe said so.

MCP servers are in it too, under mcp:SERVER: their tools, what they tell the
model, and whether they have resources and prompts. "cloister mcp add" writes
down those of a server that it adds. A server of a configuration file is held to
a lock file beside it, and to that of the data folder once that one knows a tool
of it. "accept mcp:SERVER" takes a server in.

A file of version 1 held no titles, no annotations, no resources and no prompts.
Tools in it are left out where these could say less than what you agreed to,
until you look at them once.

` + pluginExitHelp

// lockFlags are the flags of the commands about the lock file.
type lockFlags struct {
	tools toolFlags
	json  bool
}

func (f *lockFlags) register(cmd *cobra.Command) {
	f.tools.registerPlugins(cmd)
	cmd.Flags().StringVar(&f.tools.lock, "file", "", "lock `FILE` (default: the one that applies)")
	mustComplete(cmd.MarkFlagFilename("file", "lock"))
	jsonFlag(cmd, &f.json)
}

func (a *app) lockCommand() *cobra.Command {
	f := &lockFlags{}
	status := func(cmd *cobra.Command, _ []string) error {
		return operatorFault(cmd.Context(), a.lockStatus(cmd.Context(), f))
	}
	cmd := &cobra.Command{
		Use:   "lock",
		Short: "Show what differs from the lock file, and accept it",
		Long:  lockLong,
		Args:  noArguments, RunE: status,
	}
	f.register(cmd)
	cmd.AddCommand(a.lockStatusCommand(), a.lockAccept())
	return cmd
}

func (a *app) lockStatusCommand() *cobra.Command {
	f := &lockFlags{}
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show what differs from the lock file",
		Long: `Compares the lock file with the plugins that would be loaded. The exit code is 0
where nothing differs, and 1 where something does.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return operatorFault(cmd.Context(), a.lockStatus(cmd.Context(), f))
		},
	}
	f.register(cmd)
	return cmd
}

func (a *app) lockAccept() *cobra.Command {
	f, yes := &lockFlags{}, false
	cmd := &cobra.Command{
		Use:   "accept [ID...]",
		Short: "Show what differs, and write it into the lock file",
		Long: `Shows what differs from the lock file, asks, and takes it: all of it, or that of
the plugins, tools and MCP servers (mcp:SERVER) whose IDs are given. --file may name a
file that is not there yet.`,
		Example: `  cloister lock accept
  cloister lock accept acme.hello --yes
  cloister lock accept mcp:github
  cloister lock accept --file cloister.lock   # a lock file for this folder's configuration`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return operatorFault(cmd.Context(), a.acceptLock(cmd.Context(), f, args, yes))
		},
		ValidArgsFunction: completeLocked(&f.tools.config),
	}
	f.register(cmd)
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "agree without being asked")
	return cmd
}

// lockJSON is what the commands about the lock file print.
type lockJSON struct {
	File    string       `json:"file"`
	Missing bool         `json:"missing,omitempty"`
	Changes []lockChange `json:"changes"`
	Refused []refusedOne `json:"refused,omitempty"`
	// Failed are MCP servers that could not be asked: what is locked of them stays.
	Failed []failedServer `json:"failed,omitempty"`
	// Accepted is the number of differences that were taken.
	Accepted int `json:"accepted"`
}

// refusedOne is a plugin that was not loaded.
type refusedOne struct {
	Plugin string `json:"plugin"`
	refusalJSON
}

func refusedJSON(list []*trust.Error) []refusedOne {
	out := []refusedOne{}
	for _, e := range list {
		out = append(out, refusedOne{e.Plugin, refusalJSON{e.Step, e.State, e.Detail}})
	}
	return out
}

func (a *app) lockStatus(ctx context.Context, f *lockFlags) error {
	s, err := f.state(ctx, nil)
	if err != nil {
		return err
	}
	changes := s.changes(nil)
	code := exitOK
	if len(changes) > 0 {
		code = exitFailed
	}
	if f.json {
		if err := a.printJSON(lockJSON{s.path, s.missing, changes, refusedJSON(s.refused), s.failed, 0}); err != nil {
			return err
		}
		return silently(code)
	}
	a.lockNotes(s)
	if code == exitOK {
		return a.write("nothing differs from " + a.stdout.text(s.path) + "\n")
	}
	text := lockText(a.stdout, changes) + "\n" + count(len(changes), "difference") + " from " + a.stdout.text(s.path) + "; cloister lock accept takes them\n"
	if err := a.write(text); err != nil {
		return err
	}
	return silently(code)
}

// lockNotes says what the comparison leaves out.
func (a *app) lockNotes(s *lockState) {
	if s.missing {
		a.complain("note: there is no lock file at "+s.path+", so nothing is agreed to", "")
	}
	for _, e := range s.refused {
		a.complain("note: "+refusalLine(e), "")
	}
	for _, f := range s.failed {
		a.complain("note: "+f.note(), "")
	}
}

func (a *app) acceptLock(ctx context.Context, f *lockFlags, ids []string, yes bool) error {
	s, err := f.state(ctx, ids)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if !s.knows(id) {
			return usageError(fmt.Errorf("%s is neither a plugin nor a tool nor an MCP server that is loaded or locked", id), "cloister lock status shows what differs")
		}
	}
	changes := s.changes(ids)
	if !f.json {
		a.lockNotes(s)
	}
	if len(changes) == 0 {
		if f.json {
			return a.printJSON(lockJSON{s.path, s.missing, changes, refusedJSON(s.refused), s.failed, 0})
		}
		return a.write("nothing differs from " + a.stdout.text(s.path) + "\n")
	}
	if !f.json {
		if err := a.write(lockText(a.stdout, changes) + "\n"); err != nil {
			return err
		}
	}
	if err := a.consent(ctx, "accept "+count(len(changes), "difference")+" into "+s.path+"?", yes, f.json); err != nil {
		return err
	}
	s.take(changes)
	if own, err := dataLockPath(); err != nil || own == s.path {
		if err := errors.Join(err, os.MkdirAll(filepath.Dir(s.path), 0o700)); err != nil {
			return &exitError{code: exitInternal, err: err}
		}
	}
	if err := s.file.Save(s.path); err != nil {
		return err
	}
	if f.json {
		return a.printJSON(lockJSON{s.path, false, changes, refusedJSON(s.refused), s.failed, len(changes)})
	}
	return a.write("accepted " + count(len(changes), "difference") + " into " + a.stdout.text(s.path) + "\n")
}
