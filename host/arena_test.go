package host_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/host/hosttest"
)

// Limits of an exec or wait, in milliseconds: those of quick attacks where a timeout is
// what is wanted, and of everything else.
const (
	shortTimeout = 100
	longTimeout  = 60_000
)

// arena is a host on which attacks run, with what the canary gives on it.
type arena struct {
	h     *host.Host
	run   *host.Run
	log   *hosttest.Log
	trace *hosttest.Trace
	cells int
	// What the canary gives on the fresh host, without and with the walk.
	light, full string
}

func newArena(t *testing.T, profile string) *arena {
	a := &arena{log: &hosttest.Log{}, trace: &hosttest.Trace{}}
	o := host.Options{Trace: a.trace, Deny: []string{"secret"}}
	o.CodeMode = host.CodeModeConfig{TimeoutMs: longTimeout, MemoryLimitBytes: 32 << 20, MaxOutputBytes: 16 << 10, MaxSnapshotBytes: 2 << 20}
	switch profile {
	case "normal":
	case "small":
		o.CodeMode.MemoryLimitBytes = 4 << 20
	case "plain": // memory that is copied instead of mapped
		o.PlainMemory = true
	default:
		t.Fatalf("unknown host %q", profile)
	}
	for _, tool := range []host.RawTool{
		hosttest.Echo("echo"), hosttest.Echo("secret"), hosttest.Echo("other_only"),
		host.Tool("add", "Add one to a number.", func(_ context.Context, in struct {
			X int `json:"x"`
		}) (int, error) {
			return in.X + 1, nil
		}),
		hosttest.Failing("fail", &host.ToolError{Name: "RangeError", Message: "boom", Code: "boom"}),
		host.Tool("fingerprint", "Give the SHA-256 of a text.", func(_ context.Context, in struct {
			Text string `json:"text"`
		}) (string, error) {
			return fmt.Sprintf("%x", sha256.Sum256([]byte(in.Text))), nil
		}),
		hosttest.Static("big", `"`+strings.Repeat("b", 1<<20)+`"`),
		hosttest.Static("hostile", `{"__proto__":{"polluted":true},"constructor":{"prototype":1},"then":"x","toJSON":1,"toString":2,"0":3,"length":4}`),
	} {
		o.Tools = append(o.Tools, a.log.Tool(tool))
	}
	a.h = newHost(t, o)
	ask := []host.ClientTool{{Name: "ask", Description: "Ask the user."}}
	a.run = newRun(t, a.h, host.RunOptions{Deny: []string{"other_only"}, ClientTools: ask})
	other := newRun(t, a.h, host.RunOptions{AgentRunID: "other", SessionID: "other", ClientTools: []host.ClientTool{{App: "other", Name: "steal", Description: "Belongs to another run."}}})
	warm(t, a.run)
	warm(t, other)
	a.light, a.full = a.canary(t, "nothing", false), a.canary(t, "nothing", true)
	return a
}

// canary checks that the host is as it was.
func (a *arena) canary(t *testing.T, after string, full bool) string {
	t.Helper()
	code, tools := canaryStart+canaryEnd, []string{"cloister:core:echo"}
	if full {
		code, tools = canaryStart+canaryWalk+canaryEnd, []string{"cloister:core:fingerprint", "cloister:core:echo"}
	}
	id := a.next()
	res := execInput(t, a.run, host.ExecInput{Code: code, CallID: id})
	if res.Status != guestabi.StatusCompleted {
		t.Fatalf("canary after %s: %s %s (%s)", after, res.Status, res.Error, res.Reason)
	}
	if _, got := a.ran(id); !slices.Equal(got, tools) {
		t.Fatalf("canary after %s: tools that ran: %v", after, got)
	}
	if got := texts(res); !slices.Equal(got, []string{"canary"}) {
		t.Fatalf("canary after %s: output %q", after, got)
	}
	return string(res.Value)
}

// check runs the canary and compares its value with that of the fresh host.
func (a *arena) check(t *testing.T, after string, full bool) {
	t.Helper()
	want := a.light
	if full {
		want = a.full
	}
	if got := a.canary(t, after, full); got != want {
		t.Fatalf("canary after %s: %s, want %s", after, got, want)
	}
}

