package host_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/host/hosttest"
)

// TestChecklist proves the validation checklist of the code mode contract, one
// subtest a line.
func TestChecklist(t *testing.T) {
	for name, test := range map[string]func(*testing.T){
		"disabled-config-leaves-tools-unchanged":       checkDisabled,
		"object-without-enabled-stays-off":             checkObjectWithoutEnabled,
		"enabled-exposes-exactly-exec-and-wait":        checkEnabled,
		"runs-without-tools-are-not-enforced":          checkNoTools,
		"all-effective-tools-in-ALL_TOOLS":             checkAllTools,
		"denied-tools-not-in-ALL_TOOLS":                checkDenied,
		"search-describe-call-work":                    checkSearchDescribeCall,
		"mcp-declarations-without-a-bridge-call":       checkMCPDeclarations,
		"mcp-api-inline":                               TestMCPInlineAPI,
		"mcp-calls-by-namespace-only":                  checkMCPCalls,
		"control-tools-hidden-on-both-sides":           checkControlTools,
		"nested-calls-keep-approval-and-hooks":         checkApprovalAndHooks,
		"shell-exec-hidden-but-callable-by-id":         checkShellExec,
		"code-mode-exec-and-wait-not-callable":         checkRecursion,
		"typescript-only-where-asked":                  checkTypeScript,
		"modules-files-network-environment-fail":       checkNoOutside,
		"infinite-loops-time-out-and-block-nobody":     checkLoops,
		"memory-cap-ends-the-guest":                    checkMemory,
		"output-and-snapshot-caps-on-exec-and-wait":    checkCaps,
		"wait-resumes-and-gives-the-value":             checkWait,
		"expired-aborted-foreign-unknown-runs-fail":    checkBadRuns,
		"transcript-keeps-control-calls":               checkTranscript,
		"transcript-and-telemetry-show-nested-calls":   checkNested,
		"final-payload-without-exec-and-wait-is-stuck": checkPayload,
	} {
		t.Run(name, test)
	}
}

var (
	dogTool = hosttest.Echo("walk_dog")
	catTool = hosttest.Echo("feed_cat")
)

func surfaceNames(r *host.Run) []string {
	names := []string{}
	for _, d := range r.Surface() {
		names = append(names, d.Name)
	}
	return names
}

