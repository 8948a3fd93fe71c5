package quickjs

import (
	"context"
	"errors"
	"runtime"
	"testing"
)

// large are cells that hold 30 to 60 MB across an await: what does not compress (a
// megabyte of noise is repeated, and zstd looks back an eighth of that), what does,
// and what compresses next to completely.
var large = []struct{ name, src string }{
	{"random", "let s = 88172645; const m = new Int32Array(262144); for (let i = 0; i < m.length; i++) { s ^= s << 13; s ^= s >>> 17; s ^= s << 5; m[i] = s; } const a = new Int32Array(m.length * 40); for (let i = 0; i < 40; i++) a.set(m, m.length * i); const sum = () => { let n = 0; for (let i = 0; i < a.length; i += 1001) n = (n * 31 + a[i]) | 0; return n; }; const first = sum();"},
	{"text", "const a = []; for (let i = 0; i < 80000; i++) a.push({ id: i, name: 'customer number ' + i, tags: ['new', 'open'] }); const sum = () => a.reduce((x, y) => (x * 31 + y.name.length + y.id) | 0, 0); const first = sum();"},
	{"fill", "const a = new Uint8Array(55e6).fill(7); const sum = () => { let n = 0; for (let i = 0; i < a.length; i += 1001) n = (n * 31 + a[i]) | 0; return n; }; const first = sum();"},
}

// largeCell starts a cell of the given source and leaves it waiting.
func largeCell(tb testing.TB, t *Template, src string) *cell {
	tb.Helper()
	vm := newVM(tb, t, nil)
	c, err := startCell(context.Background(), vm, src+" await ask(1); return first === sum() ? 'same' : 'different'")
	if err != nil {
		tb.Fatal(err)
	}
	if st, _, err := c.turn(context.Background()); err != nil || st != Pending {
		tb.Fatalf("state %d, %v", st, err)
	}
	return c
}

// BenchmarkSnapshotLarge saves and restores cells of 30 to 60 MB, and saves them within a bound.
func BenchmarkSnapshotLarge(b *testing.B) {
	t := newTemplate(b, testEngine(b, false), TemplateOptions{})
	for _, l := range large {
		c := largeCell(b, t, l.src)
		var snap []byte
		b.Run(l.name+"/save", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var err error
				if snap, err = c.vm.Snapshot(context.Background(), nil, c.main); err != nil {
					b.Fatal(err)
				}
				runtime.GC()
			}
			b.ReportMetric(float64(len(snap)), "snapshot-bytes")
		})
		b.Run(l.name+"/over 1 MiB", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, err := c.vm.Snapshot(context.Background(), &SnapshotOptions{Max: 1 << 20}, c.main)
				if err != nil && !errors.Is(err, ErrSnapshotTooLarge) {
					b.Fatal(err)
				}
			}
		})
		b.Run(l.name+"/restore", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				vm, _, err := t.Restore(context.Background(), snap, nil)
				if err != nil {
					b.Fatal(err)
				}
				vm.Close()
			}
		})
		c.vm.Close()
	}
}
