package host_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/host/hosttest"
)

// lockedBuffer can be read while calls that were aborted still write their end.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) copy() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Clone(l.b.Bytes())
}

// TestEndToEnd follows the end-to-end plan of the contract, step by step, but for
// the two steps about MCP (9 and 10): those are with real servers in cmd/cloister, TestPlan. Steps share one host, as an agent does.
func TestEndToEnd(t *testing.T) {
	var log hosttest.Log
	gate := hosttest.NewGate("long_job")
	plugin := hosttest.Echo("row_count")
	plugin.Owner, plugin.Description = "acme.demo", "Count the rows of a table."
	tools := []host.RawTool{
		log.Tool(host.Tool("send_message", "Send a message to a person.", func(_ context.Context, in struct {
			To   string `json:"to"`
			Text string `json:"text"`
		}) (string, error) {
			return "sent to " + in.To, nil
		})),
		log.Tool(plugin), gate.Tool(), log.Tool(hosttest.Echo("drop_database")),
	}
	payload := func(r *host.Run) []byte {
		type tool struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			InputSchema json.RawMessage `json:"input_schema"`
		}
		var list []tool
		for _, d := range r.Surface() {
			list = append(list, tool{d.Name, d.Description, d.Parameters})
		}
		b, err := json.Marshal(map[string]any{"model": "m", "messages": []any{}, "tools": list})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}

	// Steps 1 to 3: code mode off, the model sees the tools themselves.
	off, err := host.ParseCodeMode([]byte(`{"enabled":false}`))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := host.New(t.Context(), &host.Options{CodeMode: off, Tools: tools[:2]})
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	direct, err := plain.NewRun(t.Context(), scope)
	if err != nil {
		t.Fatal(err)
	}
	if got := surfaceNames(direct); !slices.Equal(got, []string{"send_message", "acme--demo__row_count"}) {
		t.Fatalf("step 3: the model sees %v", got)
	}
	if err := direct.EnforceSurface(payload(direct)); err != nil {
		t.Fatalf("step 3: %v", err)
	}

	// Steps 4 to 6: code mode on, with core, plugin and client tools.
	on, err := host.ParseCodeMode([]byte(`{"enabled":true,"timeoutMs":1000,"snapshotTtlSeconds":60}`))
	if err != nil {
		t.Fatal(err)
	}
	var trace lockedBuffer
	sink := host.NewJSONLTrace(&trace)
	store := hosttest.NewStore()
	clock := hosttest.NewClock(epoch)
	h := newHost(t, host.Options{CodeMode: on, Tools: tools, Deny: []string{"drop_*"}, Trace: sink, Snapshots: store, Now: clock.Now})
	r := newRun(t, h, host.RunOptions{ClientTools: []host.ClientTool{{App: "editor", Name: "select_file", Description: "Let the user choose a file."}}})
	if got := surfaceNames(r); !slices.Equal(got, []string{"exec", "wait"}) {
		t.Fatalf("step 6: the model sees %v", got)
	}
	if err := r.EnforceSurface(payload(r)); err != nil {
		t.Fatalf("step 6: %v", err)
	}
	if err := r.EnforceSurface(payload(direct)); !errors.Is(err, host.ErrSurface) {
		t.Fatalf("step 6: the payload of a run without code mode: %v", err)
	}
	warm(t, r)

	// Step 7: ALL_TOOLS holds the effective tools.
	wantValue(t, exec(t, r, "return ALL_TOOLS.map((x) => x.id)"),
		`["cloister:core:long_job","cloister:core:send_message","cloister:acme.demo:row_count","client:editor:select_file"]`)

	// Step 8: core, plugin and client tools through search, describe and call.
	res := execInput(t, r, host.ExecInput{CallID: "exec-8", Code: `
		const out = [];
		for (const [query, input] of [['send a message', { to: 'Ada', text: 'hello' }], ['count rows', { csv: 'a,b' }], ['choose a file', { kind: 'text' }]]) {
			const [hit] = await tools.search(query, { limit: 1 });
			const full = await tools.describe(hit.id);
			out.push([hit.id, full.parameters.type, await tools.call(full.id, input)]);
		}
		return out;`})
	wantWaiting(t, res, guestabi.WaitPendingTools)
	if len(res.Pending) != 1 || res.Pending[0].Tool != "client:editor:select_file" || string(res.Pending[0].Input) != `{"kind":"text"}` {
		t.Fatalf("step 8: pending %+v", res.Pending)
	}
	if err := r.Resolve(res.Pending[0].ID, json.RawMessage(`"notes.txt"`)); err != nil {
		t.Fatal(err)
	}
	wantValue(t, waitInput(t, r, host.WaitInput{CellID: res.CellID, CallID: "wait-8"}), `[
		["cloister:core:send_message","object","sent to Ada"],
		["cloister:acme.demo:row_count","object",{"csv":"a,b"}],
		["client:editor:select_file","object","notes.txt"]]`)

	// Step 11: denied tools are absent, also by a guessed id.
	log.Reset()
	wantValue(t, exec(t, r, `
		const id = 'cloister:core:drop_database';
		return [ALL_TOOLS.some((x) => x.id === id), 'drop_database' in tools, (await tools.search('drop database', { limit: 50 })).some((x) => x.id === id),
			await tools.describe(id).catch((e) => e.code), await tools.call(id, {}).catch((e) => e.code)];`), `[false,false,false,"unknown_tool","unknown_tool"]`)
	if got := log.Tools(); len(got) != 0 {
		t.Fatalf("step 11: tools that ran: %v", got)
	}

	// Steps 12 to 14: a call that settles after exec returned, and the result that
	// the restored program makes of it.
	res = execInput(t, r, host.ExecInput{CallID: "exec-12", Code: `
		text('started');
		const part = { so: 'far' };
		const result = await tools.long_job({ n: 1 });
		text('resumed with ' + result.rows);
		return { ...part, ...result };`})
	wantWaiting(t, res, guestabi.WaitPendingTools)
	if got := texts(res); !slices.Equal(got, []string{"started"}) {
		t.Fatalf("step 12: output %v", got)
	}
	eventually(t, "step 12: the state is stored", func() bool { return store.Len() == 1 })
	gate.Release(`{"rows":7}`)
	res = waitInput(t, r, host.WaitInput{CellID: res.CellID, CallID: "wait-13"})
	wantValue(t, res, `{"so":"far","rows":7}`)
	if got := texts(res); !slices.Equal(got, []string{"started", "resumed with 7"}) {
		t.Fatalf("step 14: output %v", got)
	}

	// Step 15: timeout, abort and expiry leave nothing behind.
	clean := func(what string) {
		t.Helper()
		if h.Suspended() != 0 || store.Len() != 0 || r.Cells() != 0 {
			t.Fatalf("step 15: after %s: %d suspended runs, %d snapshots, %d cells", what, h.Suspended(), store.Len(), r.Cells())
		}
	}
	clean("completion")
	wantFailed(t, exec(t, r, "for (;;);"), guestabi.ReasonTimeout)
	clean("a timeout")
	res = exec(t, r, "await yield_control()")
	wantWaiting(t, res, guestabi.WaitYield)
	clock.Advance(2 * time.Minute)
	h.Sweep()
	wantFailed(t, wait(t, r, res.CellID), guestabi.ReasonSnapshotExpired)
	clean("expiry")
	res = exec(t, r, "const p = tools.long_job({}); await yield_control(); return await p")
	wantWaiting(t, res, guestabi.WaitYield)
	<-gate.Started() // that of step 12
	<-gate.Started()
	r.Close()
	clean("an abort")
	eventually(t, "step 15: the open call is cancelled", func() bool { s := gate.Stats(); return s.Open == 0 && s.Canceled == 1 })

	// Step 16: the trace shows nested calls under the exec that made them.
	if sink.Err() != nil {
		t.Fatal(sink.Err())
	}
	var got []string
	for line := range bytes.Lines(trace.copy()) {
		var e host.TraceEvent
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatal(err)
		}
		if e.ParentID == "exec-8" || e.ParentID == "exec-12" || e.CallID == "exec-8" || e.CallID == "exec-12" || e.CallID == "wait-8" || e.CallID == "wait-13" {
			got = append(got, fmt.Sprintf("%s %s %s %s", e.Event, e.ParentID, e.Tool, e.Status))
		}
	}
	want := []string{
		"exec.start   ",
		"search exec-8  ", "describe exec-8 cloister:core:send_message ",
		"call.start exec-8 cloister:core:send_message ", "call.end exec-8 cloister:core:send_message ok",
		"search exec-8  ", "describe exec-8 cloister:acme.demo:row_count ",
		"call.start exec-8 cloister:acme.demo:row_count ", "call.end exec-8 cloister:acme.demo:row_count ok",
		"search exec-8  ", "describe exec-8 client:editor:select_file ",
		"call.start exec-8 client:editor:select_file ",
		"exec.end   waiting",
		"call.end exec-8 client:editor:select_file ok",
		"wait.start   ", "wait.end   completed",
		"exec.start   ", "call.start exec-12 cloister:core:long_job ", "exec.end   waiting",
		"call.end exec-12 cloister:core:long_job ok", "wait.start   ", "wait.end   completed",
	}
	// The long call ends before or after the wait begins: only the set is certain.
	slices.Sort(want)
	slices.Sort(got)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("step 16: trace (-want +got):\n%s", d)
	}
}
