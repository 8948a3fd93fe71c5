package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/host/hosttest"
)

// policyFunc is a policy of two functions; one that is nil allows.
type policyFunc struct {
	visible   func(*host.ToolFacts) (host.PolicyDecision, error)
	authorize func(*host.PolicyCall) (host.PolicyDecision, error)
}

func (p policyFunc) Visible(_ context.Context, _ host.Scope, f *host.ToolFacts) (host.PolicyDecision, error) {
	if p.visible == nil {
		return host.PolicyDecision{Allow: true}, nil
	}
	return p.visible(f)
}

func (p policyFunc) Authorize(_ context.Context, c *host.PolicyCall) (host.PolicyDecision, error) {
	if p.authorize == nil {
		return host.PolicyDecision{Allow: true}, nil
	}
	return p.authorize(c)
}

func TestPolicyDecidesAboutCalls(t *testing.T) {
	var log hosttest.Log
	var trace hosttest.Trace
	p := policyFunc{authorize: func(c *host.PolicyCall) (host.PolicyDecision, error) {
		var in struct{ N int }
		if err := json.Unmarshal(c.Input, &in); err != nil {
			return host.PolicyDecision{Allow: true}, err
		}
		switch {
		case c.Scope.AgentID != "agent" || c.Tool.ID != "cloister:core:echo" || c.Tool.Approval != host.ApprovalNever:
			return host.PolicyDecision{}, fmt.Errorf("wrong facts %+v", c)
		case in.N == 2:
			return host.PolicyDecision{Rule: "no-twos", Reason: "two is too much"}, nil
		case in.N == 3:
			return host.PolicyDecision{Allow: true}, errors.New("the file /etc/policy is broken")
		case in.N == 4:
			panic("a mistake in the policy")
		}
		return host.PolicyDecision{Allow: true}, nil
	}}
	r := setup(t, host.Options{Tools: []host.RawTool{log.Tool(hosttest.Echo("echo"))}, Policy: p, Trace: &trace})
	wantValue(t, exec(t, r, "return await tools.echo({ n: 1 })"), `{"n":1}`)
	for n, code := range map[int]string{2: "policy_denied", 3: "policy_failed", 4: "policy_failed"} {
		x := catch(t, r, fmt.Sprintf("tools.echo({ n: %d })", n))
		if x.Code != code || x.Name != "PermissionError" || strings.Contains(x.Message, "/etc") {
			t.Errorf("%d: %+v", n, x)
		}
	}
	if _, err := r.Call(t.Context(), "cloister:core:echo", json.RawMessage(`{"n":2}`)); err == nil {
		t.Error("a direct call passed the policy")
	}
	if got := len(log.Calls()); got != 1 {
		t.Errorf("%d calls reached the tool", got)
	}
	var rules []string
	for _, e := range trace.Events("call.end") {
		if e.Rule != "" {
			rules = append(rules, e.Rule)
		}
	}
	if !slices.Contains(rules, "no-twos") || len(rules) != 4 {
		t.Errorf("rules in the trace: %q", rules)
	}
}

// TestPolicySeesWhatTheToolGets: a hook changes the input, and the policy decides
// about the changed one.
func TestPolicySeesWhatTheToolGets(t *testing.T) {
	o := host.Options{Policy: policyFunc{authorize: func(c *host.PolicyCall) (host.PolicyDecision, error) {
		return host.PolicyDecision{Allow: string(c.Input) == `{"n":1}`}, nil
	}}}
	o.Hooks.BeforeToolCall = func(_ context.Context, c *host.ToolCall) error {
		c.Input = json.RawMessage(`{"n":9}`)
		return nil
	}
	if x := catch(t, setup(t, o), "tools.echo({ n: 1 })"); x.Code != "policy_denied" {
		t.Errorf("%+v", x)
	}
}

