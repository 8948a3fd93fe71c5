package quickjs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// suspended is a cell that has state of many kinds and waits for one answer.
const suspendedSrc = `
const list = [1, 2.5, 'three', null, undefined, 4n, new Date(5), /six/gi];
const map = new Map([['k', { deep: [1, [2, [3]]] }]]), set = new Set('abc'), weak = new WeakMap();
class Counter { #n = 0; inc() { return ++this.#n; } get n() { return this.#n; } }
const counter = new Counter(); counter.inc(); counter.inc();
const key = {}; weak.set(key, 'weak');
function* gen() { yield 1; yield 2; yield 3; }
const g = gen(); g.next();
const bytes = new Uint8Array([1, 2, 3]), sym = Symbol.for('s'), bound = counter.inc.bind(counter);
const proxy = new Proxy({}, { get: (t, k) => 'proxied ' + String(k) });
let text = ''; for (let i = 0; i < 1000; i++) text += i;
const nested = (async () => { const x = await ask('inner'); return 'inner ' + x; })();
globalThis.shared = { list };
const answer = await ask('outer');
return JSON.stringify([answer, list.length, String(list[5]), list[6].getTime(), String(list[7]), map.get('k').deep.flat(9), [...set],
  weak.get(key), bound(), counter.n, g.next().value, [...g], [...bytes], Symbol.keyFor(sym), proxy.x, text.length, text.slice(-6),
  await nested, shared.list === list, typeof eval]);`

const suspendedWant = `["!",8,"4",5,"/six/gi",[1,2,3],["a","b","c"],"weak",3,3,2,[3],[1,2,3],"s","proxied x",2890,"998999","inner ?",true,"function"]`

// suspend starts a cell and saves it while it waits. The cell's promise is the root.
func suspend(tb testing.TB, tmpl *Template, src string) []byte {
	tb.Helper()
	ctx := context.Background()
	vm, err := tmpl.NewVM(ctx, nil)
	if err != nil {
		tb.Fatal(err)
	}
	defer vm.Close()
	c, err := startCell(ctx, vm, src)
	if err != nil {
		tb.Fatal(err)
	}
	if st, _, err := c.turn(ctx); err != nil || st != Pending {
		tb.Fatalf("state %d, %v", st, err)
	}
	snap, err := vm.Snapshot(ctx, nil, c.main)
	if err != nil {
		tb.Fatal(err)
	}
	return snap
}

// resume restores a cell, answers slot i with answers[i], and gives its result.
func resume(tmpl *Template, snap []byte, answers ...string) (string, error) {
	ctx := context.Background()
	vm, roots, err := tmpl.Restore(ctx, snap, nil)
	if err != nil {
		return "", err
	}
	defer vm.Close()
	vm.SetDeadline(time.Now().Add(time.Minute))
	c := &cell{vm: vm, main: roots[0]}
	var batch []Settlement
	for i, a := range answers {
		batch = append(batch, Settlement{Slot: uint32(i), Flag: 1, Value: codecString(a)})
	}
	st, _, err := c.turn(ctx, batch...)
	if err != nil {
		return "", err
	}
	if st == Pending {
		return "pending", nil
	}
	return c.result(ctx, st)
}

func TestSnapshotsContinueWhereTheyWereTaken(t *testing.T) {
	cow, plain := testEngine(t, false), testEngine(t, true)
	another, err := loadEngine(false)
	if err != nil {
		t.Fatal(err)
	}
	defer another.Close(context.Background())
	from := newTemplate(t, cow, TemplateOptions{})
	train := func(ctx context.Context, vm *VM) error { _, err := run(ctx, vm, "return [1].map(String)"); return err }
	snap := suspend(t, from, suspendedSrc)
	t.Logf("%d bytes", len(snap))
	if len(snap) > 64<<10 {
		t.Errorf("a small cell takes %d bytes", len(snap))
	}
	for name, tmpl := range map[string]*Template{
		"the same template": from, "an equal template": newTemplate(t, cow, TemplateOptions{}),
		"a trained template": newTemplate(t, cow, TemplateOptions{Train: train}), "another engine": newTemplate(t, another, TemplateOptions{}),
		"plain memory": newTemplate(t, plain, TemplateOptions{}),
	} {
		for range 2 {
			got, err := resume(tmpl, snap, "?", "!")
			if err != nil || got != suspendedWant {
				t.Errorf("%s: %v\n got %s\nwant %s", name, err, got, suspendedWant)
			}
		}
	}
	back := suspend(t, newTemplate(t, plain, TemplateOptions{}), suspendedSrc)
	if got, err := resume(from, back, "?", "!"); err != nil || got != suspendedWant {
		t.Errorf("from plain memory: %s, %v", got, err)
	}
}

const imageHelper = "CLOISTER_TEST_IMAGE_HELPER"

