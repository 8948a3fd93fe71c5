package plugins

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/google/go-cmp/cmp"
)

// namespacePlugin is the test plugin with two namespaces: one whose scope it computes, one that maps input.
func namespacePlugin(t *testing.T, o *LoadOptions) *Plugin {
	t.Helper()
	m := guestManifest()
	m["permissions"] = map[string]any{"memoryBytes": 32 << 20, "config": []any{"region", "unset", "broken"}}
	m["namespaces"] = []any{
		map[string]any{"id": "computed", "globalName": "Computed", "description": "x", "requiredToolNames": []any{"echo", "count"}, "scopeExport": true},
		map[string]any{"id": "fixed", "globalName": "Fixed", "description": "x", "requiredToolNames": []any{"echo"},
			"scope": map[string]any{"get": map[string]any{"$tool": "echo", "mapInput": true}}},
	}
	return load(t, folder(t, t.TempDir(), m, built(t, guestWasm)), o)
}

// prepare sets what the plugin answers to the requests of the contract.
func prepare(t *testing.T, i *Instance, answer string) {
	t.Helper()
	raw, err := json.Marshal(map[string]string{"Text": answer})
	if err != nil {
		t.Fatal(err)
	}
	call(t, i, "prepare", string(raw))
}

func value(v string) string { return `{"abi":1,"value":` + v + `}` }

func TestScope(t *testing.T) {
	o := devOptions()
	o.Services.Config = func(plugin, key string) (json.RawMessage, bool) {
		v, ok := map[string]string{"region": `"eu"`, "broken": `{`, "other": `1`}[key]
		return json.RawMessage(v), ok && plugin == "tests.guest"
	}
	p := namespacePlugin(t, o)
	i := newInstance(t, p)
	ctx := context.Background()
	sc := guestabi.ScopeContext{SessionID: "s", RunID: "r", Config: p.ScopeConfig()}
	got, err := i.Scope(ctx, "computed", sc) // the request itself: plain data
	want := `{"abi":1,"namespace":"computed","context":{"sessionId":"s","runId":"r","config":{"region":"eu"}}}`
	if err != nil || string(got) != want {
		t.Errorf("Scope = %s, %v, want %s", got, err, want)
	}
	scope := `{"region":"eu","count":{"$tool":"count"},"get":{"$tool":"echo","args":["id"]}}`
	prepare(t, i, value(scope))
	if got, err := i.Scope(ctx, "computed", sc); err != nil || string(got) != scope {
		t.Errorf("Scope = %s, %v", got, err)
	}
	for answer, detail := range map[string]string{
		value(`{"get":{"$tool":"panic"}}`):              "requiredToolNames", // a tool of the plugin, but not declared
		value(`{"get":{"$tool":"cloister:core:exec"}}`): "requiredToolNames",
		value(`{"__proto__":{"get":{"$tool":"echo"}}}`): "__proto__",
		value(`[]`): "object",
		value(`{"a":"` + strings.Repeat("x", 256<<10) + `"}`):              "at most 262144",
		value(strings.Repeat(`{"a":`, 33) + `1` + strings.Repeat("}", 33)): "deeper",
	} {
		prepare(t, i, answer)
		_, err := i.Scope(ctx, "computed", sc)
		var pe *PluginError
		if !errors.As(err, &pe) || !errors.Is(err, ErrScope) || !strings.Contains(err.Error(), detail) {
			t.Errorf("%.80s: %v, want ErrScope with %q", answer, err, detail)
		}
	}
	for _, answer := range []string{`{"a":1}`, `{"abi":2,"value":{}}`, `{"abi":1}`} {
		prepare(t, i, answer)
		if _, err := i.Scope(ctx, "computed", sc); !errors.Is(err, ErrProtocol) {
			t.Errorf("%s: %v, want ErrProtocol", answer, err)
		}
	}
	prepare(t, i, `{"abi":1,"error":{"message":"no session","code":"no_session"}}`)
	var te *ToolError
	if _, err := i.Scope(ctx, "computed", sc); !errors.As(err, &te) || te.Code != "no_session" {
		t.Errorf("a refusal: %v", err)
	}
	for _, id := range []string{"fixed", "computd", "Computed", "", "__proto__"} {
		if _, err := i.Scope(ctx, id, sc); !errors.Is(err, ErrUnknownNamespace) {
			t.Errorf("Scope of %q = %v, want ErrUnknownNamespace", id, err)
		}
	}
	if i.Finished() {
		t.Error("a bad scope cost the instance")
	}
}

