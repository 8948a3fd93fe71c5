package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/host/hosttest"
	"github.com/cloister-wasm/cloister/host/policy"
)

// The faults that these tests showed: client tools had a path of their own beside the dispatcher, which forgot what
// the other one did, and decisions were not made again, or about something else than what ran.

// pick is a client tool, as echo is an ordinary one.
var pick = []host.ClientTool{{Name: "pick", Description: "Pick.", Parameters: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`)}}

// recorder counts what hooks are told.
type recorder struct {
	mu            sync.Mutex
	before, known int
	after         []string
	refuse        func(c *host.ToolCall) error
}

func (rec *recorder) hooks() host.Hooks {
	return host.Hooks{
		BeforeToolCall: func(ctx context.Context, c *host.ToolCall) error {
			rec.mu.Lock()
			defer rec.mu.Unlock()
			rec.before++
			if _, ok := host.CallFrom(ctx); ok {
				rec.known++
			}
			if rec.refuse == nil {
				return nil
			}
			return rec.refuse(c)
		},
		AfterToolCall: func(ctx context.Context, c *host.ToolCall, _ json.RawMessage, err error) {
			rec.mu.Lock()
			defer rec.mu.Unlock()
			code := "ok"
			var te *host.ToolError
			switch {
			case errors.As(err, &te):
				code = string(te.Code)
			case err != nil:
				code = "failed"
			}
			if _, ok := host.CallFrom(ctx); !ok {
				code += " without its call"
			}
			rec.after = append(rec.after, c.Name+" "+code)
		},
	}
}

// TestOnePath: each end of each kind of call is told to AfterToolCall once and has one call.end, whether or not the
// caller of exec executes the tool.
func TestOnePath(t *testing.T) {
	for _, tool := range []string{"echo", "pick"} {
		for _, tt := range []struct {
			name   string
			set    func(o *host.Options, rec *recorder)
			input  string
			ending func(t *testing.T, r *host.Run, res *host.Result)
			want   string
		}{
			{"works", nil, "{}", nil, "ok"},
			{"does not fit", nil, "{n:'x'}", nil, "invalid_input"},
			{"refused by the hook", func(_ *host.Options, rec *recorder) {
				rec.refuse = func(*host.ToolCall) error { return errors.New("no") }
			}, "{}", nil, "call_refused"},
			{"denied by the policy", func(o *host.Options, _ *recorder) { o.Policy = denying{} }, "{}", nil, "policy_denied"},
			{"not approved", func(o *host.Options, _ *recorder) {
				o.Policy = asking{}
				o.Approve = func(context.Context, *host.ToolCall) (host.Decision, error) { return host.Decision{}, nil }
			}, "{}", nil, "approval_denied"},
		} {
			t.Run(tool+" "+tt.name, func(t *testing.T) {
				var rec recorder
				var trace hosttest.Trace
				echo := hosttest.Echo("echo")
				echo.Parameters = pick[0].Parameters
				o := host.Options{Tools: []host.RawTool{echo}, Trace: &trace, Hooks: rec.hooks()}
				if tt.set != nil {
					tt.set(&o, &rec)
				}
				r := newRun(t, newHost(t, o), host.RunOptions{ClientTools: pick})
				res := exec(t, r, "return await tools."+tool+"("+tt.input+").then(() => 'ok', (e) => e.code)")
				if len(res.Pending) == 1 {
					if err := r.Resolve(res.Pending[0].ID, json.RawMessage("1")); err != nil {
						t.Fatal(err)
					}
					res, _ = waitToEnd(t, r, res, 0)
				}
				wantValue(t, res, `"`+tt.want+`"`)
				if d := cmp.Diff([]string{tool + " " + tt.want}, rec.after); d != "" {
					t.Errorf("AfterToolCall (-want +got):\n%s", d)
				}
				starts, ends := trace.Events(host.EventCallStart), trace.Events(host.EventCallEnd)
				if len(starts) != 1 || len(ends) != 1 || ends[0].Status != tt.want {
					t.Errorf("call.start %+v, call.end %+v", starts, ends)
				}
				if rec.before != rec.known {
					t.Errorf("%d of %d hooks knew their call", rec.known, rec.before)
				}
			})
		}
	}
}

// TestOpenCallsEnd: a call that is open when its cell ends has its end in the trace, and AfterToolCall is told.
func TestOpenCallsEnd(t *testing.T) {
	for _, tool := range []string{"slow", "pick"} {
		var rec recorder
		var trace hosttest.Trace
		gate := hosttest.NewGate("slow")
		h := newHost(t, host.Options{Tools: []host.RawTool{gate.Tool()}, Trace: &trace, Hooks: rec.hooks()})
		r := newRun(t, h, host.RunOptions{ClientTools: pick})
		res := exec(t, r, "const p = tools."+tool+"({}); await yield_control(); return await p")
		wantWaiting(t, res, guestabi.WaitYield)
		eventually(t, "the call begins", func() bool { return len(trace.Events(host.EventCallStart)) == 1 })
		if err := r.Abort(res.CellID); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the call ends", func() bool {
			rec.mu.Lock()
			defer rec.mu.Unlock()
			return len(trace.Events(host.EventCallEnd)) == 1 && len(rec.after) == 1
		})
		if got := trace.Events(host.EventCallEnd)[0].Status; got != "aborted" {
			t.Errorf("%s ended as %s", tool, got)
		}
		if len(res.Pending) == 1 {
			if err := r.Resolve(res.Pending[0].ID, json.RawMessage("1")); !errors.Is(err, host.ErrUnknownCall) {
				t.Errorf("%s is settled after its end: %v", tool, err)
			}
		}
	}
}

// denying lets tools be seen and none be called.
type denying struct{ asking }

func (denying) Authorize(context.Context, *host.PolicyCall) (host.PolicyDecision, error) {
	return host.PolicyDecision{Rule: "none"}, nil
}

// asking wants approval for all.
type asking struct{}

func (asking) Visible(context.Context, host.Scope, *host.ToolFacts) (host.PolicyDecision, error) {
	return host.PolicyDecision{Allow: true}, nil
}

func (asking) Authorize(context.Context, *host.PolicyCall) (host.PolicyDecision, error) {
	return host.PolicyDecision{Allow: true, Approval: host.ApprovalAsk}, nil
}

// TestNotShownAfterTheEnd: a client is not shown a call of a cell that has ended, though its approval comes.
func TestNotShownAfterTheEnd(t *testing.T) {
	answer, over := make(chan struct{}), make(chan struct{}, 1)
	var shown atomic.Int32
	o := host.Options{Policy: asking{}, Approve: func(context.Context, *host.ToolCall) (host.Decision, error) {
		<-answer // it does not look at its context
		return host.Decision{Approved: true}, nil
	}}
	o.Hooks.AfterToolCall = func(context.Context, *host.ToolCall, json.RawMessage, error) { over <- struct{}{} }
	h := newHost(t, o)
	ro := scope
	ro.ClientTools, ro.OnClientCall = pick, func(host.PendingToolCall) { shown.Add(1) }
	r, err := h.NewRun(t.Context(), ro)
	if err != nil {
		t.Fatal(err)
	}
	res := exec(t, r, "return await tools.pick({})")
	wantWaiting(t, res, guestabi.WaitApproval)
	if err := r.Abort(res.CellID); err != nil {
		t.Fatal(err)
	}
	r.Close()
	close(answer)
	<-over
	if shown.Load() != 0 {
		t.Error("the client was shown a call of a cell that was aborted")
	}
}

// switched is a policy that an operator changes.
type switched struct {
	asking
	deny atomic.Bool
}

func (p *switched) Authorize(context.Context, *host.PolicyCall) (host.PolicyDecision, error) {
	return host.PolicyDecision{Allow: !p.deny.Load(), Rule: "switched", Approval: host.ApprovalAsk}, nil
}

// TestPolicyIsAskedAgain: what the policy denies by the time a person says yes does not run.
func TestPolicyIsAskedAgain(t *testing.T) {
	for _, tool := range []string{"echo", "pick"} {
		var log hosttest.Log
		var p switched
		q := host.NewApprovalQueue()
		h := newHost(t, host.Options{Policy: &p, Approve: q.Approve, Tools: []host.RawTool{log.Tool(hosttest.Echo("echo"))}})
		r := newRun(t, h, host.RunOptions{ClientTools: pick})
		res := exec(t, r, "return await tools."+tool+"({}).catch((e) => e.code)")
		wantWaiting(t, res, guestabi.WaitApproval)
		p.deny.Store(true)
		if err := q.Decide(q.Pending()[0].ID, host.Decision{Approved: true}); err != nil {
			t.Fatal(err)
		}
		res, _ = waitToEnd(t, r, res, 0)
		wantValue(t, res, `"policy_denied"`)
		if got := log.Tools(); len(got) != 0 {
			t.Errorf("tools that ran: %v", got)
		}
	}
}

// TestApproverGetsACopy: what runs is what was asked for, whatever an approver does to its call.
func TestApproverGetsACopy(t *testing.T) {
	var log hosttest.Log
	careful := hosttest.Echo("careful")
	careful.Approval = host.ApprovalAsk
	h := newHost(t, host.Options{Tools: []host.RawTool{log.Tool(careful)}, Approve: func(_ context.Context, c *host.ToolCall) (host.Decision, error) {
		copy(c.Input, `{"token":"******"}`)
		c.Input, c.Tool = json.RawMessage(`{"redacted":true}`), "cloister:core:other"
		return host.Decision{Approved: true}, nil
	}})
	wantValue(t, exec(t, newRun(t, h, host.RunOptions{}), "return await tools.careful({ token: 's3cret' })"), `{"token":"s3cret"}`)
	if calls := log.Calls(); len(calls) != 1 || string(calls[0].Input) != `{"token":"s3cret"}` {
		t.Errorf("the tool got %+v", calls)
	}
}

// TestMembersThatDifferInCase: a policy and an envelope that see one member, and a tool that reads another, do not
// meet: encoding/json, for one, takes "To" for "to".
func TestMembersThatDifferInCase(t *testing.T) {
	var sent []string
	mail := host.RawTool{
		Name: "mail", Description: "Send.", Approval: host.ApprovalAsk,
		Parameters: json.RawMessage(`{"type":"object","properties":{"to":{"type":"string"},"more":{"type":"object","properties":{"cc":{}}}},"required":["to"]}`),
		Call: func(_ context.Context, in json.RawMessage) (json.RawMessage, error) {
			var x struct {
				To string `json:"to"`
			}
			err := json.Unmarshal(in, &x)
			sent = append(sent, x.To)
			return json.RawMessage("1"), err
		},
	}
	set, err := policy.Parse("p.cedar", []byte(`permit(principal, action, resource); forbid(principal, action, resource == Cloister::Tool::"cloister:core:mail") unless { context.input has to && context.input.to == "boss@x" };`))
	if err != nil {
		t.Fatal(err)
	}
	r := newRun(t, newHost(t, host.Options{Tools: []host.RawTool{mail}, Policy: set, Approve: func(context.Context, *host.ToolCall) (host.Decision, error) {
		return host.Decision{Approved: true, Envelope: &host.Envelope{Calls: 10, Fixed: json.RawMessage(`{"to":"boss@x"}`)}}, nil
	}}), host.RunOptions{})
	wantValue(t, exec(t, r, `
		await tools.mail({ to: 'boss@x' });
		const bad = [{ to: 'boss@x', To: 'evil@y' }, { to: 'boss@x', 'tO': 'evil@y' }, { to: 'boss@x', more: { CC: 'evil@y' } }];
		return await Promise.all(bad.map((x) => tools.mail(x).then(() => 'sent', (e) => e.code)));`), `["invalid_input","invalid_input","invalid_input"]`)
	if d := cmp.Diff([]string{"boss@x"}, sent); d != "" {
		t.Errorf("sent (-want +got):\n%s", d)
	}
}

// TestHooksSeeCheckedInput: a hook that takes the schema for granted may.
func TestHooksSeeCheckedInput(t *testing.T) {
	var seen []string
	read := hosttest.Echo("read")
	read.Parameters = json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"],"additionalProperties":false}`)
	o := host.Options{Tools: []host.RawTool{read}}
	o.Hooks.BeforeToolCall = func(_ context.Context, c *host.ToolCall) error {
		seen = append(seen, string(c.Input))
		return nil
	}
	wantValue(t, exec(t, setup(t, o), `
		const all = await Promise.all([{ path: 1 }, 7, [], null, 'x', {}, { path: 'a', Path: 'b' }, { path: 'good' }].map((x) => tools.read(x).then(() => 1, () => 0)));
		return all;`), "[0,0,0,0,0,0,0,1]")
	if d := cmp.Diff([]string{`{"path":"good"}`}, seen); d != "" {
		t.Errorf("the hook saw (-want +got):\n%s", d)
	}
}

