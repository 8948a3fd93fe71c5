package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cloister-wasm/cloister/host/settings"
	"github.com/cloister-wasm/cloister/internal/clientconfig"
	"github.com/cloister-wasm/cloister/internal/suggest"
)

// clientNames are the clients that --print-config has forms of its own for; of the others it prints what connect writes.
var clientNames = []string{"claude", "cursor", "vscode"}

// clientHints say where each wants its configuration.
var clientHints = map[string]string{
	"claude": "Claude Desktop: Settings, Developer, Edit Config; Claude Code: .mcp.json of a project, or claude mcp add-json",
	"cursor": "~/.cursor/mcp.json, or .cursor/mcp.json of a project",
	"vscode": "the command MCP: Open User Configuration, or .vscode/mcp.json of a project",
}

// clientServer is this command as a client's configuration has it.
type clientServer struct {
	Type    string            `json:"type,omitempty"`
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
}

// printClientConfig prints what to paste into a client. Nothing is started.
func (a *app) printClientConfig(f *serveFlags, cmd *cobra.Command) error {
	client := f.printConfig
	if other := clientconfig.Find(client); other != nil && !slices.Contains(clientNames, client) {
		return a.printConnected(f, cmd, other)
	}
	if !slices.Contains(clientNames, client) {
		names := printedClients()
		text := fmt.Sprintf("--print-config %s: the clients are %s", client, strings.Join(names, ", "))
		if near := suggest.Closest(client, names); near != "" {
			text += "; did you mean " + near + "?"
		}
		return usageError(fmt.Errorf("%s", text), "others that start MCP servers take the form of claude")
	}
	cfg, err := loadConfig(f.tools.config)
	if err != nil {
		return err
	}
	if cfg.Found {
		a.complain("note: "+cfg.File+" of this folder is not part of it: the client starts elsewhere", "--config names it")
	}
	if f.http == "" {
		f.http = cfg.Serve.HTTP
	}
	var server *clientServer
	if f.http != "" {
		server, err = a.clientByHTTP(f, cfg, client)
	} else {
		server, err = clientByCommand(cmd, client)
	}
	if err != nil {
		return err
	}
	root := map[string]any{"mcpServers": map[string]any{"cloister": server}}
	if client == "vscode" {
		root = map[string]any{"servers": map[string]any{"cloister": server}}
		if server.URL != "" {
			root["inputs"] = []map[string]any{{"type": "promptString", "id": "cloister-token", "description": "Bearer token of cloister serve", "password": true}}
		}
	}
	a.complain("put this into "+clientHints[client], "")
	return a.printJSON(root)
}

// printedClients are all that --print-config knows.
func printedClients() []string {
	names := append(clientconfig.Names(), clientNames...)
	slices.Sort(names)
	return slices.Compact(names)
}

// printConnected prints what "cloister connect" would write into an empty file of a client.
func (a *app) printConnected(f *serveFlags, cmd *cobra.Command, client *clientconfig.Client) error {
	var entry json.RawMessage
	if f.http != "" {
		var err error
		if entry, err = client.HTTP("http://" + f.http + "/mcp"); err != nil {
			return usageError(fmt.Errorf("%s: %w", client.Title, err), "without --http it starts cloister serve by itself")
		}
	} else {
		s, err := clientByCommand(cmd, client.Name)
		if err != nil {
			return err
		}
		entry = client.Stdio(clientconfig.Launch{Command: s.Command, Args: s.Args, Env: s.Env})
	}
	text, err := exampleOf(client, clientconfig.Name, entry)
	if err != nil {
		return &exitError{code: exitInternal, err: err}
	}
	a.complain("put this into "+client.Files(thisSystem())[0], "cloister connect "+client.Name+" does it")
	return a.write(text)
}

// clientByHTTP is a serve that runs already. The token is not printed.
func (a *app) clientByHTTP(f *serveFlags, cfg *settings.Settings, client string) (*clientServer, error) {
	token := map[string]string{"claude": "${CLOISTER_TOKEN}", "cursor": "${env:CLOISTER_TOKEN}", "vscode": "${input:cloister-token}"}[client]
	if f.tokenFile != "" || len(cfg.Serve.Tokens) == 0 {
		path, err := tokenFile(f.tokenFile, clientToken)
		if err != nil {
			return nil, err
		}
		hint := "export CLOISTER_TOKEN=\"$(cat " + quoteWord(path) + ")\" before the client starts"
		if client == "vscode" {
			hint = "VS Code asks for it once"
		}
		a.complain("the bearer token is in "+path, hint)
	}
	return &clientServer{Type: "http", URL: "http://" + f.http + "/mcp", Headers: map[string]string{"Authorization": "Bearer " + token}}, nil
}

// servedPaths are the flags whose values are paths: a client starts elsewhere.
var servedPaths = []string{"config", "tool-dir", "trust", "lock", "root", "token-file", "approvals-token-file", "trace"}

// servedVariables are the variables that decide what is served. A client may start
// programs with few variables.
var servedVariables = []string{"CLOISTER_CONFIG", "CLOISTER_ENGINE", "CLOISTER_CACHE_DIR", "CLOISTER_DATA_DIR", "CLOISTER_TRUST", "CLOISTER_LOCK"}

// clientByCommand is this very program with the flags that were given.
func clientByCommand(cmd *cobra.Command, client string) (*clientServer, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, &exitError{code: exitInternal, err: err}
	}
	s := &clientServer{Command: program, Args: []string{"serve"}, Env: map[string]string{}}
	if client == "vscode" {
		s.Type = "stdio"
	}
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if flag.Name == "print-config" {
			return
		}
		values := []string{flag.Value.String()}
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, value := range values {
			if slices.Contains(servedPaths, flag.Name) && value != "-" {
				value = absolute(value)
			}
			s.Args = append(s.Args, "--"+flag.Name+"="+value)
		}
	})
	for _, name := range servedVariables {
		if value := os.Getenv(name); value != "" {
			if value != "off" {
				value = absolute(value)
			}
			s.Env[name] = value
		}
	}
	return s, nil
}

func absolute(path string) string {
	full, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	return full
}
