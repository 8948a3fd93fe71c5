package mcpapi_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cloister-wasm/cloister/internal/catalog"
	"github.com/cloister-wasm/cloister/internal/mcpapi"
	"github.com/google/go-cmp/cmp"
)

func TestToolNames(t *testing.T) {
	for _, test := range []struct {
		name     string
		in, want []string
	}{
		{"separators", []string{"create_issue"}, []string{"createIssue"}},
		{"kebab", []string{"create-issue"}, []string{"createIssue"}},
		{"dots and slashes", []string{"issues.create/now"}, []string{"issuesCreateNow"}},
		{"pascal", []string{"CreateIssue", "HTTPServer", "URL_fetch", "ID", "ID_x", "X_foo"}, []string{"createIssue", "httpServer", "urlFetch", "id", "idX", "xFoo"}},
		{"capitals", []string{"LIST_ALL", "A_B", "V2"}, []string{"listAll", "aB", "v2"}},
		{"inner capitals stay", []string{"get_URL", "getURL2", "iOS_x"}, []string{"getURL", "getURL2", "iOSX"}},
		{"runs of separators", []string{"__a--b..c__"}, []string{"aBC"}},
		{"leading digit", []string{"2fa", "_2fa_now", "_3d"}, []string{"_2fa", "_2faNow", "_3d"}},
		{"duplicates in order", []string{"create_issue", "create-issue", "create.issue"}, []string{"createIssue", "createIssue2", "createIssue3"}},
		{"literal names keep theirs", []string{"create_issue", "createIssue"}, []string{"createIssue2", "createIssue"}},
		{"literal numbers keep theirs", []string{"a", "A", "a2", "a-"}, []string{"a", "a3", "a2", "a4"}},
		{"twice the same", []string{"a", "a"}, []string{"a", "a2"}},
		{"nothing left", []string{"", "---", "ÄÖ", "tool1"}, []string{"tool2", "tool3", "tool4", "tool1"}},
		{"reserved", []string{"then", "toJSON", "constructor", "delete", "delete2", "resources", "prompts", "import", "arguments", "return"},
			[]string{"then2", "toJSON2", "constructor2", "delete3", "delete2", "resources2", "prompts2", "import2", "arguments2", "return2"}},
		{"reserved after camelCase", []string{"__proto__", "to_string", "To-String", "$api", "has_own_property", "THEN"},
			[]string{"proto", "toString2", "toString3", "api", "hasOwnProperty2", "then2"}},
		{"look-alikes", []string{"delete_filе", "delete_file", "delete_file\u200b"}, []string{"deleteFil", "deleteFile", "deleteFile2"}},
		{"escapes", []string{"a\x1b[31mb", "a\u202eb", "a\nb", "a\u2028b", "a\x00b"}, []string{"a31mb", "aB", "aB2", "aB3", "aB4"}},
		{"closers", []string{"*/ evil() /*", "`${x}`", `");evil("`}, []string{"evil", "x", "evil2"}},
		{"long", []string{strings.Repeat("a", 1<<20), strings.Repeat("a", 1<<20) + "b"}, []string{strings.Repeat("a", 100), strings.Repeat("a", 100) + "2"}},
		{"none", nil, []string{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, mcpapi.ToolNames(test.in)); diff != "" {
				t.Errorf("names (-want +got):\n%s", diff)
			}
		})
	}
}

