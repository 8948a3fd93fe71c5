package quickjs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// signalled gives options under which the guest's first look at the clock closes
// the channel: a cell that calls Date.now() tells that it runs.
func signalled() (*VMOptions, <-chan struct{}) {
	ch := make(chan struct{})
	var once atomic.Bool
	return &VMOptions{Now: func() time.Time {
		if !once.Swap(true) {
			close(ch)
		}
		return fixedTime
	}}, ch
}

func TestStop(t *testing.T) {
	tmpl := testTemplate(t)
	for _, src := range []string{"Date.now(); for (;;);", "Date.now(); [].includes.call({ length: 2 ** 53 - 1 }, 1)"} {
		o, running := signalled()
		vm := newVM(t, tmpl, o)
		go func() {
			<-running
			vm.Stop()
		}()
		if text, err := run(context.Background(), vm, src); !errors.Is(err, ErrInterrupted) {
			t.Errorf("%s: %q, %v, want %v", src, text, err, ErrInterrupted)
		}
		vm.Close()
		if n := idle(tmpl); n != 0 {
			t.Errorf("a stopped VM went into the pool")
		}
	}
	vm := newVM(t, tmpl, nil)
	vm.Stop()
	if text, err := run(context.Background(), vm, "for (;;);"); !errors.Is(err, ErrInterrupted) {
		t.Errorf("stopped before the start: %q, %v", text, err)
	}
}

// Stop of a VM that was closed must not reach the cell that has its instance now.
func TestStopAfterCloseStopsNothing(t *testing.T) {
	tmpl := testTemplate(t)
	old := newVM(t, tmpl, nil)
	if _, err := run(context.Background(), old, "return 1"); err != nil {
		t.Fatal(err)
	}
	old.Close()
	if idle(tmpl) != 1 {
		t.Fatal("the VM did not go into the pool")
	}
	vm := newVM(t, tmpl, nil)
	old.Stop()
	if got, err := run(context.Background(), vm, "let n = 0; for (let i = 0; i < 1e5; i++) n += i; return n"); got != "4999950000" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

func TestContexts(t *testing.T) {
	tmpl := testTemplate(t)
	const src = "Date.now(); [].includes.call({ length: 2 ** 53 - 1 }, 1)"

	o, running := signalled()
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-running
		cancel()
	}()
	if text, err := run(ctx, newVM(t, tmpl, o), src); !errors.Is(err, ErrInterrupted) {
		t.Errorf("cancelled: %q, %v", text, err)
	}

	ctx, cancel = context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if text, err := run(ctx, newVM(t, tmpl, nil), src); !errors.Is(err, ErrInterrupted) {
		t.Errorf("timed out: %q, %v", text, err)
	}
	if got := mustRun(t, tmpl, "return 1"); got != "1" {
		t.Errorf("the next cell gives %q", got)
	}
}

func TestDeadlineThatHasPassed(t *testing.T) {
	tmpl := testTemplate(t)
	vm := newVM(t, tmpl, nil)
	vm.SetDeadline(time.Now().Add(-time.Hour))
	if text, err := run(context.Background(), vm, "for (;;);"); !errors.Is(err, ErrInterrupted) {
		t.Errorf("%q, %v", text, err)
	}
	vm = newVM(t, tmpl, nil)
	vm.SetDeadline(time.Now().Add(-time.Hour))
	vm.SetDeadline(time.Time{})
	if text, err := run(context.Background(), vm, "for (let i = 0; i < 1e6; i++); return 'done'"); text != "done" {
		t.Errorf("without a deadline: %q, %v", text, err)
	}
}

