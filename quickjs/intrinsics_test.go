package quickjs

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/cloister-wasm/cloister/guestabi"
)

// preludeTemplate is a template with the prelude of real cells.
func preludeTemplate(tb testing.TB) *Template {
	tb.Helper()
	setup, err := json.Marshal(guestabi.Setup{
		Tools:     json.RawMessage(`[{"id":"cloister:core:echo","name":"echo","description":"says it again","source":"cloister","sourceName":"core"}]`),
		Names:     map[string]string{"echo": "cloister:core:echo"},
		Files:     map[string]string{"mcp/index.d.ts": "export {};"},
		MaxOutput: 65536,
		MaxOpen:   16,
	})
	if err != nil {
		tb.Fatal(err)
	}
	return newTemplate(tb, testEngine(tb, false), TemplateOptions{Prelude: guestabi.Prelude(), Setup: setup, Entries: guestabi.EntryCount})
}

// script runs source text as it is, without the prelude's start, and gives its
// value as text. A promise is followed. What is thrown is "throw " and its text.
func script(tb testing.TB, tmpl *Template, src string) string {
	tb.Helper()
	ctx := context.Background()
	vm, err := tmpl.NewVM(ctx, nil)
	if err != nil {
		tb.Fatal(err)
	}
	defer vm.Close()
	vm.SetDeadline(time.Now().Add(time.Minute))
	text, err := scriptOn(ctx, vm, src)
	if err != nil {
		tb.Fatalf("%.100s: %v", src, err)
	}
	return text
}

func scriptOn(ctx context.Context, vm *VM, src string) (string, error) {
	// The promise is made by the script, so no prelude is needed to follow it.
	code, err := vm.Compile(ctx, "(async () => { try { return String(await (async () => {"+src+"\n})()); } catch (e) { return 'throw ' + e; } })()")
	var main Value
	if err == nil {
		main, err = vm.Run(ctx, code)
	}
	if err == nil {
		t := vm.Template()
		var st State
		if st, _, err = vm.Turn(ctx, t.Entry(guestabi.EntrySettle), nil, t.Entry(guestabi.EntryDrain), main, 1<<20); err == nil && st == Pending {
			return "pending", nil
		}
	}
	if err == nil {
		main, err = vm.Result(ctx, main)
	}
	prefix := ""
	var exc *Exception
	if errors.As(err, &exc) {
		prefix, main, err = "throw ", exc.Value, nil
	}
	if err != nil {
		return "", err
	}
	b, err := vm.ReadString(ctx, main, 16<<20)
	return prefix + string(b), err
}

// bareTemplate has an empty prelude: what it shows is the engine's own.
func bareTemplate(tb testing.TB) *Template {
	tb.Helper()
	return newTemplate(tb, testEngine(tb, false), TemplateOptions{Prelude: "(() => [() => { }, () => { }, () => { }])", Entries: 3})
}

func TestGlobals(t *testing.T) {
	const list = "return Reflect.ownKeys(globalThis).map(String).sort().join('\\n') + '\\n'"
	golden(t, "testdata/globals_engine.txt", script(t, bareTemplate(t), list))
	golden(t, "testdata/globals_prelude.txt", script(t, preludeTemplate(t), list))
}

func TestWhatACellMustNotFind(t *testing.T) {
	tmpl := preludeTemplate(t)
	for _, name := range []string{
		"eval", "SharedArrayBuffer", "Atomics", "WebAssembly", "performance", "DOMException",
		"setTimeout", "setInterval", "setImmediate", "clearTimeout", "clearInterval", "requestAnimationFrame",
		"require", "module", "exports", "process", "Buffer", "fetch", "XMLHttpRequest", "WebSocket", "Worker", "importScripts",
		"gc", "print", "std", "os", "bjson", "scriptArgs", "load", "read", "navigator", "navigation", "location", "document", "window",
		"self", "Deno", "Bun", "crypto", "localStorage", "Intl", "ShadowRealm", "host_call", "__cloister", "ask",
	} {
		if got := script(t, tmpl, "return typeof globalThis['"+name+"'] + ' ' + ('"+name+"' in globalThis)"); got != "undefined false" {
			t.Errorf("%s: %s", name, got)
		}
	}
	for src, want := range map[string]string{
		"return typeof Error.prepareStackTrace": "undefined",
		"return Object.getOwnPropertyNames(Function.prototype).filter((k) => /caller|arguments|Name|Number/.test(k)) + ''":                                 "",
		"return (function f() { return typeof f.caller + typeof f.arguments; })()":                                                                         "undefinedundefined",
		"return (function f() { 'use strict'; try { return typeof f.caller; } catch (e) { return e.name; } })()":                                           "undefined",
		"let r; tools.search({ toJSON: function f() { r = [typeof f.caller, typeof f.arguments, typeof arguments.callee.caller]; return 1; } }); return r": "undefined,undefined,undefined",
		"let r; json({ toJSON: function f() { r = [typeof f.caller, typeof this.constructor.caller]; return 1; } }); return r":                             "undefined,undefined",
		"return typeof structuredClone": "function",
		"return typeof new ArrayBuffer(8).constructor + [].constructor.constructor.name": "functionFunction",
		"import.meta": "throw SyntaxError: import.meta only valid in module code",
	} {
		if got := script(t, tmpl, src); got != want {
			t.Errorf("%s: %q, want %q", src, got, want)
		}
	}
}

