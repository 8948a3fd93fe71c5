package plugins

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cloister-wasm/cloister/internal/egress"
	"github.com/cloister-wasm/cloister/internal/namespace"
	"github.com/cloister-wasm/cloister/internal/schema"
	"github.com/google/go-cmp/cmp"
)

func TestParseManifest(t *testing.T) {
	raw, err := os.ReadFile("../examples/plugins/csvquery/" + ManifestFile)
	if err != nil {
		t.Fatal(err)
	}
	m, err := ParseManifest(raw)
	if err != nil {
		t.Fatal(err)
	}
	if m.ID != "examples.csv" || len(m.Tools) != 3 || m.Tools[0].Export != "csv_query" || !m.Tools[0].Annotations.ReadOnly {
		t.Errorf("ParseManifest = %+v", m)
	}
	if _, err := schema.Compile(m.Tools[0].Parameters); err != nil {
		t.Error(err)
	}
}

// mistakes changes a good manifest, parses it, and gives the problems as lines.
func mistakes(t *testing.T, change func(m map[string]any)) []string {
	t.Helper()
	m := guestManifest()
	change(m)
	raw, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return problems(t, string(raw))
}

func problems(t *testing.T, manifest string) []string {
	t.Helper()
	_, err := ParseManifest([]byte(manifest))
	if err == nil {
		return nil
	}
	var me *ManifestError
	if !errors.As(err, &me) || !errors.Is(err, ErrManifest) {
		t.Fatalf("ParseManifest = %v, want a ManifestError", err)
	}
	var lines []string
	for _, p := range me.Problems {
		lines = append(lines, p.String())
		if strings.Contains(p.String(), "\n") || len(p.String()) > 900 {
			t.Errorf("a problem is not one bounded line: %q", p.String())
		}
	}
	return lines
}

func tool(m map[string]any, i int) map[string]any { return m["tools"].([]any)[i].(map[string]any) }

