package main

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/cloister-wasm/cloister/host/mcp"
	"github.com/cloister-wasm/cloister/internal/forms"
	"github.com/cloister-wasm/cloister/internal/json5"
	"github.com/cloister-wasm/cloister/internal/plaintext"
)

// importer reads one server.
type importer struct {
	out        imported
	references references
}

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
		if n.Kind == json5.Array && len(n.Elements) > 0 { // opencode
			s.Command = i.text(key, n.Elements[0])
			for _, e := range n.Elements[1:] {
				s.Args = append(s.Args, i.text(key, e))
			}
			return true
		}
		if n.Kind == json5.Object { // Zed, as it was
			for _, m := range n.Members {
				if k := map[string]string{"path": "command", "args": "args", "env": "env"}[m.Key]; k == "" || !i.member(k, m.Value) {
					return false
				}
			}
			return true
		}
		s.Command = i.text(key, n)
	case "cmd":
		s.Command = i.text(key, n)
	case "args":
		if n.Kind != json5.Array && n.Kind != json5.Null {
			i.refuse("its args are not a list")
		}
		for _, e := range n.Elements {
			s.Args = append(s.Args, i.text(key, e))
		}
	case "cwd":
		s.Dir = i.text(key, n)
	case "url", "serverUrl", "httpUrl", "uri":
		s.URL = i.text(key, n)
	case "env", "environment", "envs":
		i.values(&s.Env, n, forms.Variable)
	case "headers", "http_headers":
		i.values(&s.Headers, n, forms.Header)
	case "env_http_headers", "bearer_token_env_var", "env_vars", "env_keys":
		i.codex(key, n)
	case "type", "transport":
		switch n.Text {
		case "sse":
			i.refuse("it speaks the old HTTP+SSE transport; use its streamable HTTP url, if it has one")
		case "builtin", "platform", "frontend", "inline_python":
			i.refuse("it is a part of the client, not a server")
		}
	case "disabled":
		s.Disabled = s.Disabled || n.Bool
	case "enabled":
		s.Disabled = s.Disabled || n.Kind == json5.Bool && !n.Bool
	case "source", "description", "timeout", "settings", "name", "bundled", "display_name", "required":
	default:
		return i.restriction(key, n)
	}
	return true
}

// codex reads what only Codex has.
func (i *importer) codex(key string, n *json5.Node) {
	s := &i.out.Server
	if s.Headers == nil && key != "env_vars" && key != "env_keys" {
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
	case "env_vars", "env_keys":
		for _, e := range n.Elements {
			s.InheritEnv = append(s.InheritEnv, variable(e))
		}
	}
}