func TestMapInput(t *testing.T) {
	o := devOptions()
	o.Limits.InputBytes = 10_000
	i := newInstance(t, namespacePlugin(t, o))
	ctx := context.Background()
	args := []json.RawMessage{[]byte(`7`), nil, []byte(`{"a":"x"}`)}
	got, err := i.MapInput(ctx, "fixed", []string{"get"}, "echo", args)
	want := `{"abi":1,"namespace":"fixed","path":["get"],"tool":"echo","args":[7,null,{"a":"x"}]}`
	if err != nil || string(got) != want {
		t.Errorf("MapInput = %s, %v, want %s", got, err, want)
	}
	if got, err := i.MapInput(ctx, "fixed", []string{"get"}, "echo", nil); err != nil || !strings.HasSuffix(string(got), `"args":[]}`) {
		t.Errorf("MapInput without arguments = %s, %v", got, err)
	}
	for answer, kind := range map[string]error{
		value(`[]`): ErrProtocol, value(`null`): ErrProtocol, value(`{"a":1,"a":2}`): ErrProtocol, `{}`: ErrProtocol,
	} {
		prepare(t, i, answer)
		if _, err := i.MapInput(ctx, "fixed", []string{"get"}, "echo", args); !errors.Is(err, kind) {
			t.Errorf("%s: %v, want %v", answer, err, kind)
		}
	}
	for _, tt := range []struct {
		name, ns, tool string
		path           []string
		args           []json.RawMessage
		kind           error
	}{
		{"forged namespace", "other", "echo", []string{"get"}, args, ErrUnknownNamespace},
		{"tool of the plugin that is not declared", "fixed", "count", []string{"get"}, args, ErrUnknownTool},
		{"foreign tool", "fixed", "exec", []string{"get"}, args, ErrUnknownTool},
		{"no path", "fixed", "echo", nil, args, ErrInput},
		{"long path", "fixed", "echo", make([]string, 100), args, ErrInput},
		{"no JSON", "fixed", "echo", []string{"get"}, []json.RawMessage{[]byte(`1],"tool":"x"`)}, ErrInput},
		{"too large", "fixed", "echo", []string{"get"}, []json.RawMessage{[]byte(`"` + strings.Repeat("x", 10_000) + `"`)}, ErrLimit},
	} {
		if _, err := i.MapInput(ctx, tt.ns, tt.path, tt.tool, tt.args); !errors.Is(err, tt.kind) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.kind)
		}
	}
}

func TestDescribe(t *testing.T) {
	p := guestPlugin(t, nil)
	i := newInstance(t, p)
	prepare(t, i, value(`{"tools":[{"name":"echo","description":"Echoes.","parameters":{"type":"object"}}]}`))
	d, err := i.Describe(context.Background())
	want := &guestabi.Description{Tools: []guestabi.DescribedTool{{Name: "echo", Description: "Echoes.", Parameters: json.RawMessage(`{"type":"object"}`)}}}
	if diff := cmp.Diff(want, d); err != nil || diff != "" {
		t.Errorf("Describe: %v (-want +got):\n%s", err, diff)
	}
	for _, answer := range []string{
		value(`{}`) + "x", value(`{"tools":{}}`), value(`{"tools":[{"name":"a","run":"rm"}]}`), value(`{"tools":[` + strings.Repeat(`{"name":"a"},`, 128) + `{"name":"b"}]}`),
		value(`{"tools":[{"name":"a","description":"` + strings.Repeat("x", maxDescription) + `"}]}`),
	} {
		prepare(t, i, answer)
		if _, err := i.Describe(context.Background()); !errors.Is(err, ErrProtocol) {
			t.Errorf("%.60s: %v, want ErrProtocol", answer, err)
		}
	}
	// This plugin knows nothing about itself before it was told.
	if err := p.CheckDescription(context.Background()); !errors.Is(err, ErrProtocol) {
		t.Errorf("CheckDescription = %v", err)
	}
	silent := load(t, folder(t, t.TempDir(), minimal("a.b", "t"), tiny("run")), devOptions())
	if err := silent.CheckDescription(context.Background()); !errors.Is(err, ErrExport) {
		t.Errorf("a plugin that does not describe itself: %v, want ErrExport", err)
	}
	got := describedProblems(&Manifest{Tools: []Tool{{Name: "a"}, {Name: "b", Export: "b"}, {Name: "c"}}}, &guestabi.Description{Tools: []guestabi.DescribedTool{{Name: "a"}, {Name: "d"}}})
	if len(got) != 2 || got[0].Path != "/tools" || !strings.Contains(got[0].Message, `"d"`) || got[1].Path != "/tools/2" {
		t.Errorf("describedProblems = %v", got)
	}
}

// What the manifest promises has to be there when the plugin is loaded, not when a cell asks.
func TestNamespacesNeedExports(t *testing.T) {
	for name, ns := range map[string]string{
		guestabi.ExportScope:    `{"id":"n","globalName":"N","description":"x","requiredToolNames":["t"],"scopeExport":true}`,
		guestabi.ExportMapInput: `{"id":"n","globalName":"N","description":"x","requiredToolNames":["t"],"scope":{"a":[{"$tool":"t","mapInput":true}]}}`,
	} {
		manifest := strings.Replace(minimal("a.b", "t"), `"tools"`, `"namespaces":[`+ns+`],"tools"`, 1)
		_, err := LoadDir(context.Background(), folder(t, t.TempDir(), manifest, tiny("run")), devOptions())
		if !errors.Is(err, ErrExport) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v, want ErrExport", name, err)
		}
	}
}
