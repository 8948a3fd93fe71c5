package host_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/host/hosttest"
)

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
	wantValue(t, wait(t, r, res.CellID), `"early"`)
	res = exec(t, r, "tools.slow({}); return 'early'")
	wantWaiting(t, res, guestabi.WaitPendingTools)
	gate.Fail(errors.New("late failure"))
	wantFailed(t, wait(t, r, res.CellID), guestabi.ReasonNestedToolFailed)
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

// TestInputsThatWait: what queued calls hold is bounded, however often the guest's
// own memory is free again for the next input.
func TestInputsThatWait(t *testing.T) {
	gate := hosttest.NewGate("slow")
	size, budget := 12<<20, int64(0)
	if testing.Short() { // to write 12 MiB takes the guest most of a second
		size, budget = 1<<20, 6<<20
	}
	r := setup(t, host.Options{Tools: []host.RawTool{gate.Tool()}, MaxHeldBytes: budget, CodeMode: host.CodeModeConfig{MaxPendingToolCalls: 1, TimeoutMs: 60_000}})
	res := exec(t, r, `
		let refused = 0, message = '';
		for (let i = 0; i < 12; i++) {
			tools.slow({ s: 'x'.repeat(`+fmt.Sprint(size)+`) }).catch((e) => { if (e.code === 'too_many_pending_tool_calls') { refused++; message = e.message } });
			await tools.search('x');
		}
		text(message);
		await yield_control();
		return refused;`)
	wantWaiting(t, res, guestabi.WaitYield)
	if n := len(res.Pending); n == 0 || n > 6 {
		t.Errorf("%d calls with %d bytes each are open", n, size)
	}
	if got := texts(res); len(got) != 1 || !contains(got[0], "bytes") {
		t.Errorf("the refusal says %q", got)
	}
	r.Close()
	if testing.Short() {
		return // the next are larger still
	}
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
	calls := 100
	if testing.Short() {
		calls = 66 // more than may have begun
	}
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
	wantValue(t, wait(t, r, res.CellID), fmt.Sprint(calls*size))
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
	wantValue(t, wait(t, r, res.CellID), "1")
	for _, e := range trace.Events() {
		if len(e.Tool) > 400 {
			t.Errorf("%s with a tool of %d bytes", e.Event, len(e.Tool))
		}
	}
}