func TestManifestMistakes(t *testing.T) {
	perms := func(key string, v any) func(map[string]any) {
		return func(m map[string]any) { m["permissions"] = map[string]any{key: v} }
	}
	// secrets asks for some, with permission to ask some hosts.
	secrets := func(hosts []any, list ...any) func(map[string]any) {
		return func(m map[string]any) {
			permitted := make([]any, len(hosts))
			for i, h := range hosts {
				permitted[i] = map[string]any{"host": h, "paths": []any{fmt.Sprint("/", i)}}
			}
			m["permissions"] = map[string]any{"hosts": permitted, "secrets": list}
		}
	}
	// space adds a namespace.
	space := func(change func(n map[string]any)) func(map[string]any) {
		return func(m map[string]any) {
			n := map[string]any{"id": "issues", "globalName": "Issues", "description": "x", "requiredToolNames": []any{"echo"},
				"scope": map[string]any{"version": 1, "get": map[string]any{"$tool": "echo", "args": []any{"number"}}}}
			if change != nil {
				change(n)
			}
			list, _ := m["namespaces"].([]any)
			m["namespaces"] = append(list, n)
		}
	}
	tests := []struct {
		name   string
		change func(m map[string]any)
		want   []string
	}{
		{"none", func(map[string]any) {}, nil},
		{"$schema is welcome", func(m map[string]any) { m["$schema"] = "https://example.com/x.json" }, nil},
		{"empty lists", func(m map[string]any) {
			m["permissions"] = map[string]any{"hosts": []any{}, "kv": false, "tools": []any{}}
			m["namespaces"] = []any{}
		}, nil},
		{"newer abi", func(m map[string]any) { m["abi"] = "cloister.plugin/2" },
			[]string{`/abi: expected "cloister.plugin/1"; write "cloister.plugin/1"; a newer one needs a newer Cloister`}},
		{"no abi", func(m map[string]any) { delete(m, "abi") },
			[]string{`(the whole file): missing required property "abi" (string); add "abi": "cloister.plugin/1"`}},
		{"id", func(m map[string]any) { m["id"] = "Acme.Hello" },
			[]string{`/id: has the wrong form; write publisher.name in lower-case letters, digits and single hyphens, for example "acme.hello"`}},
		{"version", func(m map[string]any) { m["version"] = "v1" }, []string{`/version: has the wrong form; write a semantic version such as "1.0.0", without a leading v`}},
		{"unknown field", func(m map[string]any) { m["licence"] = "MIT" }, []string{`/licence: unknown property "licence", did you mean "license"?`}},
		{"unknown field of a tool", func(m map[string]any) { tool(m, 0)["readOnly"] = true },
			[]string{`/tools/0/readOnly: unknown property "readOnly"; known are "annotations", "approval", "description", "examples", "export", "label", "name", "parameters" and 3 more`}},
		{"case counts", func(m map[string]any) { m["ID"] = "a.b" }, []string{`/ID: unknown property "ID"; known are "$schema", "abi", "certification", "description", "homepage", "id", "license", "namespaces" and 3 more`}},
		{"homepage", func(m map[string]any) { m["homepage"] = "http://example.com" }, []string{`/homepage: has the wrong form; write an address that starts with https://`}},
		{"homepage with credentials", func(m map[string]any) { m["homepage"] = "https://u:p@example.com" },
			[]string{`/homepage: is not an address without credentials; write an address that starts with https://`}},
		{"no tools", func(m map[string]any) { m["tools"] = []any{} }, []string{`/tools: needs at least 1 item, has 0; a plugin has 1 to 128 tools; split larger ones`}},
		{"too many tools", func(m map[string]any) {
			var tools []any
			for i := range 129 {
				tools = append(tools, map[string]any{"name": fmt.Sprint("t", i), "description": "x", "parameters": map[string]any{"type": "object"}})
			}
			m["tools"] = tools
		}, []string{`/tools: may have at most 128 items, has 129; a plugin has 1 to 128 tools; split larger ones`}},
		{"tool name", func(m map[string]any) { tool(m, 1)["name"] = "a b" }, []string{`/tools/1/name: has the wrong form; start with a letter and go on with letters, digits, _ or -, for example "csv_query"`}},
		{"same name", func(m map[string]any) { tool(m, 1)["name"] = "ECHO" },
			[]string{`/tools/1/name: "ECHO" is also the name of tool 0 (case does not count); give each tool a name of its own`}},
		{"control tool", func(m map[string]any) { tool(m, 1)["name"] = "exec" }, []string{`/tools/1/name: "exec" is reserved; choose another name, for example with a prefix`}},
		{"a name that makes a promise of tools", func(m map[string]any) { tool(m, 1)["name"] = "then" }, []string{`/tools/1/name: "then" is reserved; choose another name, for example with a prefix`}},
		{"no parameters", func(m map[string]any) { delete(tool(m, 0), "parameters") },
			[]string{`/tools/0: missing required property "parameters" (object); a tool without input has "parameters": {"type": "object"}`}},
		{"parameters without type", func(m map[string]any) { tool(m, 0)["parameters"] = map[string]any{} },
			[]string{`/tools/0/parameters: does not say that the input is an object; write "type": "object" in it: a tool takes named values`}},
		{"parameters of no schema", func(m map[string]any) {
			tool(m, 0)["parameters"] = map[string]any{"type": "object", "properties": map[string]any{"a": map[string]any{"type": "strng"}}}
		}, []string{`/tools/0/parameters/properties/a/type: `}},
		{"parameters from a file", func(m map[string]any) {
			tool(m, 0)["parameters"] = map[string]any{"type": "object", "$ref": "file:///etc/passwd"}
		}, []string{`/tools/0/parameters: the JSON Schema refers to another document: "file:///etc/passwd" is outside`}},
		{"returns with look-ahead", func(m map[string]any) { tool(m, 0)["returns"] = map[string]any{"pattern": "(?=x)"} },
			[]string{`/tools/0/returns/pattern: unusable regular expression`}},
		{"contradiction", func(m map[string]any) {
			tool(m, 0)["annotations"] = map[string]any{"readOnly": true, "destructive": true}
		}, []string{`/tools/0/annotations: readOnly and destructive contradict each other; claim one of them`}},
		{"approval", func(m map[string]any) { tool(m, 0)["approval"] = "asks" },
			[]string{`/tools/0/approval: expected one of "never", "ask" or "always", did you mean "ask"?; write "never", "ask" or "always", or leave it to the host`}},
		{"export of the runtime", func(m map[string]any) { tool(m, 0)["export"] = "_initialize" },
			[]string{`/tools/0/export: "_initialize" is for the runtime, not for calls; name the function of the tool`}},
		{"timeout", func(m map[string]any) { tool(m, 0)["timeoutMs"] = 0 }, []string{`/tools/0/timeoutMs: must be at least 1, got 0; write whole milliseconds from 1 to 600000`}},
		{"example", func(m map[string]any) {
			tool(m, 0)["parameters"] = map[string]any{"type": "object", "properties": map[string]any{"n": map[string]any{"type": "integer"}}}
			tool(m, 0)["returns"] = map[string]any{"type": "string"}
			tool(m, 0)["examples"] = []any{map[string]any{"input": map[string]any{"n": "1"}, "output": 3}}
		}, []string{
			`/tools/0/examples/0/input/n: does not match the tool's parameters: expected integer, got string`,
			`/tools/0/examples/0/output: does not match the tool's returns: expected string, got number`,
		}},
		{"memory", perms("memoryBytes", 100), []string{`/permissions/memoryBytes: must be at least 1048576, got 100; write bytes from 1048576 (1 MiB) to 1073741824 (1 GiB)`}},
		{"permissions", perms("hosts", []any{map[string]any{"host": "api.example.com", "methods": []any{"GET", "POST"}, "paths": []any{"/repos/"}}}), nil},
		{"secrets without hosts", perms("secrets", []any{"token"}),
			[]string{`/permissions/secrets: secrets go into HTTP requests, and no host is allowed; add the hosts whose requests they are for, or remove them`}},
		{"secret of one host", secrets([]any{"api.example.com"}, "token"), nil},
		{"secret of one host with two entries", secrets([]any{"api.example.com", "API.example.com"}, "token"), nil},
		{"secret of some host", secrets([]any{"api.example.com", "b.example.com"}, secret("token", "api.example.com"), "other"),
			[]string{`/permissions/secrets/1: does not say where it may be sent, and permissions.hosts has more than one host; write {"name": "other", "hosts": [ … ]} with the hosts that it is for`}},
		{"secret of a wildcard", secrets([]any{"*.example.com"}, "token"), []string{`/permissions/secrets/0: does not say where it may be sent`}},
		{"secret of another port", secrets([]any{"api.example.com", "api.example.com:8443"}, "token"), []string{`/permissions/secrets/0: does not say where it may be sent`}},
		{"secret of a wildcard that says so", secrets([]any{"*.example.com"}, secret("token", "*.example.com", "a.example.com", "*.a.example.com")), nil},
		{"secret of other hosts", secrets([]any{"api.example.com", "*.b.example.com"}, secret("token", "evil.example", "b.example.com", "*.example.com", "api.example.com:8443", "*")), []string{
			`/permissions/secrets/0/hosts/0: "evil.example" is not covered by permissions.hosts, so that nothing is sent to it; add it there, or take it out here`,
			`/permissions/secrets/0/hosts/1: "b.example.com" is not`, `/permissions/secrets/0/hosts/2: "*.example.com" is not`,
			`/permissions/secrets/0/hosts/3: "api.example.com:8443" is not`, `/permissions/secrets/0/hosts/4: "*" is not`,
		}},
		{"secret twice", secrets([]any{"api.example.com"}, "token", secret("token", "api.example.com")),
			[]string{`/permissions/secrets/1: "token" is also secret 0; list all of its hosts in one entry`}},
		{"secret without hosts of its own", secrets([]any{"api.example.com"}, map[string]any{"name": "token"}),
			[]string{`/permissions/secrets/0: missing required property "hosts" (array); write {"name": "github-token", "hosts": ["api.github.com"]}`}},
		{"secret for no host", secrets([]any{"api.example.com"}, map[string]any{"name": "token", "hosts": []any{}}),
			[]string{`/permissions/secrets/0/hosts: needs at least 1 item, has 0; name the hosts`}},
		{"names of secrets", secrets([]any{"api.example.com"}, "a b", secret("", "api.example.com")), []string{
			`/permissions/secrets/0: has the wrong form; write {"name"`, `/permissions/secrets/1/name: has the wrong form; start with a letter`}},
		{"a number as a secret", secrets([]any{"api.example.com"}, 7), []string{`/permissions/secrets/0: expected string or object, got number; write {"name"`}},
		{"host of everything", perms("hosts", []any{map[string]any{"host": "*"}}),
			[]string{`/permissions/hosts/0/host: a rule for every host is not possible; name each host, or write *.example.com`}},
		{"host with a scheme", perms("hosts", []any{map[string]any{"host": "https://example.com/"}}), []string{`/permissions/hosts/0/host: write the host alone, without https://`}},
		{"host without a name", perms("hosts", []any{map[string]any{"paths": []any{"/"}}}),
			[]string{`/permissions/hosts/0: missing required property "host" (string); write "host": a name such as "api.example.com"`}},
		{"methods and paths", perms("hosts", []any{map[string]any{"host": "example.com", "methods": []any{"get", "CONNECT"}, "paths": []any{"repos", "/a/../b"}}}), []string{
			`/permissions/hosts/0/methods/0: write the method in capitals: GET`,
			`/permissions/hosts/0/methods/1: the methods CONNECT, TRACE and TRACK are never allowed`,
			`/permissions/hosts/0/paths/0: a path starts with a slash`,
			`/permissions/hosts/0/paths/1: `,
		}},
		{"unknown field of a host", perms("hosts", []any{map[string]any{"host": "example.com", "ports": 1}}), []string{`/permissions/hosts/0/ports: unknown property "ports"`}},
		{"config", perms("config", []any{"a b"}), []string{`/permissions/config/0: has the wrong form; start with a letter`}},
		{"config twice", perms("config", []any{"a", "a"}), []string{`/permissions/config: `}},
		{"kv", perms("kv", "yes"), []string{`/permissions/kv: expected boolean, got string`}},
		{"tools", perms("tools", []any{"mcp:github:list_issues", "send", "github:x"}), []string{`/permissions/tools/2: has the wrong form; write a catalog id`}},
		{"a tool of its own", perms("tools", []any{"cloister:tests.guest:echo"}),
			[]string{`/permissions/tools/0: "cloister:tests.guest:echo" is a tool of this plugin, which would wait for itself; call the function in the plugin's own code`}},
		{"unknown permission", perms("files", []any{"/"}), []string{`/permissions/files: unknown property "files"`}},
		{"namespace", space(nil), nil},
		{"computed namespace", space(func(n map[string]any) { delete(n, "scope"); n["scopeExport"] = true }), nil},
		{"namespace of nothing", func(m map[string]any) { m["namespaces"] = []any{map[string]any{}} }, []string{
			`/namespaces/0: missing required property "id"`, `/namespaces/0: missing required property "globalName"`,
			`/namespaces/0: missing required property "description"`, `/namespaces/0: missing required property "requiredToolNames"`,
			`/namespaces/0: has no scope; add "scope", or "scopeExport": true`,
		}},
		{"global of the host", space(func(n map[string]any) { n["globalName"] = "tools" }), []string{`/namespaces/0/globalName: "tools" is a built-in of cells; choose another name`}},
		{"global of JavaScript", space(func(n map[string]any) { n["globalName"] = "Promise" }), []string{`/namespaces/0/globalName: "Promise" is a built-in of JavaScript`}},
		{"global that is no identifier", space(func(n map[string]any) { n["globalName"] = "Is-sues" }), []string{`/namespaces/0/globalName: "Is-sues" is not a JavaScript identifier`}},
		{"global twice", func(m map[string]any) {
			space(nil)(m)
			space(func(n map[string]any) { n["id"] = "other" })(m)
		}, []string{`/namespaces/1/globalName: "Issues" is also that of namespace 0; give each namespace a name of its own`}},
		{"tools of others", space(func(n map[string]any) { n["requiredToolNames"] = []any{"echo", "exho", "send"} }), []string{
			`/namespaces/0/requiredToolNames/1: "exho" is not a tool of this plugin; did you mean "echo"?`,
			`/namespaces/0/requiredToolNames/2: "send" is not a tool of this plugin; name tools of this plugin only`,
		}},
		{"no tools required", space(func(n map[string]any) { n["requiredToolNames"], n["scope"] = []any{}, map[string]any{"a": 1} }),
			[]string{`/namespaces/0/requiredToolNames: needs at least 1 item, has 0; name the tools that its members call`}},
		{"scope", space(func(n map[string]any) {
			n["scope"] = map[string]any{"a.b": 1, "__proto__": 1, "list": map[string]any{"$tool": "count"}, "get": map[string]any{"$tool": "echo", "arg": []any{}}}
		}), []string{
			`/namespaces/0/scope/__proto__: "__proto__" is not a safe key`,
			`/namespaces/0/scope/a.b: "a.b" holds "."`,
			`/namespaces/0/scope/get/arg: a call marker has "$tool" and either "args" or "mapInput", nothing else; did you mean "args"?`,
			`/namespaces/0/scope/list/$tool: "count" is not one of the namespace's requiredToolNames; add it to requiredToolNames`,
		}},
		{"scope and scopeExport", space(func(n map[string]any) { n["scopeExport"] = true }),
			[]string{`/namespaces/0/scopeExport: "scope" and "scopeExport" exclude each other; keep "scope"`}},
		{"invisible prompt", space(func(n map[string]any) { n["prompt"] = "a\u2066b" }), []string{`/namespaces/0/prompt: holds the invisible character U+2066; remove it`}},
		{"blank description of a namespace", space(func(n map[string]any) { n["description"] = " " }), []string{`/namespaces/0/description: is blank`}},
		{"certification", func(m map[string]any) {
			m["certification"] = map[string]any{"report": "sha256:" + strings.Repeat("a", 64), "url": "https://example.com/r.json"}
		}, nil},
		{"certification of nothing", func(m map[string]any) {
			m["certification"] = map[string]any{"report": "x", "url": "http://example.com"}
		}, []string{
			`/certification/report: has the wrong form; write "sha256:" and 64 hexadecimal digits in lower case`,
			`/certification/url: has the wrong form; write an address that starts with https://`,
		}},
		{"stateless", func(m map[string]any) { tool(m, 0)["stateless"] = true }, nil},
		{"invisible text", func(m map[string]any) { tool(m, 0)["description"] = "safe\u202egnp.exe" }, []string{`/tools/0/description: holds the invisible character U+202E; remove it`}},
		{"terminal escape", func(m map[string]any) { m["description"] = "\x1b[2J" }, []string{`/description: holds the invisible character U+001B; remove it`}},
		{"blank", func(m map[string]any) { m["description"] = "  \n" }, []string{`/description: is blank; write something, or leave it out`}},
		{"joined emoji", func(m map[string]any) { m["description"] = "for a 👨‍👩‍👧 and a\u00a0half" }, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := mistakes(t, tt.change)
			ok := len(got) == len(tt.want)
			for i := range min(len(got), len(tt.want)) {
				ok = ok && strings.HasPrefix(got[i], tt.want[i])
			}
			if !ok {
				t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(tt.want, "\n  "))
			}
		})
	}
}

