package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/host/hosttest"
	"github.com/cloister-wasm/cloister/plugins"
)

// The faults that these tests showed: programs killed by where a clock fell, work of the host on a guest's
// behalf outside of every deadline, contexts that did not end with the run.

// computing is guest code that computes for some milliseconds of the guest's coarse clock.
const computing = `const compute = (ms) => { const end = Date.now() + ms; while (Date.now() < end) for (let i = 0; i < 500; i++); };`

// waitToEnd waits for a cell until it is not waiting any more.
func waitToEnd(t testing.TB, r *host.Run, res *host.Result, timeoutMs int) (end *host.Result, waits int) {
	t.Helper()
	for ; res.Status == guestabi.StatusWaiting; waits++ {
		res = waitInput(t, r, host.WaitInput{CellID: res.CellID, TimeoutMs: timeoutMs})
	}
	return res, waits
}

// TestCallsWithWorkInBetween: a program that mostly waits for its tools is not killed by a deadline that
// finds it computing.
func TestCallsWithWorkInBetween(t *testing.T) {
	slow := hosttest.Echo("slow")
	slow.Call = func(_ context.Context, in json.RawMessage) (json.RawMessage, error) {
		time.Sleep(15 * time.Millisecond)
		return in, nil
	}
	r := setup(t, host.Options{Tools: []host.RawTool{slow}, CodeMode: host.CodeModeConfig{TimeoutMs: 300}})
	res := exec(t, r, computing+"let n = 0; for (let i = 0; i < 40; i++) { await tools.slow({}); compute(10); n++ } return n")
	res, waits := waitToEnd(t, r, res, 0)
	wantValue(t, res, "40")
	if waits == 0 {
		t.Error("a second of work was done within a timeout of 300 ms")
	}
}

// TestShortPollsDoNotKill: how often one asks does not decide what becomes of a program.
func TestShortPollsDoNotKill(t *testing.T) {
	r := setup(t, host.Options{CodeMode: host.CodeModeConfig{TimeoutMs: 30_000}})
	res := exec(t, r, computing+"await yield_control(); compute(400); return 'whole'")
	wantWaiting(t, res, guestabi.WaitYield)
	res, waits := waitToEnd(t, r, res, 100)
	wantValue(t, res, `"whole"`)
	if waits < 2 {
		t.Errorf("%d waits of 100 ms saw a turn of 400", waits)
	}
}

// TestEndlessLoopAfterACall: what computes for ever ends also when nobody waits for it, and the next wait says so.
func TestEndlessLoopAfterACall(t *testing.T) {
	slow := hosttest.Echo("slow")
	slow.Call = func(ctx context.Context, in json.RawMessage) (json.RawMessage, error) {
		time.Sleep(150 * time.Millisecond)
		return in, nil
	}
	r := setup(t, host.Options{Tools: []host.RawTool{slow}, CodeMode: host.CodeModeConfig{TimeoutMs: 200}})
	res := exec(t, r, "text('before'); await tools.slow({}); for (;;);")
	end, _ := waitToEnd(t, r, res, 0)
	wantFailed(t, end, guestabi.ReasonTimeout)
	if got := texts(end); len(got) != 1 || got[0] != "before" {
		t.Errorf("output %q", got)
	}
	wantFailed(t, wait(t, r, res.CellID), guestabi.ReasonSnapshotExpired) // it was told
}

// manyTools are tools whose names are near to a wrong one.
func manyTools(n int) []host.RawTool {
	tools := make([]host.RawTool, n)
	for i := range tools {
		tools[i] = hosttest.Echo(fmt.Sprintf("create_%d_issue_thing", i))
	}
	return tools
}

// TestHostsAnswersAreTheCellsTime: descriptions, suggestions and declarations are made in the turn that asks for
// them, and count as it does.
func TestHostsAnswersAreTheCellsTime(t *testing.T) {
	r := setup(t, host.Options{Tools: manyTools(4000), CodeMode: host.CodeModeConfig{TimeoutMs: 100, MaxPendingToolCalls: 128}, MaxCalls: 1 << 20})
	const ask = "await Promise.allSettled(Array.from({ length: 8000 }, (_, i) => tools.describe('cloister:core:creat_isue_thnig_' + i)));"
	res, _ := waitToEnd(t, r, exec(t, r, ask+"return 1"), 0)
	wantFailed(t, res, guestabi.ReasonTimeout)
	ctx, cancel := context.WithCancel(t.Context())
	c := background(ctx, r, "for (;;) "+ask)
	cancel()
	if got := <-c; got.err == nil && got.Status == guestabi.StatusCompleted {
		t.Errorf("%+v", got.Result)
	}
}

