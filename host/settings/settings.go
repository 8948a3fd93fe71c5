package settings

import (
	"path/filepath"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/internal/json5"
)

// Settings is what a configuration says. The zero value says nothing: to have the
// defaults filled in, Parse an empty file or Load none. It is plain data, and not to be
// changed once it was handed to something that runs.
type Settings struct {
	// File is the name as it was given; empty if there is no file.
	File string
	// Found says that nobody named the file: it lay in the working folder. It decides
	// nothing about trust.
	Found bool
	// CodeMode is tools.codeMode with its defaults. It is enabled unless the file says
	// otherwise in so many words: then CodeModeOff is set.
	CodeMode    host.CodeModeConfig
	CodeModeOff bool
	// Allow and Deny are tools.allow and tools.deny; a nil Allow allows all.
	Allow, Deny []string
	// Sandbox is tools.sandbox.tools as the file has it; see SandboxPolicy.
	Sandbox host.SandboxPolicy
	// Plugins, Serve and Approvals are the sections of these names.
	Plugins   Plugins
	Serve     Serve
	Approvals Approvals
	// Servers are the MCP servers, of mcp.servers and then of the user's own list. Each
	// name is there once. Shadowed are servers of the list that are not used, because the
	// file has others of the same names.
	Servers, Shadowed []Server
	// Policies is policy.files: the files of Cedar policies, nil for none.
	Policies []string
	// Places is where the rest of this user's files are, as Options.Places had it.
	Places Places

	// trusting are faults of a file that was merely found.
	trusting []Fault
	// options are those of Load, if loaded is set.
	options Options
	loaded  bool
}

// Parse checks the text of a configuration file and reports all its faults, as an
// *Error. A text that is not JSON5 is a *json5.SyntaxError, which names its place as
// well. name is for the faults and for relative paths, which count from its folder.
// Without data, nil, it gives the defaults.
//
// The text is taken as that of a file that somebody named and trusts. Nothing is opened.
func Parse(name string, data []byte) (*Settings, error) {
	s := &Settings{File: name}
	if data == nil {
		s.CodeMode = host.CodeModeConfig{Enabled: true}.Clamped()
		return s, nil
	}
	root, err := json5.Parse(name, data)
	if err != nil {
		return nil, err
	}
	r := &reader{root: root}
	r.object(root, "", s.root(r))
	if err := r.err(); err != nil {
		return nil, err
	}
	s.trusting = r.trusting
	if !s.CodeModeOff {
		s.CodeMode.Enabled = true
	}
	s.CodeMode = s.CodeMode.Clamped()
	s.Plugins.resolve(name)
	s.Serve.resolve(name)
	for i, file := range s.Policies {
		s.Policies[i] = besideFile(name, file)
	}
	return s, nil
}

// root is the shape of the file.
func (s *Settings) root(r *reader) keys {
	return keys{
		"tools": r.section(keys{
			"codeMode": s.readCodeMode(r),
			"allow":    r.rules(&s.Allow),
			"deny":     r.rules(&s.Deny),
			"sandbox": r.section(keys{
				"tools": r.section(keys{
					"allow":     r.trusted(r.rules(&s.Sandbox.Allow)), // in place of the default, which is narrow
					"alsoAllow": r.trusted(r.rules(&s.Sandbox.AlsoAllow)),
					"deny":      r.rules(&s.Sandbox.Deny),
				}),
			}),
		}),
		"plugins":   r.section(s.readPlugins(r)),
		"mcp":       r.section(s.readMCP(r)),
		"serve":     r.section(s.readServe(r)),
		"approvals": r.section(s.readApprovals(r)),
		"policy":    r.section(s.readPolicy(r)),
	}
}

// besideFile resolves a path against the folder of the file that it stands in.
func besideFile(file, path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(file), path)
}

// readCodeMode hands the value to the library, whose faults come back with keys.
func (s *Settings) readCodeMode(r *reader) keyReader {
	return func(n *json5.Node, path string) {
		text, err := n.JSON()
		if err != nil {
			r.notJSON(n, path, err)
			return
		}
		if s.CodeMode, err = host.ParseCodeMode(text); err != nil {
			r.hostFaults(n, path, err)
			return
		}
		r.limitsOf(n, path)
		enabled := n
		if n.Kind == json5.Object {
			enabled = n.Lookup("enabled")
		}
		s.CodeModeOff = enabled != nil && enabled.Kind == json5.Bool && !enabled.Bool
	}
}