// An author sees all mistakes at once, whatever kind they are of.
func TestManifestMistakesAtOnce(t *testing.T) {
	got := mistakes(t, func(m map[string]any) {
		m["version"], m["licens"] = "1", "MIT"
		tool(m, 0)["name"] = "echo echo"
		tool(m, 1)["name"] = "COUNT"
		tool(m, 3)["parameters"] = map[string]any{"type": "object", "required": "x"}
		tool(m, 4)["description"] = "\u200b"
		m["permissions"] = map[string]any{"secrets": []any{"token"}, "memoryBytes": "64M"}
		delete(m, "description")
	})
	var places []string
	for _, line := range got {
		place, _, _ := strings.Cut(line, ": ")
		places = append(places, place)
	}
	want := []string{"(the whole file)", "/licens", "/permissions/memoryBytes", "/permissions/secrets", "/tools/0/name", "/tools/2/name",
		"/tools/3/parameters/required", "/tools/4/description", "/version"}
	if diff := cmp.Diff(want, places); diff != "" {
		t.Errorf("(-want +got):\n%s\n%s", diff, strings.Join(got, "\n"))
	}
}

func TestManifestSyntax(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 200) + "1" + strings.Repeat("}", 200)
	for name, tt := range map[string]struct{ in, want string }{
		"empty":         {"", "the text ends before"},
		"not JSON":      {"abi: x", "mend the JSON"},
		"a list":        {"[]", "expected object, got array"},
		"duplicate key": {`{"id":"a.b","id":"c.d"}`, `/id: the key "id" appears twice`},
		"too deep":      {deep, "nested deeper"},
		"too large":     {`{"x":"` + strings.Repeat("x", MaxManifestBytes) + `"}`, "bytes are more than"},
		"invalid UTF-8": {"{\"id\":\"\xff\"}", "UTF-8"},
		"number bomb":   {`{"id":1e999999999}`, "exponent"},
	} {
		got := problems(t, tt.in)
		if len(got) == 0 || !strings.Contains(got[0], tt.want) {
			t.Errorf("%s: %q, want it to say %q", name, got, tt.want)
		}
	}
}