// TestHostsAnswersAreTheCellsMemory: what the host answers itself is bounded as results of tools are.
func TestHostsAnswersAreTheCellsMemory(t *testing.T) {
	props := map[string]any{}
	for p := range 10 {
		props[fmt.Sprintf("property_%d", p)] = map[string]any{"type": "string", "description": strings.Repeat("what it is for ", 8)}
	}
	schema, err := json.Marshal(map[string]any{"type": "object", "properties": props})
	if err != nil {
		t.Fatal(err)
	}
	tools := make([]host.MCPTool, 60)
	for i := range tools {
		tools[i] = host.MCPTool{Name: fmt.Sprintf("tool_%d", i), Description: strings.Repeat("It does something useful. ", 20), Parameters: schema}
	}
	r := setup(t, host.Options{MCP: []host.MCPServer{{Name: "srv", Tools: tools, Client: &memoryServer{}}}, MaxHeldBytes: 1 << 20})
	res := exec(t, r, `
		const all = await Promise.all(Array.from({ length: 64 }, () => MCP.srv.$api().then(() => 'yes', (e) => e.code)));
		const yes = all.filter((x) => x === 'yes').length;
		return [yes > 1, yes < 64, all.find((x) => x !== 'yes')];`)
	wantValue(t, res, `[true,true,"too_many_pending_tool_calls"]`)
}

// hangs is a context that a callback waited for, to see that it ends.
type hangs struct{ began, ended atomic.Int32 }

func (h *hangs) until(ctx context.Context) error {
	h.began.Add(1)
	<-ctx.Done()
	h.ended.Add(1)
	return ctx.Err()
}

// hangingStore waits in one of its methods until its context ends.
type hangingStore struct {
	*hosttest.Store
	method string
	h      *hangs
}

func (s hangingStore) Put(ctx context.Context, snap *host.Snapshot) error {
	if s.method == "Put" {
		return s.h.until(ctx)
	}
	return s.Store.Put(ctx, snap)
}

func (s hangingStore) Get(ctx context.Context, id string) ([]byte, error) {
	if s.method == "Get" {
		return nil, s.h.until(ctx)
	}
	return s.Store.Get(ctx, id)
}

func (s hangingStore) Delete(ctx context.Context, id string) error {
	if s.method == "Delete" {
		return s.h.until(ctx)
	}
	return s.Store.Delete(ctx, id)
}

type hangingTransformer struct{ h *hangs }

func (t hangingTransformer) Transform(ctx context.Context, _ *host.TransformInput) (*host.Transformed, error) {
	return nil, t.h.until(ctx)
}

// TestCloseEndsWhatLeftTheHost: whatever a cell has called ends with the host, and so does Close.
func TestCloseEndsWhatLeftTheHost(t *testing.T) {
	for _, tt := range []struct {
		name, code, language string
		set                  func(o *host.Options, h *hangs)
	}{
		{"store.Put", "await yield_control()", "", func(o *host.Options, h *hangs) { o.Snapshots = hangingStore{hosttest.NewStore(), "Put", h} }},
		{"store.Get", "await yield_control()", "", func(o *host.Options, h *hangs) { o.Snapshots = hangingStore{hosttest.NewStore(), "Get", h} }},
		{"store.Delete", "await yield_control()", "", func(o *host.Options, h *hangs) { o.Snapshots = hangingStore{hosttest.NewStore(), "Delete", h} }},
		{"BeforeExec", "return 1", "", func(o *host.Options, h *hangs) {
			o.Hooks.BeforeExec = func(ctx context.Context, _ *host.ExecEvent) error { return h.until(ctx) }
		}},
		{"BeforeToolCall", "return await tools.echo({})", "", func(o *host.Options, h *hangs) {
			o.Hooks.BeforeToolCall = func(ctx context.Context, _ *host.ToolCall) error { return h.until(ctx) }
		}},
		{"AfterToolCall", "return await tools.echo({})", "", func(o *host.Options, h *hangs) {
			o.Hooks.AfterToolCall = func(ctx context.Context, _ *host.ToolCall, _ json.RawMessage, _ error) { _ = h.until(ctx) }
		}},
		{"Approve", "return await tools.careful({})", "", func(o *host.Options, h *hangs) {
			o.Approve = func(ctx context.Context, _ *host.ToolCall) (host.Decision, error) {
				return host.Decision{}, h.until(ctx)
			}
		}},
		{"Transformer", "return 1", host.TypeScript, func(o *host.Options, h *hangs) { o.Transformer = hangingTransformer{h} }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var hang hangs
			careful := hosttest.Echo("careful")
			careful.Approval = host.ApprovalAsk
			o := host.Options{Tools: []host.RawTool{hosttest.Echo("echo"), careful}, CodeMode: host.CodeModeConfig{TimeoutMs: 60_000}}
			tt.set(&o, &hang)
			h := newHost(t, o)
			r := newRun(t, h, host.RunOptions{})
			over := make(chan struct{})
			go func() {
				defer close(over)
				res, err := r.Exec(context.Background(), host.ExecInput{Code: tt.code, Language: tt.language})
				if err == nil && res.Status == guestabi.StatusWaiting {
					_, _ = r.Wait(context.Background(), host.WaitInput{CellID: res.CellID}) // whatever it says: it is to end
				}
			}()
			eventually(t, "the callback is called", func() bool { return hang.began.Load() > 0 })
			if err := h.Close(); err != nil {
				t.Error(err)
			}
			<-over
			eventually(t, "the callback's context ends", func() bool { return hang.ended.Load() == hang.began.Load() })
		})
	}
}

