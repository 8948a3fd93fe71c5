package host_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/host/hosttest"
)

func contains(s, part string) bool { return strings.Contains(s, part) }

var epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const yieldOnce = "const kept = { n: 41 }; await yield_control('look'); return kept.n + 1"

func TestWaitScope(t *testing.T) {
	h := newHost(t, host.Options{})
	full := host.RunOptions{AgentID: "a", AgentRunID: "run", SessionID: "session"}
	owner := newRun(t, h, full)
	warm(t, owner)
	res := exec(t, owner, yieldOnce)
	wantWaiting(t, res, guestabi.WaitYield)
	for name, o := range map[string]host.RunOptions{
		"other session":      {AgentID: "a", AgentRunID: "run", SessionID: "session2"},
		"other run":          {AgentID: "a", AgentRunID: "run2", SessionID: "session"},
		"no session":         {AgentID: "a", AgentRunID: "run"},
		"no run":             {AgentID: "a", SessionID: "session"},
		"swapped":            {AgentID: "a", AgentRunID: "session", SessionID: "run"},
		"session key only":   {AgentID: "a", SessionKey: "session", Sender: "run", AgentRunID: "x"},
		"other letter case":  {AgentID: "a", AgentRunID: "Run", SessionID: "session"},
		"with a white space": {AgentID: "a", AgentRunID: "run ", SessionID: "session"},
	} {
		r, err := h.NewRun(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		got := wait(t, r, res.RunID)
		wantFailed(t, got, guestabi.ReasonInvalidInput)
		if len(got.Output) != 0 || got.Telemetry.CallCount != 0 {
			t.Errorf("%s: the refusal tells of the run: %+v", name, got)
		}
	}
	if h.Suspended() != 1 {
		t.Fatalf("refused waits left %d suspended runs", h.Suspended())
	}
	// A second Run object of the same agent run and session may go on.
	wantValue(t, wait(t, newRun(t, h, full), res.RunID), "42")
}

func TestWaitMissingScopeNeverMatches(t *testing.T) {
	h := newHost(t, host.Options{})
	for _, o := range []host.RunOptions{{}, {AgentID: "a"}, {AgentRunID: "r"}, {SessionID: "s"}} {
		r, err := h.NewRun(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		warm(t, r)
		res := exec(t, r, yieldOnce)
		wantWaiting(t, res, guestabi.WaitYield)
		wantFailed(t, wait(t, r, res.RunID), guestabi.ReasonInvalidInput)
	}
}

func TestWaitUnknown(t *testing.T) {
	r := setup(t, host.Options{})
	ids := []string{"", "run_", "x", "run_ffffffffffffffffffffffffffffffff", strings.Repeat("a", 1<<20), "../../etc/passwd", "\x00", "run_\xff", "undefined", "null"}
	for _, id := range ids {
		res := wait(t, r, id)
		if res.Status != guestabi.StatusFailed || res.Code != guestabi.CodeInvalidInput || len(res.Error) > 500 {
			t.Errorf("%.20q: %s %.200s (%s)", id, res.Status, res.Error, res.Code)
		}
	}
}

func TestExpiry(t *testing.T) {
	clock := hosttest.NewClock(epoch)
	gate := hosttest.NewGate("slow")
	store := hosttest.NewStore()
	var trace hosttest.Trace
	h := newHost(t, host.Options{
		Now: clock.Now, Snapshots: store, Trace: &trace, Tools: []host.RawTool{gate.Tool()},
		CodeMode: host.CodeModeConfig{SnapshotTTLSeconds: 60, TimeoutMs: 10_000},
	})
	r := newRun(t, h, host.RunOptions{})
	warm(t, r)
	// A yield leaves the call of the tool open in the suspended run.
	res := exec(t, r, "const p = tools.slow({}); await yield_control(); return await p")
	wantWaiting(t, res, guestabi.WaitYield)
	<-gate.Started()

	clock.Advance(59 * time.Second)
	h.Sweep()
	if h.Suspended() != 1 || store.Len() != 1 {
		t.Fatalf("expired too early: %d runs, %d snapshots", h.Suspended(), store.Len())
	}
	clock.Advance(time.Second)
	wantFailed(t, wait(t, r, res.RunID), guestabi.ReasonSnapshotExpired)
	h.Sweep()
	if h.Suspended() != 0 || store.Len() != 0 || r.Cells() != 0 {
		t.Errorf("left after expiry: %d runs, %d snapshots, %d cells", h.Suspended(), store.Len(), r.Cells())
	}
	eventually(t, "the open call is cancelled", func() bool { return gate.Stats().Canceled == 1 })
	if got := trace.Events("expire"); len(got) != 1 || got[0].RunID != res.RunID {
		t.Errorf("expire events: %+v", got)
	}
	wantFailed(t, wait(t, r, res.RunID), guestabi.ReasonSnapshotExpired)
	wantValue(t, exec(t, r, "return 1"), "1")
}

// TestExpiryCountsFromTheLastWait: a run that is waited for does not age meanwhile.
func TestExpiryCountsFromTheLastWait(t *testing.T) {
	clock := hosttest.NewClock(epoch)
	r := setup(t, host.Options{Now: clock.Now, CodeMode: host.CodeModeConfig{SnapshotTTLSeconds: 60}})
	res := exec(t, r, "for (let i = 0; i < 3; i++) await yield_control(); return 'done'")
	for range 3 {
		wantWaiting(t, res, guestabi.WaitYield)
		clock.Advance(50 * time.Second)
		res = wait(t, r, res.RunID)
	}
	wantValue(t, res, `"done"`)
}

func TestWaitInFlight(t *testing.T) {
	claimed := make(chan struct{}, 1)
	sink := sinkFunc(func(e host.TraceEvent) {
		if e.Event == "wait.start" {
			claimed <- struct{}{}
		}
	})
	h := newHost(t, host.Options{Trace: sink})
	var call host.PendingToolCall
	r := newRun(t, h, host.RunOptions{
		ClientTools:  []host.ClientTool{{Name: "ask", Description: "Ask the user."}},
		OnClientCall: func(c host.PendingToolCall) { call = c },
	})
	warm(t, r)
	res := exec(t, r, "const p = tools.ask({ q: 1 }); await yield_control(); return await p")
	wantWaiting(t, res, guestabi.WaitYield)
	first := async(func() (*host.Result, error) {
		return r.Wait(context.Background(), host.WaitInput{RunID: res.RunID})
	})
	<-claimed
	// The first wait is in flight until the call below is settled, wherever it is.
	for range 20 {
		got := wait(t, r, res.RunID)
		if got.Status != guestabi.StatusFailed || got.Code != guestabi.CodeInvalidInput {
			t.Fatalf("a second wait: %s %s (%s)", got.Status, got.Error, got.Code)
		}
	}
	if err := r.Resolve(call.ID, json.RawMessage(`"yes"`)); err != nil {
		t.Fatal(err)
	}
	got := <-first
	if got.err != nil {
		t.Fatal(got.err)
	}
	wantValue(t, got.Result, `"yes"`)
}

func TestWaitCancelledByItsCaller(t *testing.T) {
	claimed := make(chan struct{}, 1)
	sink := sinkFunc(func(e host.TraceEvent) {
		if e.Event == "wait.start" {
			claimed <- struct{}{}
		}
	})
	gate := hosttest.NewGate("slow")
	r := setup(t, host.Options{Trace: sink, Tools: []host.RawTool{gate.Tool()}, CodeMode: host.CodeModeConfig{TimeoutMs: 1000}})
	res := exec(t, r, "return await tools.slow({})")
	wantWaiting(t, res, guestabi.WaitPendingTools)
	ctx, cancel := context.WithCancel(t.Context())
	c := async(func() (*host.Result, error) { return r.Wait(ctx, host.WaitInput{RunID: res.RunID}) })
	<-claimed
	cancel()
	got := <-c
	if got.Status == guestabi.StatusFailed && (got.Reason != guestabi.ReasonAborted || !errors.Is(got.err, context.Canceled)) {
		t.Errorf("a cancelled wait: %s (%s), %v", got.Error, got.Reason, got.err)
	}
	// The caller went away, the run did not.
	gate.Release(`"kept"`)
	wantValue(t, wait(t, r, res.RunID), `"kept"`)
}

func TestAbortedParent(t *testing.T) {
	t.Run("run closed while suspended", func(t *testing.T) {
		gate := hosttest.NewGate("slow")
		store := hosttest.NewStore()
		h := newHost(t, host.Options{Snapshots: store, Tools: []host.RawTool{gate.Tool()}})
		r := newRun(t, h, host.RunOptions{})
		warm(t, r)
		res := exec(t, r, "const p = tools.slow({}); await yield_control(); return await p")
		wantWaiting(t, res, guestabi.WaitYield)
		<-gate.Started()
		r.Close()
		for _, w := range []*host.Run{r, newRun(t, h, host.RunOptions{})} {
			if got := wait(t, w, res.RunID); got.Status != guestabi.StatusFailed || got.Code != guestabi.CodeInvalidInput && got.Code != guestabi.CodeAborted {
				t.Errorf("%s %s (%s)", got.Status, got.Error, got.Code)
			}
		}
		if h.Suspended() != 0 || store.Len() != 0 || r.Cells() != 0 {
			t.Errorf("left: %d runs, %d snapshots, %d cells", h.Suspended(), store.Len(), r.Cells())
		}
		eventually(t, "the open call is cancelled", func() bool { return gate.Stats().Canceled == 1 })
	})
	t.Run("context of the run ends while suspended", func(t *testing.T) {
		store := hosttest.NewStore()
		h := newHost(t, host.Options{Snapshots: store})
		ctx, cancel := context.WithCancel(t.Context())
		r, err := h.NewRun(ctx, scope)
		if err != nil {
			t.Fatal(err)
		}
		warm(t, r)
		res := exec(t, r, yieldOnce)
		wantWaiting(t, res, guestabi.WaitYield)
		cancel()
		eventually(t, "the run is dropped", func() bool { return h.Suspended() == 0 && store.Len() == 0 })
		if got := wait(t, r, res.RunID); got.Status != guestabi.StatusFailed {
			t.Errorf("wait: %s", got.Status)
		}
	})
	t.Run("run closed while a wait is in flight", func(t *testing.T) {
		gate := hosttest.NewGate("slow")
		claimed := make(chan struct{}, 1)
		sink := sinkFunc(func(e host.TraceEvent) {
			if e.Event == "wait.start" {
				claimed <- struct{}{}
			}
		})
		r := setup(t, host.Options{Trace: sink, Tools: []host.RawTool{gate.Tool()}, CodeMode: host.CodeModeConfig{TimeoutMs: 10_000}})
		res := exec(t, r, "const p = tools.slow({}); await yield_control(); return await p")
		wantWaiting(t, res, guestabi.WaitYield)
		c := async(func() (*host.Result, error) {
			return r.Wait(context.Background(), host.WaitInput{RunID: res.RunID})
		})
		<-claimed
		r.Close()
		got := <-c
		if got.err != nil {
			t.Fatal(got.err)
		}
		wantFailed(t, got.Result, guestabi.ReasonAborted)
	})
	t.Run("host closed while suspended", func(t *testing.T) {
		store := hosttest.NewStore()
		h := newHost(t, host.Options{Snapshots: store})
		r := newRun(t, h, host.RunOptions{})
		warm(t, r)
		res := exec(t, r, yieldOnce)
		wantWaiting(t, res, guestabi.WaitYield)
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}
		if got := wait(t, r, res.RunID); got.Status != guestabi.StatusFailed {
			t.Errorf("wait: %s", got.Status)
		}
		if store.Len() != 0 {
			t.Errorf("%d snapshots are left", store.Len())
		}
		if _, err := h.NewRun(t.Context(), scope); !errors.Is(err, host.ErrClosed) {
			t.Errorf("NewRun: %v", err)
		}
	})
}

func TestRestoreFailure(t *testing.T) {
	flip := func(at func(n int) int) func(string, []byte) []byte {
		return func(_ string, b []byte) []byte { b[at(len(b))] ^= 0x40; return b }
	}
	for name, f := range map[string]hosttest.Faults{
		"not found":       {Get: host.ErrSnapshotNotFound},
		"store down":      {Get: errors.New("connection refused to /var/run/store.sock")},
		"empty":           {Damage: func(string, []byte) []byte { return nil }},
		"half":            {Damage: func(_ string, b []byte) []byte { return b[:len(b)/2] }},
		"header only":     {Damage: func(_ string, b []byte) []byte { return b[:100] }},
		"text":            {Damage: func(string, []byte) []byte { return []byte(strings.Repeat("snapshot", 100)) }},
		"too large":       {Damage: func(_ string, b []byte) []byte { return append(b, make([]byte, 20<<20)...) }},
		"one byte more":   {Damage: func(_ string, b []byte) []byte { return append(b, 0) }},
		"flipped magic":   {Damage: flip(func(int) int { return 0 })},
		"flipped version": {Damage: flip(func(int) int { return 5 })},
		"flipped digest":  {Damage: flip(func(int) int { return 20 })},
		"flipped stack":   {Damage: flip(func(int) int { return 80 })},
		"flipped roots":   {Damage: flip(func(int) int { return 100 })},
		"flipped middle":  {Damage: flip(func(n int) int { return n / 2 })},
		"flipped sum":     {Damage: flip(func(n int) int { return n - 1 })},
	} {
		t.Run(name, func(t *testing.T) {
			store := hosttest.NewStore()
			h := newHost(t, host.Options{Snapshots: store})
			r := newRun(t, h, host.RunOptions{})
			warm(t, r)
			res := exec(t, r, yieldOnce)
			wantWaiting(t, res, guestabi.WaitYield)
			store.SetFaults(f)
			res = wait(t, r, res.RunID)
			wantFailed(t, res, guestabi.ReasonSnapshotRestoreFailed)
			if contains(res.Error, "/var") || contains(res.Error, "refused to") {
				t.Errorf("the error hands on the store's text: %s", res.Error)
			}
			store.SetFaults(hosttest.Faults{})
			if h.Suspended() != 0 || store.Len() != 0 || r.Cells() != 0 {
				t.Errorf("left: %d runs, %d snapshots, %d cells", h.Suspended(), store.Len(), r.Cells())
			}
			wantValue(t, exec(t, r, "return 1"), "1")
		})
	}
}

// TestRestoreOnlyWhatWasSaved: a store that mixes up names, or gives an older
// snapshot of the same run, must not show one run the memory of another, nor let
// a program live twice.
func TestRestoreOnlyWhatWasSaved(t *testing.T) {
	store := hosttest.NewStore()
	h := newHost(t, host.Options{Snapshots: store})
	victim := newRun(t, h, host.RunOptions{AgentRunID: "victim", SessionID: "v"})
	thief := newRun(t, h, host.RunOptions{AgentRunID: "thief", SessionID: "t"})
	warm(t, victim)
	secret := exec(t, victim, "const s = 'secret'; await yield_control(); return s")
	mine := exec(t, thief, "const s = 'mine'; await yield_control(); return s")
	stolen := store.Snapshot(secret.RunID)
	store.SetFaults(hosttest.Faults{Damage: func(string, []byte) []byte { return stolen }})
	wantFailed(t, wait(t, thief, mine.RunID), guestabi.ReasonSnapshotRestoreFailed)
	store.SetFaults(hosttest.Faults{})
	wantValue(t, wait(t, victim, secret.RunID), `"secret"`)

	res := exec(t, victim, "let n = 0; for (;;) { await yield_control(); n++; if (n === 2) return n }")
	old := store.Snapshot(res.RunID)
	res = wait(t, victim, res.RunID)
	wantWaiting(t, res, guestabi.WaitYield)
	store.SetFaults(hosttest.Faults{Damage: func(string, []byte) []byte { return old }})
	wantFailed(t, wait(t, victim, res.RunID), guestabi.ReasonSnapshotRestoreFailed)
}

func TestStoreThatCannotSave(t *testing.T) {
	store := hosttest.NewStore()
	h := newHost(t, host.Options{Snapshots: store, CodeMode: host.CodeModeConfig{MaxSuspendedRuns: 1}})
	r := newRun(t, h, host.RunOptions{})
	warm(t, r)
	store.SetFaults(hosttest.Faults{Put: errors.New("disk full")})
	for range 3 { // each gives its place back
		wantFailed(t, exec(t, r, yieldOnce), guestabi.ReasonInternalError)
	}
	store.SetFaults(hosttest.Faults{Delete: errors.New("read-only")})
	res := exec(t, r, yieldOnce)
	wantWaiting(t, res, guestabi.WaitYield)
	wantValue(t, wait(t, r, res.RunID), "42")
	if h.Suspended() != 0 || r.Cells() != 0 {
		t.Errorf("left: %d runs, %d cells", h.Suspended(), r.Cells())
	}
}

func TestSuspendedCap(t *testing.T) {
	store := hosttest.NewStore()
	h := newHost(t, host.Options{Snapshots: store, CodeMode: host.CodeModeConfig{MaxSuspendedRuns: 2}})
	a, b := newRun(t, h, host.RunOptions{}), newRun(t, h, host.RunOptions{AgentRunID: "b", SessionID: "b"})
	warm(t, a)
	first, second := exec(t, a, yieldOnce), exec(t, b, yieldOnce)
	wantWaiting(t, first, guestabi.WaitYield)
	wantWaiting(t, second, guestabi.WaitYield)
	third := exec(t, a, yieldOnce)
	wantFailed(t, third, guestabi.ReasonSnapshotLimitExceeded)
	if !contains(third.Error, "too many suspended") {
		t.Errorf("error %q", third.Error)
	}
	wantValue(t, exec(t, a, "return 'cells that do not suspend still run'"), `"cells that do not suspend still run"`)
	wantValue(t, wait(t, a, first.RunID), "42")
	third = exec(t, a, yieldOnce)
	wantWaiting(t, third, guestabi.WaitYield)
	b.Close()
	fourth := exec(t, a, yieldOnce)
	wantWaiting(t, fourth, guestabi.WaitYield)
	wantValue(t, wait(t, a, third.RunID), "42")
	wantValue(t, wait(t, a, fourth.RunID), "42")
	if h.Suspended() != 0 || store.Len() != 0 {
		t.Errorf("left: %d runs, %d snapshots", h.Suspended(), store.Len())
	}
}

func TestOutputIsCumulative(t *testing.T) {
	r := setup(t, host.Options{})
	res := exec(t, r, "for (let i = 0; i < 3; i++) { text('t' + i); json({ i }); console.warn('w', i); await yield_control() } return 'end'")
	want := []string{}
	for i := range 3 {
		want = append(want, fmt.Sprintf("t%d", i), fmt.Sprintf(`{"i":%d}`, i), fmt.Sprintf("w %d", i))
		wantWaiting(t, res, guestabi.WaitYield)
		if got := texts(res); !slices.Equal(got, want) {
			t.Errorf("output %q, want %q", got, want)
		}
		res = wait(t, r, res.RunID)
	}
	wantValue(t, res, `"end"`)
	if got := texts(res); !slices.Equal(got, want) {
		t.Errorf("output %q, want %q", got, want)
	}
	if res.Output[2].Level != "warn" || res.Output[0].Level != "" || res.Output[1].Type != "json" {
		t.Errorf("output %+v", res.Output[:3])
	}
}

func TestTelemetry(t *testing.T) {
	clock := hosttest.NewClock(epoch)
	plugin := hosttest.Echo("row_count")
	plugin.Owner = "acme.demo"
	h := newHost(t, host.Options{Now: clock.Now, Tools: []host.RawTool{hosttest.Echo("echo"), plugin}})
	r := newRun(t, h, host.RunOptions{ClientTools: []host.ClientTool{{Name: "ask", Description: "Ask."}}})
	warm(t, r)
	before := exec(t, r, "return 1").Telemetry
	res := exec(t, r, `
		await tools.search('rows'); await tools.search('x'); await tools.describe('cloister:core:echo');
		await tools.echo({}); await tools.row_count({}); await tools.echo({});
		await tools.call('not a tool', {}).catch(() => 0);
		await yield_control();
		await tools.echo({});
		return 1;`)
	wantWaiting(t, res, guestabi.WaitYield)
	got := res.Telemetry
	if got.Snapshot == nil || got.Snapshot.Bytes < 100 || got.Snapshot.Ms < 0 {
		t.Errorf("snapshot %+v", got.Snapshot)
	}
	check := func(got host.Telemetry, calls, waits int) {
		t.Helper()
		got.Snapshot = nil
		want := host.Telemetry{
			CatalogSize: 3, Sources: map[string]int{"cloister": 2, "mcp": 0, "client": 1}, SearchCount: 2, DescribeCount: 1, CallCount: calls,
			VisibleTools: []string{"exec", "wait"}, ExecCount: before.ExecCount + 1, WaitCount: waits,
			CalledTools: []string{"cloister:core:echo", "cloister:acme.demo:row_count"}, LimitsHit: []guestabi.Reason{},
		}
		if d := diffValue(want, got); d != "" {
			t.Errorf("telemetry (-want +got):\n%s", d)
		}
	}
	check(got, 4, 0)
	res = wait(t, r, res.RunID)
	wantValue(t, res, "1")
	if res.Telemetry.Snapshot != nil {
		t.Error("a result without a suspension reports a snapshot")
	}
	check(res.Telemetry, 5, 1)

	text, err := json.Marshal(res.Telemetry)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"catalogSize", "sources", "searchCount", "describeCount", "callCount", "visibleTools", "execCount", "waitCount", "calledTools", "limitsHit"} {
		if !bytes.Contains(text, []byte(`"`+key+`":`)) {
			t.Errorf("telemetry lacks %q: %s", key, text)
		}
	}
	// What was given to a caller does not change under its hands.
	if got.CallCount != 4 || len(got.CalledTools) != 2 {
		t.Errorf("the first result's telemetry changed: %+v", got)
	}
}

