package host_test

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/host/hosttest"
	"github.com/cloister-wasm/cloister/internal/waittest"
	"github.com/cloister-wasm/cloister/quickjs"
)

// newHost makes a host with code mode on and, if o has no tools, one that echoes. It is
// closed at the end of the test. A test that says nothing of time has a minute for each exec
// and wait, since how long they take is up to whatever else the machine does. The hosts of all
// tests share an engine, unless one asks for its own; templates are not made yet: a test with a
// short limit warms its run up first.
func newHost(t testing.TB, o host.Options) *host.Host {
	t.Helper()
	o.CodeMode.Enabled = true
	if o.CodeMode.TimeoutMs == 0 {
		o.CodeMode.TimeoutMs = 60_000
	}
	if o.Tools == nil {
		o.Tools = []host.RawTool{hosttest.Echo("echo")}
	}
	if o.Engine == nil && o.EngineWasm == nil && o.CacheDir == "" && !o.PlainMemory {
		var err error
		if o.Engine, err = sharedEngine(); err != nil {
			t.Fatal(err)
		}
	}
	h, err := host.New(t.Context(), &o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return h
}

// sharedEngine is the engine of hosts that do not ask for their own. It lives as long as the tests.
var sharedEngine = sync.OnceValues(func() (*quickjs.Engine, error) { return quickjs.Load(context.Background(), nil) })

// scope is the scope of runs in tests that do not care.
var scope = host.RunOptions{AgentID: "agent", AgentRunID: "agent-run", SessionID: "session", SessionKey: "key", Sender: "sender", Channel: "channel"}

// newRun makes a run, in the common scope unless o has one. No cell has run in it yet.
func newRun(t testing.TB, h *host.Host, o host.RunOptions) *host.Run {
	t.Helper()
	if o.AgentRunID == "" && o.SessionID == "" {
		s := scope
		s.Sandboxed, s.DisableTools, s.Allow, s.Deny = o.Sandboxed, o.DisableTools, o.Allow, o.Deny
		s.ClientTools, s.OnClientCall, s.OnProgress = o.ClientTools, o.OnClientCall, o.OnProgress
		o = s
	}
	r, err := h.NewRun(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// warm runs empty cells until one ends in time: the first loads the engine and
// makes the template, which a short timeout may not allow for.
func warm(t testing.TB, r *host.Run) {
	t.Helper()
	for range 50 {
		res, err := r.Exec(t.Context(), host.ExecInput{Code: "return 1"})
		if err != nil {
			t.Fatal(err)
		}
		res, _ = waitToEnd(t, r, res, 0)
		if res.Status == guestabi.StatusCompleted {
			return
		}
		if res.Reason != guestabi.ReasonTimeout {
			t.Fatalf("warming up: %s (%s)", res.Error, res.Reason)
		}
	}
	t.Fatal("warming up: no empty cell ends in time")
}

// setup is newHost, newRun and warm in one.
func setup(t testing.TB, o host.Options) *host.Run {
	t.Helper()
	r := newRun(t, newHost(t, o), host.RunOptions{})
	warm(t, r)
	return r
}

func exec(t testing.TB, r *host.Run, code string) *host.Result {
	t.Helper()
	return execInput(t, r, host.ExecInput{Code: code})
}

func execInput(t testing.TB, r *host.Run, in host.ExecInput) *host.Result {
	t.Helper()
	res, err := r.Exec(t.Context(), in)
	if err != nil {
		t.Fatalf("Exec: %v", err)
	}
	checkShape(t, res)
	return res
}

func wait(t testing.TB, r *host.Run, runID string) *host.Result {
	t.Helper()
	return waitInput(t, r, host.WaitInput{CellID: runID})
}

func waitInput(t testing.TB, r *host.Run, in host.WaitInput) *host.Result {
	t.Helper()
	res, err := r.Wait(t.Context(), in)
	if err != nil {
		t.Fatalf("Wait: %v", err)
	}
	checkShape(t, res)
	return res
}

// checkShape holds for every result: its JSON form has the fields of its status
// and no others.
func checkShape(t testing.TB, res *host.Result) {
	t.Helper()
	text, err := json.Marshal(res)
	if err != nil {
		t.Fatalf("a %s result has no JSON form: %v", res.Status, err)
	}
	if !utf8.Valid(text) {
		t.Errorf("the JSON of a %s result is not UTF-8: %q", res.Status, text)
	}
	var got map[string]json.RawMessage
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	required := map[guestabi.Status][]string{
		guestabi.StatusCompleted: {"status", "value", "telemetry"},
		guestabi.StatusWaiting:   {"status", "runId", "reason", "telemetry"},
		guestabi.StatusFailed:    {"status", "error", "code", "telemetry"},
	}[res.Status]
	optional := map[guestabi.Status][]string{
		guestabi.StatusCompleted: {"output", "message"},
		guestabi.StatusWaiting:   {"output", "message", "pendingToolCalls"},
		guestabi.StatusFailed:    {"output", "reason", "line", "column"},
	}[res.Status]
	if required == nil {
		t.Fatalf("unknown status %q", res.Status)
	}
	for _, k := range required {
		if got[k] == nil {
			t.Errorf("a %s result lacks %q: %s", res.Status, k, text)
		}
	}
	for k := range got {
		if !slices.Contains(required, k) && !slices.Contains(optional, k) {
			t.Errorf("a %s result has %q: %s", res.Status, k, text)
		}
	}
	if res.Status == guestabi.StatusFailed && (res.Error == "" || res.Code != res.Reason.Code()) {
		t.Errorf("failed with error %q, code %s, reason %s", res.Error, res.Code, res.Reason)
	}
}

// wantValue checks for a completed result with the value that want says, as JSON.
func wantValue(t testing.TB, res *host.Result, want string) {
	t.Helper()
	if res.Status != guestabi.StatusCompleted {
		t.Fatalf("%s: %s (%s), want completed with %s", res.Status, res.Error, res.Reason, want)
	}
	if d := diffJSON(t, want, string(res.Value)); d != "" {
		t.Errorf("value differs (-want +got):\n%s", d)
	}
}

func wantFailed(t testing.TB, res *host.Result, reason guestabi.Reason) {
	t.Helper()
	if res.Status != guestabi.StatusFailed || res.Reason != reason {
		t.Fatalf("%s %s %s (%s), want failed with %s", res.Status, res.Value, res.Error, res.Reason, reason)
	}
}

func wantWaiting(t testing.TB, res *host.Result, reason guestabi.WaitReason) {
	t.Helper()
	if res.Status != guestabi.StatusWaiting || res.Waiting != reason || res.CellID == "" {
		t.Fatalf("%s %s %s %s (%s), want waiting with %s", res.Status, res.Waiting, res.Value, res.Error, res.Reason, reason)
	}
}

// diffJSON compares two JSON texts; numbers by their digits.
func diffJSON(t testing.TB, want, got string) string {
	t.Helper()
	decode := func(text string) any {
		d := json.NewDecoder(strings.NewReader(text))
		d.UseNumber()
		var v any
		if err := d.Decode(&v); err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		return v
	}
	// Comparing is linear, explaining a difference is not.
	w, g := decode(want), decode(got)
	if reflect.DeepEqual(w, g) {
		return ""
	}
	return cmp.Diff(w, g)
}

// texts gives the text of the output's items.
func texts(res *host.Result) []string {
	out := []string{}
	for _, item := range res.Output {
		if item.Type == "json" {
			out = append(out, string(item.Value))
		} else {
			out = append(out, item.Text)
		}
	}
	return out
}

// eventually waits for a state that another goroutine is about to reach.
func eventually(t testing.TB, what string, reached func() bool) {
	t.Helper()
	waittest.Until(t, what, reached)
}

// sinkFunc is a trace sink that calls a function.
type sinkFunc func(host.TraceEvent)

func (f sinkFunc) Emit(e host.TraceEvent) { f(e) }

// async runs f and gives a channel with its result.
func async(f func() (*host.Result, error)) <-chan result {
	c := make(chan result, 1)
	go func() {
		res, err := f()
		c <- result{res, err}
	}()
	return c
}

type result struct {
	*host.Result
	err error
}

// background runs a cell in a goroutine.
func background(ctx context.Context, r *host.Run, code string) <-chan result {
	return async(func() (*host.Result, error) { return r.Exec(ctx, host.ExecInput{Code: code}) })
}

func diffValue(want, got any) string { return cmp.Diff(want, got) }