// A snapshot is a difference from the template's image, and what it is bound to is
// a digest of what the image was made from. So equal inputs have to give an equal
// image, in this process or another, today or tomorrow. A few words may differ:
// the guard for stack protection, which the engine's start sets and nothing reads,
// and in the context the seed of Math.random, which each VM gets anew, with the
// time at which the context was made behind it, for an interface that is left out.
func TestEqualInputsGiveAnEqualImage(t *testing.T) {
	base := newTemplate(t, testEngine(t, false), TemplateOptions{})
	guard := -1
	for name, tmpl := range map[string]*Template{
		"again": newTemplate(t, testEngine(t, false), TemplateOptions{}), "plain": newTemplate(t, testEngine(t, true), TemplateOptions{}),
	} {
		if base.im.size != tmpl.im.size || base.im.used != tmpl.im.used || base.randAt != tmpl.randAt {
			t.Errorf("%s: %d bytes and %d pages, want %d and %d", name, tmpl.im.size, tmpl.im.used, base.im.size, base.im.used)
		}
		for _, at := range imageDiff(base.im, tmpl.im) {
			if at >= int(base.randAt) && at < int(base.randAt)+16 {
				continue
			}
			if guard >= 0 && guard != at {
				t.Errorf("%s: the words at %#x and %#x differ", name, guard, at)
			}
			guard = at
		}
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "-test.run=^TestEqualImageHelper$")
	cmd.Env = append(os.Environ(), imageHelper+"="+strconv.Itoa(guard))
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(out), imageLines(base, guard); !strings.HasPrefix(got, want) {
		t.Error("the image made in another process differs")
	}
}

// TestEqualImageHelper is the other process of the test above.
func TestEqualImageHelper(t *testing.T) {
	if guard, err := strconv.Atoi(os.Getenv(imageHelper)); err == nil {
		fmt.Print(imageLines(testTemplate(t), guard))
	}
}

func TestSnapshotChain(t *testing.T) {
	tmpl := testTemplate(t)
	snap := suspend(t, tmpl, "let s = ''; for (let i = 0; i < 12; i++) s += await ask(i); return s")
	ctx := context.Background()
	for i := range 12 {
		vm, roots, err := tmpl.Restore(ctx, snap, nil)
		if err != nil {
			t.Fatal(err)
		}
		c := &cell{vm: vm, main: roots[0]}
		st, out, err := c.turn(ctx, Settlement{Slot: uint32(i), Flag: 1, Value: codecString(fmt.Sprintf("%d,", i))})
		if err != nil {
			t.Fatal(err)
		}
		if i == 11 {
			got, err := c.result(ctx, st)
			if want := "0,1,2,3,4,5,6,7,8,9,10,11,"; got != want {
				t.Errorf("%q, %v, want %q", got, err, want)
			}
		} else if want := fmt.Sprintf("%d %d\n", i+1, i+1); st != Pending || out != want {
			t.Fatalf("turn %d: state %d, outbox %q, want %q", i, st, out, want)
		}
		if snap, err = vm.Snapshot(ctx, nil, c.main); err != nil {
			t.Fatal(err)
		}
		vm.Close()
	}
}

func TestManySuspendedAtOnce(t *testing.T) {
	tmpl := testTemplate(t)
	n := 300
	if testing.Short() {
		n = 60
	}
	snaps := make([][]byte, n)
	for i := range snaps {
		snaps[i] = suspend(t, tmpl, fmt.Sprintf("const id = %d, pad = 'p'.repeat(%d); const r = await ask(id); return id + r + pad.length", i, i))
	}
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := g; i < n; i += 4 {
				if got, err := resume(tmpl, snaps[i], "+"); err != nil || got != fmt.Sprintf("%d+%d", i, i) {
					t.Errorf("cell %d: %q, %v", i, got, err)
				}
			}
		})
	}
	wg.Wait()
}

func TestSnapshotOfAGrownVM(t *testing.T) {
	for _, m := range sample(modes, 2) {
		tmpl := newTemplate(t, testEngine(t, m.plain), TemplateOptions{})
		words := shorter(2e6, 1e6)
		snap := suspend(t, tmpl, fmt.Sprintf("const big = new Uint32Array(%d).map((_, i) => (i * 2654435761) >>> 0); const r = await ask(1); let ok = 0; for (let i = 0; i < big.length; i += 1000) ok += big[i] === (i * 2654435761) >>> 0; return r + ok", words))
		if got, err := resume(tmpl, snap, "ok "); got != fmt.Sprint("ok ", words/1000) {
			t.Errorf("%s: %q, %v", m.name, got, err)
		}
		if n := idle(tmpl); n != 0 {
			t.Errorf("%s: %d VMs in the pool", m.name, n)
		}
	}
}

