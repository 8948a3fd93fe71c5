package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/host/hosttest"
)

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
	if bad != nil || w.CellID != "run_1" || w.TimeoutMs != 5 {
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
