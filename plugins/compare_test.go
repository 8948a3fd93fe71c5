package plugins

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// base is a manifest to compare with.
func base() map[string]any {
	return map[string]any{
		"abi": ManifestABI, "id": "acme.issues", "version": "1.0.0", "description": "Issues.",
		"permissions": map[string]any{
			"hosts":  []any{map[string]any{"host": "api.example.com", "methods": []any{"GET", "POST"}, "paths": []any{"/repos/"}}, map[string]any{"host": "*.cdn.example.com"}},
			"config": []any{"owner"}, "secrets": []any{secret("token", "api.example.com")}, "tools": []any{"send"}, "timeoutMs": 1000,
		},
		"namespaces": []any{map[string]any{"id": "issues", "globalName": "Issues", "description": "x", "requiredToolNames": []any{"list"},
			"scope": map[string]any{"list": map[string]any{"$tool": "list"}}}},
		"tools": []any{
			map[string]any{"name": "list", "description": "Lists.", "parameters": map[string]any{"type": "object"}, "annotations": map[string]any{"readOnly": true}, "approval": "ask", "timeoutMs": 500},
			map[string]any{"name": "close", "description": "Closes.", "parameters": map[string]any{"type": "object"}, "approval": "always"},
		},
	}
}

func secret(name string, hosts ...any) map[string]any {
	return map[string]any{"name": name, "hosts": hosts}
}

