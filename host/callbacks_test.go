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
)

// badly is what a callback does in TestCallbacks.
type badly string

const (
	well   badly = ""
	panics badly = "panics"
	fails  badly = "fails"
	hung   badly = "hangs" // without a look at any context
)

// mischief does it, each time until it is told to stop.
type mischief struct {
	mu      sync.Mutex
	how     badly
	release chan struct{}
	met     int
}

func (m *mischief) do() error {
	m.mu.Lock()
	how := m.how
	if how != well {
		m.met++
	}
	m.mu.Unlock()
	switch how {
	case panics:
		panic("a mistake of the embedder's")
	case fails:
		return errors.New("no: /var/run/secret")
	case hung:
		<-m.release
	}
	return nil
}

func (m *mischief) set(how badly) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.how = how
}

// callbacks are all that embedders hand in, each with a cell that meets it.
var callbacks = []struct {
	name string
	code string
	hows []badly
	set  func(o *host.Options, ro *host.RunOptions, m *mischief)
}{
	{"Approve", "return await tools.careful({}).catch((e) => e.code)", []badly{panics, fails, hung}, func(o *host.Options, _ *host.RunOptions, m *mischief) {
		o.Approve = func(context.Context, *host.ToolCall) (host.Decision, error) {
			return host.Decision{Approved: true}, m.do()
		}
	}},
	{"Policy", "return await tools.echo({}).catch((e) => e.code)", []badly{panics, fails, hung}, func(o *host.Options, _ *host.RunOptions, m *mischief) { o.Policy = badPolicy{m: m} }},
	{"BeforeExec", "return 1", []badly{panics, fails, hung}, func(o *host.Options, _ *host.RunOptions, m *mischief) {
		o.Hooks.BeforeExec = func(context.Context, *host.ExecEvent) error { return m.do() }
	}},
	{"BeforeToolCall", "return await tools.echo({}).catch((e) => e.code)", []badly{panics, fails, hung}, func(o *host.Options, _ *host.RunOptions, m *mischief) {
		o.Hooks.BeforeToolCall = func(context.Context, *host.ToolCall) error { return m.do() }
	}},
	{"AfterToolCall", "return await tools.echo({}).catch((e) => e.code)", []badly{panics, hung}, func(o *host.Options, _ *host.RunOptions, m *mischief) {
		o.Hooks.AfterToolCall = func(context.Context, *host.ToolCall, json.RawMessage, error) { _ = m.do() }
	}},
	{"OnClientCall", "return await tools.pick({}).catch((e) => e.code)", []badly{panics, hung}, func(_ *host.Options, ro *host.RunOptions, m *mischief) {
		ro.ClientTools, ro.OnClientCall = pick, func(host.PendingToolCall) { _ = m.do() }
	}},
	{"OnProgress", "return await tools.busy({})", []badly{panics, hung}, func(_ *host.Options, ro *host.RunOptions, m *mischief) {
		ro.OnProgress = func(*host.ToolCall, host.Progress) { _ = m.do() }
	}},
	{"OnEvent", "return await tools.echo({ a: 1 })", []badly{panics}, func(_ *host.Options, ro *host.RunOptions, m *mischief) {
		ro.OnEvent = func(host.TraceEvent) { _ = m.do() }
	}},
	{"Trace.Emit", "await yield_control(); return await tools.echo({ a: 1 })", []badly{panics}, func(o *host.Options, _ *host.RunOptions, m *mischief) {
		o.Trace = sinkFunc(func(host.TraceEvent) { _ = m.do() })
	}},
	{"Transformer", "return 1 as number", []badly{panics, fails, hung}, func(o *host.Options, _ *host.RunOptions, m *mischief) { o.Transformer = badTransformer{m} }},
	{"Now", "return Date.now() > 0", []badly{panics}, func(o *host.Options, _ *host.RunOptions, m *mischief) {
		o.Now = func() time.Time { _ = m.do(); return epoch }
	}},
	{"Random", "return Math.random() < 1", []badly{panics, fails}, func(o *host.Options, _ *host.RunOptions, m *mischief) { o.Random = badRandom{m} }},
	{"SnapshotStore.Put", yieldOnce, []badly{panics, fails, hung}, func(o *host.Options, _ *host.RunOptions, m *mischief) {
		o.Snapshots = badStore{hosttest.NewStore(), m, "Put"}
	}},
	{"SnapshotStore.Get", yieldOnce, []badly{panics, fails, hung}, func(o *host.Options, _ *host.RunOptions, m *mischief) {
		o.Snapshots = badStore{hosttest.NewStore(), m, "Get"}
	}},
	{"SnapshotStore.Delete", yieldOnce, []badly{panics, fails}, func(o *host.Options, _ *host.RunOptions, m *mischief) {
		o.Snapshots = badStore{hosttest.NewStore(), m, "Delete"}
	}},
}

type badPolicy struct {
	asking
	m *mischief
}