// A manifest of nothing but mistakes is neither slow nor endless.
func TestManifestManyMistakes(t *testing.T) {
	list := "[" + strings.Repeat(`{"x":1,"examples":[{},{}],"parameters":{}},`, 5000) + "0]"
	_, err := ParseManifest([]byte(`{"tools":` + list + `}`))
	var me *ManifestError
	if !errors.As(err, &me) || len(me.Problems) > MaxProblems || !me.More {
		t.Fatalf("ParseManifest = %.300v", err)
	}
	if n := len(err.Error()); n > 100_000 {
		t.Errorf("error text of %d bytes", n)
	}
}

// The published schema and the Go types are two statements of one thing.
func TestManifestSchemaMatchesTypes(t *testing.T) {
	var published map[string]any
	if err := json.Unmarshal(ManifestSchema(), &published); err != nil {
		t.Fatal(err)
	}
	defs := published["$defs"].(map[string]any)
	compare := func(name string, typ reflect.Type, s map[string]any) {
		t.Helper()
		props := s["properties"].(map[string]any)
		if s["additionalProperties"] != false {
			t.Errorf("%s lets unknown members pass", name)
		}
		var fields []string
		var required []any
		for f := range typ.NumField() {
			tag := typ.Field(f).Tag.Get("json")
			field, opts, _ := strings.Cut(tag, ",")
			fields = append(fields, field)
			if opts == "" {
				required = append(required, field)
			}
			prop, _ := props[field].(map[string]any)
			if ref, ok := prop["$ref"].(string); ok {
				prop = defs[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any)
			}
			if want := jsonType(typ.Field(f).Type, field); prop["type"] != want {
				t.Errorf("%s.%s has the type %v in the schema, %v in Go", name, field, prop["type"], want)
			}
		}
		slices.Sort(fields)
		if diff := cmp.Diff(fields, sortedKeys(props)); diff != "" {
			t.Errorf("%s: members (-Go +schema):\n%s", name, diff)
		}
		got, _ := s["required"].([]any)
		if diff := cmp.Diff(required, got); diff != "" {
			t.Errorf("%s: required (-Go +schema):\n%s", name, diff)
		}
	}
	compare("manifest", reflect.TypeFor[Manifest](), published)
	compare("tool", reflect.TypeFor[Tool](), defs["tool"].(map[string]any))
	compare("annotations", reflect.TypeFor[Annotations](), defs["annotations"].(map[string]any))
	compare("example", reflect.TypeFor[Example](), defs["example"].(map[string]any))
	compare("host", reflect.TypeFor[HostPermission](), defs["host"].(map[string]any))
	compare("namespace", reflect.TypeFor[Namespace](), defs["namespace"].(map[string]any))
	compare("certification", reflect.TypeFor[Certification](), defs["certification"].(map[string]any))
	compare("secret", reflect.TypeFor[SecretPermission](), defs["secret"].(map[string]any))
	compare("permissions", reflect.TypeFor[Permissions](), defs["permissions"].(map[string]any))

	abi := published["properties"].(map[string]any)["abi"].(map[string]any)
	if abi["const"] != ManifestABI {
		t.Errorf("the schema's abi is %v", abi["const"])
	}
	approval := defs["tool"].(map[string]any)["properties"].(map[string]any)["approval"].(map[string]any)
	if diff := cmp.Diff([]any{string(ApprovalNever), string(ApprovalAsk), string(ApprovalAlways)}, approval["enum"]); diff != "" {
		t.Errorf("approval (-Go +schema):\n%s", diff)
	}
	for place := range suggestions {
		if !placeExists(published, defs, place) {
			t.Errorf("there is a suggestion for %q, which the schema does not have", place)
		}
	}
}

