package quickjs

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"runtime"
	"testing"
)

// mustSave saves a cell without a bound.
func mustSave(tb testing.TB, c *cell) []byte {
	tb.Helper()
	snap, err := c.vm.Snapshot(context.Background(), nil, c.main)
	if err != nil {
		tb.Fatal(err)
	}
	return snap
}

// goesOn holds that a cell of largeCell still has what it had.
func goesOn(t *testing.T, what string, c *cell) {
	t.Helper()
	ctx := context.Background()
	st, _, err := c.turn(ctx, Settlement{Flag: 1, Value: codecString("x")})
	if err != nil || st != Fulfilled {
		t.Errorf("%s: state %d, %v", what, st, err)
		return
	}
	if got, err := c.result(ctx, st); got != "same" {
		t.Errorf("%s: the data are %q, %v", what, got, err)
	}
}

// allocated is how many bytes f allocates, garbage included.
func allocated(f func()) int {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int(after.TotalAlloc - before.TotalAlloc)
}

// sameMemory holds that two VMs have the same memory, but for the evaluator, which
// Restore switches off.
func sameMemory(t *testing.T, what string, a, b *VM) {
	t.Helper()
	x, y := a.mem(), b.mem()
	if len(x) != len(y) {
		t.Fatalf("%s: %d bytes became %d", what, len(x), len(y))
	}
	for p := 0; p < len(x); p += pageSize {
		u, v := x[p:p+pageSize], y[p:p+pageSize]
		if i := int(a.t.evalAt) - p; i >= 0 && i < pageSize {
			u, v = bytes.Clone(u), bytes.Clone(v)
			binary.LittleEndian.PutUint32(u[i:], 0)
			binary.LittleEndian.PutUint32(v[i:], 0)
		}
		if !bytes.Equal(u, v) {
			t.Fatalf("%s: page %d differs", what, p/pageSize)
		}
	}
}

// perCall is the memory that a save or a restore may need beside its result.
const perCall = 4 << 20

func TestLargeSnapshots(t *testing.T) {
	for _, m := range sample(modes, 2) {
		tmpl := newTemplate(t, testEngine(t, m.plain), TemplateOptions{})
		for _, l := range sample(large, 3) {
			what := m.name + ", " + l.name
			c := largeCell(t, tmpl, l.src)
			var snap []byte
			if n := allocated(func() { snap = mustSave(t, c) }); n > len(snap)+perCall && runtime.GOOS == "linux" {
				t.Errorf("%s: saving to %d bytes allocates %d", what, len(snap), n)
			}
			var vm *VM
			var roots []Value
			n := allocated(func() {
				var err error
				if vm, roots, err = tmpl.Restore(context.Background(), snap, nil); err != nil {
					t.Fatal(err)
				}
			})
			if m.plain {
				n -= 2 * len(vm.mem()) // a copy of the image, and what Go adds to it
			}
			if n > perCall && runtime.GOOS == "linux" {
				t.Errorf("%s: restoring %d bytes allocates %d", what, len(snap), n)
			}
			sameMemory(t, what, c.vm, vm)
			restored := &cell{vm: vm, main: roots[0]}
			if again := mustSave(t, restored); !bytes.Equal(again, snap) {
				t.Errorf("%s: a snapshot of %d bytes is one of %d after a round trip", what, len(snap), len(again))
			}
			goesOn(t, what+", restored", restored)
			goesOn(t, what+", saved", c)
			vm.Close()
			c.vm.Close()
		}
	}
}

// A state over its bound costs what fits and no more.
func TestSnapshotsStopAtTheirBound(t *testing.T) {
	for _, m := range modes {
		tmpl := newTemplate(t, testEngine(t, m.plain), TemplateOptions{})
		for _, l := range sample(large, 2) {
			if m.plain && l.name != "random" {
				continue
			}
			c := largeCell(t, tmpl, l.src)
			whole := count()
			snap, err := c.vm.Snapshot(whole, nil, c.main)
			if err != nil {
				t.Fatal(err)
			}
			for _, most := range []int{len(snap) - 1, len(snap) / 2, len(snap) / 50, 2048, snapshotHeader + 8 + snapshotSum, 1, -1} {
				ctx := count()
				var refused error
				n := allocated(func() { _, refused = c.vm.Snapshot(ctx, &SnapshotOptions{Max: most}, c.main) })
				var tooLarge *SnapshotTooLargeError
				if !errors.Is(refused, ErrSnapshotTooLarge) || !errors.As(refused, &tooLarge) || tooLarge.Max != most {
					t.Errorf("%s, %s, at most %d of %d bytes: %v", m.name, l.name, most, len(snap), refused)
				}
				if n > perCall && runtime.GOOS == "linux" {
					t.Errorf("%s, %s, at most %d of %d bytes: %d bytes are allocated", m.name, l.name, most, len(snap), n)
				}
				// The state is not equally dense everywhere, and plain memory has to be
				// looked through for what was written.
				if most <= len(snap)/50 && l.name == "random" && ctx.n > whole.n/8 {
					t.Errorf("%s, %s, at most %d of %d bytes: %d of %d steps are made", m.name, l.name, most, len(snap), ctx.n, whole.n)
				}
			}
			for _, most := range []int{len(snap), len(snap) + 1, 1 << 30} {
				again, err := c.vm.Snapshot(context.Background(), &SnapshotOptions{Max: most}, c.main)
				if err != nil || !bytes.Equal(again, snap) {
					t.Errorf("%s, %s, at most %d of %d bytes: %d bytes, %v", m.name, l.name, most, len(snap), len(again), err)
				}
			}
			goesOn(t, m.name+", "+l.name, c)
			c.vm.Close()
		}
	}
}

// What the host keeps of a VM counts as well: nothing of it is copied if it alone is
// too large.
func TestSnapshotBoundCountsTheHead(t *testing.T) {
	vm := newVM(t, testTemplate(t), nil)
	if text, err := run(context.Background(), vm, "for (let i = 0; i < 5000; i++) Promise.reject(i); return 1"); text != "1" {
		t.Fatal(text, err)
	}
	ctx := count()
	if _, err := vm.Snapshot(ctx, &SnapshotOptions{Max: 80_000}); !errors.Is(err, ErrSnapshotTooLarge) || ctx.n != 1 {
		t.Errorf("%v after %d looks", err, ctx.n)
	}
	if _, err := vm.Snapshot(ctx, nil); err != nil {
		t.Error(err)
	}
}

// A new VM differs from the image by its seed and its memory limit, and pages that
// were put back do not count, though they were written.
func TestSnapshotHoldsOnlyWhatDiffers(t *testing.T) {
	tmpl := newTemplate(t, testEngine(t, false), TemplateOptions{Train: func(ctx context.Context, vm *VM) error { _, err := run(ctx, vm, benchCell); return err }})
	for range 3 {
		vm := newVM(t, tmpl, nil)
		snap, err := vm.Snapshot(context.Background(), nil)
		if err != nil || len(snap) > 1024 {
			t.Errorf("a new VM takes %d bytes, %v", len(snap), err)
		}
		if _, err := run(context.Background(), vm, benchCell); err != nil {
			t.Fatal(err)
		}
		vm.Close()
	}
}
