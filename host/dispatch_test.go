package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/host/hosttest"
)

// caught is code that gives name, code and message of what a call throws.
func caught(call string) string {
	return "return await " + call + ".then((v) => ({ worked: v }), (e) => ({ name: e.name, code: e.code, message: e.message }))"
}

// thrown is what caught gives.
type thrown struct {
	Name, Code, Message string
	Worked              json.RawMessage
}

func catch(t *testing.T, r *host.Run, call string) thrown {
	t.Helper()
	res := exec(t, r, caught(call))
	if res.Status != guestabi.StatusCompleted {
		t.Fatalf("%s: %s %s (%s)", call, res.Status, res.Error, res.Reason)
	}
	var x thrown
	if err := json.Unmarshal(res.Value, &x); err != nil {
		t.Fatal(err)
	}
	return x
}

func TestHooksRefuseAndReplace(t *testing.T) {
	var log hosttest.Log
	typed := host.Tool("add", "Add one.", func(_ context.Context, in struct {
		N int `json:"n"`
	}) (int, error) {
		return in.N + 1, nil
	})
	var mu sync.Mutex
	var ended []string
	r := setup(t, host.Options{
		Tools: []host.RawTool{log.Tool(typed), log.Tool(hosttest.Echo("echo"))},
		Hooks: host.Hooks{
			BeforeToolCall: func(_ context.Context, c *host.ToolCall) error {
				switch string(c.Input) {
				case `{"n":1}`:
					return errors.New("one is not allowed")
				case `{"n":2}`:
					c.Input = json.RawMessage(`{"n":200}`)
				case `{"n":3}`:
					c.Input = json.RawMessage(`{"n":"three"}`)
				case `{"n":4}`:
					c.Input = json.RawMessage(`{"n":4,"n":5}`)
				case `{"n":5}`:
					c.Input = nil
				}
				return nil
			},
			AfterToolCall: func(_ context.Context, c *host.ToolCall, out json.RawMessage, err error) {
				mu.Lock()
				defer mu.Unlock()
				ended = append(ended, fmt.Sprint(c.Name, " ", string(out), " ", err == nil))
			},
		},
	})
	if x := catch(t, r, "tools.add({ n: 1 })"); x.Code != "call_refused" || x.Name != "PermissionError" || !contains(x.Message, "one is not allowed") {
		t.Errorf("refused: %+v", x)
	}
	if x := catch(t, r, "tools.add({ n: 2 })"); string(x.Worked) != "201" {
		t.Errorf("replaced: %+v", x)
	}
	for _, n := range []int{3, 4, 5} { // what the hook puts in is checked as well
		if x := catch(t, r, fmt.Sprintf("tools.add({ n: %d })", n)); x.Code != "invalid_input" {
			t.Errorf("replaced by what does not fit (%d): %+v", n, x)
		}
	}
	if got := log.Calls(); len(got) != 1 || string(got[0].Input) != `{"n":200}` {
		t.Errorf("calls that the tool got: %+v", got)
	}
	if d := cmp.Diff([]string{"add  false", "add 201 true", "add  false", "add  false", "add  false"}, ended); d != "" {
		t.Errorf("AfterToolCall (-want +got):\n%s", d)
	}
}

func TestBeforeExecHook(t *testing.T) {
	var events []host.ExecEvent
	r := setup(t, host.Options{Hooks: host.Hooks{BeforeExec: func(_ context.Context, e *host.ExecEvent) error {
		if contains(e.Code, "return 1") && e.CallID != "x" && !contains(e.Code, "//") {
			return nil // warming up
		}
		events = append(events, *e)
		if contains(e.Code, "forbidden") {
			return errors.New("no such words")
		}
		return nil
	}}})
	res := execInput(t, r, host.ExecInput{Code: "text('forbidden')", CallID: "c1"})
	wantFailed(t, res, guestabi.ReasonInvalidInput)
	if len(res.Output) != 0 || !contains(res.Error, "no such words") {
		t.Errorf("refused: %+v", res)
	}
	wantValue(t, execInput(t, r, host.ExecInput{Command: "return 2 // ", CallID: "c2"}), "2")
	execInput(t, r, host.ExecInput{Code: "return 3 as number", Language: host.TypeScript, CallID: "c3"})
	// Input that is refused anyway is no cell: hooks do not see it.
	wantFailed(t, execInput(t, r, host.ExecInput{Code: "a", Command: "b", CallID: "c4"}), guestabi.ReasonInvalidInput)
	want := []host.ExecEvent{
		{ToolKind: "code_mode_exec", ToolInputKind: "javascript", CallID: "c1", Code: "text('forbidden')"},
		{ToolKind: "code_mode_exec", ToolInputKind: "javascript", CallID: "c2", Code: "return 2 // "},
		{ToolKind: "code_mode_exec", ToolInputKind: "typescript", CallID: "c3", Code: "return 3 as number"},
	}
	for i := range want {
		want[i].Scope = host.Scope{AgentID: "agent", AgentRunID: "agent-run", SessionID: "session", SessionKey: "key", Sender: "sender", Channel: "channel"}
	}
	if d := cmp.Diff(want, events); d != "" {
		t.Errorf("events (-want +got):\n%s", d)
	}
}

