package plugins

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/internal/schema"
	"github.com/google/go-cmp/cmp"
)

// allPermissions has everything that a manifest can ask for.
func allPermissions() map[string]any {
	return map[string]any{
		"hosts":  []any{map[string]any{"host": "example.com"}},
		"config": []any{"region", "limits", "broken", "unset"}, "secrets": []any{"github-token"}, "kv": true,
		"tools": []any{"cloister:acme.other:greet", "send"},
	}
}

var everyFunction = []string{guestabi.HostLog, guestabi.HostProgress, guestabi.HostNow, guestabi.HostRandom, guestabi.HostInterrupt, guestabi.HostConfigGet,
	guestabi.HostKVGet, guestabi.HostKVPut, guestabi.HostKVDelete, guestabi.HostHTTP, guestabi.HostCallTool}

// env is a run for tests.
type env struct {
	progress  []guestabi.ProgressRequest
	callTool  func(ctx context.Context, tool string, input json.RawMessage) (json.RawMessage, error)
	interrupt func(ctx context.Context, payload json.RawMessage) (json.RawMessage, error)
}

func (e *env) Progress(_ context.Context, p guestabi.ProgressRequest) {
	e.progress = append(e.progress, p)
}

func (e *env) CallTool(ctx context.Context, tool string, input json.RawMessage) (json.RawMessage, error) {
	return e.callTool(ctx, tool, input)
}

func (e *env) Interrupt(ctx context.Context, payload json.RawMessage) (json.RawMessage, error) {
	return e.interrupt(ctx, payload)
}

