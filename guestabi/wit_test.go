package guestabi

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
)

// witRecords are the messages of plugins. A struct of plugin.go that is missing here fails the test.
var witRecords = map[string]reflect.Type{
	"PluginResponse": reflect.TypeFor[PluginResponse](), "PluginFailure": reflect.TypeFor[PluginFailure](),
	"CallRequest": reflect.TypeFor[CallRequest](), "ScopeRequest": reflect.TypeFor[ScopeRequest](), "ScopeContext": reflect.TypeFor[ScopeContext](),
	"MapInputRequest": reflect.TypeFor[MapInputRequest](), "Description": reflect.TypeFor[Description](), "DescribedTool": reflect.TypeFor[DescribedTool](),
	"LogRequest": reflect.TypeFor[LogRequest](), "ProgressRequest": reflect.TypeFor[ProgressRequest](), "ConfigRequest": reflect.TypeFor[ConfigRequest](),
	"KVRequest": reflect.TypeFor[KVRequest](), "KVPutRequest": reflect.TypeFor[KVPutRequest](), "KVValue": reflect.TypeFor[KVValue](),
	"HTTPRequest": reflect.TypeFor[HTTPRequest](), "SecretHeader": reflect.TypeFor[SecretHeader](), "HTTPResponse": reflect.TypeFor[HTTPResponse](),
	"InterruptRequest": reflect.TypeFor[InterruptRequest](), "NowRequest": reflect.TypeFor[NowRequest](), "NowResponse": reflect.TypeFor[NowResponse](),
	"RandomRequest": reflect.TypeFor[RandomRequest](), "RandomResponse": reflect.TypeFor[RandomResponse](),
}

// kebab turns PluginFailure, ttlSeconds and KVPutRequest into WIT's spelling.
func kebab(name string) string {
	var b strings.Builder
	rs := []rune(name)
	for i, r := range rs {
		if unicode.IsUpper(r) && i > 0 && (unicode.IsLower(rs[i-1]) || i+1 < len(rs) && unicode.IsLower(rs[i+1])) {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// witType is how WIT writes a Go type.
func witType(t *testing.T, typ reflect.Type) string {
	t.Helper()
	switch {
	case typ == reflect.TypeFor[json.RawMessage]():
		return "json"
	case typ.Kind() == reflect.Struct:
		return kebab(typ.Name())
	case typ.Kind() == reflect.Pointer:
		return witType(t, typ.Elem())
	case typ.Kind() == reflect.Slice:
		return "list<" + witType(t, typ.Elem()) + ">"
	case typ.Kind() == reflect.Map:
		return "list<tuple<" + witType(t, typ.Key()) + ", " + witType(t, typ.Elem()) + ">>"
	}
	name, ok := map[reflect.Kind]string{reflect.String: "string", reflect.Bool: "bool", reflect.Int: "u32", reflect.Int64: "s64", reflect.Float64: "f64"}[typ.Kind()]
	if !ok {
		t.Fatalf("no WIT type for %v", typ)
	}
	return name
}

// record writes a struct as WIT's fields. What may be missing in JSON is an option.
func record(t *testing.T, typ reflect.Type) []string {
	t.Helper()
	var fields []string
	for i := range typ.NumField() {
		name, opts, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
		wit := witType(t, typ.Field(i).Type)
		if opts == "omitempty" {
			wit = "option<" + wit + ">"
		}
		fields = append(fields, kebab(name)+": "+wit)
	}
	return fields
}

// witFile is what a small reader of WIT understands: interfaces with aliases, records and functions, and one world.
type witFile struct {
	records   map[string][]string          // fields, "name: type"
	functions map[string]map[string]string // interface → function → "request -> result"
	world     []string
}

var (
	witBlock    = regexp.MustCompile(`^(interface|world) ([a-z][a-z0-9-]*) \{$`)
	witRecord   = regexp.MustCompile(`^record ([a-z][a-z0-9-]*) \{$`)
	witField    = regexp.MustCompile(`^([a-z][a-z0-9-]*: [a-z0-9<>, -]+),$`)
	witFunction = regexp.MustCompile(`^([a-z][a-z0-9-]*): func\((?:request: ([a-z0-9-]+))?\) -> result<([a-z0-9_-]+), plugin-failure>;$`)
)

func readWIT(t *testing.T) witFile {
	t.Helper()
	raw, err := os.ReadFile("wit/cloister-plugin.wit")
	if err != nil {
		t.Fatal(err)
	}
	f := witFile{records: map[string][]string{}, functions: map[string]map[string]string{}}
	block, rec, kind, inUse := "", "", "", false
	for n, text := range strings.Split(string(raw), "\n") {
		text = strings.TrimSpace(text)
		switch {
		case text == "" || strings.HasPrefix(text, "///"), text == "package cloister:plugin@"+strconv.Itoa(PluginABI)+".0.0;", text == "type json = string;":
		case inUse || strings.HasPrefix(text, "use types.{"):
			inUse = !strings.HasSuffix(text, "};")
		case witBlock.MatchString(text):
			m := witBlock.FindStringSubmatch(text)
			kind, block = m[1], m[2]
			if kind == "interface" {
				f.functions[block] = map[string]string{}
			}
		case witRecord.MatchString(text):
			rec = witRecord.FindStringSubmatch(text)[1]
			if f.records[rec] != nil {
				t.Errorf("line %d: the record %s is there twice", n+1, rec)
			}
			f.records[rec] = []string{}
		case rec != "" && witField.MatchString(text):
			f.records[rec] = append(f.records[rec], witField.FindStringSubmatch(text)[1])
		case text == "}" && rec != "":
			rec = ""
		case text == "}" && block != "":
			block = ""
		case kind == "interface" && witFunction.MatchString(text):
			m := witFunction.FindStringSubmatch(text)
			f.functions[block][m[1]] = m[2] + " -> " + m[3]
		case kind == "world" && strings.HasSuffix(text, ";"):
			f.world = append(f.world, text)
		default:
			t.Errorf("line %d of the WIT is not understood: %s", n+1, text)
		}
	}
	return f
}

// declared reads plugin.go: its structs, and its constants with their values and comments.
func declared(t *testing.T) (structs []string, consts map[string][2]string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "plugin.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	consts = map[string][2]string{}
	for _, d := range file.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, s := range g.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				structs = append(structs, s.Name.Name)
			case *ast.ValueSpec:
				lit, ok := s.Values[0].(*ast.BasicLit)
				if !ok || lit.Kind != token.STRING {
					continue
				}
				value, err := strconv.Unquote(lit.Value)
				if err != nil {
					t.Fatal(err)
				}
				consts[s.Names[0].Name] = [2]string{value, strings.TrimSpace(s.Comment.Text())}
			}
		}
	}
	return structs, consts
}

