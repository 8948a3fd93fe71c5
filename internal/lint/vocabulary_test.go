package lint

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestHostNamesTheVocabulary wants a name in host for each exported identifier of api, and no
// other thing by that name: who has a host needs one import.
func TestHostNamesTheVocabulary(t *testing.T) {
	base := root(t)
	exported := map[string]bool{}
	paths, err := filepath.Glob(filepath.Join(base, "api", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		for name := range declared(t, path) {
			exported[name] = true
		}
	}
	named := declared(t, filepath.Join(base, "host", "api.go"))
	for name := range exported {
		if named[name] != "api."+name {
			t.Errorf("api.%s is %q in host/api.go", name, named[name])
		}
	}
	for name := range named {
		if !exported[name] {
			t.Errorf("host/api.go has %s, which api does not", name)
		}
	}
	if len(exported) < 100 {
		t.Errorf("api has %d exported identifiers", len(exported))
	}
}

// declared gives the exported types, constants and variables of a file, with what they stand for.
func declared(t *testing.T, path string) map[string]string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	add := func(name *ast.Ident, is ast.Expr) {
		if !name.IsExported() {
			return
		}
		found[name.Name] = ""
		if sel, ok := is.(*ast.SelectorExpr); ok {
			if pkg, ok := sel.X.(*ast.Ident); ok {
				found[name.Name] = pkg.Name + "." + sel.Sel.Name
			}
		}
	}
	for _, d := range f.Decls {
		gen, ok := d.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, s := range gen.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				add(s.Name, s.Type)
			case *ast.ValueSpec:
				for i, name := range s.Names {
					var is ast.Expr
					if i < len(s.Values) {
						is = s.Values[i]
					}
					add(name, is)
				}
			}
		}
	}
	return found
}

// TestEventsHaveNames wants all events that are emitted to be constants of api, where embedders read of them.
func TestEventsHaveNames(t *testing.T) {
	literal := regexp.MustCompile(`\bEvent: *"[^"]*"|\bEventName\("`)
	seen := 0
	goFiles(t, func(path string) {
		if strings.HasSuffix(path, "_test.go") {
			return
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		seen += strings.Count(string(b), "api.TraceEvent{Event: api.Event")
		for _, m := range literal.FindAllString(string(b), -1) {
			t.Errorf("%s: %s: emit a constant of api", path, m)
		}
	})
	if seen < 10 {
		t.Errorf("%d events are emitted", seen)
	}
}
