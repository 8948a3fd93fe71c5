package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cloister-wasm/cloister/internal/clientconfig"
	"github.com/cloister-wasm/cloister/internal/safefile"
)

const disconnectLong = `Undoes what "cloister connect" did to a client's file, and no more: its entry
goes, one that was there before comes back, and so do servers that --import took
out. What you changed since stays. It shows the change, asks, and keeps a copy
of the file.

An entry that somebody changed since is left alone; --force takes it out as it
is. What was imported stays behind Cloister; "cloister mcp remove" removes it
there.

` + connectExitHelp

func (a *app) disconnectCommand() *cobra.Command {
	f := &connectFlags{}
	cmd := &cobra.Command{
		Use:   "disconnect CLIENT",
		Short: "Take Cloister out of the configuration of an MCP client",
		Long:  disconnectLong,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return fmt.Errorf("disconnect takes one CLIENT and was given %d", len(args))
			}
			return oneClient("disconnect")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return operatorFault(cmd.Context(), a.disconnect(cmd.Context(), f, args[0]))
		},
		ValidArgsFunction: completeClients,
	}
	f.register(cmd)
	cmd.Flags().BoolVar(&f.force, "force", false, "take the entry out even if connect did not write it so")
	return cmd
}

// errNotConnected: there is nothing to undo.
var errNotConnected = errors.New("cloister connect did not change it")

func (a *app) disconnect(ctx context.Context, f *connectFlags, name string) error {
	client, err := findClient(name)
	if err == nil {
		err = f.check()
	}
	if err != nil {
		return err
	}
	file, err := openClientFile(client, f.config)
	if err != nil {
		return err
	}
	r, err := file.record()
	if err != nil {
		return err
	}
	if file.missing {
		if r == nil {
			return usageError(fmt.Errorf("%s is not there: %w", file.path, errNotConnected), "")
		}
		path, err := file.recordPath()
		if err != nil {
			return err
		}
		if err := saveRecord(path, nil); err != nil {
			return err
		}
		return a.write(escapeLine(file.path) + " is not there any more\n")
	}
	d, err := file.document(f.name, nil)
	if err != nil {
		return err
	}
	if r == nil && !f.force {
		hint := ""
		if d.Server(f.name) != nil {
			hint = "it has " + f.name + "; --force takes that out"
		}
		return usageError(fmt.Errorf("%s: %w", file.shown(), errNotConnected), hint)
	}
	u := &undoing{app: a, flags: f, file: file, before: d, record: r}
	return u.run(ctx)
}

// undoing is one change of a client's file that takes Cloister out.
type undoing struct {
	app    *app
	flags  *connectFlags
	file   *clientFile
	before *clientconfig.Document
	record *clientconfig.Record
}

// steps are the documents on the way back.
func (u *undoing) steps() ([]*clientconfig.Document, error) {
	if u.record == nil || u.flags.force {
		d, err := u.before.Remove(u.flags.name)
		if err != nil || d == u.before {
			return nil, err
		}
		return []*clientconfig.Document{d}, nil
	}
	if clientconfig.Sum(u.file.text) == u.record.After && u.record.Backup != "" { // nobody changed anything: byte for byte
		text, err := safefile.Read(u.record.Backup, clientconfig.MaxBytes)
		if err == nil && clientconfig.Sum(text) == u.record.Before {
			if d, err := u.file.client.Open(u.file.path, text); err == nil {
				return []*clientconfig.Document{d}, nil
			}
		}
	}
	return u.record.Undo(u.before)
}

func (u *undoing) run(ctx context.Context) error {
	a := u.app
	steps, err := u.steps()
	if errors.Is(err, clientconfig.ErrChanged) {
		return usageError(err, "take it out by hand, or --force takes it out as it is")
	}
	if err != nil {
		return u.file.fault(err, u.flags.name, nil)
	}
	last := u.before
	if len(steps) > 0 {
		last = steps[len(steps)-1]
	}
	gone := u.record != nil && u.record.Created && last.Empty() && len(steps) > 0
	if len(steps) > 0 && !u.flags.asJSON {
		diff := diffOf(a.stdout, u.before, steps)
		if gone {
			diff = fileDiff(a.stdout, u.before.Text(), nil)
		}
		if err := a.write(a.stdout.paint(styleBold, escapeLine(u.file.shown())) + "\n" + diff); err != nil {
			return err
		}
	}
	if u.flags.dryRun {
		return u.done(steps, "", false, gone)
	}
	if len(steps) > 0 {
		question := "change " + u.file.shown() + "?"
		if gone {
			question = "remove " + u.file.path + ", which connect made?"
		}
		if err := a.consent(ctx, question, u.flags.yes, u.flags.asJSON); err != nil {
			return err
		}
	}
	backup, err := u.write(last, len(steps) > 0, gone)
	if err != nil {
		return err
	}
	return u.done(steps, backup, len(steps) > 0, gone)
}

// write writes the text and forgets what connect did.
func (u *undoing) write(last *clientconfig.Document, changed, gone bool) (backup string, err error) {
	if !changed {
		path, err := u.file.recordPath()
		if err != nil {
			return "", err
		}
		return "", saveRecord(path, nil)
	}
	text := last.Text()
	if gone {
		text = nil
	} else if text == nil {
		text = []byte{}
	}
	return u.file.replace(text, func(*clientconfig.Record, string) *clientconfig.Record { return nil })
}

func (u *undoing) done(steps []*clientconfig.Document, backup string, changed, gone bool) error {
	a, client := u.app, u.file.client
	if u.flags.asJSON {
		return a.printJSON(&connectJSON{Client: client.Name, File: u.file.path, Name: u.flags.name, Changed: changed, Diff: diffOf(plainDiff, u.before, steps), Backup: backup})
	}
	var b strings.Builder
	switch {
	case len(steps) == 0:
		fmt.Fprintf(&b, "%s has nothing of Cloister any more in %s\n", client.Title, escapeLine(u.file.shown()))
	case changed && gone:
		fmt.Fprintf(&b, "disconnected: %s, which connect made, is gone; restart %s if it runs\n", escapeLine(u.file.path), client.Title)
	case changed:
		fmt.Fprintf(&b, "disconnected: %s is as it was before in %s; restart it if it runs\n", client.Title, strings.Join(u.before.Path(), "."))
		fmt.Fprintf(&b, "the file from before is %s\n", escapeLine(backup))
	}
	return a.write(b.String())
}