// The interrupt cannot be caught: a cell that is over its deadline never gives a
// result, whatever it wraps around its loop.
func TestInterruptsCannotBeCaught(t *testing.T) {
	tmpl := testTemplate(t)
	for _, src := range []string{
		"try { for (;;); } catch { return 'caught'; }",
		"try { for (;;); } finally { return 'finally'; }",
		"try { await (async () => { for (;;); })(); } catch { return 'caught'; }",
		"return await Promise.race([1, (async () => { for (;;); })()])",
		"return [1].map(() => { try { for (;;); } catch { return 1; } }).length",
		"const it = { [Symbol.iterator]() { return this; }, next() { for (;;); }, return() { return {}; } }; try { for (const x of it); } catch { } return 'out'",
		"return new Proxy({}, { get() { try { for (;;); } finally { return 1; } } }).x",
		"try { 'x'.repeat(30).match(/(x+x+)+y/); } catch { return 'caught'; } for (;;);",
		"return JSON.stringify({ toJSON() { try { for (;;); } catch { return 1; } } })",
		"Promise.reject(1).finally(() => { for (;;); }); await null; return 'done'",
		"function* g() { try { for (;;); } finally { yield 1; } } return [...g()].length",
	} {
		stop(t, tmpl, src)
	}
}

const gcHelper = "CLOISTER_TEST_GC_HELPER"

// TestGarbageCollectionDuringNativeLoops: neither Go's scheduler nor its garbage
// collector can stop native code. A loop that never calls the host would hold up
// the collector, and with it every goroutine of the process, until it ends. So the
// work is done by a process that can be killed: without metering it would hang.
func TestGarbageCollectionDuringNativeLoops(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, exe, "-test.run=^TestGarbageCollectionHelper$", "-test.v")
	cmd.Env = append(os.Environ(), gcHelper+"=1", "GOMAXPROCS=2")
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		t.Fatalf("the collector did not end while a native loop ran:\n%s", out)
	}
	if err != nil || !bytes.Contains(out, []byte("collected 20 times")) {
		t.Fatalf("%v\n%s", err, out)
	}
}

// TestGarbageCollectionHelper is the process of the test above.
func TestGarbageCollectionHelper(t *testing.T) {
	if os.Getenv(gcHelper) == "" {
		return // only of use as a process of its own
	}
	tmpl := testTemplate(t)
	o, running := signalled()
	vm := newVM(t, tmpl, o)
	ended := make(chan error, 1)
	go func() {
		_, err := run(context.Background(), vm, "Date.now(); [].includes.call({ length: 2 ** 53 - 1 }, 1)")
		ended <- err
	}()
	<-running
	for range 20 {
		runtime.GC()
	}
	select {
	case err := <-ended:
		t.Fatalf("the loop ended before the collector did: %v", err)
	default:
		t.Log("collected 20 times")
	}
	vm.Stop()
	if err := <-ended; !errors.Is(err, ErrInterrupted) {
		t.Fatal(err)
	}
}

// TestUnmeteredLoopsHoldUpTheCollector shows what metering is for: in the engine
// as it is published, the collector gets no turn, or next to none, in a loop of
// about a second. Where loops are metered it has hundreds.
func TestUnmeteredLoopsHoldUpTheCollector(t *testing.T) {
	loop := fmt.Sprintf("Date.now(); [].includes.call({ length: %d }, 1)", shorter(1e7, 4e6))
	collections := func(run func(started func())) int {
		running := make(chan struct{})
		var ended atomic.Bool
		done := make(chan struct{})
		go func() {
			defer close(done)
			run(func() { close(running) })
			ended.Store(true)
		}()
		<-running
		n := 0
		for !ended.Load() {
			runtime.GC()
			n++
		}
		<-done
		return n
	}
	published := collections(func(started func()) {
		o := newOriginal(t, fixedTime)
		o.onClock = started
		o.eval(loop, cellFile)
	})
	metered := collections(func(started func()) {
		var once sync.Once
		vm := newVM(t, testTemplate(t), &VMOptions{Now: func() time.Time { once.Do(started); return fixedTime }})
		if _, err := run(context.Background(), vm, loop); err != nil {
			t.Error(err)
		}
	})
	if published*4 > metered {
		t.Errorf("%d collections during the loop as published, %d during the metered one: the tests of metering show nothing", published, metered)
	}
}
