package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/host/hosttest"
)

func TestApprovalPending(t *testing.T) {
	var log hosttest.Log
	careful := log.Tool(hosttest.Echo("careful"))
	careful.Approval = host.ApprovalAsk
	always := log.Tool(hosttest.Echo("always"))
	always.Approval = host.ApprovalAlways
	answers := make(chan host.Decision)
	failing := errors.New("the phone is off")
	o := host.Options{Tools: []host.RawTool{careful, always}, CodeMode: host.CodeModeConfig{TimeoutMs: 60_000}, ApprovalHint: "answer at the desk"}
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
	const message = "The call of cloister:core:careful waits for approval: answer at the desk"
	if text, err := res.MarshalJSON(); err != nil || !strings.Contains(string(text), `"reason":"approval","message":"`+message+`","pendingToolCalls"`) {
		t.Errorf("%s, %v", text, err)
	}
	res = waitInput(t, r, host.WaitInput{CellID: res.CellID, TimeoutMs: 100})
	wantWaiting(t, res, guestabi.WaitApproval)
	if res.Message != message {
		t.Errorf("wait says %q", res.Message)
	}
	if len(log.Calls()) != 0 {
		t.Error("the tool ran before it was approved")
	}
	answers <- host.Decision{Approved: true}
	wantValue(t, wait(t, r, res.CellID), `{"n":1}`)
	if len(log.Calls()) != 1 {
		t.Errorf("calls %v", log.Tools())
	}

	res = exec(t, r, caught("tools.careful({ n: 2 })"))
	wantWaiting(t, res, guestabi.WaitApproval)
	answers <- host.Decision{Reason: "not today"}
	res = wait(t, r, res.CellID)
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

func TestApprovalMessage(t *testing.T) {
	h := newHost(t, host.Options{})
	for want, tools := range map[string][]string{
		"The call of a waits for approval by a person":                    {"a"},
		"2 calls of a wait for approval by a person":                      {"a", "a"},
		"Calls of a and b wait for approval by a person":                  {"a", "b", "a"},
		"Calls of a, b and c wait for approval by a person":               {"a", "b", "c"},
		"Calls of a, b, c and 2 more tools wait for approval by a person": {"a", "b", "c", "d", "e"},
		"A call waits for approval by a person":                           nil,
	} {
		if got := h.ApprovalMessage(tools...); got != want {
			t.Errorf("%q: got %q", want, got)
		}
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
