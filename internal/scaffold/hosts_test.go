package scaffold

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/internal/extism"
)

// hostCalls is what each probe in testdata/hosts does, the request that must reach the host, the host's answer, and what
// the probe makes of it.
var hostCalls = []struct{ do, function, request, answer, want string }{
	{"log", guestabi.HostLog, `{"abi":1,"level":"warn","message":"line 1 ü"}`, `{"abi":1,"value":null}`, `null`},
	{"progress", guestabi.HostProgress, `{"abi":1,"progress":1,"total":2,"message":"half"}`, `{"abi":1,"value":null}`, `null`},
	{"config", guestabi.HostConfigGet, `{"abi":1,"key":"key"}`, `{"abi":1,"value":{"a":[1,"ü"]}}`, `[true,{"a":[1,"ü"]}]`},
	{"config", guestabi.HostConfigGet, `{"abi":1,"key":"key"}`, `{"abi":1,"value":null}`, `[false,null]`},
	{"kv_get", guestabi.HostKVGet, `{"abi":1,"key":"k"}`, `{"abi":1,"value":{"found":true,"value":"v\n\"\\"}}`, `[true,"v\n\"\\"]`},
	{"kv_put", guestabi.HostKVPut, `{"abi":1,"key":"k","value":"v","ttlSeconds":5}`, `{"abi":1,"value":null}`, `null`},
	{"kv_delete", guestabi.HostKVDelete, `{"abi":1,"key":"k"}`, `{"abi":1,"value":null}`, `null`},
	{"http", guestabi.HostHTTP, `{"abi":1,"method":"POST","url":"https://example.com/","body":"ü"}`, `{"abi":1,"value":{"status":201,"url":"","headers":{},"body":"€"}}`, `[201,"€"]`},
	{"call_tool", guestabi.HostCallTool, `{"abi":1,"tool":"other","input":{"n":1}}`, ` { "abi" : 1 , "value" : [ true , { } , -1.5e3 ] } `, `[true,{},-1500]`},
	{"interrupt", guestabi.HostInterrupt, `{"abi":1,"payload":"sure?"}`, `{"abi":1,"value":"yes"}`, `"yes"`},
	{"now", guestabi.HostNow, `{"abi":1}`, `{"abi":1,"value":{"unixMs":1767225600123}}`, `1767225600123`},
	{"random", guestabi.HostRandom, `{"abi":1,"bytes":3}`, `{"abi":1,"value":{"base64":"AQID"}}`, `"AQID"`},
}

// badAnswers are answers that make a failure of the plugin's, with a text from either side, and never end it.
var badAnswers = []struct{ answer, message string }{
	{`{"abi":1,"error":{"message":"not ü","code":"not_allowed"}}`, "not ü"},
	{``, "did not answer"},
	{`{"abi":2,"value":{}}`, ""},
	{`nope`, ""},
	{`[]`, ""},
	{`{"abi":1`, ""},
	{`{"abi":1,"error":{"message":"` + strings.Repeat("[", 5000) + `"}}`, "[[["},
}

func TestHostFunctionsOfEachSDK(t *testing.T) {
	for language, source := range map[string]string{Go: "main.go", AssemblyScript: "assembly/index.ts", C: "plugin.c"} {
		t.Run(language, func(t *testing.T) {
			i, host := probe(t, language, source)
			for _, c := range hostCalls {
				host.function, host.answer, host.request = c.function, c.answer, ""
				var e envelope
				e.read(t, call(t, i, guestabi.ExportCall, `{"abi":1,"tool":"do","input":{"do":"`+c.do+`"}}`))
				sameJSON(t, c.do+": the request", host.request, c.request)
				if e.Error != nil {
					t.Errorf("%s: %+v", c.do, e.Error)
				} else {
					sameJSON(t, c.do, string(e.Value), c.want)
				}
			}
			for _, bad := range badAnswers {
				host.function, host.answer = guestabi.HostInterrupt, bad.answer
				var e envelope
				e.read(t, call(t, i, guestabi.ExportCall, `{"abi":1,"tool":"do","input":{"do":"interrupt"}}`))
				if e.Error == nil || !strings.Contains(e.Error.Message, bad.message) {
					t.Errorf("%.60s: %.200s, %+v", bad.answer, e.Value, e.Error)
				}
			}
			// Large messages, and blocks that are freed.
			host.function, host.answer = guestabi.HostKVPut, `{"abi":1,"value":null}`
			for range 5 {
				call(t, i, guestabi.ExportCall, `{"abi":1,"tool":"do","input":{"do":"kv_put","big":300000}}`)
				if len(host.request) < 300000 {
					t.Fatalf("a request of %d bytes arrived", len(host.request))
				}
			}
			panics(t, i, host, language)
		})
	}
}