func TestCompare(t *testing.T) {
	perm := func(m map[string]any) map[string]any { return m["permissions"].(map[string]any) }
	host := func(m map[string]any, i int) map[string]any {
		return perm(m)["hosts"].([]any)[i].(map[string]any)
	}
	space := func(m map[string]any) map[string]any { return m["namespaces"].([]any)[0].(map[string]any) }
	tests := []struct {
		name   string
		change func(m map[string]any)
		want   []string // "+ " widens, "  " does not; path; text
	}{
		{"nothing", func(map[string]any) {}, nil},
		{"version", func(m map[string]any) { m["version"] = "1.1.0" }, []string{"  /version: The version changes from 1.0.0 to 1.1.0."}},
		{"another plugin", func(m map[string]any) { m["id"] = "acme.other" }, []string{"+ /id: It is another plugin: acme.other instead of acme.issues."}},
		{"texts", func(m map[string]any) { m["description"], m["license"] = "More.", "MIT" },
			[]string{"  /description: The description changes.", "  /license: The license is new."}},

		{"new host", func(m map[string]any) {
			perm(m)["hosts"] = append(perm(m)["hosts"].([]any), map[string]any{"host": "evil.example"})
		}, []string{"+ /permissions/hosts/evil.example: It may now send GET and HEAD requests to evil.example over https only."}},
		{"host below a wildcard", func(m map[string]any) {
			perm(m)["hosts"] = append(perm(m)["hosts"].([]any), map[string]any{"host": "a.cdn.example.com", "paths": []any{"/x"}})
		}, nil},
		{"wildcard's own domain", func(m map[string]any) { host(m, 1)["host"] = "cdn.example.com" }, []string{
			"+ /permissions/hosts/cdn.example.com: It may now send GET and HEAD requests to cdn.example.com over https only.",
			"  /permissions/hosts/*.cdn.example.com: It may no longer send requests to *.cdn.example.com by an entry of its own."}},
		{"method", func(m map[string]any) { host(m, 0)["methods"] = []any{"GET", "POST", "DELETE"} },
			[]string{"+ /permissions/hosts/api.example.com: It may now send GET, POST and DELETE requests to api.example.com, to paths that start with /repos/, over https only."}},
		{"fewer methods", func(m map[string]any) { host(m, 0)["methods"] = []any{"GET"} },
			[]string{"  /permissions/hosts/api.example.com: It may no longer send all of these: GET and POST requests to api.example.com"}},
		{"wider path", func(m map[string]any) { host(m, 0)["paths"] = []any{"/"} }, []string{"+ /permissions/hosts/api.example.com: It may now send"}},
		{"no path is every path", func(m map[string]any) { delete(host(m, 0), "paths") }, []string{"+ /permissions/hosts/api.example.com: It may now send GET and POST requests to api.example.com over https only."}},
		{"narrower path", func(m map[string]any) { host(m, 0)["paths"] = []any{"/repos/acme"} }, []string{"  /permissions/hosts/api.example.com: It may no longer"}},
		{"path that only begins alike", func(m map[string]any) { host(m, 0)["paths"] = []any{"/repos-secret/"} },
			[]string{"+ /permissions/hosts/api.example.com: It may now", "  /permissions/hosts/api.example.com: It may no longer"}},
		{"another port", func(m map[string]any) {
			host(m, 0)["host"] = "api.example.com:8443"
			perm(m)["secrets"] = []any{secret("token", "api.example.com:8443")}
		}, []string{"+ /permissions/hosts/api.example.com:8443: It may now", "  /permissions/hosts/api.example.com: It may no longer",
			"+ /permissions/secrets/token: The secret token may be sent to api.example.com:8443, before it was api.example.com."}},
		{"insecure", func(m map[string]any) { host(m, 0)["insecure"] = true },
			[]string{"+ /permissions/hosts/api.example.com: It may now send GET and POST requests to api.example.com, to paths that start with /repos/, over https, or http, which anybody on the way can read and change."}},
		{"entries in another order", func(m map[string]any) {
			h := perm(m)["hosts"].([]any)
			h[0], h[1] = h[1], h[0]
		}, nil},
		{"config", func(m map[string]any) { perm(m)["config"] = []any{"region"} },
			[]string{"+ /permissions/config/region: It may now read the configuration key region.", "  /permissions/config/owner: It may no longer read the configuration key owner."}},
		{"secret", func(m map[string]any) {
			perm(m)["secrets"] = []any{secret("token", "api.example.com"), secret("admin-token", "api.example.com", "*.cdn.example.com")}
		},
			[]string{"+ /permissions/secrets/admin-token: It may now have the secret admin-token sent to api.example.com and every host below cdn.example.com."}},
		{"host of a secret", func(m map[string]any) {
			perm(m)["secrets"] = []any{secret("token", "api.example.com", "a.cdn.example.com")}
		},
			[]string{"+ /permissions/secrets/token: The secret token may be sent to api.example.com and a.cdn.example.com, before it was api.example.com."}},
		{"another host of a secret", func(m map[string]any) { perm(m)["secrets"] = []any{secret("token", "*.cdn.example.com")} },
			[]string{"+ /permissions/secrets/token: The secret token may be sent to every host below cdn.example.com, before it was api.example.com."}},
		{"kv", func(m map[string]any) { perm(m)["kv"] = true }, []string{"+ /permissions/kv: It may now keep entries in a store."}},
		{"tool to call", func(m map[string]any) { perm(m)["tools"] = []any{"send", "cloister:core:exec"} }, []string{"+ /permissions/tools/cloister:core:exec: It may now call the tool cloister:core:exec."}},
		{"memory", func(m map[string]any) { perm(m)["memoryBytes"] = 128 << 20 }, []string{"+ /permissions/memoryBytes: An instance may have 128 MiB of memory, before it was 64 MiB."}},
		{"less memory", func(m map[string]any) { perm(m)["memoryBytes"] = 1 << 20 }, []string{"  /permissions/memoryBytes: An instance may have 1 MiB of memory, before it was 64 MiB."}},
		{"time", func(m map[string]any) { perm(m)["timeoutMs"] = 2000 }, []string{"+ /permissions/timeoutMs: A call may take 2s, before it was 1s."}},
		{"less time", func(m map[string]any) { perm(m)["timeoutMs"] = 10 }, []string{"  /permissions/timeoutMs: A call may take 10ms, before it was 1s."}},
		{"time without a bound", func(m map[string]any) { delete(perm(m), "timeoutMs") }, []string{"+ /permissions/timeoutMs: A call may take as long as the host allows, before it was 1s."}},
		{"no permissions", func(m map[string]any) { m["permissions"] = map[string]any{"timeoutMs": 1000} }, []string{
			"  /permissions/hosts/api.example.com: ", "  /permissions/hosts/*.cdn.example.com: ", "  /permissions/config/owner: ", "  /permissions/secrets/token: ", "  /permissions/tools/send: "}},

		{"new namespace", func(m map[string]any) {
			m["namespaces"] = append(m["namespaces"].([]any), map[string]any{"id": "more", "globalName": "More", "description": "x", "requiredToolNames": []any{"list"}, "scope": map[string]any{}})
		}, []string{"+ /namespaces/more: The namespace more is new: cells get the global More."}},
		{"global", func(m map[string]any) { space(m)["globalName"] = "Tickets" }, []string{"+ /namespaces/issues/globalName: The global Issues becomes Tickets."}},
		{"prompt and scope", func(m map[string]any) {
			space(m)["prompt"], space(m)["scope"] = "Use it.", map[string]any{"all": map[string]any{"$tool": "list"}}
		},
			[]string{"  /namespaces/issues/prompt: The prompt of the namespace issues is new.", "  /namespaces/issues/scope: The scope of the namespace issues changes."}},
		{"computed", func(m map[string]any) { delete(space(m), "scope"); space(m)["scopeExport"] = true },
			[]string{"  /namespaces/issues/scope: ", "  /namespaces/issues/scopeExport: The scope of the namespace issues is computed by the plugin for each run now."}},
		{"no namespace", func(m map[string]any) { delete(m, "namespaces") }, []string{"  /namespaces/issues: The namespace issues with the global Issues is gone."}},

		{"new tool", func(m map[string]any) {
			m["tools"] = append(m["tools"].([]any), map[string]any{"name": "wipe", "description": "x", "parameters": map[string]any{"type": "object"}, "annotations": map[string]any{"destructive": true}, "approval": "never"})
		}, []string{`+ /tools/wipe: The tool wipe is new (may remove or overwrite what others need, approval never).`}},
		{"tool gone", func(m map[string]any) { m["tools"] = m["tools"].([]any)[:1] }, []string{"  /tools/close: The tool close is gone."}},
		{"renamed", func(m map[string]any) { tool(m, 1)["name"] = "Close" }, []string{"+ /tools/Close: The tool Close is new", "  /tools/close: The tool close is gone."}},
		{"approval ask to never", func(m map[string]any) { tool(m, 0)["approval"] = "never" }, []string{`+ /tools/list/approval: The approval of the tool list changes from "ask" to "never".`}},
		{"approval always to ask", func(m map[string]any) { tool(m, 1)["approval"] = "ask" }, []string{`+ /tools/close/approval: The approval of the tool close changes from "always" to "ask".`}},
		{"approval ask to the host's", func(m map[string]any) { delete(tool(m, 0), "approval") }, []string{`+ /tools/list/approval: The approval of the tool list changes from "ask" to the host's choice.`}},
		{"approval ask to always", func(m map[string]any) { tool(m, 0)["approval"] = "always" }, []string{`  /tools/list/approval: `}},
		{"readOnly dropped", func(m map[string]any) { delete(tool(m, 0), "annotations") }, []string{`+ /tools/list/annotations/readOnly: The tool list no longer claims "readOnly": it changes nothing.`}},
		{"destructive gained", func(m map[string]any) { tool(m, 1)["annotations"] = map[string]any{"destructive": true} }, []string{`+ /tools/close/annotations/destructive: The tool close claims "destructive"`}},
		{"idempotent", func(m map[string]any) { tool(m, 1)["annotations"] = map[string]any{"idempotent": true} }, []string{`  /tools/close/annotations/idempotent: `}},
		{"schema", func(m map[string]any) {
			tool(m, 0)["parameters"] = map[string]any{"type": "object", "properties": map[string]any{"n": map[string]any{"type": "integer"}}}
			tool(m, 0)["returns"] = map[string]any{"type": "array"}
		}, []string{"  /tools/list/parameters: The input of the tool list changes.", "  /tools/list/returns: The result of the tool list is new."}},
		{"time of a tool", func(m map[string]any) { tool(m, 0)["timeoutMs"] = 900 }, []string{"+ /tools/list/timeoutMs: A call of the tool list may take 900ms, before it was 500ms."}},
		{"stateless", func(m map[string]any) { tool(m, 0)["stateless"] = true }, []string{"  /tools/list/stateless: "}},
	}
	before := parsed(t, base())
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := base()
			tt.change(m)
			d := Compare(before, parsed(t, m))
			var got []string
			widens := false
			for _, c := range d.Changes {
				sign := "  "
				if c.Widens {
					sign, widens = "+ ", true
				}
				got = append(got, sign+c.Path+": "+c.Text)
				if c.Before == c.After || !strings.HasPrefix(c.Path, "/"+c.Area) || !strings.HasSuffix(c.Text, ".") {
					t.Errorf("a loose change: %+v", c)
				}
			}
			ok := len(got) == len(tt.want)
			for i := range min(len(got), len(tt.want)) {
				ok = ok && strings.HasPrefix(got[i], tt.want[i])
			}
			if !ok {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
			}
			if d.Widens() != widens {
				t.Errorf("Widens = %v", d.Widens())
			}
		})
	}
}

