package host_test

import (
	"testing"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/internal/waittest"
)

// Whoever bounds running programs has to know of those whose call has returned.
func TestComputing(t *testing.T) {
	h := newHost(t, host.Options{})
	r := newRun(t, h, host.RunOptions{})
	res := exec(t, r, `await yield_control(); for (;;) {}`)
	if res.Status != guestabi.StatusWaiting || r.Computing(res.CellID) {
		t.Fatalf("a suspended program computes: %+v", res)
	}
	waited, err := r.Wait(t.Context(), host.WaitInput{CellID: res.CellID, TimeoutMs: 100})
	if err != nil || waited.Status != guestabi.StatusWaiting {
		t.Fatalf("%+v, %v", waited, err)
	}
	if !r.Computing(res.CellID) {
		t.Error("a loop does not compute")
	}
	other := scope
	other.SessionID = "another"
	if newRun(t, h, other).Computing(res.CellID) || r.Computing("run_unknown") {
		t.Error("programs of others, and none at all, compute")
	}
	if err := r.Abort(res.CellID); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "it has ended", func() bool { return !r.Computing(res.CellID) })
}

func TestRefuse(t *testing.T) {
	r := newRun(t, newHost(t, host.Options{}), host.RunOptions{})
	res := r.Refuse(guestabi.ReasonTimeout, "too many: 100%")
	if res.Status != guestabi.StatusFailed || res.Code != guestabi.CodeTimeout || res.Error != "too many: 100%" || res.Telemetry.CatalogSize != 1 {
		t.Errorf("%+v", res)
	}
}

func TestCodeModeOfAHost(t *testing.T) {
	if c := newHost(t, host.Options{CodeMode: host.CodeModeConfig{MemoryLimitBytes: 1}}).CodeMode(); c.MemoryLimitBytes != 1<<20 || c.MaxSuspendedRuns != 64 {
		t.Errorf("%+v", c)
	}
}