func TestPolicyHidesTools(t *testing.T) {
	var trace hosttest.Trace
	p := policyFunc{visible: func(f *host.ToolFacts) (host.PolicyDecision, error) {
		switch f.Name {
		case "secret":
			return host.PolicyDecision{Rule: "no-secrets"}, nil
		case "broken":
			return host.PolicyDecision{Allow: true}, errors.New("cannot tell")
		}
		return host.PolicyDecision{Allow: true}, nil
	}}
	tools := []host.RawTool{hosttest.Echo("echo"), hosttest.Echo("secret"), hosttest.Echo("broken")}
	r := setup(t, host.Options{Tools: tools, Policy: p, Trace: &trace})
	wantValue(t, exec(t, r, `
		const ids = ALL_TOOLS.map((x) => x.id);
		const call = await tools.call("cloister:core:secret", {}).catch((e) => e.code);
		return [ids, typeof tools.secret, await tools.describe("cloister:core:secret").catch((e) => e.code), call];`),
		`[["cloister:core:echo"],"undefined","unknown_tool","unknown_tool"]`)
	if strings.Contains(r.Surface()[0].Description, "secret") {
		t.Error("a hidden tool is in the description")
	}
	if d := trace.Events("call.denied"); len(d) != 1 || d[0].Rule != "no-secrets" {
		t.Errorf("denials %+v", d)
	}
}

func TestPolicyMovesApproval(t *testing.T) {
	asked := 0
	tool := hosttest.Echo("careful")
	tool.Approval = host.ApprovalAsk
	need := host.ApprovalNever
	o := host.Options{Tools: []host.RawTool{tool, hosttest.Echo("easy")}}
	o.Policy = policyFunc{authorize: func(*host.PolicyCall) (host.PolicyDecision, error) {
		return host.PolicyDecision{Allow: true, Approval: need}, nil
	}}
	o.Approve = func(_ context.Context, c *host.ToolCall) (host.Decision, error) {
		asked++
		return host.Decision{Approved: true, Extent: host.ApproveSession}, nil
	}
	r := setup(t, o)
	exec(t, r, "await tools.careful(); await tools.easy()")
	if asked != 0 {
		t.Errorf("asked %d times although the policy says never", asked)
	}
	need = host.ApprovalAsk
	exec(t, r, "await tools.easy(); await tools.easy()")
	if asked != 1 {
		t.Errorf("asked %d times, not once for the session", asked)
	}
	// "always" is asked for, whatever was answered before; so is a word that nobody knows.
	for _, need = range []host.Approval{host.ApprovalAlways, "sometimes"} {
		asked = 0
		exec(t, r, "await tools.easy(); await tools.easy()")
		if asked != 2 {
			t.Errorf("%s: asked %d times, not twice", need, asked)
		}
	}
}

// approvals sets up a tool that needs approval and an approver that answers from a list.
func approvals(t *testing.T, answers ...host.Decision) (*host.Host, *hosttest.Log, func() int) {
	t.Helper()
	log := &hosttest.Log{}
	tool := log.Tool(hosttest.Echo("careful"))
	tool.Approval = host.ApprovalAsk
	other := log.Tool(hosttest.Echo("other"))
	other.Approval = host.ApprovalAsk
	var mu sync.Mutex
	asked := 0
	h := newHost(t, host.Options{Tools: []host.RawTool{tool, other}, Approve: func(context.Context, *host.ToolCall) (host.Decision, error) {
		mu.Lock()
		defer mu.Unlock()
		asked++
		if asked > len(answers) {
			return host.Decision{Reason: "no more"}, nil
		}
		return answers[asked-1], nil
	}})
	return h, log, func() int { mu.Lock(); defer mu.Unlock(); return asked }
}

