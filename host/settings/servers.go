package settings

import (
	"errors"
	"path/filepath"
	"strings"
	"time"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/host/mcp"
	"github.com/cloister-wasm/cloister/internal/forms"
	"github.com/cloister-wasm/cloister/internal/json5"
	"github.com/cloister-wasm/cloister/internal/suggest"
)

// Server is an MCP server with the file that says so.
type Server struct {
	mcp.Server
	// File is the configuration file, or the user's own list.
	File string
	// User says that it is the user's own list.
	User bool
}

// Server gives the server of a name that is used, or nil. It points into Servers.
func (s *Settings) Server(name string) *Server {
	for i := range s.Servers {
		if s.Servers[i].Name == name {
			return &s.Servers[i]
		}
	}
	return nil
}

// FindServer is Server with an error, a *ServerError, that guesses which name was meant.
func (s *Settings) FindServer(name string) (*Server, error) {
	if found := s.Server(name); found != nil {
		return found, nil
	}
	return nil, &ServerError{Name: name, Near: suggest.Closest(name, s.ServerNames())}
}

// UseServer is FindServer for a server that is to be connected to: one that is disabled
// is a *ServerError as well.
func (s *Settings) UseServer(name string) (*Server, error) {
	found, err := s.FindServer(name)
	if err == nil && found.Disabled {
		return nil, &ServerError{Name: name, Disabled: true}
	}
	return found, err
}

// ServerNames are the names of Servers, in their order.
func (s *Settings) ServerNames() []string {
	names := make([]string, len(s.Servers))
	for i := range s.Servers {
		names[i] = s.Servers[i].Name
	}
	return names
}

// readMCP is the shape of the section `mcp`. Servers start commands, read secrets
// and open connections, so that a file which nobody named cannot have any.
func (s *Settings) readMCP(r *reader) keys {
	return keys{"servers": r.trusted(r.servers(&s.Servers))}
}

// servers reads servers by their names.
func (r *reader) servers(to *[]Server) keyReader {
	return func(n *json5.Node, path string) {
		isObject := r.members(n, path, "an object of servers by name", forms.ServerName, func(name string, v *json5.Node, at string) {
			s := Server{File: r.root.File(), Server: mcp.Server{Name: name}}
			r.server(&s.Server, v, at)
			*to = append(*to, s)
		})
		if isObject && len(r.faults) == 0 {
			resolveServers(*to, r.root.File())
			r.checkServers(*to, n, path)
		}
	}
}

// checkServers reports what the library finds wrong: members that do not go together,
// and more.
func (r *reader) checkServers(servers []Server, n *json5.Node, path string) {
	list := make([]mcp.Server, len(servers))
	for i := range servers {
		list[i] = servers[i].Server
	}
	manager, err := mcp.New(list, nil)
	if err == nil {
		err = manager.Close()
	}
	var ce *host.ConfigError
	if errors.As(err, &ce) {
		for i := range ce.Faults { // the user's own list has no section mcp
			ce.Faults[i].Key = path + strings.TrimPrefix(ce.Faults[i].Key, "mcp.servers")
		}
	}
	if err != nil {
		r.hostFaults(n, path, err)
	}
}

// server reads one server.
func (r *reader) server(s *mcp.Server, n *json5.Node, path string) {
	l := &s.Limits
	millis := func(to *time.Duration, most time.Duration) keyReader {
		return r.count(1, int(most/time.Millisecond), func(n int) { *to = time.Duration(n) * time.Millisecond })
	}
	whole := func(to *int, most int) keyReader { return r.count(1, most, func(n int) { *to = n }) }
	r.object(n, path, keys{
		"command":      r.text(&s.Command, forms.NotEmpty),
		"args":         r.strings(&s.Args, forms.Text),
		"dir":          r.text(&s.Dir, forms.NotEmpty),
		"env":          r.values(&s.Env, forms.Variable),
		"inheritEnv":   r.strings(&s.InheritEnv, forms.Variable),
		"url":          r.text(&s.URL, forms.NotEmpty),
		"headers":      r.values(&s.Headers, forms.Header),
		"oauth":        r.oauth(&s.OAuth),
		"allowPrivate": r.boolean(&s.AllowPrivate),
		"approval":     r.approval(&s.Approval),
		"allow":        r.strings(&s.Allow, forms.NotEmpty),
		"deny":         r.strings(&s.Deny, forms.NotEmpty),
		"idempotent":   r.strings(&s.Idempotent, forms.NotEmpty),
		"disabled":     r.boolean(&s.Disabled),
		"limits": r.section(keys{
			"connectTimeoutMs":    millis(&l.ConnectTimeout, time.Hour),
			"callTimeoutMs":       millis(&l.CallTimeout, 24*time.Hour),
			"maxTools":            whole(&l.MaxTools, 20_000),
			"maxConcurrent":       whole(&l.MaxConcurrent, 1000),
			"maxMessageBytes":     whole(&l.MaxMessageBytes, 64<<20),
			"maxPages":            whole(&l.MaxPages, 10_000),
			"maxUnaskedPerSecond": whole(&l.MaxUnaskedPerSecond, 1_000_000),
		}),
	})
}

