package lint

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Bounds of package host, which is a façade: what outgrows them belongs into a package below it.
const (
	maxFacadeLines   = 3000
	maxFacadeFields  = 15
	maxFacadeMethods = 25
)

// manyFields are the types of host that may have more: RATIONALE.md says why.
var manyFields = map[string]bool{"Options": true}

// manyMethods are the types that may have more methods, likewise.
var manyMethods = map[string]int{"Run": 30}

// TestHostIsAFacade bounds package host.
func TestHostIsAFacade(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(root(t), "host", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	lines, methods := 0, map[string]int{}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		lines += bytes.Count(b, []byte{'\n'})
		f, err := parser.ParseFile(token.NewFileSet(), path, b, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Recv != nil {
					methods[receiver(n)]++
				}
			case *ast.TypeSpec:
				if s, ok := n.Type.(*ast.StructType); ok && s.Fields.NumFields() > maxFacadeFields && !manyFields[n.Name.Name] {
					t.Errorf("%s: host.%s has %d fields, more than %d", path, n.Name.Name, s.Fields.NumFields(), maxFacadeFields)
				}
			}
			return true
		})
	}
	if lines > maxFacadeLines || lines < 500 {
		t.Errorf("package host has %d lines without tests; at most %d: move what is no façade into a package below it", lines, maxFacadeLines)
	}
	for name, n := range methods {
		if most := max(maxFacadeMethods, manyMethods[name]); n > most {
			t.Errorf("host.%s has %d methods, more than %d", name, n, most)
		}
	}
}

func receiver(d *ast.FuncDecl) string {
	typ := d.Recv.List[0].Type
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	if id, ok := typ.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}