func TestApprovalForTheRun(t *testing.T) {
	h, log, asked := approvals(t, host.Decision{Approved: true, Extent: host.ApproveRun})
	r := newRun(t, h, host.RunOptions{})
	wantValue(t, exec(t, r, "for (let i = 0; i < 3; i++) await tools.careful({ i }); return await tools.other().catch((e) => e.code)"), `"approval_denied"`)
	if asked() != 2 || len(log.Calls()) != 3 {
		t.Errorf("asked %d times, %d calls", asked(), len(log.Calls()))
	}
	if x := catch(t, r, "tools.careful({})"); x.Code != "approval_denied" {
		t.Errorf("the answer outlived its run: %+v", x)
	}
}

func TestApprovalForTheSession(t *testing.T) {
	h, _, asked := approvals(t, host.Decision{Approved: true, Extent: host.ApproveSession})
	r := newRun(t, h, host.RunOptions{})
	exec(t, r, "await tools.careful()")
	later := scope
	later.AgentRunID = "another-run"
	exec(t, newRun(t, h, later), "await tools.careful()")
	if asked() != 1 {
		t.Errorf("asked %d times in one session", asked())
	}
	// Nothing of it reaches another agent, session, sender or channel.
	for i, change := range []func(*host.RunOptions){
		func(o *host.RunOptions) { o.AgentID = "other" }, func(o *host.RunOptions) { o.SessionID = "other" },
		func(o *host.RunOptions) { o.Sender = "other" }, func(o *host.RunOptions) { o.Channel = "other" },
	} {
		o := scope
		change(&o)
		if x := catch(t, newRun(t, h, o), "tools.careful({})"); x.Code != "approval_denied" {
			t.Errorf("%d: the answer reached another scope: %+v", i, x)
		}
	}
	h.EndSession("agent", "session")
	if x := catch(t, r, "tools.careful({})"); x.Code != "approval_denied" {
		t.Errorf("the answer outlived its session: %+v", x)
	}
}

// TestApprovalDiesWithTheTool: an answer is for what the tool said of itself when it
// was given.
func TestApprovalDiesWithTheTool(t *testing.T) {
	asked := 0
	s := trackerServer(&memoryServer{})
	h := newHost(t, host.Options{MCP: []host.MCPServer{s}, Approve: func(context.Context, *host.ToolCall) (host.Decision, error) {
		asked++
		return host.Decision{Approved: true, Extent: host.ApproveSession}, nil
	}})
	const code = "await MCP.issueTracker.deleteAll(); await MCP.issueTracker.deleteAll()"
	exec(t, newRun(t, h, host.RunOptions{}), code)
	s.Tools = slices.Clone(s.Tools)
	s.Tools[2].Description = "Deletes everything, and the backups."
	if err := h.SetMCP(t.Context(), []host.MCPServer{s}); err != nil {
		t.Fatal(err)
	}
	exec(t, newRun(t, h, host.RunOptions{}), code)
	if asked != 2 {
		t.Errorf("asked %d times, not once for each definition", asked)
	}
}

func TestApprovalEnvelope(t *testing.T) {
	h, log, asked := approvals(t,
		host.Decision{Approved: true, Envelope: &host.Envelope{Calls: 3, Fixed: json.RawMessage(`{"to":"a@example.com","opts":{"x":1,"y":2}}`)}})
	r := newRun(t, h, host.RunOptions{})
	wantValue(t, exec(t, r, `
		const send = (to, n) => tools.careful({ n, to, opts: { y: 2, x: 1.0 } }).then(() => "sent", (e) => e.code);
		return [await send("a@example.com", 1), await send("b@example.com", 2), await send("a@example.com", 3),
			await send("a@example.com", 4), await send("a@example.com", 5)];`),
		`["sent","approval_denied","sent","sent","approval_denied"]`)
	if asked() != 3 || len(log.Calls()) != 3 {
		t.Errorf("asked %d times, %d calls", asked(), len(log.Calls()))
	}
	if x := catch(t, r, `tools.careful({ to: "a@example.com", opts: { x: 1, y: 2 } })`); x.Code != "approval_denied" {
		t.Errorf("the envelope outlived its run: %+v", x)
	}
}

