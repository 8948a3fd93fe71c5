package settings

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/cloister-wasm/cloister/host/mcp"
	"github.com/cloister-wasm/cloister/internal/json5"
	"github.com/cloister-wasm/cloister/internal/safefile"
)

// ServerFile is a file that MCP servers can be written into: a configuration file, whose
// comments and layout stay, or the user's own list. Its methods change the file as it is
// then, whole or not at all, and refuse what could not be read afterwards. Errors are as
// those of Load, or a *WriteError.
type ServerFile struct {
	Path string
	// User says that it is the user's own list, which is made if it is not there.
	User bool
	// Private has changes leave the file readable and writable by its owner alone (mode
	// 0600), as the user's own list always is: for servers that hold a secret as a text.
	// Otherwise a configuration keeps its permissions.
	Private bool
}

// ServerFile gives the file that changes of MCP servers go into: the one that file or
// CLOISTER_CONFIG names, else the user's own list. A configuration that merely lies in
// the working folder can have no servers.
func (p Places) ServerFile(file string) (ServerFile, error) {
	if file == "" {
		file = os.Getenv(FileVariable)
	}
	if file != "" {
		return ServerFile{Path: file}, nil
	}
	path, err := p.ServerList()
	return ServerFile{Path: path, User: true}, err
}

// ServerFile gives the file that a server stands in.
func (s *Server) ServerFile() ServerFile { return ServerFile{Path: s.File, User: s.User} }

// Put writes a server down, in place of one of its name.
func (f ServerFile) Put(s *mcp.Server) error {
	form, err := serverForm(s)
	if err != nil {
		return err
	}
	return f.change(func(d *document) ([]byte, error) { return d.set(f.member(s.Name), form) })
}

// Remove removes a server.
func (f ServerFile) Remove(name string) error {
	return f.change(func(d *document) ([]byte, error) { return d.remove(f.member(name)) })
}

// SetDisabled keeps a server out of use, or has it used again.
func (f ServerFile) SetDisabled(name string, disabled bool) error {
	path := f.member(name, "disabled")
	return f.change(func(d *document) ([]byte, error) {
		if disabled {
			return d.set(path, json.RawMessage("true"))
		}
		return d.remove(path)
	})
}

// member is where a server stands in the file, or a part of it.
func (f ServerFile) member(name string, more ...string) []string {
	path := []string{"servers", name}
	if !f.User {
		path = []string{"mcp", "servers", name}
	}
	return append(path, more...)
}

// private is the permissions of a file that holds secrets.
const private = fs.FileMode(0o600)

// change edits the text and replaces the file by it.
func (f ServerFile) change(edit func(*document) ([]byte, error)) (err error) {
	mode := private
	if f.User {
		unlock, lockErr := lockFile(f.Path)
		if lockErr != nil {
			return lockErr
		}
		defer func() { err = errors.Join(err, unlock()) }()
	} else if mode, err = f.follow(); err != nil {
		return err
	}
	before, err := safefile.ReadTrusted(f.Path, json5.MaxBytes)
	if f.User && errors.Is(err, fs.ErrNotExist) {
		before, err = []byte("{\n  \"servers\": {}\n}\n"), nil
	}
	if err != nil {
		return err
	}
	d, err := parseDocument(f.Path, before)
	if err != nil {
		return err
	}
	after, err := edit(d)
	if err != nil {
		return err
	}
	if f.User {
		_, err = parseServerList(f.Path, after)
	} else {
		_, err = Parse(f.Path, after)
	}
	if err != nil {
		return fmt.Errorf("%s was not changed: %w", f.Path, err)
	}
	if bytes.Equal(before, after) && (!f.Private || mode == private) {
		return nil
	}
	if f.Private {
		mode = private // of the new file from its start: the secret is never in another
	}
	if err := safefile.ReplaceBytes(f.Path, mode, after); err != nil {
		return &WriteError{File: f.Path, Err: err}
	}
	return nil
}

// follow makes the file what a link leads to, so that the link stays one, and gives the
// permissions, which stay too.
func (f *ServerFile) follow() (fs.FileMode, error) {
	path, err := filepath.EvalSymlinks(f.Path)
	if err != nil {
		return 0, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	f.Path = path
	return info.Mode().Perm(), nil
}

// lockTime is how long a change waits for another process that changes the file.
const lockTime = 10 * time.Second

// lockFile keeps other processes from changing a file, whose folder is made for this
// user alone.
func lockFile(path string) (unlock func() error, err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, &WriteError{File: path, Err: err}
	}
	ctx, cancel := context.WithTimeout(context.Background(), lockTime)
	defer cancel()
	if unlock, err = safefile.Lock(ctx, path); err != nil {
		return nil, &WriteError{File: path, Busy: true, Err: fmt.Errorf("changing %s: %w", path, err)}
	}
	return unlock, nil
}