func TestExecInput(t *testing.T) {
	r := setup(t, host.Options{})
	for name, tt := range map[string]struct {
		in     host.ExecInput
		reason guestabi.Reason
	}{
		"nothing":             {host.ExecInput{}, guestabi.ReasonInvalidInput},
		"white space":         {host.ExecInput{Code: " \n\t"}, guestabi.ReasonInvalidInput},
		"two programs":        {host.ExecInput{Code: "return 1", Command: "return 2"}, guestabi.ReasonInvalidInput},
		"too long":            {host.ExecInput{Code: strings.Repeat(" ", 1<<20) + "1"}, guestabi.ReasonInvalidInput},
		"NUL":                 {host.ExecInput{Code: "return 1\x00"}, guestabi.ReasonInvalidInput},
		"shell":               {host.ExecInput{Code: "ls", Language: "bash"}, guestabi.ReasonUnsupportedLanguage},
		"language upper case": {host.ExecInput{Code: "return 1", Language: "JavaScript"}, guestabi.ReasonUnsupportedLanguage},
		"not UTF-8":           {host.ExecInput{Code: "return '\xff'"}, ""},
	} {
		res := execInput(t, r, tt.in)
		if tt.reason == "" {
			if res.Status == guestabi.StatusWaiting {
				t.Errorf("%s: %s", name, res.Status)
			}
			continue
		}
		if res.Status != guestabi.StatusFailed || res.Reason != tt.reason {
			t.Errorf("%s: %s %s (%s), want %s", name, res.Status, res.Error, res.Reason, tt.reason)
		}
	}
	wantValue(t, execInput(t, r, host.ExecInput{Code: "return 1", Command: "return 1"}), "1")
	wantValue(t, execInput(t, r, host.ExecInput{Command: "return 1", Language: "javascript"}), "1")
	wantValue(t, exec(t, r, "1"), "null")
	wantValue(t, exec(t, r, "return"), "null")
	wantValue(t, exec(t, r, "return undefined"), "null")
}

func TestParseArguments(t *testing.T) {
	r := setup(t, host.Options{})
	in, bad := r.ParseExec([]byte(`{"code":"return 1","language":"javascript"}`))
	if bad != nil || in.Code != "return 1" || in.Language != "javascript" {
		t.Errorf("ParseExec: %+v, %+v", in, bad)
	}
	w, bad := r.ParseWait([]byte(`{"runId":"run_1","timeoutMs":5}`))
	if bad != nil || w.RunID != "run_1" || w.TimeoutMs != 5 {
		t.Errorf("ParseWait: %+v, %+v", w, bad)
	}
	for _, text := range []string{
		"", "null", "[]", "1", `"return 1"`, `{"code":1}`, `{"Code":"return 1"}`, `{"code":"a","code":"b"}`, `{"code":"a","CallID":"x"}`,
		`{"code":"a"} x`, `{"code":"\ud800"}`, "{\"code\":\"\xff\"}", `{"code":"a","timeoutMs":5}`, strings.Repeat(`{"code":`, 500),
	} {
		if _, bad := r.ParseExec([]byte(text)); text != "null" && (bad == nil || bad.Reason != guestabi.ReasonInvalidInput) {
			t.Errorf("ParseExec(%.40s): %+v", text, bad)
		}
	}
	for _, text := range []string{"", `{"runid":"x"}`, `{"runId":1}`, `{"runId":"x","timeoutMs":"5"}`, `{"runId":"x","timeoutMs":1.5}`, `{"runId":"x","runId":"y"}`} {
		if _, bad := r.ParseWait([]byte(text)); bad == nil || bad.Reason != guestabi.ReasonInvalidInput {
			t.Errorf("ParseWait(%.40s): %+v", text, bad)
		}
	}
}