// TestApprovalEnvelopeRace: however many calls are open at once, no more pass than
// the envelope is for.
func TestApprovalEnvelopeRace(t *testing.T) {
	h, log, _ := approvals(t, host.Decision{Approved: true, Envelope: &host.Envelope{Calls: 5}})
	r := newRun(t, h, host.RunOptions{})
	res := exec(t, r, `
		await tools.careful({ a: 1 });
		const all = await Promise.allSettled(Array.from({ length: 40 }, () => tools.careful({ a: 1 })));
		return all.filter((x) => x.status === "fulfilled").length;`)
	wantValue(t, res, `4`)
	if n := len(log.Calls()); n != 5 {
		t.Errorf("%d calls passed", n)
	}
}

// TestBadAnswersApproveNothing: an answer that makes no sense is a refusal.
func TestBadAnswersApproveNothing(t *testing.T) {
	for name, d := range map[string]host.Decision{
		"extent":   {Approved: true, Extent: "forever"},
		"none":     {Approved: true, Envelope: &host.Envelope{}},
		"too many": {Approved: true, Envelope: &host.Envelope{Calls: host.MaxEnvelopeCalls + 1}},
		"list":     {Approved: true, Envelope: &host.Envelope{Calls: 2, Fixed: json.RawMessage(`[1]`)}},
		"null":     {Approved: true, Envelope: &host.Envelope{Calls: 2, Fixed: json.RawMessage(`null`)}},
		"twice":    {Approved: true, Envelope: &host.Envelope{Calls: 2, Fixed: json.RawMessage(`{"a":1,"a":2}`)}},
		"other":    {Approved: true, Envelope: &host.Envelope{Calls: 2, Fixed: json.RawMessage(`{"a":2}`)}},
	} {
		h, log, _ := approvals(t, d)
		if x := catch(t, newRun(t, h, host.RunOptions{}), "tools.careful({ a: 1 })"); x.Code != "approval_failed" || len(log.Calls()) != 0 {
			t.Errorf("%s: %+v", name, x)
		}
	}
}

func TestPanickingApproverApprovesNothing(t *testing.T) {
	tool := hosttest.Echo("careful")
	tool.Approval = host.ApprovalAsk
	r := setup(t, host.Options{Tools: []host.RawTool{tool}, Approve: func(context.Context, *host.ToolCall) (host.Decision, error) { panic("no") }})
	if x := catch(t, r, "tools.careful({})"); x.Code != "approval_failed" {
		t.Errorf("%+v", x)
	}
}

// TestApprovalQueue: questions wait outside; one answer for the run settles the other
// questions about the same tool.
func TestApprovalQueue(t *testing.T) {
	var trace hosttest.Trace
	q := host.NewApprovalQueue()
	tool := hosttest.Echo("careful")
	tool.Approval = host.ApprovalAsk
	other := hosttest.Echo("other")
	other.Approval = host.ApprovalAsk
	r := setup(t, host.Options{Tools: []host.RawTool{tool, other}, Approve: q.Approve, Trace: &trace})
	res := exec(t, r, `return (await Promise.all([1, 2, 3].map((n) => tools.careful({ n })).concat(tools.other({}).catch((e) => e.code)))).length`)
	wantWaiting(t, res, guestabi.WaitApproval)
	eventually(t, "four questions", func() bool { return len(q.Pending()) == 4 })
	var careful, rest string
	for _, p := range q.Pending() {
		if p.Call.Name == "careful" {
			careful = p.ID
		} else {
			rest = p.ID
		}
		if p.Call.Scope.SessionID != "session" || p.Call.CellID != res.CellID {
			t.Errorf("question %+v", p.Call)
		}
	}
	changed := q.Changed()
	if err := q.Decide(careful, host.Decision{Approved: true, Extent: host.ApproveRun, By: "the operator"}); err != nil {
		t.Fatal(err)
	}
	<-changed
	eventually(t, "one question", func() bool { return len(q.Pending()) == 1 })
	if err := q.Decide(careful, host.Decision{}); !errors.Is(err, host.ErrUnknownApproval) {
		t.Errorf("answered twice: %v", err)
	}
	if err := q.Decide(rest, host.Decision{Reason: "no"}); err != nil {
		t.Fatal(err)
	}
	wantValue(t, wait(t, r, res.CellID), `4`)
	by := map[string]int{}
	for _, e := range trace.Events("approval.decided") {
		by[e.Status+" "+e.By]++
	}
	if by["approved the operator"] != 1 || by["approved grant"] != 2 || by["denied "] != 1 || len(trace.Events("approval.asked")) != 4 {
		t.Errorf("decided %v", by)
	}
}

