package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cloister-wasm/cloister/host/mcp"
	"github.com/cloister-wasm/cloister/internal/json5"
	"github.com/cloister-wasm/cloister/internal/safefile"
	"github.com/cloister-wasm/cloister/internal/schema"
)

// userListName is the user's own list of MCP servers, in the data folder: what
// "cloister mcp add" writes where no configuration file is named.
const userListName = "mcp.json"

func userListPath() (string, error) {
	dir, err := dataDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, userListName), nil
}

// readUserList reads the user's own list: {"servers": {…}}, strict JSON. Where there
// is none, there are no servers.
func readUserList() ([]mcpServer, error) {
	path, err := userListPath()
	if err != nil {
		return nil, err
	}
	data, err := safefile.Read(path, json5.MaxBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	const hint = "cloister mcp add writes this file; mend it, or move it away"
	if err != nil {
		return nil, usageError(fmt.Errorf("the list of MCP servers: %w", err), hint)
	}
	servers, err := parseUserList(path, data)
	if err != nil {
		return nil, usageError(fmt.Errorf("the list of MCP servers is not usable\n%w", err), hint)
	}
	return servers, nil
}

func parseUserList(path string, data []byte) ([]mcpServer, error) {
	if err := schema.Check(data); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	root, err := json5.Parse(path, data) // JSON is a part of JSON5; this gives positions
	if err != nil {
		return nil, err
	}
	m := &mcpConfig{}
	r := &configReader{root: root}
	r.object(root, "", keys{"servers": m.readServers(r)})
	if len(r.faults) > 0 {
		return nil, r.err()
	}
	for i := range m.servers {
		m.servers[i].user = true
	}
	return m.servers, nil
}

// addUserList adds the servers of the user's own list. The configuration file wins.
func (m *mcpConfig) addUserList() error {
	servers, err := readUserList()
	if err != nil {
		return err
	}
	for _, s := range servers {
		if m.find(s.Name) != nil {
			m.shadowed = append(m.shadowed, s)
			continue
		}
		m.servers = append(m.servers, s)
	}
	return nil
}

// mcpTarget is the file that a change of servers goes into.
type mcpTarget struct {
	path string
	user bool
}

// mcpTargetOf gives the file that --config or CLOISTER_CONFIG names, else the
// user's own list.
func mcpTargetOf(flag string) (mcpTarget, error) {
	if flag == "" {
		flag = os.Getenv("CLOISTER_CONFIG")
	}
	if flag != "" {
		return mcpTarget{path: flag}, nil
	}
	path, err := userListPath()
	return mcpTarget{path, true}, err
}

// member is where a server stands in the file, or a part of it.
func (t mcpTarget) member(name string, more ...string) []string {
	path := []string{"servers", name}
	if !t.user {
		path = []string{"mcp", "servers", name}
	}
	return append(path, more...)
}

// change changes the file as it is then, whole or not at all. What comes out has
// to be readable.
func (t mcpTarget) change(edit func(*document) ([]byte, error)) (err error) {
	mode := fs.FileMode(0o600)
	if t.user {
		unlock, lockErr := lockFile(t.path)
		if lockErr != nil {
			return lockErr
		}
		defer func() { err = errors.Join(err, unlock()) }()
	} else if mode, err = t.follow(); err != nil {
		return usageError(err, "")
	}
	before, err := safefile.Read(t.path, json5.MaxBytes)
	if t.user && errors.Is(err, fs.ErrNotExist) {
		before, err = []byte("{\n  \"servers\": {}\n}\n"), nil
	}
	if err != nil {
		return usageError(err, "")
	}
	d, err := parseDocument(t.path, before)
	if err != nil {
		return usageError(err, "")
	}
	after, err := edit(d)
	if err != nil {
		return usageError(err, "")
	}
	if t.user {
		_, err = parseUserList(t.path, after)
	} else {
		_, err = parseConfig(t.path, after)
	}
	if err != nil {
		return usageError(fmt.Errorf("%s was not changed: %w", t.path, err), "")
	}
	if bytes.Equal(before, after) {
		return nil
	}
	if err := safefile.ReplaceBytes(t.path, mode, after); err != nil {
		return &exitError{code: exitInternal, err: err}
	}
	return nil
}

// follow makes the target what a link leads to, so that the link stays one, and
// gives the permissions, which stay too.
func (t *mcpTarget) follow() (fs.FileMode, error) {
	path, err := filepath.EvalSymlinks(t.path)
	if err != nil {
		return 0, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	t.path = path
	return info.Mode().Perm(), nil
}

// put writes a server down.
func (t mcpTarget) put(s *mcp.Server) error {
	form, err := serverForm(s)
	if err != nil {
		return err
	}
	return t.change(func(d *document) ([]byte, error) { return d.set(t.member(s.Name), form) })
}

// serverForm is a server as files have it.
func serverForm(s *mcp.Server) (json.RawMessage, error) {
	form := struct {
		Command    string               `json:"command,omitempty"`
		Args       []string             `json:"args,omitempty"`
		Dir        string               `json:"dir,omitempty"`
		Env        map[string]valueForm `json:"env,omitempty"`
		InheritEnv []string             `json:"inheritEnv,omitempty"`
		URL        string               `json:"url,omitempty"`
		Headers    map[string]valueForm `json:"headers,omitempty"`
		OAuth      *oauthForm           `json:"oauth,omitempty"`
		Private    bool                 `json:"allowPrivate,omitempty"`
		Approval   string               `json:"approval,omitempty"`
		Allow      *[]string            `json:"allow,omitempty"` // an empty list allows nothing
		Deny       []string             `json:"deny,omitempty"`
		Idempotent []string             `json:"idempotent,omitempty"`
		Disabled   bool                 `json:"disabled,omitempty"`
		Limits     *limitsForm          `json:"limits,omitempty"`
	}{
		Command: s.Command, Args: s.Args, Dir: s.Dir, Env: valueForms(s.Env), InheritEnv: s.InheritEnv, URL: s.URL,
		Headers: valueForms(s.Headers), Approval: string(s.Approval), Deny: s.Deny, Disabled: s.Disabled, Private: s.AllowPrivate, Idempotent: s.Idempotent,
	}
	if s.Allow != nil {
		form.Allow = &s.Allow
	}
	if s.Limits.ConnectTimeout > 0 {
		form.Limits = &limitsForm{s.Limits.ConnectTimeout.Milliseconds()}
	}
	if o := s.OAuth; o != nil {
		form.OAuth = &oauthForm{Grant: o.Grant, ClientID: o.ClientID, Scopes: o.Scopes, Redirect: o.Redirect}
		if secret := valueForm(o.ClientSecret); !secret.plain() {
			form.OAuth.ClientSecret = &secret
		}
	}
	text := marshalPlain(form)
	if err := schema.Check(text); err != nil {
		return nil, usageError(fmt.Errorf("the server cannot be written down: %w", err), "")
	}
	return text, nil
}

// limitsForm is the limits that the command line can set.
type limitsForm struct {
	ConnectTimeoutMs int64 `json:"connectTimeoutMs"`
}

type oauthForm struct {
	Grant        string     `json:"grant,omitempty"`
	ClientID     string     `json:"clientId,omitempty"`
	ClientSecret *valueForm `json:"clientSecret,omitempty"`
	Scopes       []string   `json:"scopes,omitempty"`
	Redirect     string     `json:"redirect,omitempty"`
}

// valueForm is a value as files have it: a string, or the place of a secret.
type valueForm mcp.Value

func (v valueForm) plain() bool { return v.Env == "" && v.File == "" && len(v.Command) == 0 }

// MarshalJSON implements json.Marshaler.
func (v valueForm) MarshalJSON() ([]byte, error) {
	if v.plain() {
		return marshalPlain(v.Text), nil
	}
	return marshalPlain(struct {
		Env     string   `json:"env,omitempty"`
		File    string   `json:"file,omitempty"`
		Command []string `json:"command,omitempty"`
		Prefix  string   `json:"prefix,omitempty"`
	}{v.Env, v.File, v.Command, v.Prefix}), nil
}

func valueForms(values map[string]mcp.Value) map[string]valueForm {
	out := map[string]valueForm{}
	for name, v := range values {
		out[name] = valueForm(v)
	}
	return out
}