func checkDisabled(t *testing.T) {
	for _, text := range []string{"false", "null", "{}", `{"enabled":false}`} {
		cfg, err := host.ParseCodeMode([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		h, err := host.New(t.Context(), &host.Options{CodeMode: cfg, Tools: []host.RawTool{dogTool, catTool}})
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		r, err := h.NewRun(t.Context(), scope)
		if err != nil {
			t.Fatal(err)
		}
		if got := surfaceNames(r); !slices.Equal(got, []string{"feed_cat", "walk_dog"}) || r.Active() {
			t.Errorf("%s: surface %v, active %v", text, got, r.Active())
		}
		if err := r.EnforceSurface([]byte(`{"tools":[{"name":"walk_dog"}]}`)); err != nil {
			t.Errorf("%s: EnforceSurface: %v", text, err)
		}
		if _, err := r.Exec(t.Context(), host.ExecInput{Code: "return 1"}); !errors.Is(err, host.ErrNotActive) {
			t.Errorf("%s: Exec: %v", text, err)
		}
		if _, err := r.Wait(t.Context(), host.WaitInput{CellID: "x"}); !errors.Is(err, host.ErrNotActive) {
			t.Errorf("%s: Wait: %v", text, err)
		}
		if out, err := r.Call(t.Context(), "cloister:core:walk_dog", json.RawMessage(`{"far":true}`)); err != nil || string(out) != `{"far":true}` {
			t.Errorf("%s: Call: %s, %v", text, out, err)
		}
	}
}

func checkObjectWithoutEnabled(t *testing.T) {
	cfg, err := host.ParseCodeMode([]byte(`{"timeoutMs":5000,"languages":["javascript"],"mode":"only"}`))
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Enabled {
		t.Error("enabled by other fields")
	}
}

func checkEnabled(t *testing.T) {
	r := newRun(t, newHost(t, host.Options{Tools: []host.RawTool{dogTool, catTool}}), host.RunOptions{})
	if got := surfaceNames(r); !slices.Equal(got, []string{"exec", "wait"}) || !r.Active() {
		t.Errorf("surface %v, active %v", got, r.Active())
	}
	warm(t, r)
	if got := exec(t, r, "return 1").Telemetry.VisibleTools; !slices.Equal(got, []string{"exec", "wait"}) {
		t.Errorf("telemetry says that the model sees %v", got)
	}
}

func checkNoTools(t *testing.T) {
	h := newHost(t, host.Options{Tools: []host.RawTool{dogTool}})
	none := newHost(t, host.Options{Tools: []host.RawTool{}})
	for name, r := range map[string]*host.Run{
		"disableTools":     newRun(t, h, host.RunOptions{DisableTools: true}),
		"empty allow list": newRun(t, h, host.RunOptions{Allow: []string{}}),
		"all denied":       newRun(t, h, host.RunOptions{Deny: []string{"*"}}),
		"no tools at all":  newRun(t, none, host.RunOptions{}),
	} {
		if r.Active() || len(r.Surface()) != 0 {
			t.Errorf("%s: active %v, surface %v", name, r.Active(), r.Surface())
		}
		for _, payload := range []string{`{}`, `{"messages":[]}`, `{"tools":[{"name":"walk_dog"}]}`, `nonsense`} {
			if err := r.EnforceSurface([]byte(payload)); err != nil {
				t.Errorf("%s: EnforceSurface(%s): %v", name, payload, err)
			}
		}
		if _, err := r.Exec(t.Context(), host.ExecInput{Code: "return 1"}); !errors.Is(err, host.ErrNotActive) {
			t.Errorf("%s: Exec: %v", name, err)
		}
	}
}

// mixedHost has core, plugin and client tools, and one that policy denies.
func mixedHost(t *testing.T, log *hosttest.Log) *host.Run {
	plugin := hosttest.Echo("row_count")
	plugin.Owner = "acme.demo"
	h := newHost(t, host.Options{
		Tools: []host.RawTool{log.Tool(dogTool), log.Tool(catTool), log.Tool(plugin), log.Tool(hosttest.Echo("launch_missile"))},
		Deny:  []string{"launch_*"},
	})
	r := newRun(t, h, host.RunOptions{ClientTools: []host.ClientTool{{App: "editor", Name: "select_file", Description: "Let the user choose a file."}}})
	warm(t, r)
	return r
}

func checkAllTools(t *testing.T) {
	r := mixedHost(t, &hosttest.Log{})
	wantValue(t, exec(t, r, "return ALL_TOOLS.map(x => [x.id, x.name, x.source, x.sourceName])"), `[
		["cloister:core:feed_cat", "feed_cat", "cloister", null],
		["cloister:core:walk_dog", "walk_dog", "cloister", null],
		["cloister:acme.demo:row_count", "row_count", "cloister", "acme.demo"],
		["client:editor:select_file", "select_file", "client", "editor"]]`)
	wantValue(t, exec(t, r, "return ALL_TOOLS.some(x => 'parameters' in x)"), "false")
	wantValue(t, exec(t, r, "return Object.isFrozen(ALL_TOOLS) && ALL_TOOLS.every(Object.isFrozen)"), "true")
}

func checkDenied(t *testing.T) {
	var log hosttest.Log
	r := mixedHost(t, &log)
	wantValue(t, exec(t, r, `
		const id = 'cloister:core:launch_missile', seen = [];
		const code = (p) => p.then(() => 'worked', (e) => e.code);
		return {
			listed: ALL_TOOLS.some(x => x.id === id || x.name === 'launch_missile'),
			found: (await tools.search('launch missile', { limit: 50 })).some(x => x.id === id),
			byName: 'launch_missile' in tools,
			described: await code(tools.describe(id)),
			called: await code(tools.call(id, {})),
			suggested: await tools.call(id + 's', {}).catch((e) => e.message.includes('launch_missile"')),
		};`), `{"listed":false,"found":false,"byName":false,"described":"unknown_tool","called":"unknown_tool","suggested":false}`)
	if got := log.Tools(); len(got) != 0 {
		t.Errorf("tools that ran: %v", got)
	}
	if strings.Contains(r.Surface()[0].Description, "launch_missile") {
		t.Error("the exec description names a denied tool")
	}
}

func checkSearchDescribeCall(t *testing.T) {
	var log hosttest.Log
	r := mixedHost(t, &log)
	res := exec(t, r, `
		const [hit] = await tools.search('go for a walk with the dog', { limit: 1 });
		const full = await tools.describe(hit.id);
		return [hit.id, full.parameters, await tools.call(full.id, { far: true }), await tools.walk_dog({ far: false })];`)
	wantValue(t, res, `["cloister:core:walk_dog", {"type":"object"}, {"far":true}, {"far":false}]`)
	if got := log.Tools(); !slices.Equal(got, []string{"cloister:core:walk_dog", "cloister:core:walk_dog"}) {
		t.Errorf("tools that ran: %v", got)
	}
	tel := res.Telemetry
	if tel.SearchCount != 1 || tel.DescribeCount != 1 || tel.CallCount != 2 {
		t.Errorf("telemetry %+v", tel)
	}
}

var controlNames = []string{"exec", "wait", "tool_search_code", "tool_search", "tool_describe", "tool_call"}

func checkControlTools(t *testing.T) {
	tools := []host.RawTool{dogTool}
	for _, name := range controlNames {
		e := hosttest.Echo(name)
		e.Owner = "acme.demo"
		tools = append(tools, e)
		if name != "exec" {
			tools = append(tools, hosttest.Echo(name))
		}
	}
	r := setup(t, host.Options{Tools: tools})
	if got := surfaceNames(r); !slices.Equal(got, []string{"exec", "wait"}) {
		t.Errorf("surface %v", got)
	}
	if got := r.Catalog(); len(got) != 1 || got[0].Name != "walk_dog" {
		t.Errorf("catalog %v", got)
	}
	names, err := json.Marshal(controlNames)
	if err != nil {
		t.Fatal(err)
	}
	wantValue(t, exec(t, r, `
		const out = [];
		for (const name of `+string(names)+`) {
			for (const owner of ['core', 'acme.demo']) {
				const id = 'cloister:' + owner + ':' + name;
				const worked = await Promise.allSettled([tools.call(id, {}), tools.describe(id)]);
				if (name in tools || ALL_TOOLS.some(x => x.id === id) || worked.some(w => w.status === 'fulfilled')) out.push(id);
			}
		}
		return out;`), "[]")
}

func checkApprovalAndHooks(t *testing.T) {
	var log hosttest.Log
	var asked, before, after []string
	careful := log.Tool(dogTool)
	careful.Approval = host.ApprovalAsk
	r := setup(t, host.Options{
		Tools: []host.RawTool{careful, log.Tool(catTool)},
		Approve: func(_ context.Context, c *host.ToolCall) (host.Decision, error) {
			asked = append(asked, c.Tool+string(c.Input))
			return host.Decision{Approved: strings.Contains(string(c.Input), "near"), Reason: "too far"}, nil
		},
		Hooks: host.Hooks{
			BeforeToolCall: func(_ context.Context, c *host.ToolCall) error {
				before = append(before, fmt.Sprint(c.Tool, c.Scope))
				return nil
			},
			AfterToolCall: func(_ context.Context, c *host.ToolCall, out json.RawMessage, err error) {
				after = append(after, fmt.Sprint(c.Name, " ", string(out), err != nil))
			},
		},
	})
	wantValue(t, exec(t, r, `
		const far = await tools.walk_dog({ to: 'far' }).catch((e) => [e.name, e.code, e.message]);
		return [far, await tools.walk_dog({ to: 'near' }), await tools.feed_cat({})];`),
		`[["PermissionError","approval_denied","the call of cloister:core:walk_dog was not approved: too far"],{"to":"near"},{}]`)
	who := "{agent agent-run session key sender channel false}"
	if d := cmp.Diff([]string{`cloister:core:walk_dog{"to":"far"}`, `cloister:core:walk_dog{"to":"near"}`}, asked); d != "" {
		t.Errorf("asked for approval (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"cloister:core:walk_dog" + who, "cloister:core:walk_dog" + who, "cloister:core:feed_cat" + who}, before); d != "" {
		t.Errorf("before hooks (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"walk_dog true", `walk_dog {"to":"near"}false`, "feed_cat {}false"}, after); d != "" {
		t.Errorf("after hooks (-want +got):\n%s", d)
	}
	if got := log.Tools(); len(got) != 2 {
		t.Errorf("tools that ran: %v", got)
	}
}

func checkShellExec(t *testing.T) {
	var log hosttest.Log
	h := newHost(t, host.Options{Tools: []host.RawTool{log.Tool(hosttest.Echo("exec")), dogTool}})
	allowed := newRun(t, h, host.RunOptions{})
	warm(t, allowed)
	if got := surfaceNames(allowed); !slices.Equal(got, []string{"exec", "wait"}) {
		t.Errorf("surface %v", got)
	}
	wantValue(t, exec(t, allowed, `return await tools.call('cloister:core:exec', { cmd: 'ls' })`), `{"cmd":"ls"}`)
	wantValue(t, exec(t, allowed, `return await tools.exec({ cmd: 'pwd' })`), `{"cmd":"pwd"}`)
	if got := log.Tools(); len(got) != 2 {
		t.Errorf("tools that ran: %v", got)
	}
	denied := newRun(t, h, host.RunOptions{Deny: []string{"cloister:core:exec"}})
	warm(t, denied)
	wantValue(t, exec(t, denied, `return [typeof tools.exec, await tools.call('cloister:core:exec', {}).catch(e => e.code)]`), `["undefined","unknown_tool"]`)
}

func checkRecursion(t *testing.T) {
	var log hosttest.Log
	r := setup(t, host.Options{Tools: []host.RawTool{log.Tool(dogTool)}})
	wantValue(t, exec(t, r, `
		const ids = ['exec', 'wait', 'cloister:core:exec', 'cloister:core:wait', 'cloister:host:exec', 'code_mode_exec', 'client:app:exec', 'mcp:cloister:exec', 'cloister::exec', ':exec'];
		const out = [typeof exec, typeof wait, typeof tools.exec, typeof tools.wait];
		for (const id of ids) out.push(await tools.call(id, { code: 'return 1', runId: 'x' }).catch((e) => e.code));
		return [...new Set(out)];`), `["undefined","unknown_tool"]`)
	if got := log.Tools(); len(got) != 0 {
		t.Errorf("tools that ran: %v", got)
	}
}

// countingTransformer counts its calls and gives fixed JavaScript.
type countingTransformer struct {
	calls  int
	result string
}

func (c *countingTransformer) Transform(context.Context, *host.TransformInput) (*host.Transformed, error) {
	c.calls++
	return &host.Transformed{Code: c.result}, nil
}

func checkTypeScript(t *testing.T) {
	t.Run("the-real-transform", func(t *testing.T) {
		r := setup(t, host.Options{})
		ts := func(code string) *host.Result {
			return execInput(t, r, host.ExecInput{Code: code, Language: host.TypeScript})
		}
		wantValue(t, ts("enum E { A = 1, B }\ninterface P { x: number }\nconst p: P = { x: E.B };\nconst q = (await tools.echo(p)) as P;\nreturn q.x satisfies number;"), "2")
		res := ts("const x: number = 1;\n\nreturn x +;")
		wantFailed(t, res, guestabi.ReasonTypeScriptTransformFailed)
		if res.Line != 3 {
			t.Errorf("the fault is in line %d, want 3", res.Line)
		}
		res = ts("interface A { a: string }\n\n\nthrow new Error('boom' as string)")
		wantFailed(t, res, guestabi.ReasonGuestError)
		if res.Line != 4 {
			t.Errorf("the error is from line %d, want 4", res.Line)
		}
		wantFailed(t, exec(t, r, "const x: number = 1; return x"), guestabi.ReasonInvalidInput)
	})
	t.Run("not-loaded-for-javascript", func(t *testing.T) {
		tr := &countingTransformer{result: "return 42"}
		r := setup(t, host.Options{Transformer: tr})
		for _, in := range []host.ExecInput{
			{Code: "return 1"}, {Code: "return 1", Language: host.JavaScript}, {Code: "let x: number = 1"},
			{Code: "", Language: host.TypeScript}, {Code: "return 1", Language: "TypeScript"},
		} {
			execInput(t, r, in)
		}
		if tr.calls != 0 {
			t.Errorf("%d transforms without TypeScript", tr.calls)
		}
		wantValue(t, execInput(t, r, host.ExecInput{Code: "whatever", Language: host.TypeScript}), "42")
		if tr.calls != 1 {
			t.Errorf("%d transforms for one cell", tr.calls)
		}
	})
	t.Run("not-loaded-where-switched-off", func(t *testing.T) {
		tr := &countingTransformer{}
		r := setup(t, host.Options{Transformer: tr, CodeMode: host.CodeModeConfig{Languages: []string{host.JavaScript}}})
		wantFailed(t, execInput(t, r, host.ExecInput{Code: "return 1", Language: host.TypeScript}), guestabi.ReasonUnsupportedLanguage)
		if tr.calls != 0 {
			t.Errorf("%d transforms", tr.calls)
		}
		if strings.Contains(r.Surface()[0].Description, "TypeScript") {
			t.Error("the exec description offers TypeScript")
		}
	})
}

func checkNoOutside(t *testing.T) {
	r := setup(t, host.Options{})
	for _, code := range []string{
		"import fs from 'fs'", "import 'fs'", "import * as x from 'x'", "import { a } from 'a'", "export const a = 1", "export default 1",
		"return import.meta.url", "return await import('fs')", "const m = 'fs'; return await import(m)", "return import('data:text/javascript,1').catch(() => 'caught')",
		"return require('fs')", "const fs = require('node:fs')",
	} {
		if res := exec(t, r, code); res.Reason != guestabi.ReasonModuleAccessDenied {
			t.Errorf("%s: %s %s %s (%s)", code, res.Status, res.Value, res.Error, res.Reason)
		}
	}
	wantValue(t, exec(t, r, `
		const names = ['process', 'require', 'module', 'exports', 'Deno', 'Bun', 'fetch', 'XMLHttpRequest', 'WebSocket', 'Buffer', 'std', 'os', 'bjson', 'Worker',
			'window', 'self', 'global', 'document', 'navigator', 'location', 'localStorage', 'indexedDB', 'importScripts', 'postMessage', 'WebAssembly',
			'SharedArrayBuffer', 'Atomics', 'eval', 'setTimeout', 'setInterval', 'setImmediate', 'print', 'scriptArgs', 'gc', 'load', 'read', 'readFile', 'quit', 'exit', 'performance', 'crypto'];
		return names.filter((n) => n in globalThis);`), "[]")
}

func checkLoops(t *testing.T) {
	h := newHost(t, host.Options{CodeMode: host.CodeModeConfig{TimeoutMs: 60_000}})
	spinning, other := newRun(t, h, host.RunOptions{}), newRun(t, h, host.RunOptions{})
	warm(t, other)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var spins []<-chan result
	for range 3 {
		spins = append(spins, background(ctx, spinning, "for (;;);"))
	}
	// Were the host blocked, this would take the minute of the loops.
	for range 5 {
		wantValue(t, exec(t, other, "return (await tools.echo({ n: 1 })).n"), "1")
	}
	cancel()
	for _, c := range spins {
		if got := <-c; !errors.Is(got.err, context.Canceled) || got.Result != nil && got.Reason != guestabi.ReasonAborted {
			t.Errorf("a cancelled loop: %v, %v", got.Result, got.err)
		}
	}
	r := setup(t, host.Options{CodeMode: host.CodeModeConfig{TimeoutMs: 100}})
	for _, code := range []string{"for (;;);", "while (true) await null", "/(x+x+)+y/.test('x'.repeat(64))", "const f = () => Promise.resolve().then(f); await f()"} {
		res := exec(t, r, code)
		wantFailed(t, res, guestabi.ReasonTimeout)
		if !slices.Contains(res.Telemetry.LimitsHit, guestabi.ReasonTimeout) {
			t.Errorf("%s: limits hit: %v", code, res.Telemetry.LimitsHit)
		}
	}
}

func checkMemory(t *testing.T) {
	r := setup(t, host.Options{CodeMode: host.CodeModeConfig{MemoryLimitBytes: 4 << 20}})
	for _, code := range []string{
		"const a = []; for (;;) a.push(new Array(1000).fill(1))",
		"let s = 'xy'; for (;;) { s += s; s.charCodeAt(0) }",
		"return new Uint8Array(64 << 20).length",
		"const a = []; try { for (;;) a.push('x'.repeat(1000) + a.length) } catch { throw new Error('harmless') }",
	} {
		res := exec(t, r, code)
		wantFailed(t, res, guestabi.ReasonMemoryLimitExceeded)
		if !slices.Contains(res.Telemetry.LimitsHit, guestabi.ReasonMemoryLimitExceeded) {
			t.Errorf("%s: limits hit: %v", code, res.Telemetry.LimitsHit)
		}
		wantValue(t, exec(t, r, "return new Array(1000).fill(1).length"), "1000")
	}
}

func checkCaps(t *testing.T) {
	t.Run("output", func(t *testing.T) {
		r := setup(t, host.Options{CodeMode: host.CodeModeConfig{MaxOutputBytes: 1024}})
		for _, code := range []string{
			"text('x'.repeat(1025))", "json({ a: 'x'.repeat(1025) })", "console.log('x'.repeat(1025))", "return 'x'.repeat(1025)",
			"text('x'.repeat(600)); return 'y'.repeat(600)", "for (let i = 0; i < 2000; i++) text('')", "text('ü'.repeat(600))",
		} {
			res := exec(t, r, code)
			wantFailed(t, res, guestabi.ReasonOutputLimitExceeded)
			if !slices.Contains(res.Telemetry.LimitsHit, guestabi.ReasonOutputLimitExceeded) {
				t.Errorf("%s: limits hit: %v", code, res.Telemetry.LimitsHit)
			}
		}
		wantValue(t, exec(t, r, "text('x'.repeat(400)); return 'y'.repeat(400).length"), "400")
		res := exec(t, r, "text('x'.repeat(600)); await yield_control(); text('x'.repeat(600)); return 1")
		wantWaiting(t, res, guestabi.WaitYield)
		wantFailed(t, wait(t, r, res.CellID), guestabi.ReasonOutputLimitExceeded)
	})
	t.Run("snapshot", func(t *testing.T) {
		store := hosttest.NewStore()
		r := setup(t, host.Options{CodeMode: host.CodeModeConfig{MaxSnapshotBytes: 200 << 10}, Snapshots: store})
		noise := "const a = new Uint8Array(400 << 10); for (let i = 0; i < a.length; i++) a[i] = Math.random() * 256;\n"
		wantFailed(t, exec(t, r, noise+"await yield_control(); return a.length"), guestabi.ReasonSnapshotLimitExceeded)
		res := exec(t, r, "await yield_control();\n"+noise+"await yield_control(); return a.length")
		wantWaiting(t, res, guestabi.WaitYield)
		res = wait(t, r, res.CellID)
		wantFailed(t, res, guestabi.ReasonSnapshotLimitExceeded)
		if !slices.Contains(res.Telemetry.LimitsHit, guestabi.ReasonSnapshotLimitExceeded) {
			t.Errorf("limits hit: %v", res.Telemetry.LimitsHit)
		}
		if store.Len() != 0 {
			t.Errorf("%d snapshots are left", store.Len())
		}
	})
}

func checkWait(t *testing.T) {
	gate := hosttest.NewGate("slow")
	store := hosttest.NewStore()
	r := setup(t, host.Options{Tools: []host.RawTool{gate.Tool()}, Snapshots: store, CodeMode: host.CodeModeConfig{TimeoutMs: 1000}})
	res := exec(t, r, "text('before'); const r = await tools.slow({ n: 1 }); text('after'); return { got: r }")
	wantWaiting(t, res, guestabi.WaitPendingTools)
	if len(res.Pending) != 1 || res.Pending[0].Tool != "cloister:core:slow" || res.Pending[0].Method != "call" || res.Pending[0].Approval {
		t.Errorf("pending: %+v", res.Pending)
	}
	// Exec returns on time; where the machine is busy, the snapshot is stored after that.
	eventually(t, "the snapshot is stored", func() bool { return store.Len() == 1 })
	if s := res.Telemetry.Snapshot; s != nil && s.Bytes != len(store.Snapshot(res.CellID)) {
		t.Errorf("telemetry %+v", s)
	}
	again := waitInput(t, r, host.WaitInput{CellID: res.CellID, TimeoutMs: 100})
	wantWaiting(t, again, guestabi.WaitPendingTools)
	gate.Release(`{"deep":[1,2]}`)
	res = wait(t, r, again.CellID)
	wantValue(t, res, `{"got":{"deep":[1,2]}}`)
	if got := texts(res); !slices.Equal(got, []string{"before", "after"}) {
		t.Errorf("output %v", got)
	}
	if store.Len() != 0 || res.Telemetry.Snapshot != nil {
		t.Errorf("%d snapshots are left, telemetry %+v", store.Len(), res.Telemetry.Snapshot)
	}
	wantFailed(t, wait(t, r, again.CellID), guestabi.ReasonSnapshotExpired)
}

func checkBadRuns(t *testing.T) {
	clock := hosttest.NewClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	h := newHost(t, host.Options{Now: clock.Now, CodeMode: host.CodeModeConfig{SnapshotTTLSeconds: 60}})
	r := newRun(t, h, host.RunOptions{})
	warm(t, r)
	bad := func(what string, res *host.Result) {
		t.Helper()
		if res.Status != guestabi.StatusFailed || res.Code != guestabi.CodeInvalidInput {
			t.Errorf("%s: %s %s (%s)", what, res.Status, res.Error, res.Code)
		}
	}
	bad("unknown", wait(t, r, "run_00000000000000000000000000000000"))
	bad("empty", wait(t, r, ""))

	res := exec(t, r, "await yield_control(); return 1")
	other := newRun(t, h, host.RunOptions{AgentRunID: scope.AgentRunID, SessionID: "other"})
	bad("wrong session", wait(t, other, res.CellID))
	clock.Advance(61 * time.Second)
	bad("expired", wait(t, r, res.CellID))

	res = exec(t, r, "await yield_control(); return 1")
	r.Close()
	bad("aborted", wait(t, newRun(t, h, host.RunOptions{}), res.CellID))
	if h.Suspended() > 1 {
		t.Errorf("%d suspended runs", h.Suspended())
	}
	h.Sweep()
	if h.Suspended() != 0 {
		t.Errorf("%d suspended runs after the sweep", h.Suspended())
	}
}

func checkTranscript(t *testing.T) {
	var buf bytes.Buffer
	trace := host.NewJSONLTrace(&buf)
	h := newHost(t, host.Options{Trace: trace})
	r := newRun(t, h, host.RunOptions{})
	res := execInput(t, r, host.ExecInput{Code: "await tools.echo({}); await yield_control(); return 1", CallID: "toolu_exec"})
	wantWaiting(t, res, guestabi.WaitYield)
	wantValue(t, waitInput(t, r, host.WaitInput{CellID: res.CellID, CallID: "toolu_wait"}), "1")
	if trace.Err() != nil {
		t.Fatal(trace.Err())
	}
	type event struct{ Event, RunID, CallID, ParentID, Status string }
	var got []event
	for line := range bytes.Lines(buf.Bytes()) {
		var e host.TraceEvent
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		if e.AgentRunID != scope.AgentRunID || e.SessionID != scope.SessionID || e.Time.IsZero() {
			t.Errorf("an event lacks scope or time: %s", line)
		}
		got = append(got, event{string(e.Event), e.CellID, e.CallID, e.ParentID, e.Status})
	}
	id := res.CellID
	want := []event{
		{Event: "exec.start", RunID: id, CallID: "toolu_exec"},
		{Event: "call.start", RunID: id, CallID: id + ".1", ParentID: "toolu_exec"},
		{Event: "call.end", RunID: id, CallID: id + ".1", ParentID: "toolu_exec", Status: "ok"},
		{Event: "suspend", RunID: id},
		{Event: "exec.end", RunID: id, CallID: "toolu_exec", Status: "waiting"},
		{Event: "wait.start", RunID: id, CallID: "toolu_wait"},
		{Event: "resume", RunID: id},
		{Event: "wait.end", RunID: id, CallID: "toolu_wait", Status: "completed"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("transcript (-want +got):\n%s", d)
	}
}

func checkNested(t *testing.T) {
	var trace hosttest.Trace
	var log hosttest.Log
	r := setup(t, host.Options{Trace: &trace, Tools: []host.RawTool{log.Tool(dogTool), log.Tool(hosttest.Failing("fail", errors.New("no")))}, Deny: []string{"x"}})
	trace.Reset()
	res := execInput(t, r, host.ExecInput{CallID: "parent", Code: `
		await tools.walk_dog({ secret: 'hunter2' });
		await tools.fail({ secret: 'hunter2' }).catch(() => 0);
		await tools.call('cloister:core:nope', { secret: 'hunter2' }).catch(() => 0);
		return 1;`})
	wantValue(t, res, "1")
	type event struct{ Event, ParentID, Tool, Status, Rule string }
	var got []event
	ids := map[string]bool{}
	for _, e := range trace.Events("call.start", "call.end", "call.denied") {
		got = append(got, event{string(e.Event), e.ParentID, e.Tool, e.Status, e.Rule})
		ids[e.CallID] = true
		if e.InputBytes == 0 && e.Event == "call.start" || e.CellID == "" {
			t.Errorf("%+v", e)
		}
	}
	if d := cmp.Diff([]event{
		{"call.start", "parent", "cloister:core:walk_dog", "", ""}, {"call.end", "parent", "cloister:core:walk_dog", "ok", ""},
		{"call.start", "parent", "cloister:core:fail", "", ""}, {"call.end", "parent", "cloister:core:fail", "tool_failed", ""},
		{"call.denied", "parent", "", "", "no such tool"},
	}, got); d != "" {
		t.Errorf("trace (-want +got):\n%s", d)
	}
	if len(ids) != 3 {
		t.Errorf("calls have the ids %v", ids)
	}
	for _, c := range log.Calls() {
		if c.ParentID != "parent" || !ids[c.ID] || c.Scope.SessionID != scope.SessionID {
			t.Errorf("a tool saw %+v", c.ToolCall)
		}
	}
	tel := res.Telemetry
	if tel.CallCount != 3 || !slices.Equal(tel.CalledTools, []string{"cloister:core:walk_dog", "cloister:core:fail"}) {
		t.Errorf("telemetry %+v", tel)
	}
	text, err := json.Marshal([]any{trace.Events(), res.Telemetry})
	if err != nil || bytes.Contains(text, []byte("hunter2")) {
		t.Errorf("trace or telemetry hold an input: %v %s", err, text)
	}
}

func checkPayload(t *testing.T) {
	r := setup(t, host.Options{})
	if err := r.EnforceSurface([]byte(`{"tools":[{"name":"exec","input_schema":{}},{"name":"wait","input_schema":{}}]}`)); err != nil {
		t.Error(err)
	}
	for _, payload := range []string{`{}`, `{"tools":[]}`, `{"tools":[{"name":"exec"}]}`, `{"tools":[{"name":"exec"},{"name":"wait"},{"name":"echo"}]}`} {
		if err := r.EnforceSurface([]byte(payload)); !errors.Is(err, host.ErrSurface) {
			t.Errorf("%s: %v", payload, err)
		}
	}
}
