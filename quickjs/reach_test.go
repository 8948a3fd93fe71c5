package quickjs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// TestReachableFunctions walks all that a cell can get at with the real prelude.
// Every function found is listed in a golden file; none of them may be one of the
// prelude's own, which would hand the cell a way around the bridge's rules.
func TestReachableFunctions(t *testing.T) {
	walk, err := os.ReadFile("testdata/walk.js")
	if err != nil {
		t.Fatal(err)
	}
	got := script(t, preludeTemplate(t), string(walk))
	lines := strings.Split(strings.TrimSpace(got), "\n")
	if len(lines) < 500 {
		t.Fatalf("%d functions: the walk did not get far: %.2000s", len(lines), got)
	}
	golden(t, "testdata/reachable.txt", got)
	inner := map[string]bool{}
	for _, name := range []string{
		"start", "settle", "drain", "finish", "explain", "request", "append", "encode", "output", "show", "define", "cut", "errorFrom",
		"clone", "shell", "fill", "errorShell", "refused", "has", "send", "open", "deliver", "executor",
		"noForm", "about", "refuse", "hide", "put", "errorData", "lossIn", "inspect", "items", "members", "entries", "callNumber", "inputText", "failed", "get",
	} {
		inner[name] = true
	}
	// Functions of the language that have such a name.
	allowed := map[string]bool{
		"Array.prototype.fill": true, "Map.prototype.has": true, "Set.prototype.has": true, "WeakMap.prototype.has": true, "WeakSet.prototype.has": true,
		"Reflect.has": true, "Reflect.get": true, "Map.prototype.get": true, "WeakMap.prototype.get": true, "TextEncoder.prototype.encode": true,
		"Array.prototype.entries": true, "Map.prototype.entries": true, "Set.prototype.entries": true, "Object.entries": true, "Uint8ClampedArray.prototype<proto>.entries": true, "Uint8ClampedArray.prototype<proto>.fill": true,
	}
	for _, line := range lines {
		path, what, _ := strings.Cut(line, "\t")
		name, _, _ := strings.Cut(what, "/")
		if inner[name] && !allowed[strings.TrimPrefix(path, "globalThis.")] {
			t.Errorf("a function of the prelude can be reached: %s", line)
		}
		if strings.Contains(path, "<stack>") {
			t.Errorf("a stack holds more than text: %s", line)
		}
	}
}

