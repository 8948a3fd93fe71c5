package host_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/cloister-wasm/cloister/host"
)

// configCases are values of tools.codeMode. What becomes of them is in
// testdata/config.txtar, where a change of any default, clamp or message shows.
var configCases = []struct{ name, text string }{
	{"true", `true`}, {"false", `false`}, {"null", `null`}, {"empty object", `{}`},
	{"enabled", `{"enabled":true}`}, {"enabled false", `{"enabled":false,"timeoutMs":500}`}, {"other field only", `{"timeoutMs":500}`},
	{"all fields", `{"enabled":true,"runtime":"quickjs-wasi","mode":"only","languages":["typescript"],"timeoutMs":1000,"memoryLimitBytes":2097152,"maxOutputBytes":2048,
		"maxSnapshotBytes":4096,"maxPendingToolCalls":2,"snapshotTtlSeconds":5,"searchDefaultLimit":3,"maxSearchLimit":4,"maxSuspendedRuns":7}`},
	{"below every range", `{"timeoutMs":1,"memoryLimitBytes":1,"maxOutputBytes":1,"maxSnapshotBytes":1,"maxPendingToolCalls":-5,"snapshotTtlSeconds":0,"searchDefaultLimit":-1,"maxSearchLimit":0,"maxSuspendedRuns":-1}`},
	{"above every range", `{"timeoutMs":1e9,"memoryLimitBytes":1e12,"maxOutputBytes":1e12,"maxSnapshotBytes":1e12,"maxPendingToolCalls":1e6,"snapshotTtlSeconds":1e9,"searchDefaultLimit":1000,"maxSearchLimit":1000,"maxSuspendedRuns":1e9}`},
	{"zero means the least, not the default", `{"timeoutMs":0}`},
	{"search default above its maximum", `{"searchDefaultLimit":40,"maxSearchLimit":10}`},
	{"fractions", `{"timeoutMs":1500.9,"maxPendingToolCalls":1.5}`},
	{"huge numbers", `{"timeoutMs":99999999999999999999999999,"maxOutputBytes":1e300}`},
	{"huge negative", `{"timeoutMs":-99999999999999999999999999,"maxOutputBytes":-1e300}`},
	{"number too wild", `{"timeoutMs":1e999}`},
	{"wrong types", `{"enabled":1,"runtime":true,"mode":[],"languages":"javascript","timeoutMs":"10","memoryLimitBytes":null,"maxOutputBytes":{},"maxSnapshotBytes":[1],"maxPendingToolCalls":true,
		"snapshotTtlSeconds":"","searchDefaultLimit":false,"maxSearchLimit":"x","maxSuspendedRuns":null}`},
	{"unknown keys", `{"enabled":true,"timeout":5,"Enabled":true,"timeoutms":1,"":1,"__proto__":{},"maxSuspendedRuns ":1}`},
	{"wrong types and unknown keys at once", `{"enabled":"yes","timeOut":1,"languages":[1],"runtime":"v8","mode":"both"}`},
	{"enabled null", `{"enabled":null}`}, {"enabled string", `{"enabled":"true"}`},
	{"runtime other", `{"runtime":"v8"}`}, {"runtime empty", `{"runtime":""}`}, {"mode other", `{"mode":"off"}`},
	{"no languages", `{"languages":[]}`}, {"unknown language", `{"languages":["javascript","python"]}`}, {"language twice", `{"languages":["javascript","javascript"]}`},
	{"language not a string", `{"languages":["javascript",null]}`}, {"language in capitals", `{"languages":["JavaScript"]}`},
	{"a string", `"true"`}, {"a number", `1`}, {"a list", `[true]`},
	{"not JSON", `{enabled:true}`}, {"nothing", ``}, {"more than one value", `true false`}, {"key twice", `{"enabled":false,"enabled":true}`}, {"not UTF-8", "{\"mode\":\"\xff\"}"},
}

func TestParseCodeMode(t *testing.T) {
	ar := &txtar.Archive{Comment: []byte("What ParseCodeMode makes of values. Written by go test ./host -run TestParseCodeMode -update.\n")}
	for _, c := range configCases {
		cfg, err := host.ParseCodeMode([]byte(c.text))
		got := []byte{}
		if err != nil {
			var ce *host.ConfigError
			if !errors.Is(err, host.ErrConfig) || !errors.As(err, &ce) || len(ce.Faults) == 0 {
				t.Errorf("%s: err = %v", c.name, err)
				continue
			}
			if cfg.Enabled {
				t.Errorf("%s: a faulty configuration is enabled", c.name)
			}
			for _, f := range ce.Faults {
				got = fmt.Appendf(got, "%s: %s\n", f.Key, f.Message)
			}
		} else if got, err = json.MarshalIndent(cfg, "", " "); err != nil {
			t.Fatal(err)
		}
		ar.Files = append(ar.Files, txtar.File{Name: c.name, Data: append(got, '\n')})
	}
	golden(t, "config.txtar", string(txtar.Format(ar)))
}

func TestConfigErrorsListAllFaults(t *testing.T) {
	_, err := host.ParseCodeMode([]byte(`{"enabled":1,"timeoutMs":"x","unknown":1,"runtime":"v8","mode":"x","languages":["c"]}`))
	var ce *host.ConfigError
	if !errors.As(err, &ce) || len(ce.Faults) != 6 {
		t.Fatalf("err = %v", err)
	}
	for _, f := range ce.Faults {
		if !strings.HasPrefix(f.Key, "tools.codeMode.") || !strings.Contains(err.Error(), f.Key) || !strings.Contains(err.Error(), f.Message) {
			t.Errorf("fault %+v in %v", f, err)
		}
	}
	_, err = host.New(t.Context(), &host.Options{CodeMode: host.CodeModeConfig{Runtime: "v8", Mode: "x", Languages: []string{}}})
	if !errors.As(err, &ce) || len(ce.Faults) != 3 {
		t.Errorf("New: %v", err)
	}
}

// TestClampedIsStable: to clamp twice changes nothing, and a parsed configuration
// needs no clamping.
func TestClampedIsStable(t *testing.T) {
	for _, c := range configCases {
		cfg, err := host.ParseCodeMode([]byte(c.text))
		if err != nil {
			continue
		}
		if d := diffValue(cfg, cfg.Clamped()); d != "" {
			t.Errorf("%s:\n%s", c.name, d)
		}
	}
	if d := diffValue(host.CodeModeConfig{TimeoutMs: -1, Enabled: true}.Clamped(), host.CodeModeConfig{TimeoutMs: 100, Enabled: true}.Clamped()); d != "" {
		t.Error(d)
	}
}

func TestNilOptions(t *testing.T) {
	h, err := host.New(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	r, err := h.NewRun(t.Context(), host.RunOptions{})
	if err != nil || r.Active() || len(r.Surface()) != 0 {
		t.Errorf("active %v, %v", r.Active(), err)
	}
}
