// Package lint holds the rules of this repository as tests: which package may
// import which, that exported identifiers are documented, and what no file may
// contain.
package lint

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/cloister-wasm/cloister"

func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

type goPackage struct {
	ImportPath, Dir         string
	Imports                 []string
	TestImports             []string
	GoFiles, IgnoredGoFiles []string
}

func packages(t *testing.T) []goPackage {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Dir,Imports,TestImports,GoFiles,IgnoredGoFiles", "./...")
	cmd.Dir = root(t)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	dec := json.NewDecoder(strings.NewReader(string(out)))
	var list []goPackage
	for dec.More() {
		var p goPackage
		if err := dec.Decode(&p); err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
	if len(list) < 8 {
		t.Fatalf("go list gave only %d packages", len(list))
	}
	return list
}

// within says whether path is the package at prefix or below it.
func within(path, prefix string) bool { return path == prefix || strings.HasPrefix(path, prefix+"/") }

// arrows lists, for each part of the house, which of our own packages it may
// import. What is not listed may import nothing of ours.
var arrows = []struct {
	part    string
	allowed []string
}{
	{"guestabi", nil},
	{"api", []string{"guestabi", "internal/plainjson"}}, // the vocabulary of a host: data, no behaviour
	{"quickjs", []string{"guestabi", "quickjs", "internal/datadir", "internal/wasmbin", "internal/wazeroinit"}},
	{"sdk", []string{"guestabi"}},
	{"plugins/lock", []string{"internal"}},
	{"plugins/bundle", []string{"plugins", "internal"}},
	{"plugins/trust", []string{"plugins", "internal"}},
	{"plugins/store", []string{"plugins", "internal"}},
	{"plugins", []string{"guestabi", "internal"}},
	{"internal/scaffold", []string{"guestabi", "sdk", "internal"}},
	{"internal/limits", nil},
	{"internal/plainjson", nil},
	{"internal/textedit", nil},
	{"internal/clientconfig", []string{"internal/plainjson", "internal/textedit"}}, // files of other programs: it knows nothing of ours
	{"internal/guestloop", []string{"guestabi", "quickjs", "internal/limits"}},     // an event loop of any program: it knows no tools
	{"internal/guest", []string{"guestabi", "api", "quickjs"}},                     // a machine with a program in it
	{"internal/declare", []string{"internal/plaintext"}},                           // below all that shows tools to somebody
	{"internal/catalog", []string{"internal/declare", "internal/plaintext", "internal/suggest"}},
	{"internal/mcpapi", []string{"internal/declare", "internal/catalog", "internal/plaintext", "internal/schema"}}, // of the catalog: what an id and a name may be
	// The inside of host, from below: what a run sees, the one way to a tool, what runs are made of, programs.
	{"internal/view", []string{"guestabi", "api", "plugins", "internal/catalog", "internal/mcpapi", "internal/namespace", "internal/plaintext", "internal/schema"}},
	{"internal/dispatch", []string{"guestabi", "api", "plugins", "internal/catalog", "internal/guestloop", "internal/limits", "internal/namespace", "internal/plainjson", "internal/plaintext", "internal/schema", "internal/view"}},
	{"internal/toolset", []string{"api", "plugins", "internal/catalog", "internal/dispatch", "internal/mcpapi", "internal/namespace", "internal/plaintext", "internal/schema", "internal/view"}},
	{"internal/codemode", []string{"guestabi", "api", "quickjs", "internal/catalog", "internal/dispatch", "internal/guest", "internal/guestloop", "internal/limits", "internal/namespace", "internal/plaintext", "internal/schema", "internal/transpile", "internal/view"}},
	{"internal", []string{"guestabi", "api", "internal"}},
	{"host", []string{"guestabi", "api", "quickjs", "plugins", "internal", "host"}},
	{"cmd", []string{"guestabi", "api", "quickjs", "plugins", "internal", "host"}},
	{"examples/plugins", []string{"guestabi", "sdk", "examples/plugins"}},
	{"examples/hosts", []string{"host", "plugins", "guestabi"}},
	{"examples", nil}, // a test that takes all of them through a store
	{"bench", []string{"host", "guestabi", "quickjs", "plugins"}},
	{"release", []string{"quickjs", "plugins"}},
}

func TestArrows(t *testing.T) {
	for _, p := range packages(t) {
		rel := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		i := slices.IndexFunc(arrows, func(a struct {
			part    string
			allowed []string
		}) bool {
			return within(rel, a.part)
		})
		if i < 0 {
			t.Errorf("%s has no place in the house: add it to arrows and to ARCHITECTURE.md", rel)
			continue
		}
		for _, im := range p.Imports {
			if !within(im, module) {
				continue
			}
			dep := strings.TrimPrefix(strings.TrimPrefix(im, module), "/")
			if !slices.ContainsFunc(arrows[i].allowed, func(ok string) bool { return within(dep, ok) }) {
				t.Errorf("%s imports %s, against the arrows", rel, dep)
			}
		}
	}
}

// notBelow lists what a package does not link, at any depth: an embedder of host
// pays for no registry client and no signatures, and what a plugin imports runs
// inside of a guest.
var notBelow = map[string][]string{
	"host": {"plugins/bundle", "plugins/trust", "plugins/store", "internal/scaffold", "sdk", "host/mcp", "host/gateway", "host/policy", "host/otel", "host/debug", "host/settings", "host/setup"},
	// Who reads a configuration may take a part of it, and pays for no store of plugins.
	"host/settings": {"plugins/bundle", "plugins/trust", "plugins/store", "internal/scaffold", "sdk", "host/otel", "host/debug", "host/setup"},
	"host/mcp":      {"host/settings", "host/setup", "host/gateway"},
	"host/gateway":  {"host/settings", "host/setup", "host/mcp"},
	"host/policy":   {"host/settings", "host/setup"},
	"quickjs":       {"plugins", "host"},
	"sdk":           {"plugins", "host", "internal", "quickjs"},
	"guestabi":      {"plugins", "host", "internal", "quickjs", "sdk"},
}

func TestWhatIsNotLinked(t *testing.T) {
	imports := map[string][]string{}
	for _, p := range packages(t) {
		imports[p.ImportPath] = p.Imports
	}
	for from, forbidden := range notBelow {
		seen := map[string]bool{}
		todo := []string{module + "/" + from}
		for len(todo) > 0 {
			p := todo[0]
			todo = todo[1:]
			if seen[p] {
				continue
			}
			seen[p] = true
			todo = append(todo, imports[p]...)
			for _, f := range forbidden {
				if within(p, module+"/"+f) {
					t.Errorf("%s links %s", from, p)
				}
			}
		}
	}
}

// owners lists dependencies that only certain packages may import.
var owners = map[string][]string{
	"github.com/tetratelabs/wazero":                       {"quickjs", "internal/extism", "internal/wazeroinit"},
	"github.com/extism/go-sdk":                            {"internal/extism"},
	"github.com/evanw/esbuild":                            {"internal/transpile"},
	"github.com/santhosh-tekuri/jsonschema":               {"internal/schema"},
	"github.com/google/jsonschema-go":                     {"internal/schema"},
	"github.com/go-json-experiment/json":                  {"internal/schema"},
	"github.com/klauspost/compress":                       {"quickjs"},
	"github.com/spf13/cobra":                              {"cmd/cloister"},
	"github.com/modelcontextprotocol/go-sdk":              {"host/mcp", "host/gateway", "examples/hosts/mcpclient", "bench/load"},
	"github.com/cedar-policy/cedar-go":                    {"host/policy"},
	"go.opentelemetry.io":                                 {"host/otel"},
	"github.com/yosida95/uritemplate":                     {"host/gateway"},
	"github.com/pelletier/go-toml":                        {"internal/clientconfig"},
	"golang.org/x/oauth2":                                 {"host/mcp"},
	"github.com/sigstore":                                 {"plugins/trust"},
	"oras.land/oras-go":                                   {"plugins/bundle"},
	"github.com/santhosh-tekuri/jsonschema/v5/httploader": {},
}

func TestDependenciesHaveOneOwner(t *testing.T) {
	for _, p := range packages(t) {
		rel := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		for _, im := range p.Imports {
			for dep, allowed := range owners {
				if within(im, dep) && !slices.Contains(allowed, rel) {
					t.Errorf("%s imports %s, which only %v may", rel, im, allowed)
				}
			}
			if im == "C" || im == "testing" && !strings.HasSuffix(rel, "test") {
				t.Errorf("%s imports %q", rel, im)
			}
		}
	}
}

func TestLeafImportsOnlyTheStandardLibrary(t *testing.T) {
	for _, p := range packages(t) {
		if !within(p.ImportPath, module+"/guestabi") {
			continue
		}
		for _, im := range p.Imports {
			if strings.Contains(strings.SplitN(im, "/", 2)[0], ".") {
				t.Errorf("%s imports %s", p.ImportPath, im)
			}
		}
	}
}

// goFiles walks the checked-in Go files.
func goFiles(t *testing.T, visit func(path string)) {
	t.Helper()
	base := root(t)
	n := 0
	err := filepath.WalkDir(base, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			switch d.Name() {
			case ".git", "node_modules", "testdata", "bin", "dist":
				return filepath.SkipDir
			}
			return nil
		}
		if strings.HasSuffix(path, ".go") {
			n++
			visit(path)
		}
		return nil
	})
	if err != nil || n < 50 {
		t.Fatalf("walked %d Go files: %v", n, err)
	}
}