func TestCompareWithNothing(t *testing.T) {
	d := Compare(nil, parsed(t, base()))
	var wide []string
	for _, c := range d.Changes {
		if c.Widens {
			wide = append(wide, c.Path)
		}
	}
	want := []string{"/permissions/hosts/api.example.com", "/permissions/hosts/*.cdn.example.com", "/permissions/config/owner", "/permissions/secrets/token",
		"/permissions/tools/send", "/namespaces/issues", "/tools/list", "/tools/close"}
	if diff := cmp.Diff(want, wide); diff != "" || !d.Widens() {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The same members written in another spelling are the same.
func TestCompareIgnoresSpelling(t *testing.T) {
	a, err := ParseManifest([]byte(minimal("a.b", "t")))
	if err != nil {
		t.Fatal(err)
	}
	b, err := ParseManifest([]byte(strings.Replace(minimal("a.b", "t"), `{"type":"object"}`, "{ \"type\" :\n\"object\" }", 1)))
	if err != nil {
		t.Fatal(err)
	}
	if d := Compare(a, b); len(d.Changes) != 0 {
		t.Errorf("%+v", d.Changes)
	}
}

func TestInWords(t *testing.T) {
	got := parsed(t, base()).Permissions.InWords()
	want := []string{
		"It may send GET and POST requests to api.example.com, to paths that start with /repos/, over https only.",
		"It may send GET and HEAD requests to every host below cdn.example.com over https only.",
		"It may have the secret token sent to api.example.com, in headers of its requests; whoever runs that host gets it and may pass it on, to the plugin too.",
		"It may call the tool send by itself, under this host's policy.",
		"It may read the configuration key owner.",
		"A call may take 1s.",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got = Permissions{Config: []string{"a", "b", "c"}, Secrets: []SecretPermission{{"x", []string{"a.example"}}, {"y", []string{"a.example", "*.b.example"}}}, KV: true, MemoryBytes: 3 << 20}.InWords()
	want = []string{
		"It may have the secret x sent to a.example, in headers of its requests; whoever runs that host gets it and may pass it on, to the plugin too.",
		"It may have the secret y sent to a.example and every host below b.example, in headers of its requests; whoever runs one of them gets it and may pass it on, to the plugin too.",
		"It may read the configuration keys a, b and c.",
		"It may keep entries in a store of its own, apart for each agent and session.",
		"An instance may have 3 MiB of memory.",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := fmt.Sprint(Permissions{}.InWords()); got != "[It asks for no access to anything outside of its own memory.]" {
		t.Errorf("no permissions: %s", got)
	}
}