// TestWholeScope: a wait, an abort and a plugin's store are for runs that are the same in all.
func TestWholeScope(t *testing.T) {
	h := newHost(t, host.Options{})
	mine := host.RunOptions{AgentID: "a", AgentRunID: "1", SessionID: "main", SessionKey: "k", Sender: "alice", Channel: "dm"}
	owner := newRun(t, h, mine)
	res := exec(t, owner, yieldOnce)
	wantWaiting(t, res, guestabi.WaitYield)
	for name, change := range map[string]func(o *host.RunOptions){
		"agent": func(o *host.RunOptions) { o.AgentID = "b" }, "run": func(o *host.RunOptions) { o.AgentRunID = "2" }, "session": func(o *host.RunOptions) { o.SessionID = "other" },
		"key": func(o *host.RunOptions) { o.SessionKey = "other" }, "sender": func(o *host.RunOptions) { o.Sender = "bob" }, "channel": func(o *host.RunOptions) { o.Channel = "web" },
		"no sender": func(o *host.RunOptions) { o.Sender = "" }, "sandbox": func(o *host.RunOptions) { o.Sandboxed = true },
	} {
		o := mine
		change(&o)
		other := newRun(t, h, o)
		wantFailed(t, wait(t, other, res.CellID), guestabi.ReasonInvalidInput)
		if err := other.Abort(res.CellID); !errors.Is(err, host.ErrUnknownRun) {
			t.Errorf("%s: Abort: %v", name, err)
		}
	}
	wantValue(t, wait(t, newRun(t, h, mine), res.CellID), "42")
}