func TestTelemetryOfManyTools(t *testing.T) {
	var tools []host.RawTool
	for i := range 300 {
		tools = append(tools, hosttest.Echo(fmt.Sprintf("tool_%03d", i)))
	}
	r := setup(t, host.Options{Tools: tools})
	res := exec(t, r, "for (const x of ALL_TOOLS) await tools.call(x.id, {}); return ALL_TOOLS.length")
	wantValue(t, res, "300")
	if n := len(res.Telemetry.CalledTools); n == 0 || n > 256 || res.Telemetry.CallCount != 300 {
		t.Errorf("%d ids for %d calls", n, res.Telemetry.CallCount)
	}
}

// TestWaitTimeout: a wait's own timeout bounds it, within the configured one.
func TestWaitTimeout(t *testing.T) {
	gate := hosttest.NewGate("slow")
	r := setup(t, host.Options{Tools: []host.RawTool{gate.Tool()}, CodeMode: host.CodeModeConfig{TimeoutMs: 60_000}})
	res := exec(t, r, "const p = tools.slow({}); await yield_control(); return await p")
	wantWaiting(t, res, guestabi.WaitYield)
	<-gate.Started()
	for range 3 {
		// The minute of the configuration would end the test.
		res = waitInput(t, r, host.WaitInput{RunID: res.RunID, TimeoutMs: 1})
		wantWaiting(t, res, guestabi.WaitPendingTools)
		if len(res.Pending) != 1 {
			t.Errorf("pending %+v", res.Pending)
		}
	}
	gate.Release("7")
	wantValue(t, wait(t, r, res.RunID), "7")
}

