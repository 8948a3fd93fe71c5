package host_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/host/hosttest"
)

// notData are expressions that JSON has no word for and that are not converted, and what the error says of each.
var notData = map[string]string{
	"Promise.resolve({ status: 'open' })": "await it", "tools.echo({})": "await it", "[1].map(async (x) => x)": "Promise.all",
	"({ a: { b: tools.echo({}) } })": `(at "b")`,
	"(() => 1)":                      "call it", "({ run() {} })": `(at "run")`, "class A {}": "call it", "tools.echo": "call it",
	"(function* () { yield 1 })()": "[...it]", "new Map([['a', 1]]).values()": "[...it]", "[1].entries()": "[...it]", "(async function* () {})()": "for await",
	"Symbol('x')": "symbol", "({ s: Symbol('x') })": `(at "s")`, "[1, Symbol('x')]": `(at "1")`, "Object(Symbol('x'))": "symbol",
	"NaN": "NaN", "-Infinity": "-Infinity", "({ a: [1, { b: 0 / 0 }] })": `(at "a.1.b")`, "({ n: null, a: Array(500).fill(1 / 0) })": `(at "a.0")`,
	"new Set([NaN])": "NaN", "new Map([['x', NaN]])": "NaN", "new Float64Array([NaN])": "NaN",
	"new Date('no')": "invalid Date", "({ when: new Date(NaN) })": `(at "when")`,
	"new Map([[1, 2]])": "[...map]", "new Map([[{}, 2]])": "Object.fromEntries", "({ by: new Map([[null, 2]]) })": `(at "by")`,
	"new ArrayBuffer(3)": "Uint8Array", "new DataView(new ArrayBuffer(3))": "Uint8Array", "new WeakMap()": "refers to",
	"10n": "String(n)", "({ a: [10n] })": `(at "0")`, "new BigInt64Array(2)": "String(n)",
}

// TestValuesWithoutJSON: nothing that JSON lacks leaves a cell as {} or null, by any way out, and the error says
// what to do.
func TestValuesWithoutJSON(t *testing.T) {
	var inputs []string
	r := setup(t, host.Options{Tools: []host.RawTool{hosttest.Echo("echo"), {Name: "list_orders", Description: "Lists orders.",
		Call: func(_ context.Context, in json.RawMessage) (json.RawMessage, error) {
			inputs = append(inputs, string(in))
			return in, nil
		}}}})
	for value, want := range notData {
		for _, way := range []string{"return %", "return { inner: % }", "json(%)", "await tools.list_orders(%)", "await tools.call('cloister:core:list_orders', { filter: % })"} {
			if way == "return %" && (strings.HasPrefix(value, "Promise") || strings.HasPrefix(value, "tools.echo(")) {
				continue // an async function awaits what it returns
			}
			code := strings.ReplaceAll(way, "%", value)
			res := exec(t, r, code)
			if res.Status != guestabi.StatusFailed || !strings.Contains(res.Error, "has no JSON form") || strings.HasPrefix(way, "return %") && !strings.Contains(res.Error, want) {
				t.Errorf("%s: %s %s %q, want %q", code, res.Status, res.Value, res.Error, want)
			}
			if res.Line == 0 && !strings.Contains(value, "return") {
				t.Errorf("%s: %q has no line", code, res.Error)
			}
		}
	}
	if len(inputs) > 0 {
		t.Errorf("calls were made with %q", inputs)
	}
	// A call's failure is a rejection, so that catch sees it.
	wantValue(t, exec(t, r, "return await tools.list_orders(new Map([[1, 2]])).catch((e) => [e.name, e.code])"), `["TypeError","invalid_input"]`)
}