// TestExecReturnsThoughCallbacksDoNot: what does not look at its context holds up itself.
func TestExecReturnsThoughCallbacksDoNot(t *testing.T) {
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	for _, tt := range []struct {
		name, code, language string
		set                  func(o *host.Options)
	}{
		{"BeforeExec", "return 1", "", func(o *host.Options) {
			o.Hooks.BeforeExec = func(context.Context, *host.ExecEvent) error { <-release; return nil }
		}},
		{"BeforeToolCall of a client tool", "return await tools.pick({})", "", func(o *host.Options) {
			o.Hooks.BeforeToolCall = func(context.Context, *host.ToolCall) error { <-release; return nil }
		}},
		{"Transformer", "return 1", host.TypeScript, func(o *host.Options) { o.Transformer = deafTransformer{release} }},
		{"Approve", "return await tools.careful({})", "", func(o *host.Options) {
			o.Approve = func(context.Context, *host.ToolCall) (host.Decision, error) {
				<-release
				return host.Decision{}, errors.New("late")
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			careful := hosttest.Echo("careful")
			careful.Approval = host.ApprovalAsk
			o := host.Options{Tools: []host.RawTool{careful}, CodeMode: host.CodeModeConfig{TimeoutMs: 500}}
			tt.set(&o)
			r := newRun(t, newHost(t, o), host.RunOptions{ClientTools: []host.ClientTool{{Name: "pick", Description: "Pick."}}})
			res := execInput(t, r, host.ExecInput{Code: tt.code, Language: tt.language}) // hangs the test if it hangs
			if res.Status == guestabi.StatusCompleted {
				t.Errorf("%+v", res)
			}
		})
	}
}

type deafTransformer struct{ release chan struct{} }

func (t deafTransformer) Transform(context.Context, *host.TransformInput) (*host.Transformed, error) {
	<-t.release
	return nil, errors.New("late")
}

// TestScopesThatSpin: a plugin whose scopes never end costs an exec a part of its time, and nobody else any.
func TestScopesThatSpin(t *testing.T) {
	var namespaces []object
	for i := range 6 {
		ns := computedNamespace()
		ns["id"], ns["globalName"] = fmt.Sprintf("computed%d", i), fmt.Sprintf("Computed%d", i)
		namespaces = append(namespaces, ns)
	}
	p := loadBoard(t, boardManifest("test.board", namespaces...), withScope(`"spin"`))
	timeout := 4000
	if testing.Short() {
		timeout = 2000
	}
	var trace hosttest.Trace
	h := newHost(t, host.Options{Plugins: []*plugins.Plugin{p}, Trace: &trace, CodeMode: host.CodeModeConfig{TimeoutMs: timeout}})
	warm(t, newRun(t, h, host.RunOptions{Allow: []string{"echo"}})) // which sees no namespace
	r := newRun(t, h, host.RunOptions{})
	c := background(t.Context(), r, "return Object.keys(namespaces).length")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := r.Exec(ctx, host.ExecInput{Code: "return 2"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a second exec with a context that ends first: %v", err)
	}
	got := <-c
	if got.err != nil {
		t.Fatal(got.err)
	}
	wantValue(t, got.Result, "0")
	if n := len(trace.Events(host.EventNamespaceRefused)); n != 6 {
		t.Errorf("%d namespaces were refused", n)
	}
}