func (p badPolicy) Authorize(context.Context, *host.PolicyCall) (host.PolicyDecision, error) {
	return host.PolicyDecision{Allow: true}, p.m.do()
}

type badTransformer struct{ m *mischief }

func (t badTransformer) Transform(context.Context, *host.TransformInput) (*host.Transformed, error) {
	return &host.Transformed{Code: "return 1"}, t.m.do()
}

type badRandom struct{ m *mischief }

func (r badRandom) Read(b []byte) (int, error) {
	if err := r.m.do(); err != nil {
		return 0, err
	}
	for i := range b {
		b[i] = byte(time.Now().UnixNano() >> (i % 8))
	}
	return len(b), nil
}

type badStore struct {
	*hosttest.Store
	m      *mischief
	method string
}

func (s badStore) do(method string) error {
	if s.method != method {
		return nil
	}
	return s.m.do()
}

func (s badStore) Put(ctx context.Context, snap *host.Snapshot) error {
	if err := s.do("Put"); err != nil {
		return err
	}
	return s.Store.Put(ctx, snap)
}

func (s badStore) Get(ctx context.Context, id string) ([]byte, error) {
	if err := s.do("Get"); err != nil {
		return nil, err
	}
	return s.Store.Get(ctx, id)
}

func (s badStore) Delete(ctx context.Context, id string) error {
	if err := s.do("Delete"); err != nil {
		return err
	}
	return s.Store.Delete(ctx, id)
}

// TestCallbacks: whatever embedders hand in may panic, fail or hang: exec comes back with a result or an error, none of
// which names what the callback said of the machine, the panic is reported, no place for suspended cells is lost, and
// the host goes on as before.
func TestCallbacks(t *testing.T) {
	meetings := 2
	if testing.Short() {
		meetings = 1 // each that hangs takes the second that an exec has
	}
	for _, cb := range callbacks {
		for _, how := range cb.hows {
			t.Run(cb.name+" "+string(how), func(t *testing.T) {
				m := &mischief{release: make(chan struct{})}
				careful := hosttest.Echo("careful")
				careful.Approval = host.ApprovalAsk
				busy := hosttest.Echo("busy")
				busy.Call = func(ctx context.Context, in json.RawMessage) (json.RawMessage, error) {
					host.ReportProgress(ctx, "half")
					return in, nil
				}
				var mu sync.Mutex
				var reported []string
				o := host.Options{
					Tools: []host.RawTool{hosttest.Echo("echo"), careful, busy}, CodeMode: host.CodeModeConfig{TimeoutMs: 1000, MaxSuspendedRuns: 1},
					OnHookError: func(e *host.HookError) {
						mu.Lock()
						defer mu.Unlock()
						reported = append(reported, e.Callback)
						panic("in the report of a panic")
					},
				}
				ro := scope
				cb.set(&o, &ro, m)
				h := newHost(t, o)
				r, err := h.NewRun(t.Context(), ro)
				if err != nil {
					t.Fatal(err)
				}
				language := host.JavaScript
				if cb.name == "Transformer" {
					language = host.TypeScript
				} else {
					warm(t, r)
				}
				m.set(how)
				for range meetings {
					meet(t, r, cb.code, language, how == fails && strings.HasPrefix(cb.name, "Before"))
				}
				m.set(well)
				close(m.release)
				eventually(t, "no cell is left", func() bool { return h.Suspended() == 0 && r.Cells() == 0 })
				if m.met == 0 {
					t.Error("the callback was never called")
				}
				mu.Lock()
				defer mu.Unlock()
				if (how == panics) != (len(reported) > 0) || how == panics && !slices.Contains(reported, cb.name) {
					t.Errorf("reported: %q", reported)
				}
				if cb.name == "OnClientCall" {
					return // its client does not answer
				}
				res := execInput(t, r, host.ExecInput{Code: cb.code, Language: language})
				if res, _ = waitToEnd(t, r, res, 0); res.Status != guestabi.StatusCompleted {
					t.Errorf("afterwards: %s (%s)", res.Error, res.Reason)
				}
			})
		}
	}
}

// meet runs a cell that meets the callback, to its end or until it has been waited for once. What a hook says when it
// refuses is for the model.
func meet(t *testing.T, r *host.Run, code, language string, forModel bool) {
	t.Helper()
	res, err := r.Exec(t.Context(), host.ExecInput{Code: code, Language: language})
	if err != nil {
		return // a broken host: no random numbers
	}
	if res.Status == guestabi.StatusWaiting {
		if res, err = r.Wait(t.Context(), host.WaitInput{CellID: res.CellID, TimeoutMs: 100}); err != nil {
			t.Fatal(err)
		}
	}
	if res.Status == guestabi.StatusWaiting {
		if err := r.Abort(res.CellID); err != nil {
			t.Error(err)
		}
	}
	for _, secret := range []string{"/var", "a mistake"} {
		if !forModel && contains(res.Error+fmt.Sprint(texts(res)), secret) {
			t.Errorf("the result hands on what the callback said: %s", res.Error)
		}
	}
}
