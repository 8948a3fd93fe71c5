package clientconfig

import (
	"encoding/json"
	"slices"
	"strings"
)

// Client is a program that uses MCP servers, and what its configuration looks like.
type Client struct {
	// Name is what the command line calls it, Title what its makers do.
	Name, Title string
	// Format is how its file is written, List where the servers are in it.
	Format Format
	List   []string
	// After says what its user has to do before a change counts.
	After string

	files func(System) []string
	stdio func(Launch) json.RawMessage
	http  func(url string) json.RawMessage
}

// TokenVariable is the variable of the environment that holds the bearer token of an entry with an address. The token itself
// is written into no client's file.
const TokenVariable = "CLOISTER_TOKEN"

// Launch is how a client starts Cloister.
type Launch struct {
	// Command is an absolute path.
	Command string
	Args    []string
	Env     map[string]string
}

const restart = "restart it"

// Clients are those that are known, by name. Each form is the one that the client's own documentation gives.
var Clients = []*Client{
	{
		Name: "claude-code", Title: "Claude Code", Format: JSON, List: []string{"mcpServers"}, After: "start a new session; /mcp shows it",
		files: func(s System) []string { return []string{s.within("CLAUDE_CONFIG_DIR", "", ".claude.json")} },
		stdio: func(l Launch) json.RawMessage {
			return object("type", "stdio", "command", l.Command, "args", l.Args, "env", l.Env)
		},
		http: func(url string) json.RawMessage {
			return object("type", "http", "url", url, "headers", bearer("${"+TokenVariable+"}"))
		},
	},
	{
		Name: "claude-desktop", Title: "Claude Desktop", Format: JSON, List: []string{"mcpServers"}, After: "quit it and start it again",
		files: func(s System) []string { return []string{s.config("Claude", "claude_desktop_config.json")} },
		stdio: commandArgsEnv,
	},
	{
		Name: "codex", Title: "Codex", Format: TOML, List: []string{"mcp_servers"}, After: "start a new session; /mcp shows it",
		files: func(s System) []string { return []string{s.within("CODEX_HOME", ".codex", "config.toml")} },
		stdio: commandArgsEnv,
		http: func(url string) json.RawMessage {
			return object("url", url, "bearer_token_env_var", TokenVariable)
		},
	},
	{
		Name: "cursor", Title: "Cursor", Format: JSON, List: []string{"mcpServers"}, After: restart,
		files: func(s System) []string { return []string{s.home(".cursor", "mcp.json")} },
		stdio: commandArgsEnv,
		http: func(url string) json.RawMessage {
			return object("url", url, "headers", bearer("${env:"+TokenVariable+"}"))
		},
	},
	{
		Name: "gemini", Title: "Gemini CLI", Format: JSON, List: []string{"mcpServers"}, After: "start a new session; /mcp shows it",
		files: func(s System) []string { return []string{s.home(".gemini", "settings.json")} },
		stdio: commandArgsEnv,
		http: func(url string) json.RawMessage {
			return object("httpUrl", url, "headers", bearer("${"+TokenVariable+"}"))
		},
	},
	{
		Name: "goose", Title: "Goose", Format: YAML, List: []string{"extensions"}, After: "start a new session",
		files: func(s System) []string {
			if s.GOOS == "windows" {
				return []string{s.config("Block", "goose", "config", "config.yaml")}
			}
			return []string{s.dot("goose", "config.yaml")}
		},
		stdio: func(l Launch) json.RawMessage {
			return object("enabled", true, "type", "stdio", "name", Name, "description", description, "cmd", l.Command, "args", l.Args, "envs", l.Env, "timeout", gooseTimeout)
		},
		http: func(url string) json.RawMessage {
			return object("enabled", true, "type", "streamable_http", "name", Name, "description", description, "uri", url,
				"env_keys", []string{TokenVariable}, "headers", bearer("${"+TokenVariable+"}"), "timeout", gooseTimeout)
		},
	},
	{
		Name: "opencode", Title: "opencode", Format: JSON, List: []string{"mcp"}, After: restart,
		files: func(s System) []string {
			return []string{s.xdg("opencode", "opencode.json"), s.xdg("opencode", "opencode.jsonc")}
		},
		stdio: func(l Launch) json.RawMessage {
			return object("type", "local", "command", append([]string{l.Command}, l.Args...), "environment", l.Env, "enabled", true)
		},
		http: func(url string) json.RawMessage {
			return object("type", "remote", "url", url, "headers", bearer("{env:"+TokenVariable+"}"), "enabled", true)
		},
	},
	{
		Name: "vscode", Title: "VS Code", Format: JSON, List: []string{"servers"}, After: "MCP: List Servers starts it",
		files: func(s System) []string { return []string{s.config("Code", "User", "mcp.json")} },
		stdio: func(l Launch) json.RawMessage {
			return object("type", "stdio", "command", l.Command, "args", l.Args, "env", l.Env)
		},
		http: func(url string) json.RawMessage {
			return object("type", "http", "url", url, "headers", bearer("${env:"+TokenVariable+"}"))
		},
	},
	{
		Name: "windsurf", Title: "Windsurf", Format: JSON, List: []string{"mcpServers"}, After: "refresh the list of MCP servers, or restart it",
		files: func(s System) []string { return []string{s.home(".codeium", "windsurf", "mcp_config.json")} },
		stdio: commandArgsEnv,
		http: func(url string) json.RawMessage {
			return object("serverUrl", url, "headers", bearer("${env:"+TokenVariable+"}"))
		},
	},
	{
		Name: "zed", Title: "Zed", Format: JSON, List: []string{"context_servers"}, After: "nothing: it reads its settings again",
		files: func(s System) []string {
			folder := "zed"
			if s.GOOS == "windows" {
				folder = "Zed"
			}
			return []string{s.dot(folder, "settings.json")}
		},
		stdio: commandArgsEnv,
	},
}