// values reads variables or headers. check gives what is wrong with a name.
func (r *reader) values(to *map[string]mcp.Value, check func(string) string) keyReader {
	return func(n *json5.Node, path string) {
		*to = map[string]mcp.Value{}
		r.members(n, path, "an object", check, func(name string, m *json5.Node, at string) {
			var v mcp.Value
			r.value(&v, true)(m, at)
			(*to)[name] = v
		})
	}
}

// value reads a value, written down where that is allowed, or the place of a secret.
func (r *reader) value(to *mcp.Value, plain bool) keyReader {
	return func(n *json5.Node, path string) {
		switch {
		case n.Kind == json5.String && plain:
			if wrong := forms.Text(n.Text); wrong != "" {
				r.fault(n.Pos, path, "%s", wrong)
			}
			to.Text = n.Text
			return
		case n.Kind != json5.Object && plain:
			r.fault(n.Pos, path, `must be a string or {env: "VARIABLE"}, {file: "PATH"} or {command: ["PROGRAM", …]}, not %s`, kindOf(n))
			return
		case n.Kind != json5.Object:
			// NB: what stands there may be the secret itself, so it is not quoted.
			r.fault(n.Pos, path, `must be {env: "VARIABLE"}, {file: "PATH"} or {command: ["PROGRAM", …]}: a secret is not written into the configuration`)
			return
		}
		before := len(r.faults)
		r.object(n, path, keys{
			"env": r.text(&to.Env, forms.Variable), "file": r.text(&to.File, forms.NotEmpty),
			"command": r.strings(&to.Command, forms.Text), "prefix": r.text(&to.Prefix, forms.Text),
		})
		sources := 0
		for _, there := range []bool{to.Env != "", to.File != "", len(to.Command) > 0} {
			if there {
				sources++
			}
		}
		if len(r.faults) == before && sources != 1 {
			r.fault(n.Pos, path, "needs one of env, file and command")
		}
	}
}

func (r *reader) oauth(to **mcp.OAuth) keyReader {
	return func(n *json5.Node, path string) {
		*to = &mcp.OAuth{}
		r.object(n, path, keys{
			"grant":             r.text(&(*to).Grant, forms.NotEmpty),
			"clientMetadataUrl": r.text(&(*to).ClientMetadataURL, forms.NotEmpty),
			"clientId":          r.text(&(*to).ClientID, forms.NotEmpty),
			"clientSecret":      r.value(&(*to).ClientSecret, false),
			"scopes":            r.strings(&(*to).Scopes, forms.NotEmpty),
			"redirect":          r.text(&(*to).Redirect, forms.NotEmpty),
		})
	}
}

func (r *reader) approval(to *host.Approval) keyReader {
	return r.text((*string)(to), forms.Approval)
}

// resolveServers makes paths those of the file's folder. A command without a slash is
// looked up on the PATH.
func resolveServers(servers []Server, file string) {
	// The folder of a file that was just read is known.
	if full, err := filepath.Abs(file); err == nil {
		file = full
	}
	for i := range servers {
		s := &servers[i]
		s.Dir = besideFile(file, s.Dir)
		if strings.ContainsRune(s.Command, '/') || strings.ContainsRune(s.Command, filepath.Separator) {
			s.Command = besideFile(file, s.Command)
		}
		for _, values := range []map[string]mcp.Value{s.Env, s.Headers} {
			for name, v := range values {
				v.File = besideFile(file, v.File)
				values[name] = v
			}
		}
		if s.OAuth != nil {
			s.OAuth.ClientSecret.File = besideFile(file, s.OAuth.ClientSecret.File)
		}
	}
}