// TestExportsAreDocumented wants a comment on every exported identifier outside
// of tests and commands.
func TestExportsAreDocumented(t *testing.T) {
	goFiles(t, func(path string) {
		if strings.HasSuffix(path, "_test.go") || strings.Contains(path, "/cmd/") || strings.Contains(path, "/examples/") || strings.Contains(path, "/bench/") {
			return
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, path, nil, parser.ParseComments)
		if err != nil {
			t.Error(err)
			return
		}
		for _, d := range f.Decls {
			checkDecl(t, fset, d)
		}
	})
}

// wellKnown are methods that the standard library's interfaces document.
var wellKnown = []string{"Error", "Unwrap", "Is", "As", "String", "MarshalJSON", "UnmarshalJSON"}

func checkDecl(t *testing.T, fset *token.FileSet, d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && d.Doc == nil && exportedReceiver(d) && !(d.Recv != nil && slices.Contains(wellKnown, d.Name.Name)) {
			t.Errorf("%s: %s has no comment", fset.Position(d.Pos()), d.Name.Name)
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				if s.Name.IsExported() && d.Doc == nil && s.Doc == nil {
					t.Errorf("%s: type %s has no comment", fset.Position(s.Pos()), s.Name.Name)
				}
			case *ast.ValueSpec:
				if s.Names[0].IsExported() && d.Doc == nil && s.Doc == nil && s.Comment == nil {
					t.Errorf("%s: %s has no comment", fset.Position(s.Pos()), s.Names[0].Name)
				}
			}
		}
	}
}