func TestSchemaBothWays(t *testing.T) {
	var log hosttest.Log
	strict := hosttest.Echo("strict")
	strict.Parameters = json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer","minimum":1}},"required":["n"],"additionalProperties":false}`)
	strict.Returns = json.RawMessage(`{"type":"object","required":["n"]}`)
	liar := hosttest.Static("liar", `{"n":"not a number"}`)
	liar.Returns = json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`)
	r := setup(t, host.Options{Tools: []host.RawTool{
		log.Tool(strict), liar, log.Tool(hosttest.Echo("loose")),
		hosttest.Static("no_json", "{"), hosttest.Static("two_values", "1 2"), hosttest.Static("duplicate_keys", `{"a":1,"a":2}`),
		hosttest.Static("not_utf8", "\"\xff\""), hosttest.Static("lone_surrogate", `"\ud800"`), hosttest.Static("nothing", ""),
		hosttest.Static("deep", strings.Repeat("[", 5000)+strings.Repeat("]", 5000)), hosttest.Static("proto", `{"__proto__":{"polluted":1},"constructor":2}`),
	}})
	for _, input := range []string{"undefined", "{}", "{ n: 0 }", "{ n: 1.5 }", "{ n: '1' }", "{ n: 1, x: 2 }", "null", "[]", "7", "'x'", "{ n: NaN }", "{ n: undefined }"} {
		if x := catch(t, r, "tools.strict("+input+")"); x.Code != "invalid_input" || x.Name != "TypeError" || !contains(x.Message, "input of cloister:core:strict") {
			t.Errorf("strict(%s): %+v", input, x)
		}
	}
	if got := log.Tools(); len(got) != 0 {
		t.Errorf("tools that ran: %v", got)
	}
	if x := catch(t, r, "tools.strict({ n: 1 })"); string(x.Worked) != `{"n":1}` {
		t.Errorf("strict({ n: 1 }): %+v", x)
	}
	// Without a schema the input is still an object: that is what ToolDefinition says.
	for _, input := range []string{"null", "[]", "7", "'x'", "true"} {
		if x := catch(t, r, "tools.loose("+input+")"); x.Code != "invalid_input" {
			t.Errorf("loose(%s): %+v", input, x)
		}
	}
	for _, name := range []string{"liar", "no_json", "two_values", "duplicate_keys", "not_utf8", "lone_surrogate", "deep"} {
		if x := catch(t, r, "tools."+name+"()"); x.Code != "invalid_tool_result" {
			t.Errorf("%s: %+v", name, x)
		}
	}
	if x := catch(t, r, "tools.nothing()"); string(x.Worked) != "null" {
		t.Errorf("nothing: %+v", x)
	}
	wantValue(t, exec(t, r, "const o = await tools.proto(); return [Object.keys(o), ({}).polluted ?? null, Object.getPrototypeOf(o) === Object.prototype, o.polluted ?? null]"),
		`[["__proto__","constructor"],null,true,null]`)
}

func TestToolFailures(t *testing.T) {
	slow := hosttest.Stuck("stuck")
	slow.Timeout = time.Millisecond
	plugin := hosttest.Failing("plugin_fault", errors.New("open /etc/passwd: no"))
	plugin.Owner = "acme.demo"
	exits := hosttest.Echo("exits")
	exits.Call = func(context.Context, json.RawMessage) (json.RawMessage, error) { runtime.Goexit(); return nil, nil }
	r := setup(t, host.Options{
		MaxToolOutputBytes: 1000,
		Tools: []host.RawTool{
			slow, plugin, exits,
			hosttest.Panicking("panics", "secret in the panic: /root/.ssh/id"), hosttest.Panicking("panics_nil", nil), hosttest.Panicking("panics_error", fs.ErrExist),
			hosttest.Failing("fails", errors.New("no route to printer")), hosttest.Failing("fails_path", &fs.PathError{Op: "open", Path: "/etc/secret.txt", Err: fs.ErrNotExist}),
			hosttest.Failing("typed", &host.ToolError{Name: "RangeError", Message: "too far", Code: "too_far"}),
			hosttest.Failing("wrapped", fmt.Errorf("walking: %w", &host.ToolError{Message: "rain", Code: "rain"})),
			hosttest.Failing("bare", &host.ToolError{}),
			hosttest.Failing("long", &host.ToolError{Name: strings.Repeat("n", 5000), Message: strings.Repeat("é", 50_000), Code: strings.Repeat("c", 5000)}),
			hosttest.Failing("not_utf8", &host.ToolError{Name: "\xff", Message: "a\xffb\x00", Code: "\xfe"}),
			hosttest.Static("large", `"`+strings.Repeat("x", 1000)+`"`), hosttest.Static("fits", `"`+strings.Repeat("x", 998)+`"`),
		},
	})
	for _, tt := range []struct{ tool, name, code, message string }{
		{"stuck", "Error", "tool_timeout", "the tool cloister:core:stuck ran out of time"},
		{"plugin_fault", "Error", "tool_failed", "the tool cloister:acme.demo:plugin_fault failed"},
		{"panics", "Error", "tool_failed", "the tool cloister:core:panics failed inside"},
		{"panics_nil", "Error", "tool_failed", "the tool cloister:core:panics_nil failed inside"},
		{"panics_error", "Error", "tool_failed", "the tool cloister:core:panics_error failed inside"},
		{"fails", "Error", "tool_failed", "no route to printer"},
		{"fails_path", "Error", "tool_failed", "open (path): file does not exist"},
		{"typed", "RangeError", "too_far", "too far"},
		{"wrapped", "Error", "rain", "rain"},
		{"bare", "Error", "tool_failed", ""},
		{"large", "Error", "tool_output_too_large", "the result of cloister:core:large has 1002 bytes, more than the 1000 that are allowed; ask for less"},
		{"not_utf8", "�", "�", "a�b\x00"},
	} {
		got := catch(t, r, "tools."+tt.tool+"()")
		if want := (thrown{Name: tt.name, Code: tt.code, Message: tt.message}); got.Name != want.Name || got.Code != want.Code || got.Message != want.Message {
			t.Errorf("%s: %+v, want %+v", tt.tool, got, want)
		}
	}
	if got := catch(t, r, "tools.fits()"); len(got.Worked) != 1000 {
		t.Errorf("fits: %+v", got)
	}
	if got := catch(t, r, "tools.long()"); len(got.Name) > 200 || len(got.Code) > 200 || len(got.Message) > 9000 || contains(got.Message, "�") {
		t.Errorf("long: %d, %d, %d bytes", len(got.Name), len(got.Code), len(got.Message))
	}
	t.Run("a goroutine that exits", func(t *testing.T) {
		if got := catch(t, r, "tools.exits()"); got.Code != "tool_failed" {
			t.Errorf("%+v", got)
		}
	})
	wantValue(t, exec(t, r, `
		const e = await tools.typed().catch((e) => e);
		return [e instanceof Error, e.stack, Object.keys(e), Object.getPrototypeOf(e) === Error.prototype];`), `[true, "", ["code"], true]`)
}

func TestHidePaths(t *testing.T) {
	for in, want := range map[string]string{
		"open /etc/passwd: no such file": "open (path): no such file",
		`open "/etc/passwd": no`:         `open "(path)": no`,
		"a / b and 1/2 and and/or":       "a / b and 1/2 and and/or",
		"https://example.com/a is down":  "https://example.com/a is down",
		`open C:\Users\me\x: denied`:     "open (path): denied",
		"nothing":                        "nothing",
	} {
		if got := host.HidePaths(in); got != want {
			t.Errorf("hidePaths(%q) = %q, want %q", in, got, want)
		}
	}
	for _, in := range []string{
		"/secret/dir", "open\t/secret/dir", "first line\n/secret/dir", "path=/secret/dir", "[/secret/dir]", "file:///secret/dir", "{\"path\":\"/secret/dir\"}",
		"<nil>:/secret/dir", "/a:/secret/dir", "'/secret/dir'", "`/secret/dir`", "-f/secret/dir", "~/secret/dir", "../secret/dir", "./secret/dir", "x,/secret/dir",
		`C:\secret\dir`, `C:/secret/dir`, `\\server\secret\dir`, `path=C:\secret\dir`, "(/secret/dir)", "open /x/secret/dir /y/secret/dir", "@/secret/dir", "“/secret/dir”",
		"/my docs/secret/dir",
	} {
		if got := host.HidePaths(in); strings.Contains(got, "secret") {
			t.Errorf("hidePaths(%q) = %q", in, got)
		}
	}
}

func TestUnawaitedFailureFailsTheRun(t *testing.T) {
	r := setup(t, host.Options{Tools: []host.RawTool{hosttest.Failing("fail", &host.ToolError{Message: "lost", Code: "lost"}), hosttest.Echo("echo")}})
	for code, reason := range map[string]guestabi.Reason{
		"tools.fail(); return 'fine'":                                                           guestabi.ReasonNestedToolFailed,
		"tools.fail().then(() => 0); return 'fine'":                                             guestabi.ReasonNestedToolFailed,
		"tools.fail().finally(() => 0); return 'fine'":                                          guestabi.ReasonNestedToolFailed,
		"(async () => { await tools.fail() })(); return 'fine'":                                 guestabi.ReasonNestedToolFailed,
		"Promise.all([tools.fail(), tools.echo({})]); return 'fine'":                            guestabi.ReasonNestedToolFailed,
		"Promise.reject(new Error('mine')); return 'fine'":                                      guestabi.ReasonGuestError,
		"Promise.reject(); return 'fine'":                                                       guestabi.ReasonGuestError,
		"tools.echo({}).then(() => { throw new Error('late') }); return 'fine'":                 guestabi.ReasonGuestError,
		"tools.call('cloister:core:nope'); return 'fine'":                                       guestabi.ReasonNestedToolFailed,
		"queueMicrotask(() => { throw new Error('job') }); await tools.echo({}); return 'fine'": guestabi.ReasonGuestError,
	} {
		res := exec(t, r, code)
		if res.Status != guestabi.StatusFailed || res.Reason != reason {
			t.Errorf("%s: %s %s %s (%s), want %s", code, res.Status, res.Value, res.Error, res.Reason, reason)
		}
	}
	for _, code := range []string{
		"tools.fail().catch(() => 0); return 'fine'",
		"const p = tools.fail(); await tools.echo({}); await p.catch(() => 0); return 'fine'",
		"await Promise.allSettled([tools.fail(), tools.fail()]); return 'fine'",
		"const p = Promise.reject(1); await null; await null; p.catch(() => 0); return 'fine'",
		"const ps = Array.from({ length: 5000 }, () => Promise.reject(1)); await Promise.allSettled(ps); return 'fine'",
		"await Promise.any([tools.fail(), tools.echo({})]); return 'fine'",
		"await Promise.race([tools.echo({}), tools.fail().catch(() => 0)]); return 'fine'",
	} {
		wantValue(t, exec(t, r, code), `"fine"`)
	}
}

// TestFailureThatIsCaughtLater: between two waits a failure may lie uncaught.
func TestFailureThatIsCaughtLater(t *testing.T) {
	r := setup(t, host.Options{Tools: []host.RawTool{hosttest.Failing("fail", errors.New("lost"))}})
	res := exec(t, r, "const p = tools.fail(); await yield_control(); return await p.catch((e) => e.message)")
	wantWaiting(t, res, guestabi.WaitYield)
	wantValue(t, wait(t, r, res.RunID), `"lost"`)
	res = exec(t, r, "const p = tools.fail(); await yield_control(); return 'fine'")
	wantWaiting(t, res, guestabi.WaitYield)
	wantFailed(t, wait(t, r, res.RunID), guestabi.ReasonNestedToolFailed)
}

func TestOpenCallAtReturnMakesTheRunWait(t *testing.T) {
	gate := hosttest.NewGate("slow")
	h := newHost(t, host.Options{Tools: []host.RawTool{gate.Tool()}, CodeMode: host.CodeModeConfig{TimeoutMs: 1000}})
	r := newRun(t, h, host.RunOptions{})
	warm(t, r)
	res := exec(t, r, "tools.slow({}); return 'early'")
	wantWaiting(t, res, guestabi.WaitPendingTools)
	if len(res.Pending) != 1 {
		t.Errorf("pending %+v", res.Pending)
	}
	gate.Release(`"late"`)
	wantValue(t, wait(t, r, res.RunID), `"early"`)
	res = exec(t, r, "tools.slow({}); return 'early'")
	wantWaiting(t, res, guestabi.WaitPendingTools)
	gate.Fail(errors.New("late failure"))
	wantFailed(t, wait(t, r, res.RunID), guestabi.ReasonNestedToolFailed)
}

func TestApprovalPending(t *testing.T) {
	var log hosttest.Log
	careful := log.Tool(hosttest.Echo("careful"))
	careful.Approval = host.ApprovalAsk
	always := log.Tool(hosttest.Echo("always"))
	always.Approval = host.ApprovalAlways
	answers := make(chan host.Decision)
	failing := errors.New("the phone is off")
	o := host.Options{Tools: []host.RawTool{careful, always}, CodeMode: host.CodeModeConfig{TimeoutMs: 60_000}}
	o.Approve = func(ctx context.Context, c *host.ToolCall) (host.Decision, error) {
		if c.Name == "always" {
			return host.Decision{}, failing
		}
		select {
		case d := <-answers:
			return d, nil
		case <-ctx.Done():
			return host.Decision{}, ctx.Err()
		}
	}
	r := setup(t, o)
	// The minute of the timeout is not waited for: an open approval suspends.
	res := exec(t, r, "text('asking'); return await tools.careful({ n: 1 })")
	wantWaiting(t, res, guestabi.WaitApproval)
	if len(res.Pending) != 1 || !res.Pending[0].Approval || res.Pending[0].Tool != "cloister:core:careful" {
		t.Errorf("pending %+v", res.Pending)
	}
	res = waitInput(t, r, host.WaitInput{RunID: res.RunID, TimeoutMs: 100})
	wantWaiting(t, res, guestabi.WaitApproval)
	if len(log.Calls()) != 0 {
		t.Error("the tool ran before it was approved")
	}
	answers <- host.Decision{Approved: true}
	wantValue(t, wait(t, r, res.RunID), `{"n":1}`)
	if len(log.Calls()) != 1 {
		t.Errorf("calls %v", log.Tools())
	}

	res = exec(t, r, caught("tools.careful({ n: 2 })"))
	wantWaiting(t, res, guestabi.WaitApproval)
	answers <- host.Decision{Reason: "not today"}
	res = wait(t, r, res.RunID)
	wantValue(t, res, `{"name":"PermissionError","code":"approval_denied","message":"the call of cloister:core:careful was not approved: not today"}`)
	if x := catch(t, r, "tools.always({})"); x.Code != "approval_failed" || contains(x.Message, "phone") {
		t.Errorf("%+v", x)
	}
	if len(log.Calls()) != 1 {
		t.Errorf("calls %v", log.Tools())
	}
	// Bad input is refused before anybody is asked.
	none := hosttest.Echo("none")
	none.Approval = host.ApprovalAsk
	r = setup(t, host.Options{Tools: []host.RawTool{none}})
	if x := catch(t, r, "tools.none({})"); x.Code != "approval_unavailable" {
		t.Errorf("without an approver: %+v", x)
	}
}

// TestApprovalAfterTheEnd: an approver that does not look at its context says yes
// to a call whose run has ended. The tool must not run.
func TestApprovalAfterTheEnd(t *testing.T) {
	var log hosttest.Log
	careful := log.Tool(hosttest.Echo("careful"))
	careful.Approval = host.ApprovalAsk
	asked, answer, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	r := setup(t, host.Options{
		Tools: []host.RawTool{careful}, CodeMode: host.CodeModeConfig{TimeoutMs: 60_000},
		Approve: func(context.Context, *host.ToolCall) (host.Decision, error) {
			close(asked)
			<-answer
			return host.Decision{Approved: true}, nil
		},
		Hooks: host.Hooks{AfterToolCall: func(context.Context, *host.ToolCall, json.RawMessage, error) { close(ended) }},
	})
	c := background(t.Context(), r, "return await tools.careful({})")
	<-asked
	r.Close()
	if got := <-c; got.err != nil || got.Status == guestabi.StatusCompleted {
		t.Errorf("%+v, %v", got.Result, got.err)
	}
	close(answer)
	<-ended
	if got := log.Tools(); len(got) != 0 {
		t.Errorf("tools that ran: %v", got)
	}
}

func TestApprovalValueThatIsUnknown(t *testing.T) {
	odd := hosttest.Echo("odd")
	odd.Approval = "sometimes"
	h, err := host.New(t.Context(), &host.Options{CodeMode: host.CodeModeConfig{Enabled: true}, Tools: []host.RawTool{odd}})
	if err == nil {
		// If it is taken, it must at least not mean "never".
		t.Cleanup(func() { h.Close() })
		r := newRun(t, h, host.RunOptions{})
		warm(t, r)
		if x := catch(t, r, "tools.odd({})"); x.Code != "approval_unavailable" {
			t.Errorf("%+v", x)
		}
	}
}

func TestQueueOfCalls(t *testing.T) {
	const calls, slots = 256, 16
	gate := hosttest.NewGate("slow")
	h := newHost(t, host.Options{Tools: []host.RawTool{gate.Tool()}, CodeMode: host.CodeModeConfig{TimeoutMs: 60_000}})
	r := newRun(t, h, host.RunOptions{})
	warm(t, r)
	done := background(t.Context(), r, "const r = await Promise.all(Array.from({ length: 256 }, (_, i) => tools.slow({ i }))); return [r.length, r.every((x) => x === 'ok')]")
	for i := range calls {
		if i < slots {
			<-gate.Started()
		}
	}
	if got := gate.Stats(); got.Open != slots {
		t.Errorf("%d calls in flight, want %d", got.Open, slots)
	}
	for i := range calls {
		gate.Release(`"ok"`)
		if i+slots < calls {
			<-gate.Started()
		}
	}
	got := <-done
	if got.err != nil {
		t.Fatal(got.err)
	}
	wantValue(t, got.Result, "[256,true]")
	if s := gate.Stats(); s.Most != slots || s.Total != calls || s.Open != 0 {
		t.Errorf("%+v: never more than %d may be in flight", s, slots)
	}
}

// TestSlotsArePerCell: calls that one cell left open hold no slots of another.
func TestSlotsArePerCell(t *testing.T) {
	gate := hosttest.NewGate("slow")
	r := setup(t, host.Options{Tools: []host.RawTool{gate.Tool(), hosttest.Echo("echo")}, CodeMode: host.CodeModeConfig{MaxPendingToolCalls: 2, TimeoutMs: 10_000}})
	res := exec(t, r, "for (let i = 0; i < 10; i++) tools.slow({}); await yield_control(); return 1")
	wantWaiting(t, res, guestabi.WaitYield)
	wantValue(t, exec(t, r, "return (await Promise.all(Array.from({ length: 100 }, (_, i) => tools.echo({ i })))).length"), "100")
	if s := gate.Stats(); s.Open != 2 {
		t.Errorf("%+v", s)
	}
	r.Close()
	eventually(t, "the open calls are cancelled", func() bool { s := gate.Stats(); return s.Canceled == 2 && s.Open == 0 })
	if s := gate.Stats(); s.Total != 2 {
		t.Errorf("queued calls of a closed run have run: %+v", s)
	}
}

func TestTooManyPendingCalls(t *testing.T) {
	var log hosttest.Log
	r := setup(t, host.Options{Tools: []host.RawTool{log.Tool(hosttest.Echo("echo"))}, CodeMode: host.CodeModeConfig{MaxPendingToolCalls: 1}})
	max := host.QueuedPerPending
	wantValue(t, exec(t, r, fmt.Sprintf("return (await Promise.all(Array.from({ length: %d }, (_, i) => tools.echo({ i })))).length", max)), fmt.Sprint(max))
	log.Reset()
	res := exec(t, r, fmt.Sprintf("return (await Promise.all(Array.from({ length: %d }, (_, i) => tools.echo({ i })))).length", max+1))
	wantFailed(t, res, guestabi.ReasonTooManyPendingToolCalls)
	if !slices.Contains(res.Telemetry.LimitsHit, guestabi.ReasonTooManyPendingToolCalls) {
		t.Errorf("limits hit: %v", res.Telemetry.LimitsHit)
	}
	// The refusal is an ordinary failure: a cell can catch it and go on.
	wantValue(t, exec(t, r, fmt.Sprintf(`
		const all = await Promise.allSettled(Array.from({ length: %d }, (_, i) => tools.echo({ i })));
		const bad = all.filter((x) => x.status === 'rejected');
		return [all.length - bad.length, bad[0].reason.code, (await tools.echo({ again: 1 })).again];`, max+10)), fmt.Sprintf(`[%d,"too_many_pending_tool_calls",1]`, max))
}

func TestProgress(t *testing.T) {
	reporter := hosttest.Echo("work")
	reporter.Call = func(ctx context.Context, in json.RawMessage) (json.RawMessage, error) {
		for i := range 3 {
			host.ReportProgress(ctx, i)
		}
		tc, ok := host.CallFrom(ctx)
		if !ok || string(tc.Input) != string(in) {
			return nil, errors.New("no call in the context")
		}
		return in, nil
	}
	h := newHost(t, host.Options{Tools: []host.RawTool{reporter}})
	var mu sync.Mutex
	var got []string
	r := newRun(t, h, host.RunOptions{OnProgress: func(c *host.ToolCall, p any) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, fmt.Sprint(c.Tool, c.ParentID, p))
	}})
	warm(t, r)
	wantValue(t, execInput(t, r, host.ExecInput{Code: "return await tools.work({ a: 1 })", CallID: "p"}), `{"a":1}`)
	if d := cmp.Diff([]string{"cloister:core:workp0", "cloister:core:workp1", "cloister:core:workp2"}, got); d != "" {
		t.Errorf("progress (-want +got):\n%s", d)
	}
	host.ReportProgress(t.Context(), "outside of a call") // does nothing
	if _, ok := host.CallFrom(t.Context()); ok {
		t.Error("a call outside of one")
	}
}

func TestClientTools(t *testing.T) {
	type hookCall struct{ name, in, out, err string }
	var mu sync.Mutex
	var hooks []hookCall
	h := newHost(t, host.Options{
		MaxToolOutputBytes: 1000,
		Hooks: host.Hooks{AfterToolCall: func(_ context.Context, c *host.ToolCall, out json.RawMessage, err error) {
			mu.Lock()
			defer mu.Unlock()
			x := hookCall{name: c.Name, in: string(c.Input), out: string(out)}
			if err != nil {
				x.err = err.Error()
			}
			hooks = append(hooks, x)
		}},
	})
	tool := host.ClientTool{
		Name: "select_file", Description: "Let the user choose.",
		Parameters: json.RawMessage(`{"type":"object","properties":{"dir":{"type":"string"}},"required":["dir"]}`),
		Returns:    json.RawMessage(`{"type":"string"}`),
	}
	r := newRun(t, h, host.RunOptions{ClientTools: []host.ClientTool{tool}})
	warm(t, r)
	res := exec(t, r, "return 'got ' + await tools.select_file({ dir: '/tmp' })")
	wantWaiting(t, res, guestabi.WaitPendingTools)
	if len(res.Pending) != 1 || res.Pending[0].Method != "client" || string(res.Pending[0].Input) != `{"dir":"/tmp"}` || res.Pending[0].Tool != "client:app:select_file" {
		t.Fatalf("pending %+v", res.Pending)
	}
	// Without a callback time changes nothing: the wait comes back at once.
	res = wait(t, r, res.RunID)
	wantWaiting(t, res, guestabi.WaitPendingTools)
	id := res.Pending[0].ID
	for _, bad := range []string{"", "7", `{"a":1}`, `"`, `"\ud800"`, `"` + strings.Repeat("x", 1000) + `"`, "null"} {
		var te *host.ToolError
		if err := r.Resolve(id, json.RawMessage(bad)); !errors.As(err, &te) {
			t.Errorf("Resolve(%.20s): %v", bad, err)
		}
	}
	for _, id := range []string{"", "x", id + "0", res.RunID} {
		if err := r.Resolve(id, json.RawMessage(`"a"`)); !errors.Is(err, host.ErrUnknownCall) {
			t.Errorf("Resolve of %q: %v", id, err)
		}
	}
	other := newRun(t, h, host.RunOptions{AgentRunID: "other", SessionID: "other"})
	if err := other.Resolve(id, json.RawMessage(`"stolen"`)); !errors.Is(err, host.ErrUnknownCall) {
		t.Errorf("Resolve by another run: %v", err)
	}
	if err := r.Resolve(id, json.RawMessage(`"a.txt"`)); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{r.Resolve(id, json.RawMessage(`"b.txt"`)), r.Reject(id, nil)} {
		if !errors.Is(err, host.ErrUnknownCall) {
			t.Errorf("settled twice: %v", err)
		}
	}
	wantValue(t, wait(t, r, res.RunID), `"got a.txt"`)

	res = exec(t, r, caught("tools.select_file({ dir: 'x' })"))
	wantWaiting(t, res, guestabi.WaitPendingTools)
	if err := r.Reject(res.Pending[0].ID, &host.ToolError{Name: "AbortError", Message: "closed the dialog", Code: "cancelled"}); err != nil {
		t.Fatal(err)
	}
	wantValue(t, wait(t, r, res.RunID), `{"name":"AbortError","code":"cancelled","message":"closed the dialog"}`)
	if x := catch(t, r, "tools.select_file({ dir: 7 })"); x.Code != "invalid_input" {
		t.Errorf("%+v", x)
	}
	if _, err := r.Call(t.Context(), "client:app:select_file", json.RawMessage(`{"dir":"x"}`)); err == nil {
		t.Error("Call ran a client tool")
	}
	want := []hookCall{
		{"select_file", `{"dir":"/tmp"}`, `"a.txt"`, ""},
		{"select_file", `{"dir":"x"}`, "", "closed the dialog (cancelled)"},
	}
	if len(hooks) < 2 || hooks[0] != want[0] || hooks[1] != want[1] {
		t.Errorf("hooks %+v", hooks)
	}
}

