package quickjs

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// recursive are cells that nest calls as deep as they can, each through another
// of the engine's native functions. A JavaScript error has to stop them before
// the native stack ends, where only a trap could.
var recursive = []struct{ name, src string }{
	{"function", "const f = () => f() + 1; f()"},
	{"method", "class A { m() { return this.m(); } } new A().m()"},
	{"many arguments", "const f = (...a) => f(...a); f(...Array(1000).fill(1))"},
	{"many locals", "const f = () => { let " + manyLocals(200) + " return f() + a0; }; f()"},
	{"constructor", "class A { constructor() { this.a = new A(); } } new A()"},
	{"derived constructors", "class A { constructor() { new B(); } } class B extends A { } new B()"},
	{"getter", "const o = { get a() { return this.a; } }; o.a"},
	{"setter", "const o = { set a(v) { this.a = v; } }; o.a = 1"},
	{"toString", "const o = { toString() { return `${this}`; } }; `${o}`"},
	{"valueOf", "const o = { valueOf() { return +this; } }; +o"},
	{"toPrimitive", "const o = { [Symbol.toPrimitive]() { return this + ''; } }; o + ''"},
	{"map", "const f = () => [1].map(f); f()"},
	{"sort", "const f = () => [2, 1].sort(f); f()"},
	{"reduce", "const f = () => [1, 2].reduce(f); f()"},
	{"replace", "const f = () => 'a'.replace(/a/, f); f()"},
	{"Array.from", "const f = () => Array.from([1], f); f()"},
	{"Reflect.apply", "const f = () => Reflect.apply(f, null, []); f()"},
	{"call", "const f = () => f.call(); f()"},
	{"apply", "const f = () => f.apply(null, [1, 2, 3]); f()"},
	{"bind", "let f = () => 1; for (let i = 0; i < 1e5; i++) f = f.bind(); f()"},
	{"Reflect.construct", "function F() { return Reflect.construct(F, []); } new F()"},
	{"JSON.stringify of nested arrays", "let a = []; for (let i = 0; i < 7e3; i++) a = [a]; JSON.stringify(a)"},
	{"JSON.stringify of nested objects", "let a = {}; for (let i = 0; i < 7e3; i++) a = { a }; JSON.stringify(a)"},
	{"JSON.stringify with indentation", "let a = {}; for (let i = 0; i < 1e4; i++) a = { a }; JSON.stringify(a, null, 1)"},
	{"toJSON", "const o = { toJSON() { return JSON.stringify(o); } }; JSON.stringify(o)"},
	{"JSON.parse of nested arrays", "JSON.parse('['.repeat(1e6))"},
	{"JSON.parse of nested objects", "JSON.parse('{\"a\":'.repeat(3e5))"},
	{"JSON.parse with a reviver", "JSON.parse('['.repeat(4000) + ']'.repeat(4000), (k, v) => v); let t = '['.repeat(2e5) + ']'.repeat(2e5); JSON.parse(t, (k, v) => v)"},
	{"flat", "let a = []; for (let i = 0; i < 1e5; i++) a = [a]; a.flat(Infinity)"},
	{"join", "let a = []; for (let i = 0; i < 1e5; i++) a = [a]; a.join()"},
	{"a cycle joined", "const a = []; a.push(a); a.join()"},
	{"toLocaleString", "let a = []; for (let i = 0; i < 1e5; i++) a = [a]; a.toLocaleString()"},
	{"proxy chain get", "let p = {}; for (let i = 0; i < 1e5; i++) p = new Proxy(p, {}); p.x"},
	{"proxy chain set", "let p = {}; for (let i = 0; i < 1e5; i++) p = new Proxy(p, {}); p.x = 1"},
	{"proxy chain has", "let p = {}; for (let i = 0; i < 1e5; i++) p = new Proxy(p, {}); 'x' in p"},
	{"proxy chain keys", "let p = {}; for (let i = 0; i < 1e5; i++) p = new Proxy(p, {}); Object.keys(p)"},
	{"proxy chain delete", "let p = {}; for (let i = 0; i < 1e5; i++) p = new Proxy(p, {}); delete p.x"},
	{"proxy chain define", "let p = {}; for (let i = 0; i < 1e5; i++) p = new Proxy(p, {}); Object.defineProperty(p, 'x', {})"},
	{"proxy chain describe", "let p = {}; for (let i = 0; i < 1e5; i++) p = new Proxy(p, {}); Object.getOwnPropertyDescriptor(p, 'x')"},
	{"proxy chain call", "let p = () => 1; for (let i = 0; i < 1e5; i++) p = new Proxy(p, {}); p()"},
	{"proxy chain construct", "let p = class { }; for (let i = 0; i < 1e5; i++) p = new Proxy(p, {}); new p()"},
	{"proxy chain prototype", "let p = {}; for (let i = 0; i < 1e5; i++) p = new Proxy(p, {}); Object.getPrototypeOf(p)"},
	{"proxy chain set prototype", "let p = {}; for (let i = 0; i < 1e5; i++) p = new Proxy(p, {}); Object.setPrototypeOf(p, null)"},
	{"proxy chain extensible", "let p = {}; for (let i = 0; i < 1e5; i++) p = new Proxy(p, {}); Object.isExtensible(p); Object.preventExtensions(p)"},
	{"proxy chain isArray", "let p = []; for (let i = 0; i < 1e5; i++) p = new Proxy(p, {}); Array.isArray(p)"},
	{"proxy chain instanceof", "let p = {}; for (let i = 0; i < 1e5; i++) p = new Proxy(p, {}); p instanceof Array"},
	{"proxy chain for in", "let p = {}; for (let i = 0; i < 1e5; i++) p = new Proxy(p, {}); for (const k in p);"},
	{"proxy chain species", "let p = []; for (let i = 0; i < 1e5; i++) p = new Proxy(p, {}); [].concat.call(p, 1); p.map((x) => x)"},
	{"proxy chain toString", "let p = []; for (let i = 0; i < 1e5; i++) p = new Proxy(p, {}); Object.prototype.toString.call(p)"},
	{"proxy chain spread", "let p = { a: 1 }; for (let i = 0; i < 1e5; i++) p = new Proxy(p, {}); ({ ...p })"},
	{"proxy chain realm", "let p = class { }; for (let i = 0; i < 1e5; i++) p = new Proxy(p, {}); Reflect.construct(Array, [], p)"},
	{"proxy of itself as prototype", "const p = new Proxy({}, {}); try { Object.setPrototypeOf(p, Object.create(p)); } catch { } p.missing; 'missing' in p; p.missing = 1"},
	{"prototype chain", "let o = {}; for (let i = 0; i < 1e5; i++) o = Object.create(o); o.x; o.x = 1; 'x' in o; for (const k in o);"},
	{"instanceof a bound chain", "let f = function () { }; for (let i = 0; i < 1e5; i++) f = f.bind(); ({}) instanceof f"},
	{"groups in a pattern", "new RegExp('('.repeat(1e5) + ')'.repeat(1e5))"},
	{"groups that capture nothing", "new RegExp('(?:'.repeat(2e5) + 'a' + ')'.repeat(2e5))"},
	{"lookaheads in a pattern", "new RegExp('(?='.repeat(1e5) + ')'.repeat(1e5))"},
	{"classes in a pattern", "new RegExp('['.repeat(1e5) + ']'.repeat(1e5), 'v')"},
	{"quantifiers in a pattern", "new RegExp('(?:a'.repeat(1000) + ')*'.repeat(1000)).test('a'.repeat(1000))"},
	{"backtracking", "/(?:a|b)*c/.test('ab'.repeat(300))"},
	{"alternatives", "new RegExp('a|'.repeat(2e4)).test('b')"},
	{"yield*", "function* g() { yield* g(); } g().next()"},
	{"yield* chain", "let g = (function* () { yield 1; })(); for (let i = 0; i < 1e5; i++) g = (function* (h) { yield* h; })(g); g.next()"},
	{"iterator wrap", "let g = { next: () => ({ done: true }) }; for (let i = 0; i < 1e5; i++) g = Iterator.from({ next: () => g.next() }); g.next()"},
	{"async function", "const f = async () => f(); await f()"},
	{"async generator", "async function* g() { yield* g(); } await g().next()"},
	{"promise executor", "const f = () => new Promise(f); f()"},
	{"promise chain", "let p = Promise.resolve(1); for (let i = 0; i < 2e4; i++) p = Promise.resolve(p).then((x) => x); await p"},
	{"promises in promises", "let p = Promise.resolve(1); for (let i = 0; i < 2e4; i++) { const q = p; p = new Promise((r) => r(q)); } await p"},
	{"tagged templates", "const f = (s) => f`${f}`; f``"},
	{"species", "class A extends Array { static get [Symbol.species]() { return new A(1).map((x) => x).constructor; } } new A(1).map((x) => x)"},
	{"hasInstance", "class A { static [Symbol.hasInstance](x) { return x instanceof A; } } 1 instanceof A"},
	{"getPrototypeOf trap", "const p = new Proxy({}, { getPrototypeOf() { return Object.getPrototypeOf(p); } }); Object.getPrototypeOf(p)"},
	{"ownKeys trap", "const p = new Proxy({}, { ownKeys() { return Reflect.ownKeys(p); } }); Reflect.ownKeys(p)"},
	{"apply trap", "const p = new Proxy(function () { }, { apply() { return p(); } }); p()"},
	{"structure freed at once", "let l = null; for (let i = 0; i < 2e5; i++) l = { l }; l = null"},
	{"arrays freed at once", "let l = null; for (let i = 0; i < 2e5; i++) l = [l]; l = null"},
	{"closures freed at once", "let f = null; for (let i = 0; i < 1e5; i++) { const g = f; f = () => g; } f = null"},
	{"generators freed at once", "let g = null; for (let i = 0; i < 1e5; i++) g = (function* (h) { yield h; })(g), g.next(); g = null"},
	{"promises freed at once", "let p = null; for (let i = 0; i < 5e4; i++) { const q = p; p = new Promise(() => q); } p = null"},
	{"maps freed at once", "let m = null; for (let i = 0; i < 5e4; i++) m = new Map([[m, m]]); m = null"},
	{"bound functions freed at once", "let f = () => 1; for (let i = 0; i < 1e5; i++) f = f.bind(); f = null"},
	{"proxies freed at once", "let p = {}; for (let i = 0; i < 1e5; i++) p = new Proxy(p, p); p = null"},
	{"weak references freed at once", "let w = {}; for (let i = 0; i < 1e5; i++) w = { w: new WeakRef(w), k: w }; w = null"},
	{"errors with causes freed at once", "let e = null; for (let i = 0; i < 5e4; i++) e = new Error('x', { cause: e }); e = null"},
	{"ropes", "let s = ''; for (let i = 0; i < 5e3; i++) s = 'a' + s + 'b'; s.length; s.charCodeAt(5); s === s + ''"},
	{"ropes in an odd order", "let a = 'x', b = 'y'; for (let i = 0; i < 25; i++) { const c = a + b; a = b; b = c; } b.indexOf('z')"},
	{"rope of ropes", "let s = 'ab'; const parts = []; for (let i = 0; i < 5e4; i++) { s = s + i; if (i % 1000 === 0) parts.push(s); } parts.join('').length; s < parts[3]"},
	{"BigInt to text", "((1n << 200000n) - 1n).toString(3).length"},
	{"cyclic prototype through a proxy", "const a = {}; const p = new Proxy(a, { getPrototypeOf: () => null }); Object.setPrototypeOf(a, p); a.missing"},
	{"array species loop", "const a = [1]; a.constructor = { get [Symbol.species]() { return function () { return a.map((x) => x); }; } }; a.map((x) => x)"},
	{"Error.prototype.toString", "const e = new Error(); Object.defineProperty(e, 'message', { get() { return String(e); } }); String(e)"},
	{"DisposableStack", "const f = () => { const s = new DisposableStack(); s.defer(f); s.dispose(); }; f()"},
	{"groupBy", "const f = () => Object.groupBy([1], f); f()"},
	{"set methods", "const s = { size: 1, has: () => new Set([1]).isSubsetOf(s), keys: () => [].values() }; new Set([1]).isSubsetOf(s)"},
	{"Date toPrimitive", "const d = new Date(); d.toString = () => d + ''; d + ''"},
	{"Symbol.isConcatSpreadable", "const o = { get [Symbol.isConcatSpreadable]() { return [].concat(o); } }; [].concat(o)"},
	{"defineProperty", "const o = { get get() { Object.defineProperty({}, 'x', o); return undefined; } }; Object.defineProperty({}, 'x', o)"},
	{"Function.prototype.toString of deep code", "const f = (n) => n ? [n].map(f.bind(null, n - 1)).toString() : ''; f(1e5)"},
}

