package host_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/host/hosttest"
)

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
	wantFailed(t, wait(t, r, res.CellID), guestabi.ReasonSnapshotExpired)
	h.Sweep()
	if h.Suspended() != 0 || store.Len() != 0 || r.Cells() != 0 {
		t.Errorf("left after expiry: %d runs, %d snapshots, %d cells", h.Suspended(), store.Len(), r.Cells())
	}
	eventually(t, "the open call is cancelled", func() bool { return gate.Stats().Canceled == 1 })
	if got := trace.Events("expire"); len(got) != 1 || got[0].CellID != res.CellID {
		t.Errorf("expire events: %+v", got)
	}
	wantFailed(t, wait(t, r, res.CellID), guestabi.ReasonSnapshotExpired)
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
		res = wait(t, r, res.CellID)
	}
	wantValue(t, res, `"done"`)
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
			res = wait(t, r, res.CellID)
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
	stolen := store.Snapshot(secret.CellID)
	store.SetFaults(hosttest.Faults{Damage: func(string, []byte) []byte { return stolen }})
	wantFailed(t, wait(t, thief, mine.CellID), guestabi.ReasonSnapshotRestoreFailed)
	store.SetFaults(hosttest.Faults{})
	wantValue(t, wait(t, victim, secret.CellID), `"secret"`)

	res := exec(t, victim, "let n = 0; for (;;) { await yield_control(); n++; if (n === 2) return n }")
	old := store.Snapshot(res.CellID)
	res = wait(t, victim, res.CellID)
	wantWaiting(t, res, guestabi.WaitYield)
	store.SetFaults(hosttest.Faults{Damage: func(string, []byte) []byte { return old }})
	wantFailed(t, wait(t, victim, res.CellID), guestabi.ReasonSnapshotRestoreFailed)
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
	wantValue(t, wait(t, r, res.CellID), "42")
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
	wantValue(t, wait(t, a, first.CellID), "42")
	third = exec(t, a, yieldOnce)
	wantWaiting(t, third, guestabi.WaitYield)
	b.Close()
	fourth := exec(t, a, yieldOnce)
	wantWaiting(t, fourth, guestabi.WaitYield)
	wantValue(t, wait(t, a, third.CellID), "42")
	wantValue(t, wait(t, a, fourth.CellID), "42")
	if h.Suspended() != 0 || store.Len() != 0 {
		t.Errorf("left: %d runs, %d snapshots", h.Suspended(), store.Len())
	}
}
