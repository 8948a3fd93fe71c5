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

// characterRules are the parts of package unicode by which a list of characters to be
// kept from readers is written.
var characterRules = []string{
	"IsControl", "IsPrint", "IsGraphic", "GraphicRanges", "PrintRanges", "C", "Cc", "Cf", "Co", "Other", "Zl", "Zp", "Bidi_Control", "Join_Control",
	"Variation_Selector", "Other_Default_Ignorable_Code_Point", "Noncharacter_Code_Point",
}

// characterRulesOf lists who may use them, and what for.
var characterRulesOf = map[string]string{
	"internal/plaintext":       "the list itself",
	"internal/egress/path.go":  "refuses paths that servers could read in another way",
	"cmd/cloister/width.go":    "columns of a terminal",
	"examples/hosts/mcpclient": "a program of its own, as an embedder would write it",
}

// TestTextsAreMadeSafeInOnePlace wants no second list of dangerous characters: where
// there were several, the same approval showed a character in one place and hid it in
// another.
func TestTextsAreMadeSafeInOnePlace(t *testing.T) {
	base := root(t)
	goFiles(t, func(path string) {
		rel, err := filepath.Rel(base, path)
		if err != nil {
			t.Fatal(err)
		}
		rel = filepath.ToSlash(rel)
		_, file := characterRulesOf[rel]
		_, folder := characterRulesOf[filepath.ToSlash(filepath.Dir(rel))]
		if file || folder || strings.HasSuffix(rel, "_test.go") {
			return
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, path, nil, 0)
		if err != nil {
			t.Error(err)
			return
		}
		name := importName(f, "unicode")
		if name == "" {
			return
		}
		ast.Inspect(f, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if id, ok := sel.X.(*ast.Ident); ok && id.Name == name && slices.Contains(characterRules, sel.Sel.Name) {
				t.Errorf("%s: unicode.%s: use internal/plaintext (Clip, Line, Show, Prompt, Plain, Dangerous)", fset.Position(n.Pos()), sel.Sel.Name)
			}
			return true
		})
	})
}

// importName is the name by which a file knows a package, "" if it does not import it.
func importName(f *ast.File, path string) string {
	for _, im := range f.Imports {
		if im.Path.Value != `"`+path+`"` {
			continue
		}
		if im.Name != nil {
			return im.Name.Name
		}
		return path[strings.LastIndexByte(path, '/')+1:]
	}
	return ""
}