func manyLocals(n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString("a" + string(rune('0'+i/100)) + string(rune('0'+i/10%10)) + string(rune('0'+i%10)) + "=1")
	}
	b.WriteString(", a0 = 1;")
	return b.String()
}

// Source texts that nest as deep as they can, for the parser.
var deepSources = []struct{ name, open, close string }{
	{"brackets", "(", ")"},
	{"arrays", "[", "]"},
	{"objects", "({a:", "})"},
	{"blocks", "{", "}"},
	{"functions", "(function(){", "})"},
	{"arrows", "()=>", "1"},
	{"arrows with bodies", "()=>{", "}"},
	{"unary", "!", "1"},
	{"negation", "- ", "1"},
	{"typeof", "typeof ", "1"},
	{"awaits", "await ", "1"},
	{"power", "1**", "1"},
	{"conditional", "1?1:", "1"},
	{"conditional inside", "1?", ":1"},
	{"assignment", "a=", "1"},
	{"logical", "1||(", ")"},
	{"nullish", "1??", "1"},
	{"comma", "1,", "1"},
	{"plus", "1+", "1"},
	{"member", "a[", "]"},
	{"call", "a(", ")"},
	{"new", "new ", "a"},
	{"templates", "`${", "}`"},
	{"tags", "a`${", "}`"},
	{"ifs", "if(1)", ";"},
	{"else", "if(1);else ", ";"},
	{"loops", "for(;;)", ";"},
	{"whiles", "while(1)", ";"},
	{"do", "do ", ";while(1)"},
	{"labels", "a:", ";"},
	{"try", "try{", "}finally{}"},
	{"switch", "switch(1){case 1:", "}"},
	{"classes", "(class extends ", "Object)"},
	{"class bodies", "(class{a=", "})"},
	{"patterns", "[", "]=[]"},
	{"object patterns", "({a:", "}={})"},
	{"parameters", "(a=", ")=>1"},
	{"defaults", "function f(a=function(", "){}){}"},
	{"optional chain", "a?.[", "]"},
	{"spread", "[...", "]"},
	{"yield", "function*g(){yield ", "}"},
	{"import", "import(", ")"},
	{"regexp", "/", "/"},
	{"arguments", "f(...", ")"},
	{"with", "with(a)", ";"},
	{"private in", "#a in ", "1"},
	{"computed", "({[", "]:1})"},
	{"async arrows", "async()=>", "1"},
	{"delete", "delete ", "a"},
	{"void", "void ", "0"},
	{"comments", "/*", "*/"},
}

