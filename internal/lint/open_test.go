package lint

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// deciding are the packages that read files which decide what is trusted, started or
// allowed.
var deciding = []string{"host/settings", "host/setup", "host/mcp", "host/gateway", "host/policy", "plugins", "cmd/cloister"}

// unchecked are the ways to read a file whoever wrote it, by package.
var unchecked = map[string][]string{
	"os":                          {"Open", "OpenFile", "ReadFile"},
	module + "/internal/safefile": {"Read"},
}

// decidesNothing lists which of their files may do so, and why.
var decidesNothing = map[string]string{
	"cmd/cloister/approvals_client.go": "the lock of a running serve, of which nothing is read",
	"cmd/cloister/connect_file.go":     "another client's configuration, which is compared with what was shown, and copied",
	"cmd/cloister/connect_open.go":     "another client's configuration, whose change is shown and asked about",
	"cmd/cloister/disconnect.go":       "a copy of another client's configuration, whose digest is compared",
	"cmd/cloister/engine.go":           "the engine, whose digest is compared",
	"cmd/cloister/engine_embed.go":     "what a command wrote before, only compared",
	"cmd/cloister/mcpimport_find.go":   "another client's configuration, of which all is shown and asked about",
	"cmd/cloister/plugin_build.go":     "what a build made before, only compared",
	"cmd/cloister/plugin_keys.go":      "a password that somebody named, which may be a pipe",
	"cmd/cloister/policy_cases.go":     "cases to try a policy on",
	"cmd/cloister/policy_explain.go":   "the input of a call to try a policy on",
	"cmd/cloister/run.go":              "a trace is written",
	"cmd/cloister/source.go":           "a cell, which is hostile anyway and may be a pipe",
	"cmd/cloister/trace_read.go":       "a trace, which is only shown",
	"plugins/bundle/read.go":           "a bundle, whose digests and signature are checked",
	"plugins/trust/keyfile.go":         "keys are written",
}

// TestFilesThatDecideAreChecked wants every file that decides something to be read by
// safefile.ReadTrusted or ReadSecret, which look at its kind, owner and mode.
func TestFilesThatDecideAreChecked(t *testing.T) {
	base := root(t)
	used := map[string]bool{}
	goFiles(t, func(path string) {
		rel, err := filepath.Rel(base, path)
		if err != nil {
			t.Fatal(err)
		}
		rel = filepath.ToSlash(rel)
		if strings.HasSuffix(rel, "_test.go") || !slices.ContainsFunc(deciding, func(dir string) bool { return within(rel, dir) }) {
			return
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, path, nil, 0)
		if err != nil {
			t.Error(err)
			return
		}
		for pkg, functions := range unchecked {
			name := importName(f, pkg)
			if name == "" {
				continue
			}
			ast.Inspect(f, func(n ast.Node) bool {
				sel, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				if id, ok := sel.X.(*ast.Ident); !ok || id.Name != name || !slices.Contains(functions, sel.Sel.Name) {
					return true
				}
				if used[rel] = true; decidesNothing[rel] == "" {
					t.Errorf("%s: %s.%s: use safefile.ReadTrusted or ReadSecret, or list the file with the reason", fset.Position(n.Pos()), name, sel.Sel.Name)
				}
				return true
			})
		}
	})
	for file := range decidesNothing {
		if !used[file] {
			t.Errorf("%s is listed and needs not be", file)
		}
	}
}