// The canary uses each part of the API. With canaryWalk it also takes the
// fingerprint of all objects that a cell can reach.
const canaryStart = `
	text('canary');
	let hash = '';`

const canaryWalk = `
	const lines = [], seen = new Set();
	const walk = (o, path) => {
		if (o === null || typeof o !== 'object' && typeof o !== 'function' || seen.has(o)) return;
		seen.add(o);
		lines.push(path + ' ' + Object.isFrozen(o) + Object.isExtensible(o));
		for (const key of Reflect.ownKeys(o)) {
			const d = Reflect.getOwnPropertyDescriptor(o, key), at = path + '.' + String(key);
			const v = d.value;
			lines.push(at + ' ' + [d.writable, d.enumerable, d.configurable, typeof v, typeof d.get, typeof d.set, typeof v === 'object' || typeof v === 'function' ? '' : String(v)]);
			walk(v, at); walk(d.get, at + ':get'); walk(d.set, at + ':set');
		}
		walk(Object.getPrototypeOf(o), path + ':proto');
	};
	walk(globalThis, ''); walk((function* () {})(), 'generator'); walk((async function* () {})(), 'async generator'); walk([][Symbol.iterator](), 'array iterator');
	walk(new Map().entries(), 'map iterator'); walk(''[Symbol.iterator](), 'string iterator'); walk(/x/[Symbol.matchAll](''), 'regexp iterator'); walk(async () => {}, 'async');
	hash = await tools.fingerprint({ text: lines.join('\\n') });`

const canaryEnd = `
	const echo = await tools.echo({ n: [1, 'zwei', null, { x: true }] });
	const [found] = await tools.search('add a number', { limit: 1 });
	const denied = [];
	for (const id of ['cloister:core:secret', 'cloister:core:other_only', 'client:other:steal']) denied.push(await tools.call(id, {}).catch((e) => e.code));
	return {
		hash, echo, found: found.id, denied, described: (await tools.describe('cloister:core:add')).parameters.type,
		sum: [3, 1, 2].sort().map((x) => x * 2).reduce((a, b) => a + b), json: JSON.parse(JSON.stringify({ a: [1, 'x'] })), re: 'a1b2'.replace(/\d/g, (d) => d * 2),
		order: (await Promise.all([1, Promise.resolve(2), { then: (f) => f(3) }])).join(), map: [...new Map([[1, 2]])], caught: (() => { try { null.x } catch (e) { return e instanceof TypeError } })(),
	};`

// internals are words that no result may hold: they would show the host's or the
// prelude's inside.
var internals = []string{"cloister:prelude", "wasm error", "goroutine", ".go:", "runtime error", "resolvers", "freeSlots", "slotText"}