// jsonType is what a field's type is in the schema.
func jsonType(t reflect.Type, field string) any {
	switch {
	case t == reflect.TypeFor[json.RawMessage]():
		if field == "output" {
			return nil // any JSON
		}
		return "object"
	case t.Kind() == reflect.Slice:
		return "array"
	case t.Kind() == reflect.String:
		return "string"
	case t.Kind() == reflect.Bool:
		return "boolean"
	case t.Kind() == reflect.Int || t.Kind() == reflect.Int64:
		return "integer"
	}
	return "object"
}

func sortedKeys(m map[string]any) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// placeExists follows a key of suggestions through the schema.
func placeExists(at, defs map[string]any, place string) bool {
	path, _, _ := strings.Cut(place, " ")
	for _, part := range strings.Split(path, "/")[1:] {
		if ref, ok := at["$ref"].(string); ok {
			at = defs[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any)
		}
		var next any
		if part == "*" {
			next = at["items"]
		} else if props, ok := at["properties"].(map[string]any); ok {
			next = props[part]
		}
		var ok bool
		if at, ok = next.(map[string]any); !ok {
			return false
		}
	}
	return true
}

// checkUsable holds an accepted manifest to what others build on.
func checkUsable(t *testing.T, m *Manifest, data []byte) {
	for _, h := range m.Permissions.Hosts {
		if err := egress.ParseRule(egress.Rule(h)); err != nil {
			t.Fatalf("a rule passed that the client refuses: %v in %s", err, data)
		}
	}
	for _, s := range m.Permissions.Secrets {
		if len(s.Hosts) == 0 || !slices.ContainsFunc(m.Permissions.Hosts, func(h HostPermission) bool { return hostCovers(h.Host, s.Hosts[0]) }) {
			t.Fatalf("the secret %q goes nowhere, or everywhere: %s", s.Name, data)
		}
	}
	globals := map[string]bool{}
	for _, n := range m.Namespaces {
		if err := namespace.CheckGlobalName(n.GlobalName); err != nil || globals[n.GlobalName] {
			t.Fatalf("a global passed that is refused: %q: %v", n.GlobalName, err)
		}
		globals[n.GlobalName] = true
		for _, name := range n.RequiredToolNames {
			if !hasTool(m, name) {
				t.Fatalf("a namespace may call the foreign tool %q", name)
			}
		}
		if n.ScopeExport == (n.Scope != nil) {
			t.Fatalf("a namespace with two scopes or none passed: %s", data)
		}
		if n.Scope != nil {
			if _, err := namespace.ParseScope(n.Scope, n.RequiredToolNames); err != nil {
				t.Fatalf("a scope passed that is refused: %v", err)
			}
		}
	}
	if d := Compare(m, m); len(d.Changes) != 0 {
		t.Fatalf("a manifest differs from itself: %+v", d.Changes)
	}
	for _, s := range append(m.Permissions.InWords(), "") {
		if strings.Contains(s, "\n") {
			t.Fatalf("a permission in two lines: %q", s)
		}
	}
}

func FuzzManifest(f *testing.F) {
	for _, path := range []string{"../examples/plugins/csvquery/" + ManifestFile} {
		raw, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Add([]byte(minimal("a.b", "t")))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := ParseManifest(data)
		if err != nil {
			var me *ManifestError
			if !errors.As(err, &me) || len(me.Problems) == 0 || len(me.Problems) > MaxProblems {
				t.Fatalf("ParseManifest = %v, want problems", err)
			}
			return
		}
		// What is accepted can be used.
		checkUsable(t, m, data)
		names := map[string]bool{}
		for _, tool := range m.Tools {
			if names[strings.ToLower(tool.Name)] {
				t.Fatalf("a name passed twice: %s", data)
			}
			names[strings.ToLower(tool.Name)] = true
			if _, err := schema.Compile(tool.Parameters); err != nil {
				t.Fatalf("parameters passed that do not compile: %v", err)
			}
		}
	})
}
