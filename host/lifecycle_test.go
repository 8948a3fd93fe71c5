package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/host/hosttest"
	"github.com/cloister-wasm/cloister/quickjs"
)

// spinning is a tool by which a cell tells that it runs, and a loop that only an
// abort ends before the minute of the timeout.
func spinning(t *testing.T) (*host.Host, *host.Run, <-chan json.RawMessage) {
	started := make(chan json.RawMessage, 100)
	tell := hosttest.Echo("tell")
	tell.Call = func(_ context.Context, in json.RawMessage) (json.RawMessage, error) {
		started <- in
		return in, nil
	}
	h := newHost(t, host.Options{Tools: []host.RawTool{tell}, CodeMode: host.CodeModeConfig{TimeoutMs: 60_000}})
	r := newRun(t, h, host.RunOptions{})
	warm(t, r)
	return h, r, started
}

const spin = "await tools.tell({}); for (;;);"

func TestCloseRunWhileRunning(t *testing.T) {
	_, r, started := spinning(t)
	c := background(context.Background(), r, spin)
	<-started
	r.Close()
	got := <-c
	if got.err != nil {
		t.Fatal(got.err)
	}
	wantFailed(t, got.Result, guestabi.ReasonAborted)
	wantFailed(t, exec(t, r, "return 1"), guestabi.ReasonAborted)
	r.Close() // again
}

func TestCloseHostWhileRunning(t *testing.T) {
	h, r, started := spinning(t)
	var cells []<-chan result
	for range 3 {
		cells = append(cells, background(context.Background(), r, spin))
		<-started
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range cells {
		got := <-c
		if got.err != nil {
			t.Fatal(got.err)
		}
		wantFailed(t, got.Result, guestabi.ReasonAborted)
	}
	wantFailed(t, exec(t, r, "return 1"), guestabi.ReasonAborted)
	if err := h.Close(); err != nil {
		t.Error(err)
	}
}

// TestCloseFromATool: Close waits for the cells in flight, one of which waits for
// the tool that closes.
func TestCloseFromATool(t *testing.T) {
	for _, code := range []string{"await tools.close_all({})", "await Promise.all([tools.close_all({}), tools.close_all({})])"} {
		var h *host.Host
		closer := hosttest.Echo("close_all")
		closer.Call = func(context.Context, json.RawMessage) (json.RawMessage, error) { return nil, h.Close() }
		h = newHost(t, host.Options{Tools: []host.RawTool{closer}, CodeMode: host.CodeModeConfig{TimeoutMs: 60_000}})
		r := newRun(t, h, host.RunOptions{})
		warm(t, r)
		wantFailed(t, exec(t, r, code), guestabi.ReasonAborted)
	}
}

// TestCloseEndsTheTrace: a tool that heeds its cancellation has its end in the trace,
// however late its goroutine gets there; from one that does not, nothing comes any
// more when Close has returned, as then the sink may be gone.
func TestCloseEndsTheTrace(t *testing.T) {
	started, release, over := make(chan struct{}, 2), make(chan struct{}), make(chan struct{}, 2)
	polite, deaf := hosttest.Echo("polite"), hosttest.Echo("deaf")
	polite.Call = func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
		started <- struct{}{}
		<-ctx.Done()
		time.Sleep(20 * time.Millisecond) // cell and run have ended by now
		return nil, ctx.Err()
	}
	deaf.Call = func(context.Context, json.RawMessage) (json.RawMessage, error) {
		started <- struct{}{}
		<-release
		return nil, nil
	}
	var trace hosttest.Trace
	o := host.Options{Tools: []host.RawTool{polite, deaf}, Trace: &trace}
	o.Hooks.AfterToolCall = func(context.Context, *host.ToolCall, json.RawMessage, error) { over <- struct{}{} }
	h := newHost(t, o)
	r := newRun(t, h, host.RunOptions{})
	c := background(t.Context(), r, "await Promise.all([tools.polite({}), tools.deaf({})])")
	<-started
	<-started
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	wantFailed(t, (<-c).Result, guestabi.ReasonAborted)
	ends := trace.Events("call.end")
	if len(ends) != 1 || ends[0].Tool != "cloister:core:polite" || ends[0].Status != "aborted" {
		t.Errorf("ends of calls when Close returned: %+v", ends)
	}
	before := len(trace.Events())
	close(release)
	<-over
	<-over
	if after := len(trace.Events()); after != before {
		t.Errorf("%d events after Close", after-before)
	}
}