// TestRevoke: an operator who takes a tool away can take it from suspended cells too.
func TestRevoke(t *testing.T) {
	for _, revoke := range []bool{false, true} {
		server := &memoryServer{}
		h := newHost(t, host.Options{MCP: []host.MCPServer{{Name: "s", Tools: []host.MCPTool{{Name: "wipe", Description: "Wipe."}}, Client: server}}})
		r := newRun(t, h, host.RunOptions{})
		res := exec(t, r, "await yield_control(); return [await MCP.s.wipe({}).then(() => 'ran', (e) => e.code), (await tools.echo({ a: 1 })).a]")
		wantWaiting(t, res, guestabi.WaitYield)
		if err := h.SetTools(t.Context(), host.ToolChange{Revoke: revoke}); err != nil {
			t.Fatal(err)
		}
		want := map[bool]string{false: `["ran",1]`, true: `["tool_revoked",1]`}[revoke]
		wantValue(t, wait(t, r, res.CellID), want)
		if ran := len(server.calls()) == 1; ran == revoke {
			t.Errorf("revoke %v: the server was called: %v", revoke, ran)
		}
	}
}

// slowToShow is a policy that takes its time over what a run may see.
type slowToShow struct{ began, goOn chan struct{} }

func (p slowToShow) Visible(context.Context, host.Scope, *host.ToolFacts) (host.PolicyDecision, error) {
	select {
	case p.began <- struct{}{}:
	default:
	}
	<-p.goOn
	return host.PolicyDecision{Allow: true}, nil
}

