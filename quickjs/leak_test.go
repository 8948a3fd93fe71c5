package quickjs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"
)

// resources is what cells could leak.
type resources struct {
	goroutines, mappings, files int
	heap                        uint64
}

func measure() resources {
	runtime.GC()
	runtime.GC() // finalizers of the first run
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	r := resources{goroutines: runtime.NumGoroutine(), heap: m.HeapAlloc}
	if maps, err := os.ReadFile("/proc/self/maps"); err == nil {
		r.mappings = bytes.Count(maps, []byte("\n"))
	}
	if fds, err := os.ReadDir("/proc/self/fd"); err == nil {
		r.files = len(fds)
	}
	return r
}

// TestNothingLeaks runs thousands of cells that end in every way there is.
func TestNothingLeaks(t *testing.T) {
	cells := 20_000
	if testing.Short() {
		cells = 500
	}
	ctx := context.Background()
	for _, m := range modes {
		n := cells
		if m.plain {
			n /= 20 // each fresh instance copies the template
		}
		tmpl := newTemplate(t, testEngine(t, m.plain), TemplateOptions{MemoryLimit: 4 << 20})
		ends := map[string]int{}
		runCells := func(n int) {
			for i := range n {
				how, err := leakCell(ctx, tmpl, i)
				if err != nil {
					t.Fatalf("%s, cell %d (%s): %v", m.name, i, how, err)
				}
				ends[how]++
			}
		}
		runCells(100)
		before := measure()
		runCells(n)
		after := measure()
		t.Logf("%s: %v; before %+v, after %+v", m.name, ends, before, after)
		if after.goroutines > before.goroutines+8 {
			t.Errorf("%s: %d goroutines became %d", m.name, before.goroutines, after.goroutines)
		}
		if after.mappings > before.mappings+64 {
			t.Errorf("%s: %d mappings became %d", m.name, before.mappings, after.mappings)
		}
		if after.files > before.files+8 {
			t.Errorf("%s: %d open files became %d", m.name, before.files, after.files)
		}
		if after.heap > before.heap+16<<20 {
			t.Errorf("%s: a heap of %d KiB became %d KiB", m.name, before.heap>>10, after.heap>>10)
		}
		tmpl.Close()
	}
}

// leakCell runs one cell; i says how it ends.
func leakCell(ctx context.Context, tmpl *Template, i int) (string, error) {
	vm, err := tmpl.NewVM(ctx, nil)
	if err != nil {
		return "", err
	}
	defer vm.Close()
	switch {
	case i%50 == 7:
		vm.SetDeadline(time.Now().Add(500 * time.Microsecond))
		if _, err := run(ctx, vm, "for (;;);"); !errors.Is(err, ErrInterrupted) {
			return "timed out", fmt.Errorf("not stopped: %w", err)
		}
		return "timed out", nil
	case i%50 == 17:
		vm.SetDeadline(time.Now().Add(500 * time.Microsecond))
		if _, err := run(ctx, vm, "[].includes.call({ length: 2 ** 53 - 1 }, 1)"); !errors.Is(err, ErrInterrupted) {
			return "trapped", fmt.Errorf("not stopped: %w", err)
		}
		return "trapped", nil
	case i%50 == 27:
		if _, err := run(ctx, vm, "const a = []; for (;;) a.push(new ArrayBuffer(1e5))"); err != nil || !vm.OutOfMemory() {
			return "out of memory", fmt.Errorf("out of memory: %t, %w", vm.OutOfMemory(), err)
		}
		return "out of memory", nil
	case i%50 == 37:
		_, err := run(ctx, vm, "const { a: [ = 1")
		return "not parsed", err
	case i%10 == 3:
		text, err := run(ctx, vm, "throw new Error('x'.repeat(100))")
		if err == nil && len(text) < 100 {
			err = errors.New(text)
		}
		return "thrown", err
	case i%10 == 5 || i%10 == 8:
		c, err := startCell(ctx, vm, "const s = { list: Array.from({ length: 50 }, (_, i) => i) }; Promise.reject(1); const r = await ask(s.list.length); return r + s.list.length")
		if err != nil {
			return "suspended", err
		}
		if _, _, err := c.turn(ctx); err != nil {
			return "suspended", err
		}
		snap, err := vm.Snapshot(ctx, nil, c.main)
		if err != nil || i%10 == 8 {
			return "suspended and dropped", err
		}
		vm.Close()
		got, err := resume(tmpl, snap, "+")
		if err == nil && got != "+50" {
			err = errors.New(got)
		}
		return "suspended and restored", err
	}
	got, err := run(ctx, vm, "return [1, 2, 3].map((x) => ({ x })).length")
	if err == nil && got != "3" {
		err = errors.New(got)
	}
	return "completed", err
}

// Templates and engines leave nothing behind either.
func TestTemplatesDoNotLeak(t *testing.T) {
	ctx := context.Background()
	e, err := loadEngine(false)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close(ctx)
	use := func(n int) {
		for range n {
			tmpl, err := e.NewTemplate(ctx, &TemplateOptions{Prelude: testPrelude, Entries: entryCount})
			if err != nil {
				t.Fatal(err)
			}
			if got := mustRun(t, tmpl, "return 1"); got != "1" {
				t.Fatal(got)
			}
			tmpl.Close()
			if _, err := e.NewTemplate(ctx, &TemplateOptions{Prelude: "throw 1"}); err == nil {
				t.Fatal("a prelude that throws is accepted")
			}
			if _, err := e.NewTemplate(ctx, &TemplateOptions{Prelude: "(() => [])", Train: func(context.Context, *VM) error { return errTrain }}); err == nil {
				t.Fatal("training that fails is accepted")
			}
		}
	}
	use(3)
	before := measure()
	use(shorter(40, 15))
	after := measure()
	if after.goroutines > before.goroutines+4 || after.files > before.files+4 || after.mappings > before.mappings+24 || after.heap > before.heap+16<<20 {
		t.Errorf("before %+v, after %+v", before, after)
	}
}