// TestApprovalSurvivesHours: a run that waits for a person is kept long after others
// have expired, and expires as others do once the person has answered.
func TestApprovalSurvivesHours(t *testing.T) {
	var clock struct {
		sync.Mutex
		now time.Time
	}
	clock.now = time.Unix(1_800_000_000, 0)
	advance := func(d time.Duration) { clock.Lock(); clock.now = clock.now.Add(d); clock.Unlock() }
	q := host.NewApprovalQueue()
	tool := hosttest.Echo("careful")
	tool.Approval = host.ApprovalAsk
	r := setup(t, host.Options{
		Tools: []host.RawTool{tool}, Approve: q.Approve,
		Now: func() time.Time { clock.Lock(); defer clock.Unlock(); return clock.now },
	})
	res := exec(t, r, `return await tools.careful({ n: 1 })`)
	wantWaiting(t, res, guestabi.WaitApproval)
	advance(20 * time.Hour)
	res = waitInput(t, r, host.WaitInput{CellID: res.CellID, TimeoutMs: 100})
	wantWaiting(t, res, guestabi.WaitApproval)
	advance(20 * time.Hour)
	if err := q.Decide(q.Pending()[0].ID, host.Decision{Approved: true}); err != nil {
		t.Fatal(err)
	}
	wantValue(t, wait(t, r, res.CellID), `{"n":1}`)

	res = exec(t, r, `return await tools.careful({ n: 2 })`)
	wantWaiting(t, res, guestabi.WaitApproval)
	advance(25 * time.Hour)
	wantFailed(t, wait(t, r, res.CellID), guestabi.ReasonSnapshotExpired)
}

// TestApprovalTimeIsNotTheCells: a deadline that passes while a person thinks costs
// the cell nothing.
func TestApprovalTimeIsNotTheCells(t *testing.T) {
	q := host.NewApprovalQueue()
	tool := hosttest.Echo("careful")
	tool.Approval = host.ApprovalAsk
	tool.Timeout = 100 * time.Millisecond
	h := newHost(t, host.Options{Tools: []host.RawTool{tool}, Approve: q.Approve, CodeMode: host.CodeModeConfig{TimeoutMs: 300}})
	r := newRun(t, h, host.RunOptions{})
	warm(t, r)
	res := exec(t, r, `return await tools.careful({ n: 1 })`)
	wantWaiting(t, res, guestabi.WaitApproval)
	for range 4 { // more than the cell's 300 ms and the tool's 100
		res = waitInput(t, r, host.WaitInput{CellID: res.CellID, TimeoutMs: 100})
		wantWaiting(t, res, guestabi.WaitApproval)
	}
	if err := q.Decide(q.Pending()[0].ID, host.Decision{Approved: true}); err != nil {
		t.Fatal(err)
	}
	wantValue(t, wait(t, r, res.CellID), `{"n":1}`)
}