func TestSnapshotLeavesTheVMUsable(t *testing.T) {
	ctx := context.Background()
	vm := newVM(t, testTemplate(t), nil)
	c, err := startCell(ctx, vm, "return 'first ' + await ask(1) + Math.random()")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.turn(ctx); err != nil {
		t.Fatal(err)
	}
	snap, err := vm.Snapshot(ctx, nil, c.main)
	if err != nil {
		t.Fatal(err)
	}
	st, _, err := c.turn(ctx, Settlement{Flag: 1, Value: codecString("x")})
	if err != nil {
		t.Fatal(err)
	}
	here, err := c.result(ctx, st)
	if err != nil {
		t.Fatal(err)
	}
	// The seed is part of the state: a cell continues with the numbers it would
	// have seen.
	there, err := resume(vm.Template(), snap, "x")
	if err != nil || here != there || !strings.HasPrefix(here, "first x0.") {
		t.Errorf("%q here, %q in the restored VM, %v", here, there, err)
	}
	if _, err := vm.Snapshot(ctx, nil, make([]Value, maxRoots+1)...); err == nil {
		t.Error("too many roots are accepted")
	}
}

func TestRestoredVMKeepsItsLimits(t *testing.T) {
	ctx := context.Background()
	tmpl := testTemplate(t)
	restore := func(src string, o *VMOptions) (*cell, *VM) {
		t.Helper()
		first := newVM(t, tmpl, o)
		c, err := startCell(ctx, first, src)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := c.turn(ctx); err != nil {
			t.Fatal(err)
		}
		snap, err := first.Snapshot(ctx, nil, c.main)
		if err != nil {
			t.Fatal(err)
		}
		vm, roots, err := tmpl.Restore(ctx, snap, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(vm.Close)
		return &cell{vm: vm, main: roots[0]}, vm
	}
	answer := Settlement{Flag: 1, Value: codecString("x")}

	c, vm := restore("await ask(1); [].includes.call({ length: 2 ** 53 - 1 }, 1)", nil)
	vm.SetDeadline(time.Now().Add(20 * time.Millisecond))
	if _, _, err := c.turn(ctx, answer); !errors.Is(err, ErrInterrupted) {
		t.Errorf("deadline: %v", err)
	}

	c, vm = restore("await ask(1); try { return new ArrayBuffer(3e6).byteLength; } catch (e) { return 'limit'; }", &VMOptions{MemoryLimit: 2 << 20})
	st, _, err := c.turn(ctx, answer)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := c.result(ctx, st); got != "limit" || !vm.OutOfMemory() {
		t.Errorf("memory limit: %q, %v, out of memory: %t", got, err, vm.OutOfMemory())
	}

	_, vm = restore("try { new ArrayBuffer(1e9); } catch { } await ask(1)", nil)
	if !vm.OutOfMemory() {
		t.Error("out of memory is forgotten")
	}
	_, vm = restore("try { await import('x'); } catch { } await ask(1)", nil)
	if !vm.ModuleDenied() {
		t.Error("the attempt to load a module is forgotten")
	}
	c, vm = restore("Promise.reject('early'); globalThis.late = Promise.reject('handled later'); Promise.reject('third'); await ask(1); late.catch(() => 0); Promise.reject('new')", nil)
	reason, ok := vm.Unhandled()
	if text, err := show(ctx, vm, reason); !ok || text != "early" {
		t.Errorf("unhandled: %q, %t, %v", text, ok, err)
	}
	if n := len(vm.rejections); n != 3 {
		t.Errorf("%d rejections, want 3", n)
	}
	if _, _, err := c.turn(ctx, answer); err != nil {
		t.Fatal(err)
	}
	if n := len(vm.rejections); n != 3 {
		t.Errorf("%d rejections after one was handled and one added, want 3", n)
	}
	c, _ = restore("await ask(1); try { return eval('1'); } catch (e) { return e.name; }", nil)
	if st, _, err = c.turn(ctx, answer); err != nil {
		t.Fatal(err)
	}
	if got, err := c.result(ctx, st); got != "TypeError" {
		t.Errorf("eval: %q, %v", got, err)
	}
}

// Randomness and clock of a restored VM come from the options of Restore.
func TestRestoreOptions(t *testing.T) {
	ctx := context.Background()
	tmpl := testTemplate(t)
	snap := suspend(t, tmpl, "await ask(1); return new Date().toISOString()")
	vm, roots, err := tmpl.Restore(ctx, snap, &VMOptions{Now: func() time.Time { return fixedTime }, ClockStep: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer vm.Close()
	c := &cell{vm: vm, main: roots[0]}
	st, _, err := c.turn(ctx, Settlement{Flag: 1, Value: []byte{0}})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := c.result(ctx, st); got != "2026-11-20T14:33:07.000Z" {
		t.Errorf("%q, %v", got, err)
	}
}