func (slowToShow) Authorize(context.Context, *host.PolicyCall) (host.PolicyDecision, error) {
	return host.PolicyDecision{Allow: true}, nil
}

// TestRevokeWhileARunIsMade: a run that is being made when a tool is taken away does not keep it.
func TestRevokeWhileARunIsMade(t *testing.T) {
	p := slowToShow{began: make(chan struct{}, 1), goOn: make(chan struct{})}
	server := &memoryServer{}
	h := newHost(t, host.Options{Policy: p, MCP: []host.MCPServer{{Name: "s", Tools: []host.MCPTool{{Name: "wipe", Description: "Wipe."}}, Client: server}}})
	made := make(chan *host.Run, 1)
	go func() {
		r, err := h.NewRun(context.Background(), scope)
		if err != nil {
			t.Error(err)
		}
		made <- r
	}()
	<-p.began
	if err := h.SetTools(t.Context(), host.ToolChange{Revoke: true}); err != nil {
		t.Fatal(err)
	}
	close(p.goOn)
	r := <-made
	wantValue(t, exec(t, r, "return await MCP.s.wipe({}).then(() => 'ran', (e) => e.code)"), `"tool_revoked"`)
	if len(server.calls()) != 0 {
		t.Error("the server was called")
	}
}

// TestAnswerAgainstExpiry: an approval that comes as a cell expires finds it kept or gone, and nothing in between.
func TestAnswerAgainstExpiry(t *testing.T) {
	for i := range rounds(40) {
		clock := hosttest.NewClock(epoch)
		q := host.NewApprovalQueue()
		var trace hosttest.Trace
		careful := hosttest.Echo("careful")
		careful.Approval = host.ApprovalAsk
		h := newHost(t, host.Options{
			Now: clock.Now, Approve: q.Approve, ApprovalTTL: time.Minute, Trace: &trace, Tools: []host.RawTool{careful},
			CodeMode: host.CodeModeConfig{SnapshotTTLSeconds: 60},
		})
		r := newRun(t, h, host.RunOptions{})
		res := exec(t, r, "return await tools.careful({ a: 1 })")
		wantWaiting(t, res, guestabi.WaitApproval)
		clock.Advance(time.Minute)
		var wg sync.WaitGroup
		wg.Go(h.Sweep)
		wg.Go(func() {
			if list := q.Pending(); len(list) == 1 {
				_ = q.Decide(list[0].ID, host.Decision{Approved: true}) // it may have gone meanwhile
			}
		})
		var got *host.Result
		wg.Go(func() { got = wait(t, r, res.CellID) })
		wg.Wait()
		expired := len(trace.Events(host.EventExpire))
		switch {
		case got.Status == guestabi.StatusFailed && got.Reason == guestabi.ReasonSnapshotExpired:
		case got.Status == guestabi.StatusCompleted && expired == 0:
		case got.Status == guestabi.StatusWaiting && expired == 0:
		default:
			t.Fatalf("round %d: %s %s (%s) with %d expiries", i, got.Status, got.Error, got.Reason, expired)
		}
		r.Close()
		if h.Suspended() != 0 || expired > 1 {
			t.Fatalf("round %d: %d cells are left, %d expiries", i, h.Suspended(), expired)
		}
	}
}

// TestSuspendingWhileTheHostCloses says that it was aborted, and not that there was no place.
func TestSuspendingWhileTheHostCloses(t *testing.T) {
	for range rounds(20) {
		o := host.Options{CodeMode: host.CodeModeConfig{Enabled: true}, Tools: []host.RawTool{hosttest.Echo("echo")}}
		h, err := host.New(t.Context(), &o)
		if err != nil {
			t.Fatal(err)
		}
		r, err := h.NewRun(t.Context(), scope)
		if err != nil {
			t.Fatal(err)
		}
		warm(t, r)
		var cells []<-chan result
		for i := range 4 {
			cells = append(cells, background(t.Context(), r, fmt.Sprintf("for (let i = 0; i < %d; i++) await tools.echo({}); await yield_control(); return 1", i*3)))
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		for _, c := range cells {
			got := <-c
			if got.err != nil {
				t.Fatal(got.err)
			}
			if got.Status == guestabi.StatusFailed && got.Reason != guestabi.ReasonAborted {
				t.Errorf("%s (%s)", got.Error, got.Reason)
			}
			if strings.Contains(got.Error, "too many") {
				t.Error(got.Error)
			}
		}
	}
}