func TestClientToolsWithCallback(t *testing.T) {
	h := newHost(t, host.Options{})
	var r *host.Run
	var n atomic.Int32
	r = newRun(t, h, host.RunOptions{
		ClientTools: []host.ClientTool{{Name: "inc", Description: "Add one."}},
		OnClientCall: func(c host.PendingToolCall) {
			value := json.RawMessage(fmt.Sprint(n.Add(1)))
			if n.Load()%2 == 0 { // from the callback itself, and from elsewhere
				if err := r.Resolve(c.ID, value); err != nil {
					t.Error(err)
				}
				return
			}
			go func() {
				if err := r.Resolve(c.ID, value); err != nil {
					t.Error(err)
				}
			}()
		},
	})
	warm(t, r)
	wantValue(t, exec(t, r, "let s = 0; for (let i = 0; i < 10; i++) s += await tools.inc({}); return s"), "55")
}

func TestDirectCall(t *testing.T) {
	var log hosttest.Log
	h := newHost(t, host.Options{Tools: []host.RawTool{log.Tool(hosttest.Echo("echo")), log.Tool(hosttest.Echo("hidden"))}, Deny: []string{"hidden"}})
	r := newRun(t, h, host.RunOptions{})
	if out, err := r.Call(t.Context(), "cloister:core:echo", json.RawMessage(`{"a":1}`)); err != nil || string(out) != `{"a":1}` {
		t.Errorf("%s, %v", out, err)
	}
	var te *host.ToolError
	if _, err := r.Call(t.Context(), "cloister:core:hidden", json.RawMessage(`{}`)); !errors.As(err, &te) || te.Code != "unknown_tool" {
		t.Errorf("a denied tool: %v", err)
	}
	if got := r.Catalog(); len(got) != 1 {
		t.Errorf("catalog %v", got)
	}
	if _, err := r.Describe("cloister:core:hidden"); !errors.As(err, &te) {
		t.Errorf("Describe: %v", err)
	}
	if d, err := r.Describe("cloister:core:echo"); err != nil || string(d.Parameters) != `{"type":"object"}` {
		t.Errorf("Describe: %+v, %v", d, err)
	}
	if hits, err := r.Search("echo hidden", 0); err != nil || len(hits) != 1 {
		t.Errorf("Search: %v, %v", hits, err)
	}
	if _, err := r.Search("echo", -1); !errors.As(err, &te) {
		t.Errorf("Search with a bad limit: %v", err)
	}
	r.Close()
	if _, err := r.Call(t.Context(), "cloister:core:echo", json.RawMessage(`{}`)); !errors.Is(err, host.ErrClosed) {
		t.Errorf("Call after Close: %v", err)
	}
	if got := log.Tools(); !slices.Equal(got, []string{"cloister:core:echo"}) {
		t.Errorf("tools that ran: %v", got)
	}
}

