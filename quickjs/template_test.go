package quickjs

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf16"
)

// checkImage holds that a VM that no cell has touched is bit-identical to the
// template: memory, stack pointer, counter and out-of-memory flag.
func checkImage(t *testing.T, vm *VM) {
	t.Helper()
	im, mem := vm.t.im, vm.mem()
	if uint64(len(mem)) != im.size {
		t.Fatalf("the memory has %d bytes, the image %d", len(mem), im.size)
	}
	bad := 0
	for p := range int(im.size / pageSize) {
		if page := mem[p*pageSize : (p+1)*pageSize]; !bytes.Equal(page, im.page(p)) {
			bad++
			if bad < 5 {
				t.Errorf("page %d differs from the image", p)
			}
		}
	}
	if bad > 0 {
		t.Fatalf("%d pages differ", bad)
	}
	if got := vm.stackPtr.Get(); got != vm.t.stackTop {
		t.Errorf("stack pointer %#x, want %#x", got, vm.t.stackTop)
	}
	if got := vm.counter.Get(); got != meterQuantum {
		t.Errorf("counter %d, want %d", got, meterQuantum)
	}
	if got := vm.oom.Get(); got != 0 {
		t.Errorf("out-of-memory flag %d", got)
	}
	if vm.moduleDenied || vm.Interrupted() || vm.dead || len(vm.rejections) != 0 || vm.lost != 0 || !vm.deadline.IsZero() {
		t.Errorf("the host's side of the VM is not fresh: %+v", vm)
	}
}

// marker is what hostile cells leave wherever they can.
const marker = "ZQ7-left-over-of-the-cell-before-XJ4"

// dirtying are cells that change as much of an instance as they can and end whole.
var dirtying = []struct{ name, src string }{
	{"nothing", "return 1"},
	{"globals", "globalThis.leak = '" + marker + "'; Object.defineProperty(globalThis, 'fixed', { value: '" + marker + "' }); var x = 1; return 1"},
	{"strings", "globalThis.a = []; for (let i = 0; i < 2000; i++) a.push('" + marker + "' + i); globalThis.u = '" + marker + "é漢'.repeat(10); return a.length"},
	{"buffers", "globalThis.b = []; for (let i = 0; i < 20; i++) { const u = new Uint8Array(60000); for (let j = 0; j + 40 < u.length; j += 40) for (let k = 0; k < 36; k++) u[j + k] = '" + marker + "'.charCodeAt(k); b.push(u); } return 1"},
	{"one big buffer", "globalThis.b = new Uint8Array(3e6).fill(0x5a); return 1"},
	{"prototypes", "Array.prototype.leak = '" + marker + "'; Object.prototype[Symbol('" + marker + "')] = 1; Function.prototype.call = null; Promise.prototype.then = () => '" + marker + "'; delete String.prototype.slice; return 1"},
	{"builtins", "JSON.stringify = () => '" + marker + "'; Math.random = null; Object.freeze(Object.prototype); Date.now = () => 1; globalThis.Map = class { }; return 1"},
	{"closures", "const s = '" + marker + "'; globalThis.f = () => s; globalThis.g = (function* () { yield s; })(); g.next(); return 1"},
	{"symbols and atoms", "for (let i = 0; i < 500; i++) { Symbol.for('" + marker + "' + i); globalThis['" + marker + "' + i] = i; } return 1"},
	{"shapes", "globalThis.o = {}; for (let i = 0; i < 500; i++) o['" + marker + "' + i] = { [i]: { ['p' + i]: 1 } }; return 1"},
	{"regular expressions", "globalThis.r = []; for (let i = 0; i < 100; i++) r.push(new RegExp('" + marker + "(' + i + ')')); '" + marker + "1'.match(/(.*)/); return RegExp.$1"},
	{"deep stack", "let n = 0; const f = (a, b, c) => { n++; return f(a + '" + marker + "', b, c); }; try { f('', [1], {}); } catch { } return n > 100"},
	{"errors", "try { null.x; } catch (e) { globalThis.e = e; e.leak = '" + marker + "'; } Error.stackTraceLimit = 0; throw new Error('" + marker + "')"},
	{"pending promises", "globalThis.p = new Promise(() => '" + marker + "'); p.then(() => { }); ask('" + marker + "'); return 1"},
	{"waiting", "await ask('" + marker + "')"},
	{"unhandled rejections", "for (let i = 0; i < 100; i++) Promise.reject('" + marker + "'); return 1"},
	{"pending jobs", "Promise.resolve().then(() => { throw '" + marker + "'; }); return 1"},
	{"collections", "globalThis.m = new Map(); globalThis.w = new WeakMap(); for (let i = 0; i < 1000; i++) { m.set('" + marker + "' + i, i); w.set({}, '" + marker + "'); } globalThis.fr = new FinalizationRegistry(() => { }); fr.register({}, '" + marker + "'); return 1"},
	{"out of memory", "try { new ArrayBuffer(1e9); } catch { } return 1"},
	{"garbage", "for (let i = 0; i < 3000; i++) { const a = { s: '" + marker + "' + i }; a.a = a; } return 1"},
	{"memory to the last of the template's room", "globalThis.k = []; try { for (let i = 0; i < 50; i++) k.push(new ArrayBuffer(60000)); } catch { } return k.length"},
	{"a syntax error", "return '" + marker + "' ) ("},
	{"a module", "try { await import('" + marker + "'); } catch { } return 1"},
	{"big numbers", "globalThis.n = 7n ** 20000n; return 1"},
	{"random", "for (let i = 0; i < 100; i++) Math.random(); return 1"},
	{"dates", "globalThis.d = new Date(); return d.toString() + '" + marker + "'"},
	{"long source", "return 1; /*" + strings.Repeat(marker, 2000) + "*/"},
}

