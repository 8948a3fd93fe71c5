package host_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/host/hosttest"
)

// The faults that these tests showed: what all cells together make the host keep had no bound, nor had the calls of one.

// TestOneBudget: open calls of many suspended cells hold no more than the host's budget together, and give it back.
func TestOneBudget(t *testing.T) {
	gate := hosttest.NewGate("slow")
	h := newHost(t, host.Options{Tools: []host.RawTool{gate.Tool()}, MaxHeldBytes: 8 << 20})
	r := newRun(t, h, host.RunOptions{})
	const code = `
		let refused = 0;
		const all = Array.from({ length: 3 }, () => tools.slow({ s: 'x'.repeat(1 << 20) }).catch((e) => { if (e.code === 'too_many_pending_tool_calls') refused++ }));
		await yield_control();
		await Promise.all(all);
		return refused;`
	var cells []string
	for range 6 { // which would hold 18 MiB
		res := exec(t, r, code)
		wantWaiting(t, res, guestabi.WaitYield)
		cells = append(cells, res.CellID)
	}
	open := 0
	for range cells {
		open = gate.Stats().Open
	}
	eventually(t, "the calls that fit begin", func() bool { open = gate.Stats().Open; return open >= 7 })
	if open > 8 {
		t.Errorf("%d calls of 1 MiB are open under a budget of 8 MiB", open)
	}
	for _, id := range cells {
		if err := r.Abort(id); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the calls end", func() bool { return gate.Stats().Open == 0 })
	res := exec(t, r, code)
	if len(res.Pending) != 3 {
		t.Errorf("%d calls fit after all was given back", len(res.Pending))
	}
}

// TestBudgetOfApprovals: inputs that an approver holds count as well.
func TestBudgetOfApprovals(t *testing.T) {
	careful := hosttest.Echo("careful")
	careful.Approval = host.ApprovalAsk
	q := host.NewApprovalQueue()
	r := newRun(t, newHost(t, host.Options{Tools: []host.RawTool{careful}, Approve: q.Approve, MaxHeldBytes: 5 << 20}), host.RunOptions{})
	res := exec(t, r, "return (await Promise.allSettled(Array.from({ length: 4 }, () => tools.careful({ s: 'x'.repeat(1 << 20) })))).map((x) => x.reason?.code)")
	wantWaiting(t, res, guestabi.WaitApproval)
	if n := len(q.Pending()); n == 0 || n > 2 {
		t.Errorf("%d approvals wait, each of which holds 2 MiB of 5", n)
	}
}

// TestBudgetOfSnapshots: state that does not fit is a clear end of its cell, not of others.
func TestBudgetOfSnapshots(t *testing.T) {
	h := newHost(t, host.Options{MaxHeldBytes: 1 << 20, CodeMode: host.CodeModeConfig{TimeoutMs: 60_000, MaxSnapshotBytes: 1 << 20}})
	r := newRun(t, h, host.RunOptions{})
	// Random numbers do not compress: some 700 KB each.
	const code = "const a = new Float64Array(100_000).map(() => Math.random()); await yield_control(); return a.length"
	first := exec(t, r, code)
	wantWaiting(t, first, guestabi.WaitYield)
	second := exec(t, r, code)
	if second.Status == guestabi.StatusWaiting { // parked; the next one makes it be saved
		third := exec(t, r, code)
		second, _ = waitToEnd(t, r, third, 0)
	}
	if second.Status == guestabi.StatusFailed && second.Reason != guestabi.ReasonSnapshotLimitExceeded {
		t.Errorf("%s (%s)", second.Error, second.Reason)
	}
	wantValue(t, wait(t, r, first.CellID), "100000")
}

// TestCallsAreCounted: one cell makes so many calls, searches and descriptions, and the trace of it stays small.
func TestCallsAreCounted(t *testing.T) {
	var trace hosttest.Trace
	var log hosttest.Log
	r := setup(t, host.Options{Tools: []host.RawTool{log.Tool(hosttest.Echo("echo"))}, Trace: &trace, MaxCalls: 100, CodeMode: host.CodeModeConfig{TimeoutMs: 60_000}})
	trace.Reset()
	res := exec(t, r, `
		const codes = {};
		const count = (e) => { codes[e.code] = (codes[e.code] ?? 0) + 1 };
		for (let i = 0; i < 50; i++) { await tools.echo({}).catch(count); await tools.search('x').catch(count); await tools.describe('y' + i).catch(count) }
		return codes;`)
	wantValue(t, res, `{"unknown_tool":33,"too_many_pending_tool_calls":50}`)
	if n := len(log.Tools()); n != 34 {
		t.Errorf("%d calls reached the tool", n)
	}
	refused := trace.Events(host.EventCallsMore)
	if len(refused) != 1 || refused[0].Count != 50 {
		t.Errorf("refusals in the trace: %+v", refused)
	}
	trace.Reset()
	wantFailed(t, exec(t, r, "for (;;) await tools.echo({}).catch(() => 0)"), guestabi.ReasonTooManyPendingToolCalls)
	if n := len(trace.Events()); n > 210 {
		t.Errorf("%d events of an endless loop of calls", n)
	}
	wantValue(t, exec(t, r, "return (await tools.echo({ a: 1 })).a"), "1")
}

// TestRunningCells: one more than may run waits for its place, and is told if there is none in time.
func TestRunningCells(t *testing.T) {
	gate := hosttest.NewGate("slow")
	h := newHost(t, host.Options{Tools: []host.RawTool{gate.Tool()}, MaxRunningCells: 2, CodeMode: host.CodeModeConfig{TimeoutMs: 60_000}})
	r := newRun(t, h, host.RunOptions{})
	warm(t, r)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	a, b := background(ctx, r, "return await tools.slow({})"), background(ctx, r, "return await tools.slow({})")
	<-gate.Started()
	<-gate.Started()
	short, stop := context.WithCancelCause(t.Context())
	c := background(short, r, "return 1")
	why := errors.New("the caller has enough")
	stop(why)
	if got := <-c; !errors.Is(got.err, why) {
		t.Errorf("a cell without a place whose caller goes: %v, %v", got.Result, got.err)
	}
	d := background(t.Context(), r, "return 'at last'")
	gate.Release("1")
	gate.Release("2")
	for _, x := range []<-chan result{a, b, d} {
		got := <-x
		if got.err != nil || got.Status != guestabi.StatusCompleted {
			t.Errorf("%+v, %v", got.Result, got.err)
		}
	}
}

// TestLargeStateStops: state over the bound is refused where it is suspended, by its size and not by chance.
func TestLargeStateStops(t *testing.T) {
	h := newHost(t, host.Options{CodeMode: host.CodeModeConfig{TimeoutMs: 60_000, MaxSnapshotBytes: 1 << 20}})
	r := newRun(t, h, host.RunOptions{})
	wantFailed(t, exec(t, r, "const a = new Float64Array(1_000_000).map(() => Math.random()); await yield_control(); return a.length"), guestabi.ReasonSnapshotLimitExceeded)
	res := exec(t, r, "const a = new Uint8Array(30 << 20).fill(7); await yield_control(); return a.length")
	wantWaiting(t, res, guestabi.WaitYield)
	if s := res.Telemetry.Snapshot; s == nil || s.Bytes > 1<<20 {
		t.Errorf("snapshot %+v", s)
	}
	wantValue(t, wait(t, r, res.CellID), fmt.Sprint(30<<20))
}

// TestParkedCellsAreSaved: machines of suspended cells are kept within a bound; the others are saved, and all go on.
func TestParkedCellsAreSaved(t *testing.T) {
	h := newHost(t, host.Options{MaxHeldBytes: 16 << 20, CodeMode: host.CodeModeConfig{TimeoutMs: 60_000, MaxSuspendedRuns: 100}})
	r := newRun(t, h, host.RunOptions{})
	var cells []string
	for i := range 40 { // some 400 KB each, of the 4 MiB that may be parked
		res := exec(t, r, fmt.Sprintf("const a = '%s'.repeat(20000) + %d; await yield_control(); return a.slice(-2)", strings.Repeat("y", 20), 10+i))
		wantWaiting(t, res, guestabi.WaitYield)
		if res.Telemetry.Snapshot != nil {
			t.Fatal("a small cell was saved at once")
		}
		cells = append(cells, res.CellID)
	}
	eventually(t, "the parked machines fit", func() bool { return h.ParkedBytes() <= 4<<20 })
	if h.ParkedBytes() == 0 {
		t.Error("none is parked")
	}
	for i, id := range cells {
		wantValue(t, wait(t, r, id), fmt.Sprintf(`"%d"`, 10+i))
	}
	if h.Suspended() != 0 || h.HeldBytes() != 0 {
		t.Errorf("%d cells and %d bytes are left", h.Suspended(), h.HeldBytes())
	}
}

// TestResultsThatDoNotFit: a result for which the host has no room is a failure of its call.
func TestResultsThatDoNotFit(t *testing.T) {
	big := hosttest.Static("big", `"`+strings.Repeat("x", 1<<20)+`"`)
	h := newHost(t, host.Options{Tools: []host.RawTool{big}, MaxHeldBytes: 1 << 19})
	r := newRun(t, h, host.RunOptions{})
	if x := catch(t, r, "tools.big({})"); x.Code != "too_many_pending_tool_calls" {
		t.Errorf("%+v", x)
	}
	if h.HeldBytes() != 0 {
		t.Errorf("%d bytes are left", h.HeldBytes())
	}
}