// What the manifest does not ask for cannot even be imported.
func TestImportsAreGrants(t *testing.T) {
	free := map[string]bool{guestabi.HostLog: true, guestabi.HostProgress: true, guestabi.HostNow: true, guestabi.HostRandom: true, guestabi.HostInterrupt: true}
	needs := map[string]string{guestabi.HostConfigGet: "config", guestabi.HostKVGet: "kv", guestabi.HostKVPut: "kv", guestabi.HostKVDelete: "kv",
		guestabi.HostHTTP: "hosts", guestabi.HostCallTool: "tools"}
	for _, name := range append(everyFunction, "exec") {
		for _, with := range []string{"", "config", "kv", "hosts", "tools"} {
			perms := map[string]any{}
			if with != "" {
				perms[with] = allPermissions()[with]
			}
			p, err := New(parsed(t, forwardManifest("tests.grant", perms, "run")), forwarderAs(name, "run"), development, devOptions())
			want := free[name] || with != "" && needs[name] == with
			if (err == nil) != want {
				t.Errorf("%s with %q: %v", name, with, err)
			}
			if err != nil && (!errors.Is(err, ErrImport) || !strings.Contains(err.Error(), name)) {
				t.Errorf("%s with %q: %v, want ErrImport", name, with, err)
			}
			if err == nil {
				if err := p.Close(); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

// forwarderAs is a forwarder to one host function whose export has another name.
func forwarderAs(function, export string) []byte {
	wasm := forwarder(function)
	old, renamed := uleb(len(function))+function+"\x00\x04", uleb(len(export))+export+"\x00\x04"
	before, after, _ := strings.Cut(string(wasm), old)
	// The export section's own length stands before its count, which is 1.
	length := before[len(before)-2]
	return []byte(before[:len(before)-2] + string([]byte{length - byte(len(old)-len(renamed)), 1}) + renamed + after)
}

func TestFreeFunctions(t *testing.T) {
	var log []LogRecord
	o := devOptions()
	o.Log = func(r LogRecord) { log = append(log, r) }
	e := &env{}
	i := instanceOf(t, forwards(t, o, nil, everyFunction[:5]...), &InstanceOptions{Env: e})

	if got := ask(t, i, guestabi.HostLog, `{"abi":1,"level":"warn","message":"one\ntwo\u001b[2J\r\n\nfour"}`); got != "null" {
		t.Errorf("log = %s", got)
	}
	want := []LogRecord{{"tests.forward", "warn", "one", false}, {"tests.forward", "warn", "two\ufffd[2J", false}, {"tests.forward", "warn", "", false}, {"tests.forward", "warn", "four", false}}
	if diff := cmp.Diff(want, log); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
	if got := ask(t, i, guestabi.HostProgress, `{"abi":1,"progress":2.5,"total":10,"message":"a\nb"}`); got != "null" {
		t.Errorf("progress = %s", got)
	}
	if diff := cmp.Diff([]guestabi.ProgressRequest{{ABI: 1, Progress: 2.5, Total: 10, Message: "a b"}}, e.progress); diff != "" {
		t.Errorf("progress (-want +got):\n%s", diff)
	}
	before := time.Now().UnixMilli()
	var now guestabi.NowResponse
	if err := json.Unmarshal([]byte(ask(t, i, guestabi.HostNow, `{"abi":1}`)), &now); err != nil || now.UnixMs < before || now.UnixMs > time.Now().UnixMilli() {
		t.Errorf("now = %+v, %v", now, err)
	}
	var a, b guestabi.RandomResponse
	for _, r := range []*guestabi.RandomResponse{&a, &b} {
		if err := json.Unmarshal([]byte(ask(t, i, guestabi.HostRandom, `{"abi":1,"bytes":32}`)), r); err != nil {
			t.Fatal(err)
		}
		if raw, err := base64.StdEncoding.DecodeString(r.Base64); err != nil || len(raw) != 32 {
			t.Errorf("random = %q, %v", r.Base64, err)
		}
	}
	if a == b {
		t.Error("random bytes repeat")
	}
}

// Requests are the plugin's: each refusal has a code and says what to do.
func TestRequestsAreRefused(t *testing.T) {
	o := devOptions()
	o.Services.Config = func(_, key string) (json.RawMessage, bool) {
		v, ok := map[string]string{"region": `"eu"`, "limits": `{"max":3}`, "broken": `{"password":"hunter2"`}[key]
		return json.RawMessage(v), ok
	}
	i := instanceOf(t, forwards(t, o, allPermissions(), everyFunction...), &InstanceOptions{Env: &env{}})
	long := strings.Repeat("x", 513)
	tests := []struct{ function, request, want string }{
		{"now", `{}`, `!unsupported_abi: the request has no "abi": 1`},
		{"now", `{"abi":0}`, `!unsupported_abi: the request is of ABI version 0`},
		{"now", `{"abi":2,"zone":"utc"}`, `!unsupported_abi: the request is of ABI version 2, this host speaks 1; update Cloister, or build the plugin for version 1`},
		{"now", `{"abi":"1"}`, `!invalid_input: the request is malformed: `},
		{"now", `{"ABI":1}`, `!unsupported_abi: the request has no "abi": 1`},
		{"now", `{"abi":1,"zone":"utc"}`, `!invalid_input: the request is malformed: `},
		{"log", `{"abi":1,"level":"fatal","message":"x"}`, `!invalid_input: "level" is`},
		{"log", `{"abi":1,"Level":"info","message":"x"}`, `!invalid_input: the request is malformed`},
		{"progress", `{"abi":1,"progress":-1}`, `!invalid_input: "progress" and "total"`},
		{"progress", `{"abi":1,"progress":"1"}`, `!invalid_input: the request is malformed`},
		{"random", `{"abi":1,"bytes":0}`, `!invalid_input: "bytes" is 1 to 4096`},
		{"random", `{"abi":1,"bytes":4097}`, `!invalid_input: "bytes" is 1 to 4096`},
		{"random", `{"abi":1,"bytes":1e30}`, `!invalid_input: the request is malformed`},
		{"interrupt", `{"abi":1}`, `!invalid_input: "payload" is missing`},
		{"interrupt", `{"abi":1,"payload":"` + strings.Repeat("x", maxInterruptBytes) + `"}`, `!too_large: the payload of 65538 bytes`},
		{"config_get", `{"abi":1,"key":"region"}`, `"eu"`},
		{"config_get", `{"abi":1,"key":"limits"}`, `{"max":3}`},
		{"config_get", `{"abi":1,"key":"unset"}`, `null`},
		{"config_get", `{"abi":1,"key":"broken"}`, `!unavailable: the value that is set for "broken" is not usable; ask the operator`},
		{"config_get", `{"abi":1,"key":"regoin"}`, `!not_granted: the configuration key "regoin" is not in the manifest's permissions.config; did you mean "region"?`},
		{"config_get", `{"abi":1,"key":"Region"}`, `!not_granted: `},
		{"config_get", `{"abi":1}`, `!not_granted: the configuration key "" is not`},
		{"kv_get", `{"abi":1,"key":""}`, `!invalid_input: "key" has 1 to 512 bytes, this has 0`},
		{"kv_put", `{"abi":1,"key":"` + long + `","value":""}`, `!invalid_input: "key" has 1 to 512 bytes, this has 513`},
		{"kv_put", `{"abi":1,"key":"k","value":"` + strings.Repeat("x", MaxKVValueBytes+1) + `"}`, `!too_large: the value of 1048577 bytes`},
		{"kv_put", `{"abi":1,"key":"k","value":"v","ttlSeconds":-1}`, `!invalid_input: "ttlSeconds"`},
		{"kv_put", `{"abi":1,"key":"k","value":{"a":1}}`, `!invalid_input: the request is malformed`},
		{"kv_delete", `{"abi":1}`, `!invalid_input: "key"`},
		{"call_tool", `{"abi":1,"tool":"cloister:acme.other:delete","input":{}}`, `!not_granted: the tool "cloister:acme.other:delete" is not in the manifest's permissions.tools`},
		{"call_tool", `{"abi":1,"tool":"SEND","input":{}}`, `!not_granted: `},
		{"call_tool", `{"abi":1,"tool":"send","input":[]}`, `!invalid_input: "input": a tool's input is an object`},
		{"call_tool", `{"abi":1,"tool":"send","input":{},"approved":true}`, `!invalid_input: the request is malformed`},
		{"http", `{"abi":1,"url":"https://example.org/"}`, `!not_allowed: `},
		{"http", `{"abi":1,"url":"http://example.com/"}`, `!not_allowed: `},
		{"http", `{"abi":1,"url":"https://example.com/","method":"POST"}`, `!not_allowed: `},
		{"http", `{"abi":1,"url":"https://example.com/","timeoutMs":-1}`, `!invalid_input: "timeoutMs"`},
		{"http", `{"abi":1,"url":"https://example.com/","body":"%","bodyBase64":true}`, `!invalid_input: "body" is not base64`},
		{"http", `{"abi":1,"url":"https://example.com/","secretHeaders":{"Authorization":{"secret":"aws-key"}}}`, `!not_granted: the secret "aws-key"`},
		{"http", `{"abi":1,"url":"https://example.com/","secretHeaders":{"Authorization":{"secret":"github-token"}}}`, `!unavailable: this host keeps no secrets`},
		{"http", `{"abi":1,"url":"https://example.com/","headers":{"Host":"internal"}}`, `!invalid_input: `},
	}
	for _, tt := range tests {
		got := ask(t, i, tt.function, tt.request)
		if !strings.HasPrefix(got, tt.want) || len(got) > maxMessage+100 || strings.Contains(got, "hunter2") {
			t.Errorf("%s(%.100s) = %.300s, want %s", tt.function, tt.request, got, tt.want)
		}
	}
}

func TestLogAndProgressAreBounded(t *testing.T) {
	var bytes, records, truncated int
	o := devOptions()
	o.Limits.LogBytes = 1000
	o.Log = func(r LogRecord) {
		bytes, records = bytes+len(r.Text), records+1
		if r.Truncated {
			truncated++
		}
	}
	p := forwards(t, o, nil, guestabi.HostLog, guestabi.HostProgress)
	e := &env{}
	i := instanceOf(t, p, &InstanceOptions{Env: e})
	for range 2 { // each call has its own budget
		bytes, records, truncated = 0, 0, 0
		message := strings.Repeat("0123456789\\n", 200)
		if got := ask(t, i, guestabi.HostLog, `{"abi":1,"level":"info","message":"`+message+`"}`); !strings.HasPrefix(got, "!too_large: one call may log 1000 bytes") {
			t.Errorf("log = %s", got)
		}
		if bytes > 1100 || truncated != 1 {
			t.Errorf("%d bytes in %d records were logged, %d marks", bytes, records, truncated)
		}
	}
	// Lines without text cost nothing but records.
	records = 0
	ask(t, i, guestabi.HostLog, `{"abi":1,"level":"info","message":"`+strings.Repeat(`\n`, 100_000)+`"}`)
	if records > maxLogRecords+1 {
		t.Errorf("%d records were logged", records)
	}
	a := &activation{instance: i}
	for range 3 * maxProgress {
		if _, f := p.broker.hostProgress(context.Background(), a, []byte(`{"abi":1,"progress":1}`)); f != nil {
			t.Fatal(f.Message)
		}
	}
	if len(e.progress) != maxProgress {
		t.Errorf("%d events of one call passed", len(e.progress))
	}
}

func TestNoRun(t *testing.T) {
	i := instanceOf(t, forwards(t, devOptions(), allPermissions(), everyFunction...), nil)
	for function, request := range map[string]string{
		"call_tool": `{"abi":1,"tool":"send","input":{}}`, "interrupt": `{"abi":1,"payload":null}`,
	} {
		if got := ask(t, i, function, request); !strings.HasPrefix(got, "!unavailable: there is no run") {
			t.Errorf("%s = %s", function, got)
		}
	}
	if got := ask(t, i, "progress", `{"abi":1,"progress":1}`); got != "null" {
		t.Errorf("progress = %s", got)
	}
	if got := ask(t, i, "config_get", `{"abi":1,"key":"region"}`); got != "null" {
		t.Errorf("config_get = %s", got)
	}
}

type runKey struct{}

func TestCallTool(t *testing.T) {
	secret := "/var/lib/operator/keys: permission denied"
	var calls []string
	e := &env{callTool: func(ctx context.Context, tool string, input json.RawMessage) (json.RawMessage, error) {
		calls = append(calls, fmt.Sprint(tool, " ", string(input), " ", ctx.Value(runKey{})))
		switch string(input) {
		case `{"n":1}`:
			return nil, fmt.Errorf("wrapped: %w", &ToolError{Name: "RangeError", Message: "too far", Code: "out_of_range"})
		case `{"n":2}`:
			return nil, errors.New(secret)
		case `{"n":3}`:
			return json.RawMessage(`{"a":1,"a":2}`), nil
		case `{"n":4}`:
			return json.RawMessage(`"` + strings.Repeat("x", 2000) + `"`), nil
		case `{"n":5}`:
			return nil, fmt.Errorf("%s: %w", secret, context.DeadlineExceeded)
		case `{"n":6}`:
			return nil, nil
		}
		return json.RawMessage(`{"ok":"<&>"}`), nil
	}}
	o := devOptions()
	o.Limits.OutputBytes = 1500
	i := instanceOf(t, forwards(t, o, allPermissions(), guestabi.HostCallTool), &InstanceOptions{Env: e})
	ctx := context.WithValue(context.Background(), runKey{}, "run 7")
	for _, tt := range []struct{ input, want string }{
		{`,"input":{"n":0}`, `{"ok":"<&>"}`},
		{``, `{"ok":"<&>"}`},
		{`,"input":{"n":1}`, `!out_of_range: too far`},
		{`,"input":{"n":2}`, `!failed: the call of "cloister:acme.other:greet" failed`},
		{`,"input":{"n":3}`, `!unavailable: the host's answer is not usable JSON`},
		{`,"input":{"n":4}`, `!too_large: the answer of 2002 bytes is over the limit of 1500; ask for less at once`},
		{`,"input":{"n":5}`, `!timeout: the call of "cloister:acme.other:greet" took longer than it may`},
		{`,"input":{"n":6}`, `!unavailable: `},
	} {
		got := askIn(t, ctx, i, guestabi.HostCallTool, `{"abi":1,"tool":"cloister:acme.other:greet"`+tt.input+`}`)
		if !strings.HasPrefix(got, tt.want) || strings.Contains(got, "operator") {
			t.Errorf("%s = %s, want %s", tt.input, got, tt.want)
		}
	}
	if calls[0] != `cloister:acme.other:greet {"n":0} run 7` || calls[1] != `cloister:acme.other:greet {} run 7` {
		t.Errorf("the run was asked %q", calls)
	}
}

// A plugin that comes back to itself, alone or through another, is told so; nobody waits for anybody.
func TestCallToolInCircles(t *testing.T) {
	perms := map[string]any{"tools": []any{"a", "b"}}
	a := instanceOf(t, forwardsAs(t, "tests.a", devOptions(), perms, guestabi.HostCallTool), nil)
	b := instanceOf(t, forwardsAs(t, "tests.b", devOptions(), perms, guestabi.HostCallTool), nil)
	var errs []error
	depth := 0
	e := &env{callTool: func(ctx context.Context, tool string, _ json.RawMessage) (json.RawMessage, error) {
		if depth++; depth > 10 {
			t.Fatal("the recursion is not bounded")
		}
		next := map[string]*Instance{"a": a, "b": b}[tool]
		to := "b"
		if tool == "b" {
			to = "a"
		}
		out, err := next.Call(ctx, guestabi.HostCallTool, json.RawMessage(`{"abi":1,"tool":"`+to+`","input":{}}`))
		errs = append(errs, err)
		return out, err
	}}
	a.options.Env, b.options.Env = e, e
	got := ask(t, a, guestabi.HostCallTool, `{"abi":1,"tool":"a","input":{}}`)
	if !strings.HasPrefix(got, `!failed: the call of "a" failed`) || len(errs) != 1 || !errors.Is(errs[0], ErrBusy) {
		t.Errorf("a → a: %s, %v", got, errs)
	}
	errs, depth = nil, 0
	ask(t, a, guestabi.HostCallTool, `{"abi":1,"tool":"b","input":{}}`)
	if len(errs) != 2 || !errors.Is(errs[0], ErrBusy) || errs[1] != nil {
		t.Errorf("a → b → a: %v, want ErrBusy for the inner one", errs)
	}
	if a.Finished() || b.Finished() {
		t.Error("an instance was lost")
	}
}

// Two calls that go through two plugins in opposite directions: one of them would wait for the other for ever.
func TestCallsThatCross(t *testing.T) {
	perms := map[string]any{"tools": []any{"a", "b"}}
	a := instanceOf(t, forwardsAs(t, "tests.a", devOptions(), perms, guestabi.HostCallTool), nil)
	b := instanceOf(t, forwardsAs(t, "tests.b", devOptions(), perms, guestabi.HostCallTool), nil)
	inside := make(chan struct{}, 2)
	both := make(chan struct{})
	go func() {
		<-inside
		<-inside
		close(both)
	}()
	e := &env{callTool: func(ctx context.Context, tool string, input json.RawMessage) (json.RawMessage, error) {
		if string(input) == `{"leaf":true}` {
			return json.RawMessage("1"), nil
		}
		inside <- struct{}{} // both hold their instance now
		<-both
		return map[string]*Instance{"a": a, "b": b}[tool].Call(ctx, guestabi.HostCallTool, json.RawMessage(`{"abi":1,"tool":"a","input":{"leaf":true}}`))
	}}
	a.options.Env, b.options.Env = e, e
	results := make(chan string, 2)
	for from, to := range map[*Instance]string{a: "b", b: "a"} {
		go func() {
			out, err := from.Call(context.Background(), guestabi.HostCallTool, json.RawMessage(`{"abi":1,"tool":"`+to+`","input":{}}`))
			results <- fmt.Sprint(string(out), err)
		}()
	}
	got := []string{<-results, <-results}
	refused := 0
	for _, r := range got {
		if strings.Contains(r, `"code":"failed"`) {
			refused++
		}
	}
	if refused != 1 {
		t.Errorf("%d of two calls were refused, want 1: %q", refused, got)
	}
}

// Waiting for a person is not the plugin's time.
func TestInterruptPauses(t *testing.T) {
	payload := make(chan json.RawMessage, 1)
	e := &env{interrupt: func(ctx context.Context, p json.RawMessage) (json.RawMessage, error) {
		payload <- p
		wait := time.NewTimer(900 * time.Millisecond)
		defer wait.Stop()
		select {
		case <-wait.C:
			return json.RawMessage(`{"approved":true}`), nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}}
	m := forwardManifest("tests.pause", map[string]any{"timeoutMs": 400}, guestabi.HostInterrupt)
	p, err := New(parsed(t, m), forwarder(guestabi.HostInterrupt), development, devOptions())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	i := instanceOf(t, p, &InstanceOptions{Env: e})
	if got := ask(t, i, guestabi.HostInterrupt, `{"abi":1,"payload":{"ask":"delete?"}}`); got != `{"approved":true}` {
		t.Errorf("interrupt = %s", got)
	}
	if got := string(<-payload); got != `{"ask":"delete?"}` {
		t.Errorf("payload = %s", got)
	}
	e.interrupt = func(context.Context, json.RawMessage) (json.RawMessage, error) {
		return nil, &ToolError{Name: "Error", Message: "denied by Ada", Code: "denied"}
	}
	if got := ask(t, i, guestabi.HostInterrupt, `{"abi":1,"payload":null}`); got != "!denied: denied by Ada" {
		t.Errorf("a refusal = %s", got)
	}
}

// What ends the call ends the waiting.
func TestInterruptEndsWithTheCall(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	e := &env{interrupt: func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
		cancel()
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	i := instanceOf(t, forwards(t, devOptions(), nil, guestabi.HostInterrupt), &InstanceOptions{Env: e})
	_, err := i.Call(ctx, guestabi.HostInterrupt, json.RawMessage(`{"abi":1,"payload":null}`))
	if !errors.Is(err, ErrStopped) || !errors.Is(err, context.Canceled) {
		t.Errorf("Call = %v, want ErrStopped", err)
	}
}

// FuzzHostRequest feeds what a plugin may send to each host function.
func FuzzHostRequest(f *testing.F) {
	for k, s := range []string{`{"abi":1,"level":"info","message":"x"}`, `{"abi":1,"progress":1}`, `{"abi":1}`, `{"abi":1,"bytes":4}`, `{"abi":1,"payload":{}}`, `{"abi":1,"key":"region"}`,
		`{"abi":1,"key":"k"}`, `{"abi":1,"key":"k","value":"v","ttlSeconds":1}`, `{"abi":1,"key":"k"}`, `{"abi":1,"url":"https://example.org/"}`, `{"abi":1,"tool":"send","input":{}}`} {
		f.Add(k, []byte(s))
	}
	raw, err := json.Marshal(forwardManifest("tests.fuzz", allPermissions(), everyFunction...))
	if err != nil {
		f.Fatal(err)
	}
	m, err := ParseManifest(raw)
	if err != nil {
		f.Fatal(err)
	}
	m.Permissions.Hosts = []HostPermission{{Host: "never.invalid", Methods: []string{"PURGE"}}} // no request of these leaves
	o := LoadOptions{Limits: Limits{}.withDefaults(), Log: func(LogRecord) {}}
	o.Services.Config = func(_, key string) (json.RawMessage, bool) { return json.RawMessage(`{"x":1}`), key == "region" }
	b := newBroker(m, o)
	p := &Plugin{manifest: m, broker: b, options: o}
	e := &env{
		callTool: func(_ context.Context, tool string, input json.RawMessage) (json.RawMessage, error) {
			if tool != "send" && tool != "cloister:acme.other:greet" || checkInput(input) != nil {
				panic(fmt.Sprintf("%q was called with %s", tool, input))
			}
			return input, nil
		},
		interrupt: func(_ context.Context, payload json.RawMessage) (json.RawMessage, error) { return payload, nil },
	}
	functions := b.granted()
	f.Fuzz(func(t *testing.T, which int, request []byte) {
		fn := functions[uint(which)%uint(len(functions))]
		if fn.Name == guestabi.HostHTTP && strings.Contains(string(request), "PURGE") {
			return
		}
		a := &activation{instance: &Instance{plugin: p, options: InstanceOptions{Env: e, Session: "fuzz"}}}
		out := fn.Call(context.WithValue(context.Background(), activationKey{}, a), request)
		var res guestabi.PluginResponse
		if err := schema.DecodeInto(out, &res, nil); err != nil || res.ABI != ABIVersion || (res.Value == nil) == (res.Error == nil) {
			t.Fatalf("%s(%q) = %q: %v", fn.Name, request, out, err)
		}
		if res.Error != nil && (res.Error.Message == "" || len(res.Error.Message) > maxMessage+8 || !codePattern.MatchString(res.Error.Code)) {
			t.Fatalf("%s(%q): a loose error %+v", fn.Name, request, res.Error)
		}
	})
}
