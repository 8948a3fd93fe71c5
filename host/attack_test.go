package host_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/host/hosttest"
)

// The attack corpus: testdata/attacks holds one archive for each class of attack,
// and in it one file for each cell. A cell's first lines are its header:
//
//	// tries: what the cell tries to do
//	// want: the verdict: completed JSON, failed REASON, waiting REASON or harmless;
//	//       alternatives are separated by " or "
//	// then: the verdict of the next wait, after client calls were answered; repeatable
//	// output: the texts of the output of the last result, as a JSON array
//	// calls: how many tools run; 0 if it is missing, -1 for any number
//	// host: quick (100 ms), small (4 MiB) or normal, the default
//	// language: typescript
//
// The header is cut off. In what is left, %{repeat N TEXT}%, %{u+HEX}% and
// %{byte HEX}% stand for text that is awkward in a file.
//
// "harmless" means that the cell may end in any way that is a Result. After each
// cell a canary runs in the same run of the same host: its value, which holds a
// fingerprint of all that a cell can reach, must be that of a canary on a fresh
// host.

const minAttacks = 320

type attack struct {
	name, source, tries, language string
	want                          string
	then                          []string
	output                        string
	calls                         int
	profile                       string
}

var header = regexp.MustCompile(`^// ([a-z]+): (.*)$`)

var macro = regexp.MustCompile(`(?s)%\{(repeat \d+ .*?|u\+[0-9a-fA-F]+|byte [0-9a-fA-F]{2})\}%`)

func expand(t *testing.T, source string) string {
	return macro.ReplaceAllStringFunc(source, func(m string) string {
		m = m[2 : len(m)-2]
		switch {
		case strings.HasPrefix(m, "u+"):
			n, err := strconv.ParseUint(m[2:], 16, 21)
			if err != nil {
				t.Fatal(err)
			}
			return string(rune(n))
		case strings.HasPrefix(m, "byte "):
			n, err := strconv.ParseUint(m[5:], 16, 8)
			if err != nil {
				t.Fatal(err)
			}
			return string([]byte{byte(n)})
		}
		count, text, _ := strings.Cut(m[len("repeat "):], " ")
		n, err := strconv.Atoi(count)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Repeat(text, n)
	})
}