// TestValuesThatAreConverted: what has a form that loses nothing is converted, whichever way it leaves.
func TestValuesThatAreConverted(t *testing.T) {
	r := setup(t, host.Options{Tools: []host.RawTool{hosttest.Echo("echo"), hosttest.Failing("fail", &host.ToolError{Name: "RangeError", Message: "too far", Code: "too_far"})}})
	for value, want := range map[string]string{
		"new Set([1, 'a', new Set()])":                  `[1,"a",[]]`,
		"new Map([['a', 1], ['__proto__', new Map()]])": `{"a":1,"__proto__":{}}`,
		"new Uint8Array([1, 2])":                        `[1,2]`,
		"new Float64Array([1.5, -0])":                   `[1.5,0]`,
		"/a+/gi":                                        `"/a+/gi"`,
		"new Date(0)":                                   `"1970-01-01T00:00:00.000Z"`,
		"new (class P { a = 1; #b = 2; get c() { return 3 } })()": `{"a":1}`,
		"[undefined, , null]":      `[null,null,null]`,
		"({ a: undefined, b: 1 })": `{"b":1}`,
		"new Error('boo')":         `{"name":"Error","message":"boo"}`,
		"Object.assign(new TypeError('boo'), { status: 404 })":                              `{"name":"TypeError","message":"boo","status":404}`,
		"new Error('outer', { cause: new RangeError('inner') })":                            `{"name":"Error","message":"outer","cause":{"name":"RangeError","message":"inner"}}`,
		"new Error('outer', { cause: { a: 1 } })":                                           `{"name":"Error","message":"outer","cause":"{ a: 1 }"}`,
		"new AggregateError([new Error('a')], 'all')":                                       `{"name":"AggregateError","message":"all","errors":[{"name":"Error","message":"a"}]}`,
		"await tools.fail().catch((error) => ({ error }))":                                  `{"error":{"name":"RangeError","message":"too far","code":"too_far"}}`,
		"await Promise.allSettled([tools.fail(), 1])":                                       `[{"status":"rejected","reason":{"name":"RangeError","message":"too far","code":"too_far"}},{"status":"fulfilled","value":1}]`,
		"JSON.parse(JSON.stringify({ m: new Map([['a', 1]]), e: new Error('x'), f() {} }))": `{"m":{"a":1},"e":{"name":"Error","message":"x"}}`,
		"[new String('s'), new Number(1), Object(true)]":                                    `["s",1,true]`,
		"'a\\ud800b'": `"a\ufffdb"`, "({ '\\ud800': '\\udc00\\ud83d\\ude00' })": `{"\ufffd":"\ufffd😀"}`,
	} {
		wantValue(t, exec(t, r, "return "+value), want)
		if res := exec(t, r, "const v = "+value+"; json(v); return 1"); len(res.Output) != 1 || string(res.Output[0].Value) != want {
			t.Errorf("json(%s): %s %q", value, res.Output, res.Error)
		}
		if !strings.Contains(value, "ud800") {
			wantValue(t, exec(t, r, "const v = "+value+"; return (await tools.echo({ v })).v"), want)
		}
	}
}

