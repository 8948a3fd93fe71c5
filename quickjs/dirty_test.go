package quickjs

import (
	"context"
	"testing"
)

// toldPages says whether this kernel tells which pages were written.
func toldPages(tb testing.TB, tmpl *Template) bool {
	tb.Helper()
	lm, err := tmpl.newMemory()
	if err != nil {
		tb.Fatal(err)
	}
	defer lm.Free()
	_, _, told := lm.scan(0, 1)
	return told
}

func TestDirtyBytes(t *testing.T) {
	ctx := context.Background()
	for _, m := range modes {
		tmpl := newTemplate(t, testEngine(t, m.plain), TemplateOptions{})
		told := toldPages(t, tmpl)
		vm := newVM(t, tmpl, nil)
		check := func(when string, least, most int) {
			t.Helper()
			got, whole := vm.DirtyBytes(), int(vm.memory.Size())
			if !told {
				least, most = whole, whole
			}
			if got < least || got > most || got%pageSize != 0 {
				t.Errorf("%s, %s: %d bytes of %d, want %d to %d", m.name, when, got, whole, least, most)
			}
			if differ := len(tmpl.im.dirty(vm.lm, uint64(whole))) * pageSize; got < differ {
				t.Errorf("%s, %s: %d bytes, and %d differ from the image", m.name, when, got, differ)
			}
		}
		check("new", pageSize, 16*pageSize)
		c, err := startCell(ctx, vm, "const a = [1, 2, 3].map(String); await ask(1); const b = new Uint8Array(3e6).fill(1); await ask(2); globalThis.big = new Uint8Array(3e7).fill(1); await ask(3)")
		if err != nil {
			t.Fatal(err)
		}
		turn := func(batch ...Settlement) {
			t.Helper()
			if st, _, err := c.turn(ctx, batch...); err != nil || st != Pending {
				t.Fatalf("state %d, %v", st, err)
			}
		}
		answer := func(slot uint32) Settlement {
			return Settlement{Slot: slot, Flag: 1, Value: codecString("x")}
		}
		turn()
		check("a small cell", 8*pageSize, 1<<20)
		before := vm.DirtyBytes()
		turn(answer(0))
		if told {
			check("3 MB within the template's headroom", before+3e6, before+4<<20)
		}
		turn(answer(1))
		check("30 MB in a memory that grew", 3e7, int(vm.memory.Size()))
		vm.Close()
		if n := vm.DirtyBytes(); n != 0 {
			t.Errorf("%s, closed: %d bytes", m.name, n)
		}
	}
}

// Memory that was put back to the image is still a VM's own, as far as it was
// copied back.
func TestDirtyBytesOfAPooledVM(t *testing.T) {
	tmpl := newTemplate(t, testEngine(t, false), TemplateOptions{Train: func(ctx context.Context, vm *VM) error { _, err := run(ctx, vm, "return [1].map(String)"); return err }})
	if !toldPages(t, tmpl) {
		t.Log("this kernel does not tell which pages were written")
		return
	}
	vm := newVM(t, tmpl, nil)
	if _, err := run(context.Background(), vm, "return new Uint8Array(3e6).fill(1).length"); err != nil {
		t.Fatal(err)
	}
	vm.Close()
	if idle(tmpl) != 1 {
		t.Fatal("the VM did not go into the pool")
	}
	vm = newVM(t, tmpl, nil)
	if got, hot := vm.DirtyBytes(), pagesIn(tmpl.im.hot)*pageSize; got < hot/2 || got > hot+16*pageSize {
		t.Errorf("%d bytes after a cell of 3 MB, and %d bytes of pages are kept", got, hot)
	}
}

func BenchmarkDirtyBytes(b *testing.B) {
	for _, c := range []struct{ name, src string }{
		{"small", benchCell}, {"55MB", "globalThis.a = new Uint8Array(55e6).fill(1)"},
	} {
		b.Run(c.name, func(b *testing.B) {
			vm := newVM(b, benchTemplate(b, false, 4), nil)
			if _, err := run(context.Background(), vm, c.src); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				n = vm.DirtyBytes()
			}
			b.ReportMetric(float64(n), "dirty-bytes")
		})
	}
}