func TestContextEndsWhileRunning(t *testing.T) {
	_, r, started := spinning(t)
	ctx, cancel := context.WithCancelCause(context.Background())
	c := background(ctx, r, spin)
	<-started
	why := errors.New("the user left")
	cancel(why)
	got := <-c
	if !errors.Is(got.err, why) {
		t.Errorf("err = %v", got.err)
	}
	wantFailed(t, got.Result, guestabi.ReasonAborted)
	wantValue(t, exec(t, r, "return 1"), "1")
}

func TestRunContextEndsWhileRunning(t *testing.T) {
	h, _, started := spinning(t)
	ctx, cancel := context.WithCancel(context.Background())
	r, err := h.NewRun(ctx, scope)
	if err != nil {
		t.Fatal(err)
	}
	c := background(context.Background(), r, spin)
	<-started
	cancel()
	got := <-c
	if got.err != nil {
		t.Fatal(got.err)
	}
	wantFailed(t, got.Result, guestabi.ReasonAborted)
}

// hookedContext counts the functions that are registered for its end.
type hookedContext struct {
	context.Context
	mu   sync.Mutex
	open int
}

func (c *hookedContext) Done() <-chan struct{} { return make(chan struct{}) }

func (c *hookedContext) AfterFunc(func()) func() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open++
	return sync.OnceValue(func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.open--
		return true
	})
}

// TestRunsAreNotKept: a server makes many runs with one context.
func TestRunsAreNotKept(t *testing.T) {
	h := newHost(t, host.Options{})
	ctx := &hookedContext{Context: context.Background()}
	for range 10 {
		r, err := h.NewRun(ctx, scope)
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
	}
	if ctx.open != 0 {
		t.Errorf("%d functions wait for the end of a context that outlives its runs", ctx.open)
	}
}

func TestTwoCellsOfOneRun(t *testing.T) {
	gate := hosttest.NewGate("slow")
	r := setup(t, host.Options{Tools: []host.RawTool{gate.Tool(), hosttest.Echo("echo")}, CodeMode: host.CodeModeConfig{TimeoutMs: 60_000}})
	code := func(n int) string {
		return fmt.Sprintf("globalThis.who = %d; text('start'); const r = await tools.slow({ n: %d }); await tools.echo({}); return [globalThis.who, r]", n, n)
	}
	a := background(t.Context(), r, code(1))
	b := background(t.Context(), r, code(2))
	<-gate.Started()
	<-gate.Started()
	// A third starts and ends while two are in the middle.
	wantValue(t, exec(t, r, "return typeof who"), `"undefined"`)
	gate.Release(`"x"`)
	gate.Release(`"x"`)
	var got []string
	for _, c := range []<-chan result{a, b} {
		res := <-c
		if res.err != nil {
			t.Fatal(res.err)
		}
		got = append(got, string(res.Value))
		if len(res.Output) != 1 || res.Telemetry.CallCount != 2 {
			t.Errorf("output %v, %d calls", texts(res.Result), res.Telemetry.CallCount)
		}
	}
	if !slices.Equal(got, []string{`[1,"x"]`, `[2,"x"]`}) {
		t.Errorf("got %v", got)
	}
}

