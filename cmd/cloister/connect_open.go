package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/cloister-wasm/cloister/internal/clientconfig"
	"github.com/cloister-wasm/cloister/internal/safefile"
)

// clientFile is a client's file as it is now.
type clientFile struct {
	client *clientconfig.Client
	// path is the file itself, link a symbolic link to it, or empty.
	path, link string
	// missing: it is not there.
	missing bool
	mode    os.FileMode
	text    []byte
}

// openClientFile finds a client's file and reads it.
func openClientFile(client *clientconfig.Client, named string) (*clientFile, error) {
	f := &clientFile{client: client, mode: 0o600}
	if err := f.find(named); err != nil {
		return nil, err
	}
	info, err := os.Stat(f.path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		f.missing = true
		return f, nil
	case err != nil:
		return nil, usageError(err, "")
	}
	f.mode = info.Mode().Perm()
	if f.text, err = safefile.Read(f.path, clientconfig.MaxBytes); err != nil {
		return nil, usageError(fmt.Errorf("the file of %s: %w", client.Title, err), "--config FILE names another")
	}
	return f, nil
}

// find says which file it is. A link from where the client looks is its user's, who may keep such files elsewhere; one that is
// named may have come with a project, and lead anywhere.
func (f *clientFile) find(named string) error {
	path := named
	if path == "" {
		system := thisSystem()
		if system.Home == "" {
			return usageError(errors.New("your home folder is not known"), "--config FILE names the client's file")
		}
		files := f.client.Files(system)
		path = files[0]
		for _, other := range files {
			if _, err := os.Lstat(other); err == nil {
				path = other
				break
			}
		}
	}
	f.path = absolute(path)
	if dir, err := filepath.EvalSymlinks(filepath.Dir(f.path)); err == nil {
		f.path = filepath.Join(dir, filepath.Base(f.path)) // what is shown is where it is
	}
	info, err := os.Lstat(f.path)
	if err != nil || info.Mode()&os.ModeSymlink == 0 {
		return nil // what else is wrong, reading says
	}
	target, err := filepath.EvalSymlinks(f.path)
	if err != nil {
		return usageError(fmt.Errorf("%s is a symbolic link that leads nowhere: %w", f.path, err), "remove it, or make what it leads to")
	}
	if named != "" {
		return usageError(fmt.Errorf("%s is a symbolic link to %s", f.path, target), "--config "+quoteWord(target)+" changes that file")
	}
	f.path, f.link = target, f.path
	return nil
}

// shown is the file's name for people.
func (f *clientFile) shown() string {
	if f.link != "" {
		return f.link + " (a link to " + f.path + ")"
	}
	return f.path
}

// document reads the file's text. Where that cannot be changed, the error's hint is what to write by hand.
func (f *clientFile) document(name string, entry json.RawMessage) (*clientconfig.Document, error) {
	d, err := f.client.Open(f.path, f.text)
	return d, f.fault(err, name, entry)
}

// fault gives an error about the file its exit code and a way out.
func (f *clientFile) fault(err error, name string, entry json.RawMessage) error {
	if err == nil {
		return nil
	}
	hint := "mend the file; nothing was changed"
	if errors.Is(err, clientconfig.ErrLayout) || errors.Is(err, clientconfig.ErrTooLarge) {
		hint = "nothing was changed; take " + strings.Join(f.client.List, ".") + "." + name + " out by hand"
		if example, wrong := exampleOf(f.client, name, entry); wrong == nil {
			hint = "nothing was changed; by hand, this belongs into the file:\n" + example
		}
	}
	return usageError(err, hint)
}

// exampleOf is an otherwise empty file with the entry.
func exampleOf(client *clientconfig.Client, name string, entry json.RawMessage) (string, error) {
	if entry == nil {
		return "", clientconfig.ErrLayout
	}
	d, err := client.Open("example", nil)
	if err == nil {
		d, err = d.Set(name, entry)
	}
	if err != nil {
		return "", err
	}
	return string(d.Text()), nil
}
