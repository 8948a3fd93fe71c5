package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cloister-wasm/cloister/host/mcp"
	"github.com/cloister-wasm/cloister/internal/clientconfig"
	"github.com/cloister-wasm/cloister/internal/json5"
	"github.com/cloister-wasm/cloister/internal/schema"
)

// imported is a server of another client's configuration.
type imported struct {
	mcp.Server
	// original is the name there, file the file.
	original, file string
	// project is the folder that it was for, of Claude Code's.
	project string
	// refused says why it cannot be taken; notes are what was not taken as it was.
	refused string
	notes   []string
}

// Bounds of other clients' files.
const (
	maxImportBytes   = 32 << 20
	maxImportServers = 1000
)

var errNoServers = errors.New("it holds no MCP servers: none of mcpServers, servers, context_servers, mcp_servers, mcp and extensions is there")

// serverLists are where clients keep their servers.
type serverLists struct {
	MCPServers     json.RawMessage            `json:"mcpServers,omitempty"`      // Claude, Cursor, Windsurf, Gemini CLI and more
	Servers        json.RawMessage            `json:"servers,omitempty"`         // VS Code
	ContextServers json.RawMessage            `json:"context_servers,omitempty"` // Zed
	Codex          json.RawMessage            `json:"mcp_servers,omitempty"`     // Codex, from TOML
	Opencode       json.RawMessage            `json:"mcp,omitempty"`             // opencode; VS Code's settings.json of old
	Goose          json.RawMessage            `json:"extensions,omitempty"`      // Goose, from YAML
	Projects       map[string]json.RawMessage `json:"projects,omitempty"`        // Claude Code
}

// importReader reads one file.
type importReader struct {
	// file is the absolute path: where it lies says what references in it mean.
	file string
	// project is the folder whose servers count, of a client that has such; with exact those of folders above it do not.
	project string
	exact   bool

	out []imported
	// others are the projects with servers that were not taken.
	others []string
}

// read reads the servers of a client's configuration file, whatever the client.
// Comments and trailing commas are fine, as several clients allow them.
func (r *importReader) read(file string, data []byte) ([]imported, error) {
	root, err := importRoot(file, data)
	if err != nil {
		return nil, err
	}
	keys := []string{"mcpServers", "servers", "context_servers", "mcp_servers", "extensions"}
	if root.Lookup("mcp", "servers") != nil { // settings.json of older versions of VS Code, opencode 2
		root = root.Lookup("mcp")
	} else {
		keys = append(keys, "mcp")
	}
	found := false
	if projects := root.Member("projects"); projects != nil && projects.Value.Kind == json5.Object {
		if found, err = r.projects(projects.Value); err != nil {
			return nil, err
		}
	}
	for _, key := range keys {
		if m := root.Member(key); m != nil {
			found = true
			if err := r.list(file, m, ""); err != nil {
				return nil, err
			}
		}
	}
	if !found {
		return nil, fmt.Errorf("%s: %w", file, errNoServers)
	}
	return r.out, nil
}

// list reads the servers of a list.
func (r *importReader) list(file string, m *json5.Member, project string) error {
	if m.Value.Kind != json5.Object {
		return fmt.Errorf("%s: %s: %s is not an object", file, m.Value.Pos, m.Key)
	}
	for _, server := range m.Value.Members {
		if len(r.out) == maxImportServers {
			return fmt.Errorf("%s has more than %d servers", file, maxImportServers)
		}
		i := importer{out: imported{original: server.Key, file: file, project: project}, references: referencesOf(r.file, project)}
		i.server(server.Value)
		r.out = append(r.out, i.out)
	}
	return nil
}

// projects reads the servers that Claude Code has for single folders, which count before those for all.
func (r *importReader) projects(all *json5.Node) (found bool, err error) {
	for i := range all.Members {
		m := &all.Members[i]
		list := m.Value.Member("mcpServers")
		if list == nil || len(list.Value.Members) == 0 {
			continue
		}
		if !r.counts(m.Key) {
			r.others = append(r.others, m.Key)
			continue
		}
		found = true
		first := len(r.out)
		if err := r.list(r.file, list, m.Key); err != nil {
			return false, err
		}
		for k := range r.out[first:] {
			s := &r.out[first+k]
			if s.Command != "" && s.Dir == "" {
				s.Dir = m.Key // where the client starts it
			}
			if off := m.Value.Member("disabledMcpServers"); off != nil && slices.ContainsFunc(off.Value.Elements, func(n *json5.Node) bool { return n.Text == s.original }) {
				s.Disabled = true
			}
			s.notes = append(s.notes, "it was for one project; here it is for every cell")
		}
	}
	return found, nil
}

// counts says whether the servers of a project are to be taken.
func (r *importReader) counts(project string) bool {
	if r.project == "" || !filepath.IsAbs(project) {
		return false
	}
	rel, err := filepath.Rel(filepath.Clean(project), r.project)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return false
	}
	return rel == "." || !r.exact
}

func importRoot(file string, data []byte) (*json5.Node, error) {
	switch ext := strings.ToLower(filepath.Ext(file)); ext {
	case ".toml", ".yaml", ".yml":
		if len(data) > json5.MaxBytes {
			return nil, fmt.Errorf("%s has more than %d bytes", file, json5.MaxBytes)
		}
		format, list := clientconfig.TOML, "mcp_servers"
		if ext != ".toml" {
			format, list = clientconfig.YAML, "extensions"
		}
		d, err := clientconfig.Open(file, format, []string{list}, data)
		if err != nil {
			return nil, err
		}
		servers := map[string]json.RawMessage{}
		for _, name := range d.Names() {
			servers[name] = d.Server(name)
		}
		lists := map[string]any{list: servers}
		if d.Depth() == 0 {
			delete(lists, list)
		}
		data = marshalPlain(lists)
	}
	if len(data) > json5.MaxBytes { // mostly other things than servers
		small, err := onlyServers(file, data)
		if err != nil {
			return nil, err
		}
		data = small
	}
	root, err := json5.Parse(file, data)
	if err == nil && root.Kind != json5.Object {
		err = fmt.Errorf("%s: must be an object", file)
	}
	return root, err
}

// onlyServers leaves out of a large file what is not about servers.
func onlyServers(file string, data []byte) ([]byte, error) {
	lenient := &schema.DecodeOptions{AllowUnknown: true}
	var lists serverLists
	if err := schema.DecodeInto(data, &lists, lenient); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for name, text := range lists.Projects {
		var p struct {
			MCPServers json.RawMessage `json:"mcpServers,omitempty"`
			Disabled   json.RawMessage `json:"disabledMcpServers,omitempty"`
		}
		if err := schema.DecodeInto(text, &p, lenient); err != nil {
			return nil, fmt.Errorf("%s: projects: %w", file, err)
		}
		if delete(lists.Projects, name); p.MCPServers != nil {
			lists.Projects[name] = marshalPlain(p)
		}
	}
	return marshalPlain(lists), nil
}