// TestIsolation: two runs on one host with different catalogs, whose cells use
// the same pool of engines, learn nothing of each other.
func TestIsolation(t *testing.T) {
	var log hosttest.Log
	var trace hosttest.Trace
	h := newHost(t, host.Options{
		Trace: &trace,
		Tools: []host.RawTool{log.Tool(hosttest.Echo("common")), log.Tool(hosttest.Echo("alpha_tool")), log.Tool(hosttest.Echo("beta_tool"))},
	})
	client := func(name string) []host.ClientTool {
		return []host.ClientTool{{App: name, Name: name + "_ask", Description: "Ask the user of " + name + "."}}
	}
	alpha := newRun(t, h, host.RunOptions{AgentRunID: "alpha", SessionID: "alpha", Deny: []string{"beta_tool"}, ClientTools: client("alpha")})
	beta := newRun(t, h, host.RunOptions{AgentRunID: "beta", SessionID: "beta", Deny: []string{"alpha_tool"}, ClientTools: client("beta")})
	same := newRun(t, h, host.RunOptions{AgentRunID: "same", SessionID: "same", Deny: []string{"beta_tool"}, ClientTools: client("alpha")})
	warm(t, alpha)

	leave := `
		globalThis.leak = 'alpha-secret'; var leakVar = 'alpha-secret'; Object.prototype.leak = 'alpha-secret'; Array.prototype.map = () => 'alpha-secret';
		JSON.parse = () => 'alpha-secret'; Promise.prototype.then = null; Math.leak = 'alpha-secret'; Symbol.for('alpha-secret'); /alpha-secret/.exec('alpha-secret');
		const keep = 'alpha-secret'.repeat(1000), bytes = new Uint8Array(1 << 20).fill(65); text('alpha-secret output'); `
	res := exec(t, alpha, leave+"await tools.alpha_tool({ token: 'alpha-secret' }); await yield_control(); return keep.length + bytes.length")
	wantWaiting(t, res, guestabi.WaitYield)
	exec(t, alpha, leave+"return 1")

	room := 4 << 20
	if testing.Short() {
		room = 2 << 20 // still twice what was left
	}
	for name, r := range map[string]*host.Run{"beta": beta, "same catalog": same} {
		seen := exec(t, r, `
			const names = Object.getOwnPropertyNames(globalThis);
			const zero = new Uint8Array(`+fmt.Sprint(room)+`).every((x) => x === 0);
			return { names: names.filter((n) => /leak/.test(n)), proto: 'leak' in {}, map: [1].map((x) => x)[0], json: JSON.parse('1'), math: 'leak' in Math, zero,
				legacy: RegExp.$1 ?? null, then: typeof Promise.prototype.then, tools: ALL_TOOLS.map((x) => x.name), global: typeof leakVar };`)
		want := `"names":[],"proto":false,"map":1,"json":1,"math":false,"zero":true,"legacy":null,"then":"function","global":"undefined",`
		tools := `"tools":["beta_tool","common","beta_ask"]`
		if name != "beta" {
			tools = `"tools":["alpha_tool","common","alpha_ask"]`
		}
		wantValue(t, seen, "{"+want+tools+"}")
		if len(seen.Output) != 0 || seen.Telemetry.CallCount != 0 || len(seen.Telemetry.CalledTools) != 0 || seen.Telemetry.CatalogSize != 3 {
			t.Errorf("%s: output %v, telemetry %+v", name, texts(seen), seen.Telemetry)
		}
	}

	log.Reset()
	guess := exec(t, beta, `
		const ids = ['cloister:core:alpha_tool', 'client:alpha:alpha_ask', 'cloister:core:alpha_tool ', 'CLOISTER:core:alpha_tool', 'alpha_tool', 'cloister:core:alpha_tool/', 'cloister:core:./alpha_tool'];
		const out = [];
		for (const id of ids) {
			out.push(await tools.call(id, {}).catch((e) => e.code), await tools.describe(id).catch((e) => e.code));
			if (await tools.call(id, {}).catch((e) => /alpha_(tool|ask)"?[,?]/.test(e.message.replace(id, '')))) out.push('suggested for ' + id);
			if ((await tools.search(id, { limit: 50 })).some((x) => /alpha/.test(x.id))) out.push('found by ' + id);
		}
		return [...new Set(out)];`)
	wantValue(t, guess, `["unknown_tool"]`)
	if got := log.Tools(); len(got) != 0 {
		t.Errorf("tools that ran: %v", got)
	}
	wantFailed(t, wait(t, beta, res.CellID), guestabi.ReasonInvalidInput)
	wantFailed(t, wait(t, same, res.CellID), guestabi.ReasonInvalidInput)
	for _, r := range []*host.Run{beta, same} {
		if _, err := r.Call(t.Context(), "client:beta:beta_ask", nil); err == nil {
			t.Error("Call ran a client tool")
		}
		text, err := json.Marshal([]any{r.Catalog(), r.Surface()})
		if err != nil {
			t.Fatal(err)
		}
		if r == beta && strings.Contains(string(text), "alpha") {
			t.Errorf("the catalog or surface of beta names alpha: %s", text)
		}
	}
	for _, e := range trace.Events() {
		if e.AgentRunID != e.SessionID || e.AgentRunID == "" {
			t.Errorf("an event mixes scopes: %+v", e)
		}
		if e.AgentRunID == "beta" && strings.Contains(e.Tool, "alpha") && e.Event != "call.denied" && e.Event != "describe" {
			t.Errorf("an event of beta: %+v", e)
		}
	}
	wantValue(t, wait(t, alpha, res.CellID), fmt.Sprint(12*1000+1<<20))
}

