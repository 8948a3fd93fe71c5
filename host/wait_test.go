package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
		got := wait(t, r, res.CellID)
		wantFailed(t, got, guestabi.ReasonInvalidInput)
		if len(got.Output) != 0 || got.Telemetry.CallCount != 0 {
			t.Errorf("%s: the refusal tells of the run: %+v", name, got)
		}
	}
	if h.Suspended() != 1 {
		t.Fatalf("refused waits left %d suspended runs", h.Suspended())
	}
	// A second Run object of the same agent run and session may go on.
	wantValue(t, wait(t, newRun(t, h, full), res.CellID), "42")
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
		wantFailed(t, wait(t, r, res.CellID), guestabi.ReasonInvalidInput)
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
		return r.Wait(context.Background(), host.WaitInput{CellID: res.CellID})
	})
	<-claimed
	// The first wait is in flight until the call below is settled, wherever it is.
	for range 20 {
		got := wait(t, r, res.CellID)
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
	c := async(func() (*host.Result, error) { return r.Wait(ctx, host.WaitInput{CellID: res.CellID}) })
	<-claimed
	cancel()
	got := <-c
	if got.Status == guestabi.StatusFailed && (got.Reason != guestabi.ReasonAborted || !errors.Is(got.err, context.Canceled)) {
		t.Errorf("a cancelled wait: %s (%s), %v", got.Error, got.Reason, got.err)
	}
	// The caller went away, the run did not.
	gate.Release(`"kept"`)
	wantValue(t, wait(t, r, res.CellID), `"kept"`)
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
			if got := wait(t, w, res.CellID); got.Status != guestabi.StatusFailed || got.Code != guestabi.CodeInvalidInput && got.Code != guestabi.CodeAborted {
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
		if got := wait(t, r, res.CellID); got.Status != guestabi.StatusFailed {
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
			return r.Wait(context.Background(), host.WaitInput{CellID: res.CellID})
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
		if got := wait(t, r, res.CellID); got.Status != guestabi.StatusFailed {
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

// TestWaitTimeout: a wait's own timeout bounds it, within the configured one.
func TestWaitTimeout(t *testing.T) {
	gate := hosttest.NewGate("slow")
	r := setup(t, host.Options{Tools: []host.RawTool{gate.Tool()}, CodeMode: host.CodeModeConfig{TimeoutMs: 60_000}})
	res := exec(t, r, "const p = tools.slow({}); await yield_control(); return await p")
	wantWaiting(t, res, guestabi.WaitYield)
	<-gate.Started()
	for range 3 {
		// The minute of the configuration would end the test.
		res = waitInput(t, r, host.WaitInput{CellID: res.CellID, TimeoutMs: 1})
		wantWaiting(t, res, guestabi.WaitPendingTools)
		if len(res.Pending) != 1 {
			t.Errorf("pending %+v", res.Pending)
		}
	}
	gate.Release("7")
	wantValue(t, wait(t, r, res.CellID), "7")
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
		wantValue(t, wait(t, r, res.CellID), fmt.Sprint(n))
	}
}
