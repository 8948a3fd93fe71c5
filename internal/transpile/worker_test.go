package transpile

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cloister-wasm/cloister/internal/waittest"
)

// transformGood transforms goodCell, which must work.
func transformGood(t testing.TB, w *Worker) {
	t.Helper()
	if _, err := w.Transform(t.Context(), Input{Source: goodCell}); err != nil {
		t.Fatal(err)
	}
}

// idleProcesses returns the processes that wait for work.
func idleProcesses(w *Worker) []*child {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]*child(nil), w.idle...)
}

func TestNoProcessBeforeFirstUse(t *testing.T) {
	w := newTestWorker(t, nil)
	if n := len(idleProcesses(w)); n != 0 {
		t.Errorf("%d processes before the first Transform", n)
	}
	for _, in := range []Input{
		{Source: strings.Repeat("a", 1<<20+1)},
		{Source: "a\xffb"},
		{Source: "#!node"},
	} {
		if _, err := w.Transform(t.Context(), in); err == nil {
			t.Errorf("%.10q: no error", in.Source)
		}
	}
	if n := len(idleProcesses(w)); n != 0 {
		t.Errorf("%d processes for sources that are refused unseen", n)
	}
}

func TestStaysWarm(t *testing.T) {
	w := newTestWorker(t, nil)
	transformGood(t, w)
	first := idleProcesses(w)
	for range 5 {
		transformGood(t, w)
	}
	if _, err := w.Transform(t.Context(), Input{Source: "let ="}); err == nil {
		t.Error("no error")
	}
	second := idleProcesses(w)
	if len(first) != 1 || len(second) != 1 || first[0] != second[0] {
		t.Errorf("processes %v became %v, want one and the same", first, second)
	}
}

func TestInputIsChecked(t *testing.T) {
	w := newTestWorker(t, &Options{MaxSourceBytes: 10})
	if _, err := w.Transform(t.Context(), Input{Source: "return 1;;"}); err != nil {
		t.Errorf("10 bytes: %v", err)
	}
	if _, err := w.Transform(t.Context(), Input{Source: "return 1;;;"}); !errors.Is(err, ErrSourceTooLarge) {
		t.Errorf("11 bytes: got %v, want ErrSourceTooLarge", err)
	}
	var syntax *SyntaxError
	_, err := w.Transform(t.Context(), Input{Source: "a\n中\xff", Filename: "c.ts"})
	if !errors.As(err, &syntax) || syntax.Position != (Position{2, 4}) || syntax.Filename != "c.ts" {
		t.Errorf("invalid UTF-8: got %v", err)
	}
}

func TestOutputLimit(t *testing.T) {
	w := newTestWorker(t, &Options{MaxOutputBytes: 1000})
	_, err := w.Transform(t.Context(), Input{Source: "return `" + strings.Repeat("a", 2000) + "`"})
	if !errors.Is(err, ErrOutputTooLarge) {
		t.Errorf("got %v, want ErrOutputTooLarge", err)
	}
	// Short code with a long map counts as well.
	_, err = w.Transform(t.Context(), Input{Source: strings.Repeat("a+", 300) + "a"})
	if !errors.Is(err, ErrOutputTooLarge) {
		t.Errorf("map: got %v, want ErrOutputTooLarge", err)
	}
	transformGood(t, w)
}

func TestInvalidOptions(t *testing.T) {
	o := &Options{MaxWorkers: -1, MemoryLimitBytes: 1, MaxSourceBytes: 1 << 30, MaxOutputBytes: -5, Timeout: -1, IdleTimeout: -1}
	w := newTestWorker(t, o)
	_, err := w.Transform(t.Context(), Input{Source: "1"})
	if err == nil {
		t.Fatal("no error")
	}
	for _, field := range []string{"MaxWorkers", "MemoryLimitBytes", "MaxSourceBytes", "MaxOutputBytes", "Timeout", "IdleTimeout"} {
		if !strings.Contains(err.Error(), field) {
			t.Errorf("%s is not in %q", field, err)
		}
	}
	if err := (*Options)(nil).Validate(); err != nil {
		t.Errorf("nil options: %v", err)
	}
}