// answer settles the open client calls of a waiting run, and waits.
func (a *arena) answer(t *testing.T, res *host.Result) *host.Result {
	t.Helper()
	for _, p := range res.Pending {
		if p.Method == "client" {
			if err := a.run.Resolve(p.ID, json.RawMessage(`{"answer":"yes"}`)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return wait(t, a.run, res.CellID)
}

// limit sets the time that the next step of an attack has.
func (a *arena) limit(x attack, want string) {
	if x.quick && strings.Contains(want, "failed timeout") {
		a.h.SetTimeout(shortTimeout)
	} else {
		a.h.SetTimeout(longTimeout)
	}
}

// next starts the record of another cell and gives its id. Calls that a cell left
// behind when it failed may still reach their tools, under the id of that cell.
func (a *arena) next() string {
	a.log.Reset()
	a.trace.Reset()
	a.cells++
	return fmt.Sprint("cell-", a.cells)
}

// ran gives the calls of one cell that reached tools.
func (a *arena) ran(id string) (calls []hosttest.Call, tools []string) {
	tools = []string{}
	for _, c := range a.log.Calls() {
		if c.ParentID == id {
			calls, tools = append(calls, c), append(tools, c.Tool)
		}
	}
	return calls, tools
}

// fight runs an attack and gives its last result.
func (a *arena) fight(t *testing.T, x attack) *host.Result {
	t.Helper()
	id := a.next()
	defer a.h.SetTimeout(longTimeout)
	suspended, cells := a.h.Suspended(), a.run.Cells()
	a.limit(x, x.want)
	res := a.settle(t, execInput(t, a.run, host.ExecInput{Code: x.source, Language: x.language, CallID: id}))
	checkVerdict(t, "exec", x.want, res)
	for _, then := range x.then {
		if res.Status != guestabi.StatusWaiting {
			t.Fatalf("nothing to wait for: %s %s", res.Status, res.Error)
		}
		a.limit(x, then)
		res = a.settle(t, a.answer(t, res))
		checkVerdict(t, "wait", then, res)
	}
	if x.output != "" {
		got, err := json.Marshal(texts(res))
		if err != nil {
			t.Fatal(err)
		}
		if d := diffJSON(t, x.output, string(got)); d != "" {
			t.Errorf("output differs (-want +got):\n%s", d)
		}
	}
	text, err := json.Marshal(res)
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range internals {
		if strings.Contains(string(text), word) {
			t.Errorf("the result holds %q: %.500s", word, text)
		}
	}
	a.checkDispatcher(t, x, id)
	if res.Status != guestabi.StatusWaiting && (a.h.Suspended() != suspended || a.run.Cells() != cells) {
		t.Errorf("left: %d suspended runs, %d cells", a.h.Suspended()-suspended, a.run.Cells()-cells)
	}
	return res
}

// settle waits for a program that is still computing: on a busy machine exec and wait return before the program has had
// its computing time.
func (a *arena) settle(t *testing.T, res *host.Result) *host.Result {
	t.Helper()
	for res.Status == guestabi.StatusWaiting && res.Waiting == guestabi.WaitPendingTools && len(res.Pending) == 0 {
		var err error
		if res, err = a.run.Wait(t.Context(), host.WaitInput{CellID: res.CellID}); err != nil {
			t.Fatal(err)
		}
	}
	return res
}

// checkDispatcher looks at what tools ran and at what the trace says of it.
func (a *arena) checkDispatcher(t *testing.T, x attack, id string) {
	t.Helper()
	allowed := []string{"cloister:core:echo", "cloister:core:add", "cloister:core:fail", "cloister:core:big", "cloister:core:hostile", "client:app:ask"}
	ran, tools := a.ran(id)
	if x.calls >= 0 && len(ran) != x.calls {
		t.Errorf("%d tools ran, want %d: %v", len(ran), x.calls, tools)
	}
	for _, c := range a.log.Calls() {
		if !slices.Contains(allowed, c.Tool) || c.Scope.SessionID != scope.SessionID {
			t.Errorf("a tool ran that policy forbids, or for another run: %+v", c.ToolCall)
		}
		if !json.Valid(c.Input) {
			t.Errorf("a tool got input that is no JSON: %.200q", c.Input)
		}
	}
	for _, e := range a.trace.Events("call.start", "call.end") {
		if !slices.Contains(allowed, e.Tool) || !strings.HasPrefix(e.ParentID, "cell-") {
			t.Errorf("the trace has a call that policy forbids: %+v", e)
		}
	}
}

// checkVerdict compares a result with a verdict of a header.
func checkVerdict(t *testing.T, what, want string, res *host.Result) {
	t.Helper()
	for _, alternative := range strings.Split(want, " or ") {
		kind, rest, _ := strings.Cut(alternative, " ")
		switch kind {
		case "harmless":
			return
		case "completed":
			if res.Status == guestabi.StatusCompleted && diffJSON(t, rest, string(res.Value)) == "" {
				return
			}
		case "failed":
			if res.Status == guestabi.StatusFailed && string(res.Reason) == rest {
				return
			}
		case "waiting":
			if res.Status == guestabi.StatusWaiting && string(res.Waiting) == rest {
				return
			}
		default:
			t.Fatalf("unknown verdict %q", alternative)
		}
	}
	t.Fatalf("%s: %s %s%.600s %s%s, want %s", what, res.Status, res.Waiting, res.Value, res.Reason, clip(": "+res.Error, 300), want)
}

func clip(s string, n int) string { return s[:min(len(s), n)] }