func TestServerNames(t *testing.T) {
	got := mcpapi.ServerNames([]string{"chrome-devtools", "github", "index", "GitHub", "1password", "日本", "resources"})
	want := []string{"chromeDevtools", "github", "index2", "gitHub", "_1password", "server1", "resources"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

func TestIDNames(t *testing.T) {
	hash := regexp.MustCompile(`^(.+)-[0-9a-f]{8}$`)
	for _, test := range []struct{ in, want string }{
		{"create_issue", "create_issue"},
		{"a/b.c-d", "a/b.c-d"},
		{"Exec", "Exec"},
		{"exec", "exec-#"},
		{"wait", "wait-#"},
		{"tool_call", "tool_call-#"},
		{"resources/read", "resources-read-#"},
		{"prompts/list", "prompts-list-#"},
		{"", "tool-#"},
		{"größe", "gr-e-#"},
		{"../etc", "etc-#"},
		{"a/../b", "a-..-b-#"},
		{"a:b", "a-b-#"},
		{"x\u200b", "x-#"},
		{"\x1b[2J", "2J-#"},
		{strings.Repeat("é", 1<<20), "tool-#"},
		{strings.Repeat("a", 129), strings.Repeat("a", 60) + "-#"},
	} {
		got := mcpapi.IDNames([]string{test.in})[0]
		shown := got
		if strings.HasSuffix(test.want, "-#") {
			shown = hash.ReplaceAllString(got, "$1-#")
		}
		if shown != test.want {
			t.Errorf("IDNames(%.40q) = %q, want %q", test.in, got, test.want)
		}
		if alone := mcpapi.IDNames([]string{"other", test.in, "größer", "waiter"})[1]; alone != got {
			t.Errorf("IDNames(%.40q) depends on other tools: %q, %q", test.in, got, alone)
		}
	}
}

// TestIDNamesStayWithTheirTools gives a tool the name that another's id would be.
func TestIDNamesStayWithTheirTools(t *testing.T) {
	made := mcpapi.IDNames([]string{"exec"})[0]
	longer := mcpapi.IDNames([]string{"exec", made})[0]
	got := mcpapi.IDNames([]string{"exec", made, longer, "exec", "exec", "plain", "plain"})
	if got[1] != made || got[2] != longer || got[5] != "plain" {
		t.Errorf("a tool lost its own name: %q", got)
	}
	seen := map[string]bool{}
	for _, id := range got {
		if _, err := catalog.ID(catalog.SourceMCP, "s", id); err != nil || seen[id] {
			t.Errorf("%q is taken twice or no part of an id: %v", id, err)
		}
		seen[id] = true
	}
}

// TestNamesOfManyTools has the worst lists in reasonable time: the test would not end with quadratic work on them.
func TestNamesOfManyTools(t *testing.T) {
	const n = 20000
	lists := map[string]func(i int) string{
		"all the same":      func(int) string { return "a_b" },
		"numbers are taken": func(i int) string { return []string{"a", fmt.Sprint("a", i)}[i%2] },
		"nothing left":      func(int) string { return "日本" },
		"exec":              func(int) string { return "exec" },
	}
	for name, f := range lists {
		in := make([]string, n)
		for i := range in {
			in[i] = f(i)
		}
		for kind, out := range map[string][]string{"names": mcpapi.ToolNames(in), "ids": mcpapi.IDNames(in)} {
			seen := map[string]bool{}
			for _, s := range out {
				seen[s] = true
			}
			if len(seen) != n {
				t.Errorf("%s: %d different %s of %d", name, len(seen), kind, n)
			}
		}
	}
}

var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,110}$`)

func FuzzNames(f *testing.F) {
	f.Add("create_issue\x01create-issue\x01createIssue2\x01then")
	f.Add("__proto__\x01exec\x01\x01\u202e\x01exec")
	f.Fuzz(func(t *testing.T, list string) {
		names := strings.Split(list, "\x01")
		if len(names) > 200 {
			return
		}
		for kind, f := range map[string]func([]string) []string{"tool": mcpapi.ToolNames, "server": mcpapi.ServerNames} {
			got := f(names)
			again := f(names)
			seen := map[string]bool{"then": true, "constructor": true, "__proto__": true, "delete": true, "toJSON": true}
			if kind == "server" {
				seen["index"] = true
			}
			for i, name := range got {
				if !identifier.MatchString(name) || seen[name] || again[i] != name {
					t.Fatalf("%s %q: %q is no identifier, reserved, taken twice or changes", kind, names[i], name)
				}
				seen[name] = true
			}
			for i, name := range got {
				if name != names[i] && slices.Contains(names, name) {
					t.Fatalf("%s %q lost its own name to %q", kind, name, names[i])
				}
			}
		}
		seen := map[string]bool{"exec": true, "wait": true, "resources/read": true}
		for i, id := range mcpapi.IDNames(names) {
			if _, err := catalog.ID(catalog.SourceMCP, "s", id); err != nil || seen[id] {
				t.Fatalf("id of %q: %q is reserved, taken twice or refused: %v", names[i], id, err)
			}
			seen[id] = true
		}
	})
}