// exportedReceiver says whether a function is no method of an unexported type.
func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	typ := d.Recv.List[0].Type
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	if index, ok := typ.(*ast.IndexExpr); ok {
		typ = index.X
	}
	id, ok := typ.(*ast.Ident)
	return ok && id.IsExported()
}

// forbidden is what no text file of the repository may contain. The patterns are
// put together here so that this file passes its own test.
var forbidden = []struct {
	pattern *regexp.Regexp
	why     string
}{
	{regexp.MustCompile(`registry\.npm` + `js|proxy\.go` + `lang|deb\.deb` + `ian\.org`), "names the host of a package registry"},
	{regexp.MustCompile(`(^|[^a-z0-9.])/(work|root|home)` + `/[a-z]`), "contains a path of one machine"},
	{regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X|HA` + `CK)\b`), "contains a left-over"},
	{regexp.MustCompile(`"resol` + `ved": *"http`), "is a lock file with addresses"},
}

func TestForbiddenText(t *testing.T) {
	base := root(t)
	for _, name := range tracked(t) {
		if strings.Contains(name, "testdata/") || strings.HasSuffix(name, ".sum") {
			continue
		}
		b, err := os.ReadFile(filepath.Join(base, name))
		if err != nil || slices.Contains(b, 0) {
			continue
		}
		for i, line := range strings.Split(string(b), "\n") {
			for _, f := range forbidden {
				if f.pattern.MatchString(line) {
					t.Errorf("%s:%d %s: %s", name, i+1, f.why, strings.TrimSpace(line))
				}
			}
		}
	}
}