// evaluators are ways to the functions that turn text into code. %s stands for the
// text. All of them must throw, and the text must not run.
var evaluators = []string{
	"eval(%s)", "(0, eval)(%s)", "globalThis.eval(%s)", "eval?.(%s)", "new eval(%s)", "eval.call(null, %s)", "Reflect.apply(eval, null, [%s])", "[%s].map(eval)",
	"Function(%s)()", "new Function(%s)()", "Function.call(null, %s)()", "Function.apply(null, [%s])()", "Function.bind(null, %s)()()", "new (Function.bind(null, %s))()()",
	"Reflect.construct(Function, [%s])()", "Reflect.apply(Function, null, [%s])()", "Reflect.construct(Function, [%s], Array)()", "Reflect.construct(Function, [%s], class { })()",
	"(() => { }).constructor(%s)()", "(function () { }).constructor(%s)()", "[].map.constructor(%s)()", "({}).constructor.constructor(%s)()", "(class { }).constructor(%s)()",
	"(async () => { }).constructor(%s)()", "new (async () => { }).constructor(%s)()", "Reflect.construct((async () => { }).constructor, [%s])()", "(async () => { }).constructor.call(null, %s)()",
	"(function* () { }).constructor(%s)().next()", "new (function* () { }).constructor(%s)().next()", "Object.getPrototypeOf(function* () { }).constructor(%s)().next()",
	"(async function* () { }).constructor(%s)().next()", "new (Object.getPrototypeOf(async function* () { }).constructor)(%s)().next()", "Object.getPrototypeOf((function* () { }).constructor)(%s)()",
	"new (class extends Function { constructor(s) { super(s); } })(%s)()", "new (class extends Function { })(%s)()", "new (class extends (async () => { }).constructor { })(%s)()", "new (class extends (function* () { }).constructor { })(%s)().next()",
	"new Proxy(Function, {})(%s)()", "new (new Proxy(Function, {}))(%s)()", "new Proxy({}, { get: Function }).x", "new Proxy(() => 1, { apply: Function })(%s)",
	"[%s].map(Function)[0]()", "Array.from([%s], Function)[0]()", "Array.of.call(Function, %s)()", "Array.from.call(Function, [%s])()", "Promise.resolve(%s).then(Function).then((f) => f())",
	"'x'.replace(/x/, Function)", "JSON.parse('{\"a\":1}', Function)", "JSON.stringify({ toJSON: Function })", "Function`${%s}`()", "({ __proto__: { constructor: 0 } }).constructor || Function(%s)()",
	"(() => { const o = { get a() { return Function; } }; return o.a(%s)(); })()", "Object.defineProperty({}, 'x', { get: Function.bind(null, %s) }).x", "`${{ toString: Function.bind(null, %s) }}`", "+{ valueOf: Function.bind(null, %s) }",
	"(function () { return arguments.constructor.constructor(%s)(); })()", "globalThis.constructor.constructor(%s)()", "tools?.constructor?.constructor(%s)() ?? (() => { }).constructor(%s)()",
	"Reflect.get(Function.prototype, 'constructor')(%s)()", "Object.getOwnPropertyDescriptor(Function.prototype, 'constructor').value(%s)()", "(() => { class A { static [Symbol.species] = Function; } return Function(%s)(); })()",
	"(() => { class F extends Array { static get [Symbol.species]() { return Function; } } return new F(1).map(() => %s); })()", "new (Function.prototype.constructor)('a', 'b', %s)()", "Function('a = ' + %s, '')()", "Function('/*', '*/){' + %s)()",
	"Promise.reject(%s).catch(Function).then((f) => f())", "Symbol.for('x').constructor.constructor(%s)()", "(1).constructor.constructor(%s)()", "(1n).constructor.constructor(%s)()", "/x/.constructor.constructor(%s)()", "new Map().get.constructor(%s)()",
	"Reflect.construct.call(null, Function, [%s])()", "new (class extends null { constructor() { return Reflect.construct(Function, [%s], new.target)(); } })()", "[].constructor.from.constructor(%s)()", "Error().constructor.constructor(%s)()",
	"Object.assign(() => { }, { constructor: Function }).constructor(%s)()", "[...'x'].reduce(Function, %s)", "[1, 2].sort(Function)", "[1].find(Function)", "Array.prototype.map.call('x', Function)", "structuredClone.constructor(%s)()",
}