func parseAttack(t *testing.T, f txtar.File) attack {
	a := attack{name: f.Name, profile: "normal"}
	source := string(f.Data)
	for {
		line, rest, _ := strings.Cut(source, "\n")
		m := header.FindStringSubmatch(line)
		if m == nil {
			break
		}
		value := m[2]
		switch m[1] {
		case "tries":
			a.tries = value
		case "want":
			a.want = value
		case "then":
			a.then = append(a.then, value)
		case "output":
			a.output = value
		case "host":
			a.profile = value
		case "language":
			a.language = value
		case "calls":
			n, err := strconv.Atoi(value)
			if err != nil {
				t.Fatalf("%s: %v", f.Name, err)
			}
			a.calls = n
		default:
			t.Fatalf("%s: unknown header %q", f.Name, line)
		}
		source = rest
	}
	if a.tries == "" || a.want == "" {
		t.Fatalf("%s: the header lacks tries or want", f.Name)
	}
	a.source = strings.TrimSuffix(expand(t, source), "\n")
	return a
}

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
	o.CodeMode = host.CodeModeConfig{MemoryLimitBytes: 32 << 20, MaxOutputBytes: 16 << 10, MaxSnapshotBytes: 2 << 20}
	switch profile {
	case "normal":
	case "quick":
		o.CodeMode.TimeoutMs = 100
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

// canary checks that the host is as it was. A cell that a busy machine did not
// let run in its 100 ms is tried again. On the quick host the walk over all objects
// comes once, at the end.
func (a *arena) canary(t *testing.T, after string, full bool) string {
	t.Helper()
	code, tools := canaryStart+canaryEnd, []string{"cloister:core:echo"}
	if full {
		code, tools = canaryStart+canaryWalk+canaryEnd, []string{"cloister:core:fingerprint", "cloister:core:echo"}
	}
	var res *host.Result
	id := ""
	for range 50 {
		id = a.next()
		if res = execInput(t, a.run, host.ExecInput{Code: code, CallID: id}); res.Status == guestabi.StatusWaiting {
			res = wait(t, a.run, res.RunID)
		}
		if res.Reason != guestabi.ReasonTimeout && res.Status != guestabi.StatusWaiting {
			break
		}
	}
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
	return wait(t, a.run, res.RunID)
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
	suspended, cells := a.h.Suspended(), a.run.Cells()
	res := execInput(t, a.run, host.ExecInput{Code: x.source, Language: x.language, CallID: id})
	checkVerdict(t, "exec", x.want, res)
	for _, then := range x.then {
		if res.Status != guestabi.StatusWaiting {
			t.Fatalf("nothing to wait for: %s %s", res.Status, res.Error)
		}
		res = a.answer(t, res)
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

// TestLeftoversOnPlainMemory: pools of engines are put back in another way where
// there are no copy-on-write mappings.
func TestLeftoversOnPlainMemory(t *testing.T) {
	ar, err := txtar.ParseFile("testdata/attacks/leftovers.txtar")
	if err != nil {
		t.Fatal(err)
	}
	a := newArena(t, "plain")
	for _, f := range ar.Files {
		x := parseAttack(t, f)
		t.Run(x.name, func(t *testing.T) {
			a.fight(t, x)
			a.check(t, x.name, true)
		})
	}
}

// poisonTails use each part of the API. The last lines of the intrinsics class are
// replaced by each of them.
var poisonTails = []string{
	"return await tools.search('echo', { limit: 3 })",
	"return await tools.describe('cloister:core:add')",
	"return await tools.fail({}).then((x) => x, (e) => [e.name, e.message, e.code])",
	"return await tools.call('cloister:core:secret', { a: [1, { b: 2 }] })",
	"text({ a: 1 }); json([1, 'x', { y: null }]); console.warn('a', new Error('b'), 1n, Symbol('c')); return { a: [1, 'x'] }",
	"await yield_control({ why: 'because' }); text('after'); return await tools.echo({ x: [1, 2, { y: 'z' }] })",
	"return [await API.list(), await API.read('nope').catch((e) => e.message)]",
	"return structuredClone({ a: [1, new Map([[1, new Set([2])]]), new Date(0), /x/g, new Uint8Array(4), new Error('e')] })",
	"const all = []; for (let i = 0; i < 20; i++) all.push(tools.add({ x: i })); let s = 0; for (let i = 0; i < 20; i++) s += await all[i]; return s",
	"throw { name: 'N', message: 'M', code: 'C' }",
	"tools.fail({}); return 1",
	"return await tools.ask({ q: [1] })",
}

// TestPoisonedAPI crosses every way to rewrite built-in objects with every part of
// the API. A cell may break itself by that, and nothing else: no tool runs that is
// denied, no message is malformed, and the canary is well.
func TestPoisonedAPI(t *testing.T) {
	ar, err := txtar.ParseFile("testdata/attacks/intrinsics.txtar")
	if err != nil {
		t.Fatal(err)
	}
	a := newArena(t, "normal")
	for _, f := range ar.Files {
		x := parseAttack(t, f)
		poison, _, ok := cutLast(x.source, "\n")
		if !ok {
			continue
		}
		t.Run(x.name, func(t *testing.T) {
			for _, tail := range poisonTails {
				res := a.fight(t, attack{name: x.name, source: poison + "\n" + tail, want: "harmless", calls: -1})
				for i := 0; res.Status == guestabi.StatusWaiting && i < 3; i++ {
					res = a.answer(t, res)
				}
				if res.Status == guestabi.StatusWaiting || res.Reason == guestabi.ReasonInternalError {
					t.Errorf("%s: %s %s (%s)", tail, res.Status, res.Error, res.Reason)
				}
				a.check(t, x.name+" with "+tail, false)
			}
			a.check(t, x.name, true)
		})
	}
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

func TestAttacks(t *testing.T) {
	files, err := filepath.Glob("testdata/attacks/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	t.Run("classes", func(t *testing.T) {
		for _, file := range files {
			ar, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if len(strings.TrimSpace(string(ar.Comment))) == 0 {
				t.Errorf("%s does not say what the class is", file)
			}
			var attacks []attack
			names := map[string]bool{}
			for _, f := range ar.Files {
				a := parseAttack(t, f)
				if names[a.name] {
					t.Errorf("%s has %s twice", file, a.name)
				}
				names[a.name] = true
				attacks = append(attacks, a)
			}
			total += len(attacks)
			t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
				t.Parallel()
				arenas := map[string]*arena{}
				for _, x := range attacks {
					if arenas[x.profile] == nil {
						arenas[x.profile] = newArena(t, x.profile)
					}
					a := arenas[x.profile]
					t.Run(x.name, func(t *testing.T) {
						a.fight(t, x)
						a.check(t, fmt.Sprintf("%s (%s)", x.name, x.tries), x.profile != "quick")
					})
				}
				for profile, a := range arenas {
					a.check(t, "all attacks on the "+profile+" host", true)
				}
			})
		}
	})
	if total < minAttacks {
		t.Errorf("the corpus has %d attacks, want at least %d", total, minAttacks)
	}
}