// TestStructuredClone compares structuredClone with HTML, 2.7 "Safe passing of
// structured data".
func TestStructuredClone(t *testing.T) {
	tmpl := preludeTemplate(t)
	many := 20_000
	if testing.Short() {
		many = 2_000
	}
	for _, c := range []struct{ src, want string }{
		{"structuredClone(1)", "1"}, {"structuredClone('x')", "x"}, {"structuredClone(null)", "null"}, {"structuredClone(undefined)", "undefined"},
		{"structuredClone(true)", "true"}, {"structuredClone(10n)", "10"}, {"Object.is(structuredClone(-0), -0)", "true"}, {"structuredClone(NaN)", "NaN"},
		{"JSON.stringify(structuredClone({ a: [1, { b: null }], c: 'd' }))", `{"a":[1,{"b":null}],"c":"d"}`},
		{"(() => { const o = { a: {} }; const c = structuredClone(o); return c !== o && c.a !== o.a; })()", "true"},
		{"(() => { const o = {}; o.self = o; const c = structuredClone(o); return c.self === c && c !== o; })()", "true"},
		{"(() => { const s = {}; const c = structuredClone([s, s]); return c[0] === c[1] && c[0] !== s; })()", "true"},
		{"(() => { const a = [1, , 3]; a.extra = 'e'; const c = structuredClone(a); return [c.length, 1 in c, c.extra, Array.isArray(c)] + ''; })()", "3,false,e,true"},
		{"structuredClone(new Array(5)).length", "5"},
		{"(() => { const d = structuredClone(new Date(5)); return d.getTime() + ' ' + (d instanceof Date); })()", "5 true"},
		{"structuredClone(new Date(NaN)).getTime()", "NaN"},
		{"(() => { const r = /a(b)/giu; r.lastIndex = 3; const c = structuredClone(r); return c.source + c.flags + c.lastIndex; })()", "a(b)giu0"},
		{"JSON.stringify([...structuredClone(new Map([['k', { v: 1 }], [{ o: 1 }, 2]]))])", `[["k",{"v":1}],[{"o":1},2]]`},
		{"JSON.stringify([...structuredClone(new Set([1, 'a', { o: 1 }]))])", `[1,"a",{"o":1}]`},
		{"(() => { const m = new Map(); m.set('self', m); const c = structuredClone(m); return c.get('self') === c; })()", "true"},
		{"(() => { const b = new Uint8Array([1, 2, 3]).buffer; const c = structuredClone(b); return c !== b && c.byteLength + new Uint8Array(c).join(); })()", "31,2,3"},
		{"(() => { const u = new Uint16Array([9, 8, 7, 6]).subarray(1, 3); const c = structuredClone(u); return [c.join(), c.byteOffset, c.buffer.byteLength, c.constructor.name] + ''; })()", "8,7,2,8,Uint16Array"},
		{"(() => { const b = new ArrayBuffer(8); const c = structuredClone({ x: new Uint8Array(b), y: new DataView(b, 2, 4) }); return (c.x.buffer === c.y.buffer) + ' ' + c.y.byteOffset + ' ' + c.y.byteLength; })()", "true 2 4"},
		{"['Int8Array', 'Uint8ClampedArray', 'Int32Array', 'Uint32Array', 'Float16Array', 'Float32Array', 'Float64Array', 'BigInt64Array', 'BigUint64Array'].map((n) => structuredClone(new globalThis[n](2)).constructor.name === n).join()", "true,true,true,true,true,true,true,true,true"},
		{"['EvalError', 'RangeError', 'ReferenceError', 'SyntaxError', 'TypeError', 'URIError', 'Error'].map((n) => { const c = structuredClone(new globalThis[n]('m')); return c.name === n && c.message === 'm' && c instanceof globalThis[n] && typeof c.stack === 'string'; }).join()", "true,true,true,true,true,true,true"},
		{"(() => { const e = new Error('m'); e.name = 'Mine'; const c = structuredClone(e); return c.name + c.constructor.name; })()", "ErrorError"},
		{"(() => { const e = new Error('m'); e.extra = 1; return 'extra' in structuredClone(e); })()", "false"},
		{"(() => { const c = structuredClone([Object(1), Object('s'), Object(false)]); return c.map((x) => typeof x + x.valueOf()).join(); })()", "object1,objects,objectfalse"},
		{"(() => { const c = structuredClone(Object(5n)); return typeof c + (c == 5n); })()", "objecttrue"},
		{"(() => { class A { constructor() { this.own = 1; } get g() { return 1; } } const c = structuredClone(new A()); return c.constructor.name + JSON.stringify(c); })()", `Object{"own":1}`},
		{"JSON.stringify(structuredClone({ get a() { return 'got'; }, set b(v) { } }))", `{"a":"got"}`},
		{"JSON.stringify(structuredClone(Object.create({ inherited: 1 }, { hidden: { value: 1 }, shown: { value: 2, enumerable: true } })))", `{"shown":2}`},
		{"Object.getOwnPropertySymbols(structuredClone({ [Symbol('s')]: 1 })).length", "0"},
		{"(() => { const c = structuredClone(Object.freeze({ a: 1 })); c.a = 2; return c.a; })()", "2"},
		{"JSON.stringify(Object.keys(structuredClone({ b: 1, 2: 1, a: 1, 1: 1 })))", `["1","2","b","a"]`},
		{"(() => { const c = structuredClone(JSON.parse('{\"__proto__\": {\"x\": 1}}')); return c.x + Object.keys(c).join(); })()", "undefined__proto__"},
		{"(() => { class M extends Map { } class S extends Array { } return structuredClone(new M([[1, 2]])).constructor.name + structuredClone(S.of(1)).constructor.name; })()", "MapArray"},
		{"structuredClone.length + structuredClone.name", "1structuredClone"},
		{"(() => { const a = structuredClone((function () { return arguments; })(1, 2)); return JSON.stringify(a); })()", `{"0":1,"1":2}`},
		{fmt.Sprintf("(() => { const big = Array.from({ length: %d }, (_, i) => ({ i })); return structuredClone(big).at(-1).i; })()", many), fmt.Sprint(many - 1)},
	} {
		if got := script(t, tmpl, "return "+c.src); got != c.want {
			t.Errorf("%s = %q, want %q", c.src, got, c.want)
		}
	}
	for _, refused := range []string{
		"() => 1", "class { }", "Symbol('s')", "Object(Symbol('s'))", "Promise.resolve(1)", "new WeakMap()", "new WeakSet()", "new WeakRef({})",
		"{ a: [() => 1] }", "new Map([[1, () => 1]])", "new Set([Symbol()])", "[Promise.resolve()]",
	} {
		got := script(t, tmpl, "try { structuredClone("+refused+"); return 'cloned'; } catch (e) { return e.name + ' ' + (e instanceof Error); }")
		if got != "DataCloneError true" {
			t.Errorf("structuredClone(%s): %s, want a DataCloneError", refused, got)
		}
	}
	for src, want := range map[string]string{
		"structuredClone()": "throw TypeError", "structuredClone({ get a() { throw new RangeError('mine'); } })": "throw RangeError: mine",
		"structuredClone(1, { transfer: [new ArrayBuffer(1)] })":                               "throw DataCloneError",
		"(() => { let a = []; for (let i = 0; i < 1e5; i++) a = [a]; structuredClone(a); })()": "throw RangeError",
	} {
		if got := script(t, tmpl, "return "+src); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %q", src, got, want)
		}
	}
}