// TestYieldReturnsAtOnce: open calls, one or several, do not keep a program that
// yields. Only the caller's context ends a test that waits for the deadline.
func TestYieldReturnsAtOnce(t *testing.T) {
	gate := hosttest.NewGate("slow")
	r := setup(t, host.Options{Tools: []host.RawTool{gate.Tool()}, CodeMode: host.CodeModeConfig{TimeoutMs: 60_000}})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for n := 1; n <= 3; n++ {
		res, err := r.Exec(ctx, host.ExecInput{Code: fmt.Sprintf("const p = Array.from({ length: %d }, () => tools.slow({})); await yield_control(); return (await Promise.all(p)).length", n)})
		if err != nil {
			t.Fatalf("with %d calls open: %v", n, err)
		}
		wantWaiting(t, res, guestabi.WaitYield)
		for range n {
			gate.Release("1")
		}
		wantValue(t, wait(t, r, res.RunID), fmt.Sprint(n))
	}
}

func TestPendingCallsAreListed(t *testing.T) {
	clock := hosttest.NewClock(epoch)
	gate := hosttest.NewGate("slow")
	h := newHost(t, host.Options{Now: clock.Now, Tools: []host.RawTool{gate.Tool(), hosttest.Echo("echo")}})
	r := newRun(t, h, host.RunOptions{ClientTools: []host.ClientTool{{App: "ui", Name: "ask", Description: "Ask."}}})
	warm(t, r)
	res := exec(t, r, "await tools.echo({}); const p = [tools.slow({ n: 1 }), tools.ask({ q: 'why?' }), tools.slow({ n: 2 })]; await yield_control(); return Promise.all(p)")
	wantWaiting(t, res, guestabi.WaitYield)
	var got []string
	for _, p := range res.Pending {
		got = append(got, fmt.Sprint(p.Method, " ", p.Tool, " ", string(p.Input), " ", p.Since.Equal(epoch), p.Approval))
		if p.ID == "" {
			t.Errorf("no id: %+v", p)
		}
	}
	want := []string{"call cloister:core:slow  true false", `client client:ui:ask {"q":"why?"} true false`, "call cloister:core:slow  true false"}
	if !slices.Equal(got, want) {
		t.Errorf("pending %q, want %q", got, want)
	}
	r.Close()
}
