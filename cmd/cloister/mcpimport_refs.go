package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// references are what the references in a file mean: ${VAR} and its like.
type references struct {
	// workspace is the folder that the file is for, empty if it is for a user.
	workspace string
	// dollar: $VAR without braces is a reference too (Gemini CLI). braces: {env:VAR} and {file:PATH} are (opencode).
	dollar, braces bool
	// dir is the folder of the file.
	dir string
}

// referencesOf says what references mean in a file of a name: clients know theirs by it.
func referencesOf(file, project string) references {
	dir := filepath.Dir(file)
	base, folder := filepath.Base(file), filepath.Base(dir)
	r := references{dir: dir, workspace: project, dollar: folder == ".gemini", braces: strings.HasPrefix(base, "opencode.json")}
	if !filepath.IsAbs(file) || project != "" {
		return r
	}
	home, err := os.UserHomeDir()
	switch {
	case err == nil && filepath.Dir(dir) == home:
		// of the user: ~/.cursor/mcp.json
	case folder == ".vscode" || folder == ".cursor":
		r.workspace = filepath.Dir(dir)
	case base == ".mcp.json":
		r.workspace = dir
	}
	return r
}

// reference is ${...}, whatever is in it.
var reference = regexp.MustCompile(`\$\{[^}]*\}?`)

// expand replaces what is the same at every start: the user's folder, that of the project, and defaults of variables that
// are not set. It gives what it did, for a note.
func (r references) expand(text string) (string, []string) {
	var done []string
	out := reference.ReplaceAllStringFunc(text, func(ref string) string {
		inner := strings.TrimSuffix(strings.TrimPrefix(ref, "${"), "}")
		value, ok := r.fixed(inner)
		if !ok {
			return ref
		}
		done = append(done, ref)
		return value
	})
	return out, done
}

func (r references) fixed(inner string) (string, bool) {
	switch inner {
	case "userHome", "HOME", "env:HOME", "env:USERPROFILE":
		home, err := os.UserHomeDir()
		return home, err == nil
	case "workspaceFolder", "CLAUDE_PROJECT_DIR":
		return r.workspace, r.workspace != ""
	case "workspaceFolderBasename":
		return filepath.Base(r.workspace), r.workspace != ""
	case "pathSeparator", "/":
		return string(filepath.Separator), true
	}
	name, fallback, ok := strings.Cut(inner, ":-")
	if !ok || !variableName.MatchString(name) || fallback == "" || strings.Contains(fallback, "$") {
		return "", false
	}
	// As in a shell, a variable that is empty has the default too.
	return fallback, os.Getenv(name) == ""
}

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

var (
	// dollarIn is a value that ends in $VAR.
	dollarIn = regexp.MustCompile(`^([^$]*)\$([A-Za-z_][A-Za-z0-9_]*)$`)
	// bracesIn is a value that ends in {env:VAR} or {file:PATH}.
	bracesIn = regexp.MustCompile(`^([^{}]*)\{(env|file):([^{}]+)\}$`)
	anyBrace = regexp.MustCompile(`\{(env|file):`)
	anyPlain = regexp.MustCompile(`\$[A-Za-z_]`)
)

// left gives a reference of the client's own form that nothing replaces, or an empty text.
func (r references) left(text string) string {
	switch {
	case r.dollar && anyPlain.MatchString(text):
		return anyPlain.FindString(text)
	case r.braces && anyBrace.MatchString(text):
		return anyBrace.FindString(text)
	}
	return ""
}