func TestInstancesEqualTheImage(t *testing.T) {
	ctx := context.Background()
	train := func(ctx context.Context, vm *VM) error {
		_, err := run(ctx, vm, "const a = [1, 2, 3].map((x) => ({ x })); return JSON.stringify(a)")
		return err
	}
	for _, m := range sample(modes, 2) {
		for _, trained := range []bool{false, true} {
			o := TemplateOptions{}
			if trained {
				o.Train = train
			} else if testing.Short() {
				continue // what hosts use is trained
			}
			tmpl := newTemplate(t, testEngine(t, m.plain), o)
			fresh, err := tmpl.blank(ctx)
			if err != nil {
				t.Fatal(err)
			}
			checkImage(t, fresh)
			fresh.Close()
			for _, c := range sample(dirtying, 4) {
				t.Run(fmt.Sprintf("%s/trained=%t/%s", m.name, trained, c.name), func(t *testing.T) {
					pooled := idle(tmpl)
					vm := newVM(t, tmpl, nil)
					vm.SetDeadline(time.Now().Add(time.Minute))
					if _, err := run(ctx, vm, c.src); err != nil {
						t.Fatal(err)
					}
					grown := uint64(len(vm.mem())) != tmpl.im.size
					vm.Close()
					if want := pooled; !grown && idle(tmpl) != want {
						t.Errorf("%d VMs in the pool, want %d", idle(tmpl), want)
					}
					if grown {
						t.Logf("the memory grew: the VM was dropped")
					}
					next, err := tmpl.blank(ctx)
					if err != nil {
						t.Fatal(err)
					}
					defer next.Close()
					checkImage(t, next)
					checkNoMarker(t, next)
				})
			}
			if n := idle(tmpl); n != 1 {
				t.Errorf("%d VMs in the pool at the end, want 1", n)
			}
		}
	}
}

// checkNoMarker searches all the memory that an instance can ever address.
func checkNoMarker(t *testing.T, vm *VM) {
	t.Helper()
	wide := make([]byte, 0, 2*len(marker))
	for _, u := range utf16.Encode([]rune(marker)) {
		wide = binary.LittleEndian.AppendUint16(wide, u)
	}
	all := vm.lm.base()
	for name, needle := range map[string][]byte{"bytes": []byte(marker), "UTF-16": wide} {
		if at := bytes.Index(all, needle); at >= 0 {
			t.Errorf("what the cell before wrote is at %#x, as %s", at, name)
		}
	}
}

