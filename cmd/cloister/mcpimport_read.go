package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/cloister-wasm/cloister/host/mcp"
	"github.com/cloister-wasm/cloister/internal/forms"
	"github.com/cloister-wasm/cloister/internal/json5"
	"github.com/cloister-wasm/cloister/internal/plaintext"
	"github.com/cloister-wasm/cloister/internal/schema"
)

// imported is a server of another client's configuration.
type imported struct {
	mcp.Server
	// original is the name there, file the file.
	original, file string
	// refused says why it cannot be taken; notes are what was not taken as it was.
	refused string
	notes   []string
}

// Bounds of other clients' files.
const (
	maxImportBytes   = 32 << 20
	maxImportServers = 1000
)

var errNoServers = errors.New("it holds no MCP servers: none of mcpServers, servers, context_servers and mcp_servers is there")

// serverLists are where clients keep their servers.
type serverLists struct {
	MCPServers     json.RawMessage `json:"mcpServers,omitempty"`      // Claude, Cursor, Windsurf and more
	Servers        json.RawMessage `json:"servers,omitempty"`         // VS Code
	ContextServers json.RawMessage `json:"context_servers,omitempty"` // Zed
	Codex          json.RawMessage `json:"mcp_servers,omitempty"`     // Codex, from TOML
}

// readImport reads the servers of a client's configuration file, whatever the client.
// Comments and trailing commas are fine, as several clients allow them.
func readImport(file string, data []byte) ([]imported, error) {
	root, err := importRoot(file, data)
	if err != nil {
		return nil, err
	}
	if vscode := root.Lookup("mcp", "servers"); vscode != nil { // settings.json of older versions
		root = root.Lookup("mcp")
	}
	var out []imported
	found := false
	for _, key := range []string{"mcpServers", "servers", "context_servers", "mcp_servers"} {
		m := root.Member(key)
		if m == nil {
			continue
		}
		found = true
		if m.Value.Kind != json5.Object {
			return nil, fmt.Errorf("%s: %s: %s is not an object", file, m.Value.Pos, key)
		}
		for _, server := range m.Value.Members {
			if len(out) == maxImportServers {
				return nil, fmt.Errorf("%s has more than %d servers", file, maxImportServers)
			}
			i := importer{out: imported{original: server.Key, file: file}}
			i.server(server.Value)
			out = append(out, i.out)
		}
	}
	if !found {
		return nil, fmt.Errorf("%s: %w", file, errNoServers)
	}
	return out, nil
}

func importRoot(file string, data []byte) (*json5.Node, error) {
	if strings.EqualFold(filepath.Ext(file), ".toml") {
		var lists struct {
			Servers map[string]any `toml:"mcp_servers"`
		}
		if len(data) > json5.MaxBytes {
			return nil, fmt.Errorf("%s has more than %d bytes", file, json5.MaxBytes)
		}
		if err := toml.Unmarshal(data, &lists); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		text, err := json.Marshal(map[string]any{"mcp_servers": lists.Servers})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		data = text
	}
	if len(data) > json5.MaxBytes { // mostly other things than servers
		var lists serverLists
		if err := schema.DecodeInto(data, &lists, &schema.DecodeOptions{AllowUnknown: true}); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		data = marshalPlain(lists)
	}
	root, err := json5.Parse(file, data)
	if err == nil && root.Kind != json5.Object {
		err = fmt.Errorf("%s: must be an object", file)
	}
	return root, err
}

// importer reads one server.
type importer struct{ out imported }

func (i *importer) refuse(format string, args ...any) {
	if i.out.refused == "" {
		i.out.refused = fmt.Sprintf(format, args...)
	}
}

func (i *importer) note(format string, args ...any) {
	i.out.notes = append(i.out.notes, fmt.Sprintf(format, args...))
}

var notInName = regexp.MustCompile(`[^A-Za-z0-9_.-]+`)

func (i *importer) server(n *json5.Node) {
	name := strings.Trim(notInName.ReplaceAllString(i.out.original, "-"), "-.")
	if name = plaintext.Head(name, 64); forms.ServerName(name) != "" {
		i.refuse("its name cannot be a server's name here; add it by hand: cloister mcp add NAME ...")
	} else if name != i.out.original {
		i.note("its name is %s here", name)
	}
	i.out.Name = name
	if n.Kind != json5.Object {
		i.refuse("it is not an object")
		return
	}
	var rest []string
	for _, m := range n.Members {
		if !i.member(m.Key, m.Value) {
			rest = append(rest, m.Key)
		}
	}
	if len(rest) > 0 {
		i.note("not taken: %s", strings.Join(rest, ", "))
	}
	switch s := &i.out.Server; {
	case s.Command == "" && s.URL == "":
		i.refuse("it has neither a command nor a url")
	case s.Command != "" && s.URL != "":
		i.refuse("it has both a command and a url")
	case s.URL != "" && (len(s.Env) > 0 || len(s.Args) > 0):
		s.Env, s.Args, s.Dir, s.InheritEnv = nil, nil, "", nil
		i.note("not taken: what only a command has")
	}
}

// member reads a member; false means that it is not known.
func (i *importer) member(key string, n *json5.Node) bool {
	s := &i.out.Server
	switch key {
	case "command":
		if n.Kind == json5.Object { // Zed, as it was
			for _, m := range n.Members {
				if k := map[string]string{"path": "command", "args": "args", "env": "env"}[m.Key]; k == "" || !i.member(k, m.Value) {
					return false
				}
			}
			return true
		}
		s.Command = i.text(key, n)
	case "args":
		for _, e := range n.Elements {
			s.Args = append(s.Args, i.text(key, e))
		}
	case "cwd":
		s.Dir = i.text(key, n)
	case "url", "serverUrl", "httpUrl":
		s.URL = i.text(key, n)
	case "env":
		i.values(&s.Env, n, forms.Variable)
	case "headers", "http_headers":
		i.values(&s.Headers, n, forms.Header)
	case "env_http_headers", "bearer_token_env_var", "env_vars":
		i.codex(key, n)
	case "type", "transport":
		if n.Text == "sse" {
			i.refuse("it speaks the old HTTP+SSE transport; use its streamable HTTP url, if it has one")
		}
	case "disabled":
		s.Disabled = s.Disabled || n.Bool
	case "enabled":
		s.Disabled = s.Disabled || n.Kind == json5.Bool && !n.Bool
	case "source", "description", "timeout", "settings", "name":
	default:
		return false
	}
	return true
}

// codex reads what only Codex has.
func (i *importer) codex(key string, n *json5.Node) {
	s := &i.out.Server
	if s.Headers == nil && key != "env_vars" {
		s.Headers = map[string]mcp.Value{}
	}
	variable := func(n *json5.Node) string {
		if n.Kind != json5.String || forms.Variable(n.Text) != "" {
			i.refuse("%s does not name a variable of the environment", key)
		}
		return n.Text
	}
	switch key {
	case "env_http_headers":
		for _, m := range n.Members {
			if forms.Header(m.Key) != "" {
				i.refuse("%q is not the name of an HTTP header", m.Key)
				continue
			}
			s.Headers[m.Key] = mcp.Value{Env: variable(m.Value)}
		}
	case "bearer_token_env_var":
		s.Headers["Authorization"] = mcp.Value{Env: variable(n), Prefix: "Bearer "}
	case "env_vars":
		for _, e := range n.Elements {
			s.InheritEnv = append(s.InheritEnv, variable(e))
		}
	}
}
