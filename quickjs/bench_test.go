package quickjs

import (
	"context"
	"testing"
	"time"
)

const benchCell = "const a = [1, 2, 3].map((x) => ({ x, s: 'item ' + x })); return JSON.parse(JSON.stringify(a)).length"

func benchTemplate(b *testing.B, plain bool, idle int) *Template {
	b.Helper()
	return newTemplate(b, testEngine(b, plain), TemplateOptions{MaxIdle: idle, Train: func(ctx context.Context, vm *VM) error {
		_, err := run(ctx, vm, benchCell)
		return err
	}})
}

func BenchmarkTemplate(b *testing.B) {
	e := testEngine(b, false)
	b.ReportAllocs()
	for b.Loop() {
		t, err := e.NewTemplate(context.Background(), &TemplateOptions{Prelude: testPrelude, Entries: entryCount})
		if err != nil {
			b.Fatal(err)
		}
		t.Close()
	}
}

// BenchmarkInstantiate makes an instance and drops it: nothing is pooled.
func BenchmarkInstantiate(b *testing.B) {
	for _, m := range modes {
		b.Run(m.name, func(b *testing.B) {
			t := benchTemplate(b, m.plain, -1)
			b.ReportAllocs()
			for b.Loop() {
				vm, err := t.NewVM(context.Background(), nil)
				if err != nil {
					b.Fatal(err)
				}
				vm.Close()
			}
		})
	}
}

// BenchmarkCell runs a small cell on a pooled VM, reset included.
func BenchmarkCell(b *testing.B) {
	for _, m := range modes {
		b.Run(m.name, func(b *testing.B) {
			t := benchTemplate(b, m.plain, 4)
			b.ReportAllocs()
			for b.Loop() {
				vm, err := t.NewVM(context.Background(), nil)
				if err != nil {
					b.Fatal(err)
				}
				if got, err := run(context.Background(), vm, benchCell); got != "3" {
					b.Fatal(got, err)
				}
				vm.Close()
			}
		})
	}
}

// BenchmarkSuspendRestore saves a waiting cell and finishes it in another VM.
func BenchmarkSuspendRestore(b *testing.B) {
	t := benchTemplate(b, false, 4)
	size := 0
	b.ReportAllocs()
	for b.Loop() {
		snap := suspend(b, t, "const s = { list: [1, 2, 3], name: 'x'.repeat(100) }; return await ask(1) + s.list.length")
		size = len(snap)
		if got, err := resume(t, snap, "n"); got != "n3" {
			b.Fatal(got, err)
		}
	}
	b.ReportMetric(float64(size), "snapshot-bytes")
}

// workloads are programs of a few tens of milliseconds each.
var workloads = []struct{ name, src string }{
	{"fib", "(() => { const fib = (n) => n < 2 ? n : fib(n - 1) + fib(n - 2); return fib(22); })()"},
	{"json", "(() => { const o = Array.from({ length: 400 }, (_, i) => ({ i, name: 'item ' + i, tags: ['a', 'b'], deep: { x: [i, { y: i }] } })); let n = 0; for (let k = 0; k < 8; k++) n += JSON.stringify(JSON.parse(JSON.stringify(o))).length; return n; })()"},
	{"sort", "(() => { let s = 1; const a = Array.from({ length: 12000 }, () => (s = (s * 48271) % 2147483647)); return a.slice().sort((x, y) => x - y)[0] + a.slice().sort().length; })()"},
	{"strings", "(() => { let n = 0; for (let k = 0; k < 40; k++) { const t = ('the quick brown fox ' + k + ' ').repeat(60); n += t.split(' ').map((w) => w.toUpperCase()).join('-').replace(/O/g, '0').indexOf('F0X'); } return n; })()"},
}

// BenchmarkMetering runs the same programs in the engine as it is published and in
// the rewritten one, by turns, and reports how much longer the latter takes.
func BenchmarkMetering(b *testing.B) {
	for _, w := range workloads {
		b.Run(w.name, func(b *testing.B) {
			ctx := context.Background()
			t := benchTemplate(b, false, 4)
			var published, rewritten time.Duration
			for b.Loop() {
				o := newOriginal(b, fixedTime)
				began := time.Now()
				v, thrown := o.eval(w.src, cellFile)
				published += time.Since(began)
				want := o.string(v)
				o.mod.Close(ctx)

				vm, err := t.NewVM(ctx, nil)
				if err != nil {
					b.Fatal(err)
				}
				began = time.Now()
				code, err := vm.Compile(ctx, w.src)
				if err != nil {
					b.Fatal(err)
				}
				r, err := vm.Run(ctx, code)
				rewritten += time.Since(began)
				if err != nil || thrown {
					b.Fatal(err, want)
				}
				if got, err := vm.ReadString(ctx, r, 1000); string(got) != want || err != nil {
					b.Fatalf("%s, %v, want %s", got, err, want)
				}
				vm.Close()
			}
			b.ReportMetric(float64(rewritten)/float64(published), "rewritten/published")
			b.ReportMetric(float64(rewritten.Microseconds())/float64(b.N), "rewritten-µs")
		})
	}
}

// BenchmarkOverrun stops a native loop and reports how long after its deadline it
// ended.
func BenchmarkOverrun(b *testing.B) {
	t := benchTemplate(b, false, 4)
	for _, c := range []struct{ name, src string }{
		{"includes", "[].includes.call({ length: 2 ** 53 - 1 }, 1)"}, {"regexp", "/(x+x+)+y/.test('x'.repeat(40))"}, {"loop", "for (;;);"},
		{"fill", "const a = new Uint8Array(3e7); for (;;) a.fill(1)"},
	} {
		b.Run(c.name, func(b *testing.B) {
			var sum, worst time.Duration
			for b.Loop() {
				vm, err := t.NewVM(context.Background(), nil)
				if err != nil {
					b.Fatal(err)
				}
				deadline := time.Now().Add(5 * time.Millisecond)
				vm.SetDeadline(deadline)
				if text, err := run(context.Background(), vm, c.src); err == nil {
					b.Fatal(text)
				}
				over := time.Since(deadline)
				sum, worst = sum+over, max(worst, over)
				vm.Close()
			}
			b.ReportMetric(float64(sum.Microseconds())/float64(b.N)/1000, "overrun-ms")
			b.ReportMetric(float64(worst.Microseconds())/1000, "worst-ms")
		})
	}
}
