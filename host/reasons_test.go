package host_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/host/hosttest"
)

// reasons has a way to reach every reason of the contract. A reason that only
// exists on paper is one that nobody can rely on.
var reasons = []struct {
	reason guestabi.Reason
	code   guestabi.Code
	reach  func(t *testing.T) *host.Result
}{
	{guestabi.ReasonRuntimeUnavailable, guestabi.CodeRuntimeUnavailable, func(t *testing.T) *host.Result {
		r := newRun(t, newHost(t, host.Options{EngineWasm: []byte("not the engine")}), host.RunOptions{})
		if got := surfaceNames(r); !slices.Equal(got, []string{"exec", "wait"}) {
			t.Errorf("without an engine the model sees %v", got)
		}
		return exec(t, r, "return 1")
	}},
	{guestabi.ReasonInvalidConfig, guestabi.CodeInvalidInput, func(t *testing.T) *host.Result {
		// A configuration is refused before there is a run that could have a result.
		_, err := host.New(t.Context(), &host.Options{CodeMode: host.CodeModeConfig{Enabled: true, Runtime: "v8"}})
		if !errors.Is(err, host.ErrConfig) {
			t.Fatalf("New: %v", err)
		}
		reason := guestabi.Reason(host.ErrConfig.Error())
		return &host.Result{Status: guestabi.StatusFailed, Error: err.Error(), Reason: reason, Code: reason.Code()}
	}},
	{guestabi.ReasonInvalidInput, guestabi.CodeInvalidInput, func(t *testing.T) *host.Result {
		return exec(t, setup(t, host.Options{}), "")
	}},
	{guestabi.ReasonUnsupportedLanguage, guestabi.CodeInvalidInput, func(t *testing.T) *host.Result {
		return execInput(t, setup(t, host.Options{}), host.ExecInput{Code: "return 1", Language: "python"})
	}},
	{guestabi.ReasonTypeScriptTransformFailed, guestabi.CodeInvalidInput, func(t *testing.T) *host.Result {
		return execInput(t, setup(t, host.Options{}), host.ExecInput{Code: "const x: = 1", Language: host.TypeScript})
	}},
	{guestabi.ReasonModuleAccessDenied, guestabi.CodeInvalidInput, func(t *testing.T) *host.Result {
		return exec(t, setup(t, host.Options{}), "await import('x')")
	}},
	{guestabi.ReasonTimeout, guestabi.CodeTimeout, func(t *testing.T) *host.Result {
		return exec(t, setup(t, host.Options{CodeMode: host.CodeModeConfig{TimeoutMs: 100}}), "for (;;);")
	}},
	{guestabi.ReasonMemoryLimitExceeded, guestabi.CodeInternalError, func(t *testing.T) *host.Result {
		return exec(t, setup(t, host.Options{CodeMode: host.CodeModeConfig{MemoryLimitBytes: 1 << 20}}), "return new Uint8Array(8 << 20).length")
	}},
	{guestabi.ReasonOutputLimitExceeded, guestabi.CodeOutputLimitExceeded, func(t *testing.T) *host.Result {
		return exec(t, setup(t, host.Options{}), "text('x'.repeat(70000))")
	}},
	{guestabi.ReasonSnapshotLimitExceeded, guestabi.CodeSnapshotLimitExceeded, func(t *testing.T) *host.Result {
		return exec(t, setup(t, host.Options{CodeMode: host.CodeModeConfig{MaxSnapshotBytes: 1024}}), "await yield_control()")
	}},
	{guestabi.ReasonSnapshotExpired, guestabi.CodeInvalidInput, func(t *testing.T) *host.Result {
		return wait(t, setup(t, host.Options{}), "run_unknown")
	}},
	{guestabi.ReasonSnapshotRestoreFailed, guestabi.CodeInternalError, func(t *testing.T) *host.Result {
		store := hosttest.NewStore()
		r := setup(t, host.Options{Snapshots: store})
		res := exec(t, r, "await yield_control()")
		store.Drop(res.CellID)
		return wait(t, r, res.CellID)
	}},
	{guestabi.ReasonTooManyPendingToolCalls, guestabi.CodeInvalidInput, func(t *testing.T) *host.Result {
		r := setup(t, host.Options{CodeMode: host.CodeModeConfig{MaxPendingToolCalls: 1}})
		return exec(t, r, "await Promise.all(Array.from({ length: 65 }, () => tools.echo({})))")
	}},
	{guestabi.ReasonNestedToolFailed, guestabi.CodeInvalidInput, func(t *testing.T) *host.Result {
		return exec(t, setup(t, host.Options{}), "await tools.call('cloister:core:nope')")
	}},
	{guestabi.ReasonGuestError, guestabi.CodeInvalidInput, func(t *testing.T) *host.Result {
		return exec(t, setup(t, host.Options{}), "null.x")
	}},
	{guestabi.ReasonAborted, guestabi.CodeAborted, func(t *testing.T) *host.Result {
		r := setup(t, host.Options{})
		r.Close()
		return exec(t, r, "return 1")
	}},
	{guestabi.ReasonInternalError, guestabi.CodeInternalError, func(t *testing.T) *host.Result {
		store := hosttest.NewStore()
		r := setup(t, host.Options{Snapshots: store})
		store.SetFaults(hosttest.Faults{Put: errors.New("disk full: /var/secret")})
		return exec(t, r, "await yield_control()")
	}},
}

func TestReasons(t *testing.T) {
	for _, reason := range guestabi.Reasons {
		i := 0
		for ; i < len(reasons) && reasons[i].reason != reason; i++ {
		}
		if i == len(reasons) {
			t.Errorf("no row reaches %s", reason)
		}
	}
	for _, row := range reasons {
		t.Run(string(row.reason), func(t *testing.T) {
			if !slices.Contains(guestabi.Reasons, row.reason) {
				t.Errorf("%s is not in guestabi.Reasons", row.reason)
			}
			res := row.reach(t)
			if res.Status != guestabi.StatusFailed || res.Reason != row.reason || res.Code != row.code || res.Error == "" {
				t.Errorf("%s: reason %s, code %s, error %q; want reason %s, code %s", res.Status, res.Reason, res.Code, res.Error, row.reason, row.code)
			}
			for _, secret := range []string{"/var", "/home", ".go:", "goroutine", "0x"} {
				if len(res.Error) > 0 && res.Reason != guestabi.ReasonRuntimeUnavailable && contains(res.Error, secret) {
					t.Errorf("the error shows %q: %s", secret, res.Error)
				}
			}
		})
	}
}
