package quickjs

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// hungry are cells that take memory until there is none.
var hungry = []struct{ name, src string }{
	{"array", "const a = []; for (;;) a.push(new Array(1000).fill(1))"},
	{"objects", "let l = null; for (;;) l = { l }"},
	{"strings", "let s = 'x'; for (;;) s += s + '!'"},
	{"string parts", "const a = []; for (let i = 0; ; i++) a.push('x'.repeat(1000) + i)"},
	{"buffer", "new ArrayBuffer(1e9); throw 'allocated'"},
	{"buffers", "const a = []; for (;;) a.push(new Uint8Array(1e6))"},
	{"typed array", "new Float64Array(1e8); throw 'allocated'"},
	{"resizable buffer", "const b = new ArrayBuffer(1, { maxByteLength: 2 ** 31 }); b.resize(2 ** 30); throw 'allocated'"},
	{"repeat", "const a = []; for (;;) a.push('x'.repeat(5e6))"},
	{"BigInt", "const a = []; for (let x = 1n << 900000n; ; x++) a.push(x)"},
	{"Map", "const m = new Map(); for (let i = 0; ; i++) m.set(i, i)"},
	{"closures", "const a = []; for (;;) a.push(() => a)"},
	{"generators", "const a = []; for (;;) { const g = (function* () { yield 1; })(); g.next(); a.push(g); }"},
	{"promises", "const a = []; for (;;) a.push(new Promise(() => { }))"},
	{"symbols", "const a = []; for (let i = 0; ; i++) a.push(Symbol.for('s' + i))"},
	{"properties", "const o = {}; for (let i = 0; ; i++) o['p' + i] = i"},
	// The engine's compiler of patterns reports this as a syntax error of its own, and
	// the flag is not set: a second allocation shows it.
	{"regular expression", "const a = []; try { for (let i = 0; ; i++) a.push(new RegExp('(a' + i + ')' + '|b'.repeat(100))); } catch { } for (;;) a.push(new Array(1000).fill(1))"},
	{"split", "const a = []; for (;;) a.push('x'.repeat(1e5).split(''))"},
	{"JSON", "let s = '[1]'; for (;;) s = JSON.stringify([s, s, JSON.parse(JSON.stringify(s))])"},
	{"spread", "let a = [1]; for (;;) a = [...a, ...a, 1]"},
	{"template", "let s = 'x'; for (;;) s = `${s}${s}${s}`"},
	{"padding", "const a = []; for (;;) a.push('x'.padEnd(5e6, 'yz'))"},
	{"errors", "const a = []; for (;;) a.push(new Error('e'))"},
	{"sparse array", "const a = []; for (let i = 0; ; i++) a[i * 1000] = { i }"},
	{"concat", "let a = [1, 2, 3]; for (;;) a = a.concat(a)"},
	{"structure in a getter", "const a = []; const o = { get x() { a.push(new Array(1e4)); return this.x2; }, get x2() { return 1; } }; for (;;) o.x"},
}

func TestMemoryLimit(t *testing.T) {
	ctx := context.Background()
	for _, m := range sample(modes, 2) {
		tmpl := newTemplate(t, testEngine(t, m.plain), TemplateOptions{MemoryLimit: 3 << 20})
		for i, c := range sample(hungry, 4) {
			if m.plain && i%5 != 0 {
				continue // the limit is the engine's own: the kind of memory hardly matters
			}
			for _, wrap := range []string{"%s", "try { %s } catch (e) { if (e === 'allocated') throw e; return 'caught'; }"} {
				vm := newVM(t, tmpl, nil)
				vm.SetDeadline(time.Now().Add(time.Minute))
				text, err := run(ctx, vm, strings.Replace(wrap, "%s", c.src, 1))
				if err != nil {
					t.Errorf("%s, %s: %v", m.name, c.name, err)
				}
				if !vm.OutOfMemory() && !strings.Contains(text, "RangeError") && !strings.Contains(text, "InternalError") && !strings.Contains(text, "caught") {
					t.Errorf("%s, %s: %.100q, and no memory ran out", m.name, c.name, text)
				}
				if n := len(vm.mem()); uint64(n) > tmpl.maxMem {
					t.Errorf("%s, %s: the guest has %d MiB", m.name, c.name, n>>20)
				}
				vm.Close()
			}
		}
		if got := mustRun(t, tmpl, "return new Array(1000).fill(1).length"); got != "1000" {
			t.Errorf("%s: the next cell gives %q", m.name, got)
		}
	}
}