// A VM that a cell made grow may hold anything beyond the image: it is dropped.
func TestGrownInstancesAreDropped(t *testing.T) {
	for _, m := range modes {
		tmpl := newTemplate(t, testEngine(t, m.plain), TemplateOptions{})
		vm := newVM(t, tmpl, nil)
		if got, err := run(context.Background(), vm, "globalThis.b = new Uint8Array(2e7).fill(1); return b.length"); got != "20000000" {
			t.Fatal(got, err)
		}
		vm.Close()
		if n := idle(tmpl); n != 0 {
			t.Errorf("%s: %d VMs in the pool", m.name, n)
		}
		next := newVM(t, tmpl, nil)
		if n := len(next.mem()); uint64(n) != tmpl.im.size {
			t.Errorf("%s: the next VM has %d bytes", m.name, n)
		}
	}
}

// Two VMs differ from the image, before their cells run, in the seed of
// Math.random and in the limit of their memory alone.
func TestNewVMDiffersInItsSeedOnly(t *testing.T) {
	for _, m := range modes {
		tmpl := newTemplate(t, testEngine(t, m.plain), TemplateOptions{})
		a := newVM(t, tmpl, &VMOptions{Random: bytes.NewReader([]byte("8 bytes!"))})
		b := newVM(t, tmpl, &VMOptions{Random: bytes.NewReader([]byte("8 bytes?"))})
		same := newVM(t, tmpl, &VMOptions{Random: bytes.NewReader([]byte("8 bytes!"))})
		if !bytes.Equal(a.mem(), same.mem()) {
			t.Errorf("%s: equal options give other memory", m.name)
		}
		for i := range a.mem() {
			if a.mem()[i] != b.mem()[i] && (i < int(tmpl.randAt) || i >= int(tmpl.randAt)+8) {
				t.Fatalf("%s: byte %#x differs", m.name, i)
			}
		}
		var outside []int
		for i := range a.mem() {
			if p := tmpl.im.page(i / pageSize)[i%pageSize]; a.mem()[i] != p && (i < int(tmpl.randAt) || i >= int(tmpl.randAt)+8) {
				outside = append(outside, i)
			}
		}
		// The limit, and the native stack that setting it used.
		for _, i := range outside {
			inRuntime := i >= int(tmpl.rtPtr) && i < int(tmpl.rtPtr)+256
			inStack := uint64(i) < tmpl.stackTop
			if !inRuntime && !inStack {
				t.Errorf("%s: byte %#x differs from the image (runtime at %#x)", m.name, i, tmpl.rtPtr)
			}
		}
	}
}

func TestPoolBounds(t *testing.T) {
	for _, m := range modes {
		e := testEngine(t, m.plain)
		size := int64(newTemplate(t, e, TemplateOptions{}).im.size)
		for _, c := range []struct {
			name string
			o    TemplateOptions
			want int
		}{
			{"three", TemplateOptions{MaxIdle: 3, MaxIdleBytes: 1 << 40}, 3},
			{"one", TemplateOptions{MaxIdle: 1, MaxIdleBytes: 1 << 40}, 1},
			{"none", TemplateOptions{MaxIdle: -1, MaxIdleBytes: 1 << 40}, 0},
			{"no memory", TemplateOptions{MaxIdle: 8, MaxIdleBytes: 1}, 0},
			{"negative memory", TemplateOptions{MaxIdle: 8, MaxIdleBytes: -1}, 0},
			{"memory for all", TemplateOptions{MaxIdle: 8, MaxIdleBytes: 6 * size}, 6},
		} {
			tmpl := newTemplate(t, e, c.o)
			var vms []*VM
			for range 6 {
				vms = append(vms, newVM(t, tmpl, nil))
			}
			for _, vm := range vms {
				vm.Close()
				vm.Close() // a second time is of no effect
			}
			if n := idle(tmpl); n != c.want {
				t.Errorf("%s, %s: %d VMs in the pool, want %d", m.name, c.name, n, c.want)
			}
		}
	}
	tmpl := newTemplate(t, testEngine(t, true), TemplateOptions{MaxIdle: 8})
	tmpl.o.MaxIdleBytes = 2*int64(tmpl.im.size) + 1
	var vms []*VM
	for range 4 {
		vms = append(vms, newVM(t, tmpl, nil))
	}
	for _, vm := range vms {
		vm.Close()
	}
	if n := idle(tmpl); n != 2 {
		t.Errorf("room for two and a bit: %d VMs in the pool", n)
	}
}