// panics ends the instance with a line in the log; Go goes on.
func panics(t *testing.T, i *extism.Instance, host *fakeHost, language string) {
	t.Helper()
	out, err := i.Call(context.Background(), guestabi.ExportCall, []byte(`{"abi":1,"tool":"do","input":{"do":"panic"}}`))
	if language == Go {
		if err != nil || !strings.Contains(string(out), `"the tool do panicked: oh no"`) {
			t.Errorf("a panic: %s, %v", out, err)
		}
		return
	}
	want := map[string]string{AssemblyScript: "error: Index out of range (", C: "error: oh no"}[language]
	if err == nil || !i.Dead() || len(*host.log) != 1 || !strings.HasPrefix((*host.log)[0], want) {
		t.Errorf("a panic: %s, %v, logged %q", out, err, *host.log)
	}
}

type fakeHost struct {
	function, request, answer string
	log                       *[]string
}

// probe builds the program of testdata/hosts as a plugin that imports every function.
func probe(t *testing.T, language, source string) (*extism.Instance, *fakeHost) {
	t.Helper()
	needsBuild(t)
	dir := t.TempDir()
	if _, err := New(dir, "acme.probe", language); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join("testdata", "hosts", language+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, source), text, 0o600); err != nil {
		t.Fatal(err)
	}
	if language == AssemblyScript {
		shareModules(t, dir)
		config := filepath.Join(dir, "asconfig.json")
		text, err := os.ReadFile(config)
		if err != nil {
			t.Fatal(err)
		}
		// Optimizing takes most of the time.
		text = []byte(strings.Replace(string(text), `"optimizeLevel": 2`, `"optimizeLevel": 0`, 1))
		if err := os.WriteFile(config, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	wasm := buildDir(t, dir)
	host := &fakeHost{}
	var functions []extism.HostFunction
	imports, _ := inspect(t, wasm)
	for _, c := range hostCalls {
		if !slices.Contains(imports, guestabi.PluginHostModule+"."+c.function) {
			t.Errorf("does not import %s", c.function)
		}
		if slices.ContainsFunc(functions, func(f extism.HostFunction) bool { return f.Name == c.function }) {
			continue
		}
		functions = append(functions, extism.HostFunction{Name: c.function, Call: func(_ context.Context, request []byte) []byte {
			if c.function != host.function {
				t.Errorf("asked %s instead of %s", c.function, host.function)
			}
			host.request = string(request)
			return []byte(host.answer)
		}})
	}
	i, log := loggedInstance(t, wasm, functions...)
	host.log = log
	return i, host
}

func sameJSON(t *testing.T, what, got, want string) {
	t.Helper()
	var a, b any
	if err := json.Unmarshal([]byte(got), &a); err != nil {
		t.Errorf("%s is %q: %v", what, got, err)
		return
	}
	if err := json.Unmarshal([]byte(want), &b); err != nil {
		t.Fatal(err)
	}
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	if errX != nil || errY != nil || string(x) != string(y) {
		t.Errorf("%s is %s, want %s", what, x, y)
	}
}