// TestHammer runs cells, waits, settlements and closes against each other. It is
// there for the race detector and for the counts at its end.
func TestHammer(t *testing.T) {
	store := hosttest.NewStore()
	var trace hosttest.Trace
	h := newHost(t, host.Options{
		Snapshots: store, Trace: &trace, Tools: []host.RawTool{hosttest.Echo("echo"), hosttest.Failing("fail", errors.New("no"))},
		CodeMode: host.CodeModeConfig{TimeoutMs: 60_000, MaxSuspendedRuns: 100_000, MaxPendingToolCalls: 4},
	})
	warm(t, newRun(t, h, host.RunOptions{}))
	const runs, rounds = 6, 8
	var wg sync.WaitGroup
	for n := range runs {
		wg.Go(func() {
			for round := range rounds {
				hammerRun(t, h, n, round)
			}
		})
	}
	wg.Go(func() {
		for range 200 {
			h.Sweep()
		}
	})
	wg.Wait()
	if h.Suspended() != 0 || store.Len() != 0 {
		t.Errorf("left: %d runs, %d snapshots", h.Suspended(), store.Len())
	}
}

// hammerRun is one run with cells side by side; every other run is closed under
// the hands of its cells.
func hammerRun(t *testing.T, h *host.Host, n, round int) {
	id := fmt.Sprint(n, "-", round)
	o := host.RunOptions{AgentRunID: id, SessionID: id, ClientTools: []host.ClientTool{{Name: "ask", Description: "Ask."}}}
	if n%2 == 0 {
		o.ClientTools = append(o.ClientTools, host.ClientTool{Name: "ask" + fmt.Sprint(round), Description: "Makes a template of its own."})
	}
	var r *host.Run
	if n%3 == 0 {
		o.OnClientCall = func(c host.PendingToolCall) {
			go r.Resolve(c.ID, json.RawMessage(`1`)) // ErrUnknownCall after Close is fine
		}
	}
	r, err := h.NewRun(context.Background(), o)
	if err != nil {
		t.Error(err)
		return
	}
	defer r.Close()
	closes := round%2 == 1
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() { hammerCell(t, r, i, closes) })
	}
	if closes {
		r.Close()
	}
	wg.Wait()
}

func hammerCell(t *testing.T, r *host.Run, i int, closes bool) {
	code := []string{
		"const r = await Promise.all(Array.from({ length: 20 }, (_, i) => tools.echo({ i }))); return r.length",
		"await yield_control(); await tools.echo({}); await yield_control(); return 20",
		"return (await tools.ask({})) + 19",
		"try { await tools.fail() } catch { await yield_control() } return 20",
	}[i]
	res, err := r.Exec(context.Background(), host.ExecInput{Code: code})
	for step := 0; err == nil && res.Status == guestabi.StatusWaiting && step < 20; step++ {
		for _, p := range res.Pending {
			if p.Method == "client" {
				// Settled already where there is a callback.
				_ = r.Resolve(p.ID, json.RawMessage(`1`))
			}
		}
		var second sync.WaitGroup
		id := res.CellID
		second.Go(func() { // loses against the other wait, or wins
			other, err := r.Wait(context.Background(), host.WaitInput{CellID: id, TimeoutMs: 100})
			if err != nil {
				t.Errorf("Wait: %v", err)
			} else if other.Status == guestabi.StatusFailed && other.Code != guestabi.CodeInvalidInput && other.Code != guestabi.CodeAborted {
				t.Errorf("Wait: %s (%s)", other.Error, other.Reason)
			}
		})
		res, err = r.Wait(context.Background(), host.WaitInput{CellID: id})
		second.Wait()
	}
	switch {
	case err != nil:
		t.Errorf("%s: %v", code, err)
	case res.Status == guestabi.StatusCompleted && string(res.Value) != "20":
		t.Errorf("%s: %s", code, res.Value)
	case res.Status == guestabi.StatusFailed && !closes && res.Code != guestabi.CodeInvalidInput:
		t.Errorf("%s: %s (%s)", code, res.Error, res.Reason)
	}
}

// TestManyCatalogs: more catalogs than templates are kept for.
func TestManyCatalogs(t *testing.T) {
	var tools []host.RawTool
	const n = 20
	for i := range n {
		tools = append(tools, hosttest.Echo(fmt.Sprintf("tool_%d", i)))
	}
	h := newHost(t, host.Options{Tools: tools})
	var runs []*host.Run
	var suspended []string
	for i := range n {
		r := newRun(t, h, host.RunOptions{Allow: []string{fmt.Sprintf("tool_%d", i)}})
		res := exec(t, r, "await yield_control(); return ALL_TOOLS[0].name")
		wantWaiting(t, res, guestabi.WaitYield)
		runs, suspended = append(runs, r), append(suspended, res.CellID)
	}
	for i, r := range runs {
		wantValue(t, wait(t, r, suspended[i]), fmt.Sprintf(`"tool_%d"`, i))
		wantValue(t, exec(t, r, "return ALL_TOOLS.length"), "1")
	}
}