// A VM's own limit holds below the template's, and not above it.
func TestMemoryLimitOfAVM(t *testing.T) {
	tmpl := newTemplate(t, testEngine(t, false), TemplateOptions{MemoryLimit: 8 << 20})
	for _, c := range []struct {
		limit uint32
		bytes string
		fits  bool
	}{
		{0, "7e6", true}, {0, "9e6", false}, {4 << 20, "3e6", true}, {4 << 20, "5e6", false}, {1 << 20, "5e5", true}, {1 << 20, "2e6", false},
		{64 << 20, "7e6", true}, {64 << 20, "9e6", false}, {1<<32 - 1, "9e6", false},
	} {
		vm := newVM(t, tmpl, &VMOptions{MemoryLimit: c.limit})
		got, err := run(context.Background(), vm, "try { return new ArrayBuffer("+c.bytes+").byteLength > 0; } catch { return 'no'; }")
		if want := map[bool]string{true: "true", false: "no"}[c.fits]; got != want || err != nil || vm.OutOfMemory() == c.fits {
			t.Errorf("limit %d, %s bytes: %q, %v, out of memory: %t", c.limit, c.bytes, got, err, vm.OutOfMemory())
		}
		vm.Close()
	}
	if got := mustRun(t, tmpl, "return new ArrayBuffer(7e6).byteLength"); got != "7000000" {
		t.Errorf("a limit was left behind: %q", got)
	}
}

// What the host puts in does not fit: an error of the host's, or an exception,
// and the VM can be closed.
func TestHostInputOverTheLimit(t *testing.T) {
	ctx := context.Background()
	tmpl := newTemplate(t, testEngine(t, false), TemplateOptions{MemoryLimit: 1 << 20})
	big := strings.Repeat("x", 64<<20)
	for name, use := range map[string]func(vm *VM) error{
		"String":    func(vm *VM) error { _, err := vm.String(ctx, big); return err },
		"ParseJSON": func(vm *VM) error { _, err := vm.ParseJSON(ctx, []byte(`"`+big+`"`)); return err },
		"Compile":   func(vm *VM) error { _, err := vm.Compile(ctx, "/*"+big+"*/"); return err },
		"Turn": func(vm *VM) error {
			_, _, err := vm.Turn(ctx, tmpl.Entry(1), []Settlement{{Value: codecString(big)}}, tmpl.Entry(2), tmpl.Undefined(), 10)
			return err
		},
	} {
		vm := newVM(t, tmpl, nil)
		err := use(vm)
		var exc *Exception
		if !errors.Is(err, ErrOutOfMemory) && !errors.As(err, &exc) {
			t.Errorf("%s: %v", name, err)
		}
		vm.Close()
	}
	if got := mustRun(t, tmpl, "return 6 * 7"); got != "42" {
		t.Errorf("the next cell gives %q", got)
	}
}

func TestUnhandledRejections(t *testing.T) {
	ctx := context.Background()
	tmpl := testTemplate(t)
	for _, c := range []struct{ name, src, want string }{
		{"none", "return 1", ""},
		{"one", "Promise.reject('lost'); return 1", "lost"},
		{"the first of three", "Promise.reject('a'); Promise.reject('b'); Promise.reject('c'); return 1", "a"},
		{"an error", "(async () => { throw new TypeError('t'); })(); return 1", "TypeError: t"},
		{"handled at once", "Promise.reject(1).catch(() => 0); return 1", ""},
		{"handled later", "const p = Promise.reject(1); await null; await null; p.catch(() => 0); return 1", ""},
		{"handled by await", "const p = Promise.reject(1); await null; try { await p; } catch { } return 1", ""},
		{"the first handled, the second not", "const p = Promise.reject(1); Promise.reject('second'); await null; p.catch(() => 0); return 1", "second"},
		{"in allSettled", "await Promise.allSettled([Promise.reject(1)]); return 1", ""},
		{"derived", "Promise.reject('root').then(() => 0); return 1", "root"},
		{"undefined as reason", "Promise.reject(); return 1", "undefined"},
		{"a pending one's later rejection", "new Promise((_, r) => Promise.resolve().then(() => r('late'))); return 1", "late"},
	} {
		vm := newVM(t, tmpl, nil)
		if _, err := run(ctx, vm, c.src); err != nil {
			t.Fatal(err)
		}
		reason, ok := vm.Unhandled()
		if ok != (c.want != "") {
			t.Errorf("%s: unhandled: %t", c.name, ok)
		}
		if ok {
			if got, err := show(ctx, vm, reason); got != c.want || err != nil {
				t.Errorf("%s: %q, %v, want %q", c.name, got, err, c.want)
			}
		}
		vm.Close()
	}
}

// A flood of rejections is counted, not kept, and handling them all is noticed.
func TestRejectionFlood(t *testing.T) {
	ctx := context.Background()
	tmpl := newTemplate(t, testEngine(t, false), TemplateOptions{MemoryLimit: 256 << 20})
	flood := func(after string) *VM {
		vm := newVM(t, tmpl, nil)
		vm.SetDeadline(time.Now().Add(time.Minute))
		if got, err := run(ctx, vm, "const a = []; for (let i = 0; i < 66000; i++) a.push(Promise.reject(i)); "+after+" return a.length"); got != "66000" || err != nil {
			t.Fatal(got, err)
		}
		return vm
	}
	vm := flood("")
	if len(vm.rejections) > maxRejections {
		t.Errorf("%d rejections are kept", len(vm.rejections))
	}
	if _, ok := vm.Unhandled(); !ok {
		t.Error("none of 66,000 is unhandled")
	}
	vm.Close()
	vm = flood("for (const p of a) p.catch(() => 0);")
	if _, ok := vm.Unhandled(); ok {
		t.Error("all were handled, and one is reported")
	}
}