func TestToolsThatAreRefused(t *testing.T) {
	good := hosttest.Echo("a")
	for name, tools := range map[string][]host.RawTool{
		"no name":              {hosttest.Echo("")},
		"bad name":             {hosttest.Echo("a b")},
		"colon":                {hosttest.Echo("a:b")},
		"look-alike":           {hosttest.Echo("еcho")},
		"no call":              {{Name: "a"}},
		"twice":                {good, good},
		"schema is no JSON":    {{Name: "a", Call: good.Call, Parameters: json.RawMessage("{")}},
		"schema with file ref": {{Name: "a", Call: good.Call, Parameters: json.RawMessage(`{"$ref":"file:///etc/passwd"}`)}},
		"bad returns":          {{Name: "a", Call: good.Call, Returns: json.RawMessage(`{"type":"objekt"}`)}},
		"bad owner":            {{Name: "a", Owner: "a/b", Call: good.Call}},
	} {
		if h, err := host.New(t.Context(), &host.Options{Tools: tools}); !errors.Is(err, host.ErrTool) {
			t.Errorf("%s: %v", name, err)
			if err == nil {
				h.Close()
			}
		}
	}
	h := newHost(t, host.Options{})
	for name, tool := range map[string]host.ClientTool{"no name": {}, "core": {App: "core", Name: "x"}, "schema": {Name: "x", Parameters: json.RawMessage("[]")}} {
		if _, err := h.NewRun(t.Context(), host.RunOptions{ClientTools: []host.ClientTool{tool}}); !errors.Is(err, host.ErrTool) {
			t.Errorf("client tool, %s: %v", name, err)
		}
	}
	for _, o := range []host.RunOptions{{Allow: []string{"["}}, {Deny: []string{"a:b"}}} {
		if _, err := h.NewRun(t.Context(), o); !errors.Is(err, host.ErrConfig) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	for _, o := range []host.Options{{Allow: []string{"["}}, {Deny: []string{"a:b"}}, {Sandbox: host.SandboxPolicy{Deny: []string{""}}}} {
		if _, err := host.New(t.Context(), &o); !errors.Is(err, host.ErrConfig) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

func TestSandboxPolicy(t *testing.T) {
	h := newHost(t, host.Options{
		Tools: []host.RawTool{hosttest.Echo("read"), hosttest.Echo("write"), hosttest.Echo("shell")},
		Deny:  []string{"shell"}, Sandbox: host.SandboxPolicy{Allow: []string{"read"}, AlsoAllow: []string{"shell", "write"}, Deny: []string{"write"}},
	})
	names := func(o host.RunOptions) (out []string) {
		for _, e := range newRun(t, h, o).Catalog() {
			out = append(out, e.Name)
		}
		return out
	}
	if got := names(host.RunOptions{}); !slices.Equal(got, []string{"read", "write"}) {
		t.Errorf("open: %v", got)
	}
	if got := names(host.RunOptions{Sandboxed: true}); !slices.Equal(got, []string{"read"}) {
		t.Errorf("sandboxed: %v", got)
	}
	if got := names(host.RunOptions{Sandboxed: true, Allow: []string{"write", "shell"}}); got != nil {
		t.Errorf("a run's allow list widens the sandbox: %v", got)
	}
}

// TestInputsThatWait: what queued calls hold is bounded, however often the guest's
// own memory is free again for the next input.
func TestInputsThatWait(t *testing.T) {
	gate := hosttest.NewGate("slow")
	r := setup(t, host.Options{Tools: []host.RawTool{gate.Tool()}, CodeMode: host.CodeModeConfig{MaxPendingToolCalls: 1, TimeoutMs: 60_000}})
	res := exec(t, r, `
		let refused = 0, message = '';
		for (let i = 0; i < 40; i++) {
			tools.slow({ s: 'x'.repeat(4 << 20) }).catch((e) => { if (e.code === 'too_many_pending_tool_calls') { refused++; message = e.message } });
			await tools.search('x');
		}
		text(message);
		await yield_control();
		return refused;`)
	wantWaiting(t, res, guestabi.WaitYield)
	if n := len(res.Pending); n == 0 || n > 20 {
		t.Errorf("%d calls with 4 MiB each are open", n)
	}
	if got := texts(res); len(got) != 1 || !contains(got[0], "bytes") {
		t.Errorf("the refusal says %q", got)
	}
	r.Close()
	r = setup(t, host.Options{})
	if x := catch(t, r, "tools.echo({ s: 'x'.repeat(17 << 20) })"); x.Code != "tool_input_too_large" {
		t.Errorf("an input of 17 MiB: %+v", clip(fmt.Sprint(x), 200))
	}
	if x := catch(t, r, "tools.echo({ s: 'x'.repeat(3 << 20) }).then((r) => r.s.length)"); string(x.Worked) != fmt.Sprint(3<<20) {
		t.Errorf("an input of 3 MiB: %+v", clip(fmt.Sprint(x), 200))
	}
}

// TestResultsThatWait: calls of a suspended program go on, but not for ever: what
// has settled and cannot be delivered yet holds the queue back.
func TestResultsThatWait(t *testing.T) {
	const calls = 100
	gate := hosttest.NewGate("slow")
	r := setup(t, host.Options{Tools: []host.RawTool{gate.Tool()}, CodeMode: host.CodeModeConfig{TimeoutMs: 60_000}})
	res := exec(t, r, fmt.Sprintf(`
		let n = 0;
		const all = Array.from({ length: %d }, () => tools.slow({}).then((s) => { n += s.length }));
		await yield_control();
		await Promise.all(all);
		return n;`, calls))
	wantWaiting(t, res, guestabi.WaitYield)
	const size = 3 << 20
	value := `"` + strings.Repeat("x", size) + `"`
	eventually(t, "the first calls begin", func() bool { return gate.Stats().Open == 16 })
	released := 0
	for ; released < gate.Stats().Total; released++ {
		gate.Release(value)
		eventually(t, "the next call begins, or none does", func() bool {
			s := gate.Stats()
			return s.Open == 16 || s.Open == s.Total-released-1
		})
	}
	if got := gate.Stats(); got.Total > 64 {
		t.Errorf("%+v: results of %d MiB wait for a program that is suspended", got, got.Total*size>>20)
	}
	go func() {
		for ; released < calls; released++ {
			gate.Release(value)
		}
	}()
	wantValue(t, wait(t, r, res.RunID), fmt.Sprint(calls*size))
}

// TestLongIDsAreCut: an id that a guest made up fills neither traces nor results.
func TestLongIDsAreCut(t *testing.T) {
	var trace hosttest.Trace
	r := setup(t, host.Options{Trace: &trace})
	res := exec(t, r, "for (let i = 0; i < 20; i++) { tools.call('x'.repeat(1e5) + i).catch(() => 0); tools.describe('y'.repeat(1e5)).catch(() => 0) } await yield_control(); return 1")
	wantWaiting(t, res, guestabi.WaitYield)
	text, err := json.Marshal(res)
	if err != nil {
		t.Fatal(err)
	}
	if len(text) > 50_000 {
		t.Errorf("a result of %d bytes", len(text))
	}
	wantValue(t, wait(t, r, res.RunID), "1")
	for _, e := range trace.Events() {
		if len(e.Tool) > 400 {
			t.Errorf("%s with a tool of %d bytes", e.Event, len(e.Tool))
		}
	}
}