// Name is what Cloister is called in a client, if nobody says otherwise.
const Name = "cloister"

const (
	description  = "Runs JavaScript that uses all your tools, sealed"
	gooseTimeout = 300 // seconds
)

func commandArgsEnv(l Launch) json.RawMessage {
	return object("command", l.Command, "args", l.Args, "env", l.Env)
}

func bearer(variable string) map[string]string {
	return map[string]string{"Authorization": "Bearer " + variable}
}

// object is a JSON object of keys and values in their order, without maps that are empty.
func object(pairs ...any) json.RawMessage {
	var b strings.Builder
	b.WriteByte('{')
	for i := 0; i < len(pairs); i += 2 {
		if m, ok := pairs[i+1].(map[string]string); ok && len(m) == 0 {
			continue
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		b.Write(toJSON(pairs[i]))
		b.WriteByte(':')
		b.Write(toJSON(pairs[i+1]))
	}
	b.WriteByte('}')
	return json.RawMessage(b.String())
}

// Find gives a client by its name, nil if there is none.
func Find(name string) *Client {
	if i := slices.IndexFunc(Clients, func(c *Client) bool { return c.Name == name }); i >= 0 {
		return Clients[i]
	}
	return nil
}

// Names are those of all clients, sorted.
func Names() []string {
	names := make([]string, len(Clients))
	for i, c := range Clients {
		names[i] = c.Name
	}
	slices.Sort(names)
	return names
}

// Files are where the client keeps a user's servers: the first that is there counts, and the first of all if none is.
func (c *Client) Files(s System) []string { return c.files(s) }

// Stdio is the entry of a client that starts Cloister itself.
func (c *Client) Stdio(l Launch) json.RawMessage {
	if l.Args == nil {
		l.Args = []string{}
	}
	return c.stdio(l)
}

// HTTP is the entry of a client that reaches a running Cloister. It gives [ErrNoHTTP] if the client has none.
func (c *Client) HTTP(url string) (json.RawMessage, error) {
	if c.http == nil {
		return nil, ErrNoHTTP
	}
	return c.http(url), nil
}

// Open reads the text of a file of this client.
func (c *Client) Open(file string, text []byte) (*Document, error) {
	d, err := Open(file, c.Format, c.List, text)
	if err != nil || c.Name != "opencode" {
		return d, err
	}
	// Of version 2 the list is one step below.
	var inner map[string]json.RawMessage
	if json.Unmarshal(d.Server("servers"), &inner) == nil && inner != nil && inner["type"] == nil && inner["command"] == nil && inner["url"] == nil {
		return Open(file, c.Format, []string{"mcp", "servers"}, text)
	}
	return d, nil
}