func TestTemplateRefuses(t *testing.T) {
	e := testEngine(t, false)
	ctx := context.Background()
	for _, c := range []struct {
		name string
		o    TemplateOptions
		want string
	}{
		{"a prelude that does not parse", TemplateOptions{Prelude: "(function ("}, "compiling the prelude: SyntaxError"},
		{"a prelude that throws", TemplateOptions{Prelude: "throw new RangeError('no')"}, "evaluating the prelude: RangeError: no"},
		{"a prelude that is no function", TemplateOptions{Prelude: "42"}, "running the prelude: TypeError: not a function"},
		{"a prelude that throws when called", TemplateOptions{Prelude: "(() => { throw new Error('called'); })"}, "running the prelude: Error: called"},
		{"missing entries", TemplateOptions{Prelude: "(() => [() => 1])", Entries: 2}, "entry 1 is missing"},
		{"no array", TemplateOptions{Prelude: "(() => null)", Entries: 1}, "entry 0 is missing"},
		{"a setup that is no JSON", TemplateOptions{Prelude: "(() => [])", Setup: []byte("{")}, "reading the prelude's setup"},
		{"training that fails", TemplateOptions{Prelude: "(() => [])", Train: func(context.Context, *VM) error { return errTrain }}, "training a template: trained enough"},
	} {
		tmpl, err := e.NewTemplate(ctx, &c.o)
		if err == nil {
			tmpl.Close()
			t.Errorf("%s is accepted", c.name)
		} else if !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	if _, err := e.NewTemplate(ctx, &TemplateOptions{Prelude: "(() => [])", Train: func(context.Context, *VM) error { return errTrain }}); !errors.Is(err, errTrain) {
		t.Errorf("the training's error is not reached: %v", err)
	}
}

var errTrain = errors.New("trained enough")

// A template's digest is what snapshots are bound to: engine, prelude and setup.
func TestTemplateDigests(t *testing.T) {
	e := testEngine(t, false)
	base := TemplateOptions{Prelude: "((s) => [() => s])", Setup: []byte(`{"a":1}`), Entries: 1}
	digest := func(change func(*TemplateOptions)) string {
		o := base
		change(&o)
		return newTemplate(t, e, o).Digest()
	}
	want := digest(func(*TemplateOptions) {})
	if len(want) != 64 {
		t.Errorf("digest %q", want)
	}
	same := map[string]func(*TemplateOptions){
		"again": func(*TemplateOptions) {}, "pool": func(o *TemplateOptions) { o.MaxIdle = 3 },
		"training": func(o *TemplateOptions) { o.Train = func(context.Context, *VM) error { return nil } },
	}
	for name, change := range same {
		if got := digest(change); got != want {
			t.Errorf("%s changes the digest", name)
		}
	}
	seen := map[string]string{want: "base"}
	for name, change := range map[string]func(*TemplateOptions){
		"setup":            func(o *TemplateOptions) { o.Setup = []byte(`{"a":2}`) },
		"prelude":          func(o *TemplateOptions) { o.Prelude = "((s) => [() => 0])" },
		"bytes moved over": func(o *TemplateOptions) { o.Prelude, o.Setup = o.Prelude+"\n", []byte(` {"a":1}`) },
	} {
		got := digest(change)
		if other, ok := seen[got]; ok {
			t.Errorf("%s has the digest of %s", name, other)
		}
		seen[got] = name
	}
}

func TestSetupReachesThePrelude(t *testing.T) {
	big := `{"text":"` + strings.Repeat("é", 100_000) + `"}`
	tmpl := newTemplate(t, testEngine(t, false), TemplateOptions{Prelude: "((s) => [() => s.text.length])", Setup: []byte(big), Entries: 1})
	vm := newVM(t, tmpl, nil)
	v, err := vm.Call(context.Background(), tmpl.Entry(0), tmpl.Undefined())
	if err != nil {
		t.Fatal(err)
	}
	if b, err := vm.ReadString(context.Background(), v, 100); string(b) != "100000" {
		t.Errorf("%q, %v", b, err)
	}
	if n := tmpl.ImageBytes(); n < 100_000 || n%pageSize != 0 {
		t.Errorf("the image holds %d bytes", n)
	}
}