// pwn is what no evaluator may run. It is an expression, a body and a parameter.
const pwn = `'globalThis.pwned = 1'`

func TestEvaluatorsThrow(t *testing.T) {
	ctx := context.Background()
	for name, tmpl := range map[string]*Template{"engine": bareTemplate(t), "prelude": preludeTemplate(t)} {
		for _, e := range evaluators {
			if name == "engine" && (strings.Contains(e, "tools") || strings.Contains(e, "structuredClone")) {
				continue
			}
			src := strings.ReplaceAll(e, "%s", pwn)
			got := script(t, tmpl, "let r; try { r = 'gave ' + await ("+src+"); } catch (e) { r = 'threw ' + e.name; } return r + ' ' + typeof globalThis.pwned")
			if !strings.HasPrefix(got, "threw ") || !strings.HasSuffix(got, " undefined") {
				t.Errorf("%s: %s: %s", name, src, got)
			}
		}
		// Compile switches the evaluator off for good: also after the script failed to
		// parse, and for a second script.
		vm := newVM(t, tmpl, nil)
		if _, err := vm.Compile(ctx, "let x = ;"); err == nil {
			t.Error("the syntax error was not found")
		}
		if _, err := vm.Compile(ctx, "1"); err == nil {
			t.Errorf("%s: a second script compiles", name)
		}
	}
}

func TestModulesAreDenied(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		src, want string
		denied    bool
	}{
		{"return await import('x')", "throw ReferenceError", true},
		{"return await import('data:text/javascript,1')", "throw ReferenceError", true},
		{"return await import('./cell.js')", "throw ReferenceError", true},
		{"return await import('')", "throw ReferenceError", true},
		{"const f = (s) => import(s); return await f('std')", "throw ReferenceError", true},
		{"return await import('x', { with: { type: 'json' } })", "throw", true},
		{"import x from 'y'", "throw SyntaxError", false},
		{"export const x = 1", "throw SyntaxError", false},
		{"return 'import x from \"y\"'", "import x from \"y\"", false},
		{"return ({ import: 1 }).import + /import/.source", "1import", false},
	} {
		vm := newVM(t, preludeTemplate(t), nil)
		got, err := scriptOn(ctx, vm, c.src)
		if err != nil || !strings.HasPrefix(got, c.want) || vm.ModuleDenied() != c.denied {
			t.Errorf("%s: %q, %v, denied %t; want %s…, denied %t", c.src, got, err, vm.ModuleDenied(), c.want, c.denied)
		}
	}
}

// A hook for stack traces would get at the function objects on the stack.
func TestPrepareStackTraceHasNoEffect(t *testing.T) {
	tmpl := preludeTemplate(t)
	for _, set := range []string{
		"Error.prepareStackTrace = hook",
		"Object.defineProperty(Error, 'prepareStackTrace', { value: hook, configurable: true })",
		"Object.defineProperty(Error, 'prepareStackTrace', { get: () => hook })",
		"TypeError.prepareStackTrace = hook; Error.prepareStackTrace = hook",
		"Object.prototype.prepareStackTrace = hook",
		"Function.prototype.prepareStackTrace = hook",
	} {
		for _, raise := range []string{
			"new Error('x').stack", "(() => { try { null.x; } catch (e) { return e.stack; } })()",
			"(() => { const o = {}; Error.captureStackTrace(o); return o.stack; })()",
			"await (async () => { try { await tools.search({ toJSON() { throw new TypeError('inside'); } }); } catch (e) { return e.stack; } })()",
			"(() => { try { text({ get message() { return 1; }, toJSON() { return new Error('y').stack; } }); } catch (e) { return e.stack; } return ''; })()",
			"(() => { try { structuredClone(() => 1); } catch (e) { return e.stack; } })()",
		} {
			src := "let calls = 0; const hook = (e, frames) => { calls++; return frames; }; " + set + "; const s = " + raise + "; return calls + ' ' + typeof s"
			if got := script(t, tmpl, src); got != "0 string" {
				t.Errorf("%s; %s: %s", set, raise, got)
			}
		}
	}
}

// Nothing of the prelude's text or place shows in a stack.
func TestStacksShowTheCellOnly(t *testing.T) {
	tmpl := preludeTemplate(t)
	for _, raise := range []string{
		"await tools.search({ toJSON() { throw new Error('t'); } })", "json({ toJSON() { throw new Error('t'); } })",
		"structuredClone({ get a() { throw new Error('t'); } })", "text({ toJSON() { throw new Error('t'); } }); throw new Error('t')",
		"console.log({ toJSON() { throw new Error('t'); } }); throw new Error('t')", "await tools.call({ toString() { throw new Error('t'); }, toJSON() { throw new Error('t'); } })",
	} {
		got := script(t, tmpl, "try { "+raise+" } catch (e) { return e.stack; } return 'no error'")
		if strings.Contains(got, "prelude") || got == "no error" {
			t.Errorf("%s: %s", raise, got)
		}
	}
}