// TestClientCallsPassThePolicy: a client tool is the caller's, and still goes through
// policy and approval before the caller sees the call.
func TestClientCallsPassThePolicy(t *testing.T) {
	q := host.NewApprovalQueue()
	o := host.Options{Approve: q.Approve, Policy: policyFunc{authorize: func(c *host.PolicyCall) (host.PolicyDecision, error) {
		switch string(c.Input) {
		case `{"path":"denied"}`:
			return host.PolicyDecision{Rule: "not this one"}, nil
		case `{"path":"asked"}`:
			return host.PolicyDecision{Allow: true, Approval: host.ApprovalAsk}, nil
		}
		return host.PolicyDecision{Allow: true}, nil
	}}}
	h := newHost(t, o)
	r := newRun(t, h, host.RunOptions{ClientTools: []host.ClientTool{{Name: "select_file"}}})
	if x := catch(t, r, `tools.select_file({ path: "denied" })`); x.Code != "policy_denied" {
		t.Errorf("%+v", x)
	}
	res := exec(t, r, `return await tools.select_file({ path: "asked" })`)
	wantWaiting(t, res, guestabi.WaitApproval)
	if p := res.Pending[0]; p.Method != "call" || p.Input != nil {
		t.Errorf("the caller sees the call before it is approved: %+v", p)
	}
	if err := r.Resolve(res.Pending[0].ID, json.RawMessage(`1`)); !errors.Is(err, host.ErrUnknownCall) {
		t.Errorf("resolved before it was approved: %v", err)
	}
	if err := q.Decide(q.Pending()[0].ID, host.Decision{Approved: true}); err != nil {
		t.Fatal(err)
	}
	res = wait(t, r, res.CellID)
	wantWaiting(t, res, guestabi.WaitPendingTools)
	if p := res.Pending[0]; p.Method != "client" || string(p.Input) != `{"path":"asked"}` {
		t.Errorf("pending %+v", p)
	}
	if err := r.Resolve(res.Pending[0].ID, json.RawMessage(`"a.txt"`)); err != nil {
		t.Fatal(err)
	}
	wantValue(t, wait(t, r, res.CellID), `"a.txt"`)
	res = exec(t, r, `return await tools.select_file({ path: "asked" }).catch((e) => e.code)`)
	wantWaiting(t, res, guestabi.WaitApproval)
	if err := q.Decide(q.Pending()[0].ID, host.Decision{}); err != nil {
		t.Fatal(err)
	}
	wantValue(t, wait(t, r, res.CellID), `"approval_denied"`)
}

// TestAbortEndsACell: one that is suspended for an approval does not wait out its day.
func TestAbortEndsACell(t *testing.T) {
	q := host.NewApprovalQueue()
	tool := hosttest.Echo("careful")
	tool.Approval = host.ApprovalAsk
	h := newHost(t, host.Options{Tools: []host.RawTool{tool}, Approve: q.Approve})
	r := newRun(t, h, host.RunOptions{})
	res := exec(t, r, `return await tools.careful({ n: 1 })`)
	wantWaiting(t, res, guestabi.WaitApproval)
	foreign := scope
	foreign.SessionID = "another"
	if err := newRun(t, h, foreign).Abort(res.CellID); !errors.Is(err, host.ErrUnknownRun) {
		t.Errorf("another session: %v", err)
	}
	if err := r.Abort(res.CellID); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the question is withdrawn", func() bool { return len(q.Pending()) == 0 })
	if !r.Idle() {
		t.Error("the run is not idle")
	}
	wantFailed(t, wait(t, r, res.CellID), guestabi.ReasonSnapshotExpired)
	if err := r.Abort(res.CellID); !errors.Is(err, host.ErrUnknownRun) {
		t.Errorf("aborted twice: %v", err)
	}
	running := background(t.Context(), r, `await tools.careful({ n: 2 }).catch(() => 0); for (;;);`)
	eventually(t, "a question", func() bool { return len(q.Pending()) == 1 })
	if err := r.Abort(q.Pending()[0].Call.CellID); err != nil {
		t.Fatal(err)
	}
	<-running
	if !r.Idle() {
		t.Error("the run is not idle")
	}
}