// TestDeepRecursionIsAnError runs each and holds that the VM did not trap, and
// that the next cell is not affected.
func TestDeepRecursionIsAnError(t *testing.T) {
	tmpl := newTemplate(t, testEngine(t, false), TemplateOptions{MemoryLimit: 256 << 20})
	for _, c := range sample(recursive, 12) {
		t.Run(c.name, func(t *testing.T) { mustNotTrap(t, tmpl, c.src) })
	}
}

func TestDeepSourcesAreErrors(t *testing.T) {
	tmpl := newTemplate(t, testEngine(t, false), TemplateOptions{MemoryLimit: 256 << 20})
	for _, c := range sample(deepSources, 8) {
		t.Run(c.name, func(t *testing.T) {
			for _, n := range []int{1000, 100_000} {
				if n > 1000 && testing.Short() {
					break
				}
				mustNotTrap(t, tmpl, strings.Repeat(c.open, n)+strings.Repeat(c.close, n))
				mustNotTrap(t, tmpl, strings.Repeat(c.open, n))
			}
		})
	}
}

// trapping are cells that end the native stack, because the engine does not check
// it where they nest. The trap must stay within the VM: it is reported, the VM is
// of no more use, and no other cell notices.
var trapping = []struct{ name, src string }{
	{"iterator helpers chain", "let g = [1].values(); for (let i = 0; i < 1e5; i++) g = g.map((x) => x); g.next()"},
	{"static blocks", strings.Repeat("class A{static{", 1000) + strings.Repeat("}}", 1000)},
}