func TestLeastMemory(t *testing.T) {
	r := setup(t, host.Options{CodeMode: host.CodeModeConfig{MemoryLimitBytes: 1}})
	wantValue(t, exec(t, r, "const r = await Promise.all([1, 2, 3].map((n) => tools.echo({ n, s: 'x'.repeat(1000) }))); await tools.search('x'); return r.length"), "3")
}

// TestSharedEngine: hosts may share an engine, which is not theirs to close.
func TestSharedEngine(t *testing.T) {
	e, err := quickjs.Load(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	a, b := newHost(t, host.Options{Engine: e}), newHost(t, host.Options{Engine: e})
	wantValue(t, exec(t, newRun(t, a, host.RunOptions{}), "return 1"), "1")
	res := exec(t, newRun(t, b, host.RunOptions{}), yieldOnce)
	wantWaiting(t, res, guestabi.WaitYield)
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	wantValue(t, wait(t, newRun(t, b, host.RunOptions{}), res.CellID), "42")
	wantValue(t, exec(t, newRun(t, newHost(t, host.Options{Engine: e}), host.RunOptions{}), "return 2"), "2")
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(t.Context()); err != nil {
		t.Error(err)
	}
	c := newHost(t, host.Options{Engine: e})
	if res, err := newRun(t, c, host.RunOptions{}).Exec(t.Context(), host.ExecInput{Code: "return 3"}); err == nil && res.Status == guestabi.StatusCompleted {
		t.Error("a cell ran on an engine that is closed")
	}
}

// failing is a reader and a writer that fails.
type failing struct{}

func (failing) Read([]byte) (int, error)  { return 0, errors.New("no entropy") }
func (failing) Write([]byte) (int, error) { return 0, errors.New("disk full") }

// TestBrokenHost: what breaks the host itself is a Go error, and no panic.
func TestBrokenHost(t *testing.T) {
	r := newRun(t, newHost(t, host.Options{Random: failing{}}), host.RunOptions{})
	if res, err := r.Exec(t.Context(), host.ExecInput{Code: "return 1"}); err == nil {
		t.Errorf("without random numbers: %+v", res)
	}
	if res, err := r.Exec(t.Context(), host.ExecInput{Code: "return 1", CallID: "given"}); err == nil {
		t.Errorf("without random numbers: %+v", res)
	}
	if _, err := r.Call(t.Context(), "cloister:core:echo", json.RawMessage(`{}`)); err == nil {
		t.Error("Call without random numbers")
	}
}

func TestTraceThatCannotBeWritten(t *testing.T) {
	trace := host.NewJSONLTrace(failing{})
	r := setup(t, host.Options{Trace: trace})
	wantValue(t, exec(t, r, "return (await tools.echo({ a: 1 })).a"), "1")
	if trace.Err() == nil || trace.Err().Error() != "disk full" {
		t.Errorf("Err() = %v", trace.Err())
	}
}

// TestDeepValues: a result must have a JSON form that others can read, however
// large the output may be.
func TestDeepValues(t *testing.T) {
	r := setup(t, host.Options{CodeMode: host.CodeModeConfig{MaxOutputBytes: 1 << 20, TimeoutMs: 60_000}})
	nest := func(n int) string { return fmt.Sprintf("let a = 1; for (let i = 0; i < %d; i++) a = [a];", n) }
	wantFailed(t, exec(t, r, nest(10_500)+"return a"), guestabi.ReasonGuestError)
	wantFailed(t, exec(t, r, nest(10_500)+"json(a)"), guestabi.ReasonGuestError)
	wantValue(t, exec(t, r, nest(100)+"json(a); return a"), strings.Repeat("[", 100)+"1"+strings.Repeat("]", 100))
	wantValue(t, exec(t, r, `return '[[['.repeat(200) + '"' + '\\"'`), `"`+strings.Repeat("[[[", 200)+`\"\\\""`)
}

// The caller goes away before the driver is inside of the call: nobody may wait
// for a tool that does not look at its context.
func TestCancelledBeforeTheCallRunsInline(t *testing.T) {
	gate := hosttest.NewGate("hang")
	ctx, cancel := context.WithCancel(t.Context())
	o := host.Options{Tools: []host.RawTool{gate.Tool()}}
	o.Hooks.BeforeExec = func(context.Context, *host.ExecEvent) error {
		cancel()
		return nil
	}
	r := newRun(t, newHost(t, o), host.RunOptions{})
	for range 20 {
		if _, err := r.Exec(ctx, host.ExecInput{Code: `return await tools.hang({})`}); !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v", err)
		}
		ctx, cancel = context.WithCancel(t.Context())
	}
	cancel()
}