func TestContextErrors(t *testing.T) {
	w := newTestWorker(t, nil)
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.Transform(canceled, Input{Source: goodCell}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	cause := errors.New("the run was stopped")
	ctx, stop := context.WithCancelCause(t.Context())
	time.AfterFunc(20*time.Millisecond, func() { stop(cause) })
	_, err := w.Transform(ctx, Input{Source: slowSource})
	if !errors.Is(err, context.Canceled) || !errors.Is(err, cause) {
		t.Errorf("got %v, want context.Canceled and the cause", err)
	}
	late, cancelLate := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancelLate()
	if _, err := w.Transform(late, Input{Source: slowSource}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want context.DeadlineExceeded", err)
	}
	transformGood(t, w)
}

// TestWaitingEndsWithContext: a call that waits for a process is not held by the
// one that has it.
func TestWaitingEndsWithContext(t *testing.T) {
	w := newTestWorker(t, &Options{MaxWorkers: 1})
	ctx, cancel := context.WithCancel(t.Context())
	busy := make(chan error)
	go func() {
		_, err := w.Transform(ctx, Input{Source: slowSource})
		busy <- err
	}()
	waittest.Until(t, "the process is taken", func() bool { return len(w.slots) == 1 })
	short, cancelShort := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancelShort()
	if _, err := w.Transform(short, Input{Source: goodCell}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want context.DeadlineExceeded", err)
	}
	cancel()
	if err := <-busy; !errors.Is(err, context.Canceled) {
		t.Errorf("the other: got %v, want context.Canceled", err)
	}
	transformGood(t, w)
}

func TestCloseWithCallsUnderWay(t *testing.T) {
	w := NewWorker(nil)
	transformGood(t, w)
	results := make(chan error)
	for range 4 { // two have a process, two wait for one
		go func() {
			_, err := w.Transform(t.Context(), Input{Source: slowSource})
			results <- err
		}()
	}
	waittest.Until(t, "both processes are taken", func() bool { return len(w.slots) == 2 })
	closed := make(chan error)
	go func() { closed <- w.Close() }()
	for range 4 {
		if err := <-results; !errors.Is(err, ErrClosed) {
			t.Errorf("got %v, want ErrClosed", err)
		}
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if _, err := w.Transform(t.Context(), Input{Source: goodCell}); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: got %v, want ErrClosed", err)
	}
	if err := w.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
}

func TestIdleProcessesEnd(t *testing.T) {
	w := newTestWorker(t, &Options{IdleTimeout: time.Millisecond})
	transformGood(t, w)
	waittest.Until(t, "the idle process is gone", func() bool { return len(idleProcesses(w)) == 0 && len(w.slots) == 0 })
	transformGood(t, w)
}

// TestKilledWhileIdle: a process that is killed between two calls is replaced,
// and the next call does not notice.
func TestKilledWhileIdle(t *testing.T) {
	w := newTestWorker(t, nil)
	for range 10 {
		transformGood(t, w)
		c := idleProcesses(w)[0]
		if err := c.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		// At once, and then when the death is known.
		transformGood(t, w)
		<-c.exited
		transformGood(t, w)
	}
}

// TestKilledWhileBusy: a process that is killed at work costs its own call, and
// that one only.
func TestKilledWhileBusy(t *testing.T) {
	c, w := startedChild(t)
	defer c.dispose()
	failed := make(chan error)
	go func() {
		_, _, err := c.exchange(t.Context(), slowSource, 1<<20)
		failed <- err
	}()
	if err := c.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := <-failed; err == nil {
		t.Error("no error")
	}
	<-c.exited
	if runtime.GOOS != "windows" && c.cause() != CauseSignal {
		t.Errorf("cause %q, want %q", c.cause(), CauseSignal)
	}
	transformGood(t, w)
}

// startedChild returns a process that has exchanged hellos, outside of w's pool.
func startedChild(t *testing.T) (*child, *Worker) {
	t.Helper()
	w := newTestWorker(t, nil)
	w.slots <- struct{}{}
	c, err := w.start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	<-w.slots
	return c, w
}

func TestWorkerUnavailable(t *testing.T) {
	for _, program := range []string{"/no/such/program", os.DevNull, "/bin/true", "/bin/cat", "/bin/ls", "/usr/bin/yes"} {
		w := newTestWorker(t, &Options{Executable: program, Timeout: 20 * time.Second})
		_, err := w.Transform(t.Context(), Input{Source: goodCell})
		if !errors.Is(err, ErrWorkerUnavailable) {
			t.Errorf("%s: got %v, want ErrWorkerUnavailable", program, err)
		}
	}
}

// TestSilentProgram: a program that neither answers nor ends is ended.
func TestSilentProgram(t *testing.T) {
	tail, err := exec.LookPath("tail")
	if err != nil {
		t.Fatal("this test needs a program that waits for the end of its input:", err)
	}
	w := newTestWorker(t, &Options{Executable: tail, Timeout: 100 * time.Millisecond})
	if _, err := w.Transform(t.Context(), Input{Source: goodCell}); !errors.Is(err, ErrTimeLimit) {
		t.Errorf("got %v, want ErrTimeLimit", err)
	}
}

// TestConcurrentUse hammers a Worker from many goroutines and checks that each
// gets its own answer and that there are never more processes than allowed.
func TestConcurrentUse(t *testing.T) {
	w := newTestWorker(t, &Options{MaxWorkers: 3})
	var wg sync.WaitGroup
	for i := range 12 {
		wg.Go(func() {
			text := strings.Repeat("x", i+1)
			for j := range 20 {
				out, err := w.Transform(t.Context(), Input{Source: "return '" + text + "' as string"})
				if err != nil || !strings.Contains(out.Code, "return \""+text+"\";") {
					t.Errorf("%d: got %+v, %v", i, out, err)
				}
				if j%5 == i%5 {
					ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
					if _, err := w.Transform(ctx, Input{Source: slowSource}); !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("%d: got %v, want context.DeadlineExceeded", i, err)
					}
					cancel()
				}
				if n := len(idleProcesses(w)); n > 3 {
					t.Errorf("%d idle processes of 3 at most", n)
				}
			}
		})
	}
	wg.Wait()
}