func TestTrappedVMIsNeverUsedAgain(t *testing.T) {
	ctx := context.Background()
	for _, m := range sample(modes, 2) {
		tmpl := newTemplate(t, testEngine(t, m.plain), TemplateOptions{MemoryLimit: 256 << 20})
		for _, c := range trapping {
			vm := newVM(t, tmpl, nil)
			vm.SetDeadline(time.Now().Add(time.Minute))
			_, err := run(ctx, vm, c.src)
			var trap *TrapError
			if !errors.Is(err, ErrTrapped) || !errors.As(err, &trap) || trap.Cause == nil {
				t.Errorf("%s, %s: %v, want %v", m.name, c.name, err, ErrTrapped)
			}
			if _, err := vm.Call(ctx, tmpl.Entry(entryStart), tmpl.Undefined()); !errors.Is(err, ErrClosed) {
				t.Errorf("%s, %s: a trapped VM runs: %v", m.name, c.name, err)
			}
			if _, err := vm.Snapshot(context.Background(), nil); !errors.Is(err, ErrClosed) {
				t.Errorf("%s, %s: a trapped VM is saved: %v", m.name, c.name, err)
			}
			vm.Close()
			if n := idle(tmpl); n != 0 {
				t.Errorf("%s, %s: %d VMs in the pool", m.name, c.name, n)
			}
			if got := mustRun(t, tmpl, "return 6 * 7"); got != "42" {
				t.Errorf("%s, %s: the next cell gives %q", m.name, c.name, got)
			}
			if n := idle(tmpl); n != 1 {
				t.Errorf("%s, %s: %d VMs in the pool after a whole cell", m.name, c.name, n)
			}
			drainPool(t, tmpl)
		}
	}
}

func mustNotTrap(t *testing.T, tmpl *Template, src string) {
	t.Helper()
	ctx := context.Background()
	vm := newVM(t, tmpl, nil)
	defer vm.Close()
	vm.SetDeadline(time.Now().Add(time.Second))
	text, err := run(ctx, vm, src)
	if err != nil && !errors.Is(err, ErrInterrupted) {
		t.Errorf("%.60s: %v", src, err)
	} else if err == nil && len(text) > 200 {
		t.Errorf("%.60s: %.200s", src, text)
	}
	if got := mustRun(t, tmpl, "return 6 * 7"); got != "42" {
		t.Errorf("the next cell gives %q", got)
	}
}