// The contract in WIT is the contract in Go.
func TestWIT(t *testing.T) {
	wit := readWIT(t)
	structs, consts := declared(t)
	want := map[string][]string{}
	for _, name := range structs {
		typ, ok := witRecords[name]
		if !ok {
			t.Errorf("%s is not compared: add it to witRecords and to the WIT", name)
			continue
		}
		want[kebab(name)] = record(t, typ)
	}
	if diff := cmp.Diff(want, wit.records); diff != "" {
		t.Errorf("records (-Go +WIT):\n%s", diff)
	}

	host := map[string]string{}
	guest := map[string]string{}
	exports := map[string]string{"ExportCall": "CallRequest → any JSON", "ExportScope": "ScopeRequest → any JSON",
		"ExportMapInput": "MapInputRequest → any JSON", "ExportDescribe": " → Description"}
	for name, c := range consts {
		switch {
		case strings.HasPrefix(name, "Host"):
			host[strings.ReplaceAll(c[0], "_", "-")] = signature(t, c[1])
		case strings.HasPrefix(name, "Export"):
			guest[strings.ReplaceAll(strings.TrimPrefix(c[0], "cloister_"), "_", "-")] = signature(t, exports[name])
		}
	}
	if diff := cmp.Diff(map[string]map[string]string{"types": {}, "host": host, "guest": guest}, wit.functions); diff != "" {
		t.Errorf("functions (-Go +WIT):\n%s", diff)
	}
	if !slices.Equal(wit.world, []string{"import host;", "export guest;"}) {
		t.Errorf("the world is %q", wit.world)
	}
}

var arrow = regexp.MustCompile(`^(\w*) → (any JSON|null|\w+)`)

// signature turns the comment of a constant, "KVRequest → KVValue; needs …", into WIT's words.
func signature(t *testing.T, comment string) string {
	t.Helper()
	m := arrow.FindStringSubmatch(comment)
	if m == nil {
		t.Fatalf("the comment %q does not say request → answer", comment)
	}
	for _, name := range []string{m[1], m[2]} {
		if _, ok := witRecords[name]; !ok && name != "" && name != "any JSON" && name != "null" {
			t.Errorf("%q names no struct", comment)
		}
	}
	answer, ok := map[string]string{"any JSON": "json", "null": "_"}[m[2]]
	if !ok {
		answer = kebab(m[2])
	}
	return kebab(m[1]) + " -> " + answer
}

func TestKebab(t *testing.T) {
	for in, want := range map[string]string{"ttlSeconds": "ttl-seconds", "KVPutRequest": "kv-put-request", "HTTPResponse": "http-response", "url": "url", "bodyBase64": "body-base64", "unixMs": "unix-ms"} {
		if got := kebab(in); got != want {
			t.Errorf("kebab(%q) = %q, want %q", in, got, want)
		}
	}
}