// TestShown: text and the console show values as Node.js does.
func TestShown(t *testing.T) {
	r := setup(t, host.Options{})
	for value, want := range map[string]string{
		"'plain'": "plain", "''": "", "-0": "-0", "10n": "10n", "null": "null", "undefined": "undefined", "Symbol('x')": "Symbol(x)", "true": "true",
		"({ a: 1, 'b-c': 'x', d: { e: [1, 'y', null, undefined] } })": "{ a: 1, 'b-c': 'x', d: { e: [ 1, 'y', null, undefined ] } }",
		"[]": "[]", "({})": "{}", "[, 1]": "[ <empty>, 1 ]", "Object.create(null)": "{}",
		"new Map([['a', new Set([1])]])": "Map(1) { 'a' => Set(1) { 1 } }",
		"new Error('boo')":               "Error: boo", "Object.assign(new TypeError('boo'), { code: 'x' })": "TypeError: boo { code: 'x' }",
		"new Error('o', { cause: new Error('i') })": "Error: o { cause: Error: i }", "new AggregateError([new Error('a')], 'all')": "AggregateError: all { errors: [ Error: a ] }",
		"(() => { const a = {}; a.a = a; return a })()": "{ a: [Circular] }",
		"tools.echo({})":  "Promise { not awaited }",
		"function f() {}": "[Function: f]", "[() => 1]": "[ [Function (anonymous)] ]",
		"new (class Y { z = 1 })()": "Y { z: 1 }", "new Date(0)": "1970-01-01T00:00:00.000Z", "new Date(NaN)": "Invalid Date", "/x/g": "/x/g",
		"new Uint8Array([1, 2])": "Uint8Array(2) [ 1, 2 ]", "new ArrayBuffer(3)": "ArrayBuffer { byteLength: 3 }", "[new Number(1), new String('s')]": "[ [Number: 1], [String: 's'] ]",
		`["it's", 'q"', 'n\n']`: `[ "it's", "q\"", 'n\n' ]`, "({ get a() { throw 1 } })": "{ a: [Getter] }",
		"new Proxy({}, { ownKeys() { throw 1 } })":                           "[a value that cannot be shown]",
		"[[[[[[[1]]]]]]]":                                                    "[ [ [ [ [ [ [Array] ] ] ] ] ] ]",
		"Array.from({ length: 250 }, () => 0)":                               "[ " + strings.Repeat("0, ", 200) + "... 50 more items ]",
		"new (class Map2 { get [Symbol.toStringTag]() { return 'Map' } })()": "Map2 {}",
	} {
		res := exec(t, r, "const v = "+value+"; text(v); console.log(v); console.log('a', v); return 1")
		if got := texts(res); len(got) != 3 || got[0] != want || got[1] != want || got[2] != "a "+want {
			t.Errorf("%s: %q %s, want %q", value, got, res.Error, want)
		}
	}
	// What is shown is bounded before it is built.
	for _, code := range []string{
		"let a = ['x']; for (let i = 0; i < 60; i++) a = [a, a]; console.log(a); return 1",
		"console.log(new Proxy({}, { ownKeys: () => Array.from({ length: 1e3 }, (_, i) => 'k' + i), getOwnPropertyDescriptor: () => ({ value: 1, enumerable: true, configurable: true }) })); return 1",
		"const f = () => new Proxy({}, { ownKeys: () => ['a', 'b', 'c'], getOwnPropertyDescriptor: () => ({ value: f(), enumerable: true, configurable: true }) }); console.log(f()); return 1",
	} {
		if res := exec(t, r, code); res.Status == guestabi.StatusFailed && res.Reason != guestabi.ReasonOutputLimitExceeded || res.Reason == guestabi.ReasonTimeout {
			t.Errorf("%s: %s %s", code, res.Status, res.Error)
		}
	}
}

// TestLargeIntegers: an integer of a result that a number of JavaScript cannot hold is text with all its digits, and what
// a cell passes on is what the tool gave.
func TestLargeIntegers(t *testing.T) {
	for result, want := range map[string]string{
		`{"id":9007199254740993}`: `{"id":"9007199254740993"}`, `{"id":-9007199254740993}`: `{"id":"-9007199254740993"}`,
		`{"id":9007199254740991}`: `{"id":9007199254740991}`, `[12345678901234567890123]`: `["12345678901234567890123"]`,
		`9007199254740992`: `"9007199254740992"`, `1e21`: `1e+21`, `1.5`: `1.5`, `[-9007199254740991,0]`: `[-9007199254740991,0]`,
	} {
		r := setup(t, host.Options{Tools: []host.RawTool{hosttest.Static("get", result)}})
		wantValue(t, exec(t, r, "return await tools.get()"), want)
	}
	r := setup(t, host.Options{Tools: []host.RawTool{hosttest.Echo("echo")}})
	wantValue(t, exec(t, r, "return await tools.echo({ id: JSON.rawJSON('9007199254740993') })"), `{"id":"9007199254740993"}`)
}

// TestOneReadingOfToJSON: what decides about loss does not call toJSON twice.
func TestOneReadingOfToJSON(t *testing.T) {
	r := setup(t, host.Options{})
	wantValue(t, exec(t, r, "let n = 0; const v = { x: null, toJSON() { n++; return { n, x: null } } }; await tools.echo(v); return n"), "1")
}