func TestSuspendedCellsOfOneSender(t *testing.T) {
	h := newHost(t, host.Options{MaxSuspendedPerSender: 2})
	r := newRun(t, h, host.RunOptions{})
	for range 2 {
		wantWaiting(t, exec(t, r, `await yield_control()`), guestabi.WaitYield)
	}
	wantFailed(t, exec(t, r, `await yield_control()`), guestabi.ReasonSnapshotLimitExceeded)
	other := scope
	other.Sender = "another"
	wantWaiting(t, exec(t, newRun(t, h, other), `await yield_control()`), guestabi.WaitYield)
}

// TestRunsShareWhatTheyMaySee: runs share a catalog only where nothing tells them apart.
func TestRunsShareWhatTheyMaySee(t *testing.T) {
	hide := ""
	h := newHost(t, host.Options{
		Tools: []host.RawTool{hosttest.Echo("a"), hosttest.Echo("b"), hosttest.Echo("c")}, Sandbox: host.SandboxPolicy{Deny: []string{"c"}},
		Policy: policyFunc{visible: func(f *host.ToolFacts) (host.PolicyDecision, error) {
			return host.PolicyDecision{Allow: f.Name != hide, Rule: "hides " + hide}, nil
		}},
	})
	names := func(o host.RunOptions) string {
		var out []string
		for _, e := range newRun(t, h, o).Catalog() {
			out = append(out, e.Name)
		}
		return strings.Join(out, "")
	}
	client := host.RunOptions{ClientTools: []host.ClientTool{{Name: "d"}}}
	for range 2 { // the second time all of them are known
		for _, test := range []struct {
			hide string
			o    host.RunOptions
			want string
		}{
			{"", host.RunOptions{}, "abc"}, {"", host.RunOptions{Sandboxed: true}, "ab"}, {"", host.RunOptions{DisableTools: true}, ""},
			{"", host.RunOptions{Allow: []string{}}, ""}, {"", host.RunOptions{Allow: []string{"a"}}, "a"}, {"", host.RunOptions{Deny: []string{"a"}}, "bc"},
			{"a", host.RunOptions{}, "bc"}, {"b", host.RunOptions{}, "ac"}, {"b", host.RunOptions{Sandboxed: true}, "a"}, {"", client, "abcd"}, {"", host.RunOptions{}, "abc"},
		} {
			hide = test.hide
			if got := names(test.o); got != test.want {
				t.Errorf("%q hidden, %+v: sees %q, not %q", test.hide, test.o, got, test.want)
			}
		}
	}
}

// TestHooksDoNotDecide: a hook sees the call and may change its input; who asks, and
// whether a person is asked, is not taken from what it leaves behind.
func TestHooksDoNotDecide(t *testing.T) {
	asked := 0
	tool := hosttest.Echo("careful")
	tool.Approval = host.ApprovalAsk
	o := host.Options{Tools: []host.RawTool{tool}}
	o.Hooks.BeforeToolCall = func(_ context.Context, c *host.ToolCall) error {
		c.Approval, c.Scope = host.ApprovalNever, host.Scope{AgentID: "root"}
		return nil
	}
	o.Policy = policyFunc{authorize: func(c *host.PolicyCall) (host.PolicyDecision, error) {
		return host.PolicyDecision{Allow: c.Scope.AgentID == "agent"}, nil
	}}
	o.Approve = func(context.Context, *host.ToolCall) (host.Decision, error) {
		asked++
		return host.Decision{Approved: true}, nil
	}
	wantValue(t, exec(t, setup(t, o), `return await tools.careful({ n: 1 })`), `{"n":1}`)
	if asked != 1 {
		t.Errorf("asked %d times", asked)
	}
}
