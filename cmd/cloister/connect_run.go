package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cloister-wasm/cloister/internal/clientconfig"
)

// connecting is one change of a client's file that puts Cloister in.
type connecting struct {
	app    *app
	flags  *connectFlags
	file   *clientFile
	entry  json.RawMessage
	before *clientconfig.Document

	imported []importedJSON
	changes  []clientconfig.Change
	steps    []*clientconfig.Document
}

// connectJSON is what connect and disconnect print with --json.
type connectJSON struct {
	Client  string `json:"client"`
	File    string `json:"file"`
	Name    string `json:"name"`
	Changed bool   `json:"changed"`
	// Diff is what changes, or would; secrets of the file are taken out.
	Diff string `json:"diff,omitempty"`
	// Backup is the copy of the file from before.
	Backup string `json:"backup,omitempty"`
	// Others are the client's servers that the model still reaches without Cloister.
	Others   []string       `json:"others,omitempty"`
	Imported []importedJSON `json:"imported,omitempty"`
}

// checkOthers refuses a file that starts Cloister by another name: the model would have all tools twice.
func (c *connecting) checkOthers() error {
	program, err := os.Executable()
	if err != nil {
		return &exitError{code: exitInternal, err: err}
	}
	for _, name := range c.before.Names() {
		if name != c.flags.name && clientconfig.IsCloister(c.before.Server(name), program) {
			return usageError(fmt.Errorf("%s starts Cloister already, as %s", c.file.shown(), name), "--name "+quoteWord(name)+" changes that entry")
		}
	}
	return nil
}

func (c *connecting) run(ctx context.Context) error {
	c.changes = []clientconfig.Change{{Name: c.flags.name, After: c.entry}}
	if c.flags.takeOver {
		if err := c.takeOver(ctx); err != nil {
			return err
		}
	}
	var err error
	if c.steps, err = c.before.Apply(c.changes); err != nil {
		return c.file.fault(err, c.flags.name, c.entry)
	}
	// What is as it should be was not done by this command, and is not undone by it.
	c.changes = slices.DeleteFunc(c.changes, func(ch clientconfig.Change) bool { return clientconfig.Same(ch.Before, ch.After) })
	if len(c.steps) == 0 {
		return c.done("", false)
	}
	if err := c.show(); err != nil {
		return err
	}
	if c.flags.dryRun {
		return c.done("", false)
	}
	if dir := filepath.Dir(c.file.path); c.file.missing {
		if _, err := os.Stat(dir); err != nil {
			c.app.complain("note: "+dir+" is not there: has "+c.file.client.Title+" been started yet?", "")
		}
	}
	question := "change " + c.file.shown() + "?"
	if c.file.missing {
		question = "make " + c.file.path + "?"
	}
	if err := c.app.consent(ctx, question, c.flags.yes, c.flags.asJSON); err != nil {
		if slices.ContainsFunc(c.imported, func(r importedJSON) bool { return r.Result == importTaken }) {
			c.app.complain("note: what was taken over stays behind Cloister, and in the client", "cloister mcp remove NAME takes it out here")
		}
		return err
	}
	backup, err := c.write()
	if err != nil {
		return err
	}
	return c.done(backup, true)
}

// takeOver imports the client's own servers, and notes those that can leave it.
func (c *connecting) takeOver(ctx context.Context) error {
	if c.file.missing {
		return nil
	}
	program, err := os.Executable()
	if err != nil {
		return &exitError{code: exitInternal, err: err}
	}
	f := &mcpImportFlags{from: c.file.path, yes: c.flags.yes, dryRun: c.flags.dryRun, asJSON: c.flags.asJSON, quietEmpty: true}
	f.skip = func(s *imported) bool {
		return s.original == c.flags.name || clientconfig.IsCloister(c.before.Server(s.original), program)
	}
	rows, _, err := c.app.runImport(ctx, f)
	if err != nil {
		return err
	}
	c.imported = rows
	for i := range rows {
		row := &rows[i]
		usable := row.Error == "" && (row.Result == importTaken || c.flags.dryRun && row.Result == importNew)
		if usable && row.Project == "" && c.before.Server(row.Original) != nil {
			c.changes = append(c.changes, clientconfig.Change{Name: row.Original})
		}
	}
	return nil
}

// show shows the change as a diff.
func (c *connecting) show() error {
	if c.flags.asJSON {
		return nil
	}
	return c.app.write(c.app.stdout.paint(styleBold, escapeLine(c.file.shown())) + "\n" + diffOf(c.app.stdout, c.before, c.steps))
}

// others are the servers that the model reaches without Cloister.
func (c *connecting) others() (names []string) {
	last := c.before
	if len(c.steps) > 0 {
		last = c.steps[len(c.steps)-1]
	}
	for _, name := range last.Names() {
		if name != c.flags.name && clientconfig.InUse(last.Server(name)) {
			names = append(names, name)
		}
	}
	return names
}

// done says what became of it.
func (c *connecting) done(backup string, changed bool) error {
	a, client := c.app, c.file.client
	if c.flags.asJSON {
		return a.printJSON(&connectJSON{
			Client: client.Name, File: c.file.path, Name: c.flags.name, Changed: changed, Diff: diffOf(plainDiff, c.before, c.steps),
			Backup: backup, Others: c.others(), Imported: c.imported,
		})
	}
	var b strings.Builder
	switch {
	case len(c.steps) == 0:
		fmt.Fprintf(&b, "%s has Cloister already: %s in %s\n", client.Title, c.flags.name, escapeLine(c.file.shown()))
	case changed:
		fmt.Fprintf(&b, "connected: %s has Cloister as %s; %s\n", client.Title, c.flags.name, client.After)
		if backup != "" {
			fmt.Fprintf(&b, "the file from before is %s\n", escapeLine(backup))
		}
	}
	if err := a.write(b.String()); err != nil {
		return err
	}
	c.notes()
	return nil
}

// maxNamed bounds the servers that a note names.
const maxNamed = 10

// notes are what is left to do.
func (c *connecting) notes() {
	a, client := c.app, c.file.client
	if names := c.others(); len(names) > 0 {
		n := len(names)
		if n > maxNamed {
			names = append(names[:maxNamed], "…")
		}
		hint := "cloister connect " + client.Name + " --import takes them behind it, and out of the client"
		if c.flags.takeOver {
			hint = "take them out of " + c.file.path + ", or mend them and run it again"
		}
		a.complain(fmt.Sprintf("note: the model reaches %s without Cloister, and so without policy and approval: %s", count(n, "server"), strings.Join(names, ", ")), hint)
	}
	if c.flags.http == "" {
		return
	}
	if path, err := tokenFile("", clientToken); err == nil {
		a.complain("the bearer token is in "+path+", where serve makes one", "export "+clientconfig.TokenVariable+"=\"$(cat "+quoteWord(path)+")\" where the client is started")
	}
}

// errFileChanged: what was shown is not what would be written.
var errFileChanged = errors.New("the file changed meanwhile")

// write writes what was shown and agreed to.
func (c *connecting) write() (backup string, err error) {
	last := c.steps[len(c.steps)-1]
	next := &clientconfig.Record{
		Version: clientconfig.RecordVersion, Client: c.file.client.Name, File: c.file.path, Created: c.file.missing, Depth: c.before.Depth(),
		Changes: c.changes, Before: clientconfig.Sum(c.file.text), After: clientconfig.Sum(last.Text()),
	}
	return c.file.replace(last.Text(), func(old *clientconfig.Record, backup string) *clientconfig.Record {
		next.Backup = backup
		return old.Then(next)
	})
}