// The clone keeps its promise in a realm that the cell has rewritten.
func TestStructuredCloneInARewrittenRealm(t *testing.T) {
	tmpl := preludeTemplate(t)
	const want = `{"m":[["k",{"a":[1,2]}]],"d":5,"u":"1,2"}`
	const value = "{ m: new Map([['k', { a: [1, 2] }]]), d: new Date(5), u: new Uint8Array([1, 2]) }"
	const check = "JSON.stringify({ m: [...c.m], d: c.d.getTime(), u: c.u.join() })"
	for _, rewrite := range []string{
		"Map.prototype.forEach = Map.prototype.set = Map.prototype.get = () => { throw 1; }",
		"Reflect.ownKeys = Reflect.apply = Object.defineProperty = Object.getOwnPropertyDescriptor = () => { throw 1; }",
		"Array.isArray = Error.isError = String = () => { throw 1; }", "globalThis.Map = globalThis.Date = globalThis.Uint8Array = class { }",
		"Array.prototype[0] = Array.prototype[1] = 'polluted'", "Object.prototype.get = Object.prototype.value = () => 1",
		"Object.defineProperty(Array.prototype, 'length', { value: 0 })", "Function.prototype.call = Function.prototype.apply = () => { throw 1; }",
		"Object.defineProperty(Object.prototype, 'enumerable', { get() { throw 1; } })", "Date.prototype.getTime2 = Date.prototype.getTime; ",
	} {
		src := "const value = " + value + "; const J = JSON.stringify, spread = (m) => { const out = []; for (const e of m) out.push(e); return out; }; " +
			"const { stringify } = JSON; const saved = { getTime: Date.prototype.getTime, join: value.u.join };\n" +
			"try { " + rewrite + " } catch { }\nconst c = structuredClone(value);\nreturn " + check
		if strings.Contains(rewrite, "polluted") || strings.Contains(rewrite, "Object.prototype.get =") {
			src = strings.Replace(src, "return "+check, "delete Array.prototype[0]; delete Array.prototype[1]; delete Object.prototype.get; delete Object.prototype.value; return "+check, 1)
		}
		if got := script(t, tmpl, src); got != want {
			t.Errorf("%s: %s", rewrite, got)
		}
	}
}

// Bombs end at the deadline, or in an error before it.
func TestStructuredCloneBombs(t *testing.T) {
	ctx := context.Background()
	tmpl := preludeTemplate(t)
	for _, src := range sample([]string{
		"structuredClone({ get a() { for (;;); } })",
		"structuredClone(new Proxy({}, { ownKeys() { for (;;); } }))",
		"const grow = () => ({ get next() { return grow(); } }); structuredClone(grow()); for (;;);",
		"let a = []; for (let i = 0; i < 60; i++) a = [a, a]; for (;;) structuredClone(a)",
		"const m = new Map(); m.set(1, { get x() { m.set(m.size + 1, {}); return 1; } }); for (;;) structuredClone(m)",
		"const a = new Array(2 ** 32 - 1); for (;;) structuredClone(a)",
		"const b = new ArrayBuffer(1e6), v = []; for (let i = 0; i < 1000; i++) v.push(new Uint8Array(b)); for (;;) structuredClone(v)",
		"let a = []; for (let i = 0; i < 1e5; i++) a = [a]; for (;;) { try { structuredClone(a); } catch { } }",
		"const e = new Error('x'); Object.defineProperty(e, 'name', { get() { for (;;); } }); structuredClone(e)",
		"const big = Array.from({ length: 1e5 }, (_, i) => ({ i })); for (;;) structuredClone(big)",
		"const s = 'x'.repeat(1e6); for (;;) structuredClone([s, { s }, new Map([[s, s]])])",
	}, 4) {
		vm := newVM(t, tmpl, nil)
		vm.SetDeadline(time.Now().Add(40 * time.Millisecond))
		if text, err := scriptOn(ctx, vm, src); !errors.Is(err, ErrInterrupted) {
			t.Errorf("%s: %.100q, %v", src, text, err)
		}
		vm.Close()
		if got := script(t, tmpl, "return structuredClone({ a: [1] }).a[0]"); got != "1" {
			t.Errorf("the next cell gives %q", got)
		}
	}
}
