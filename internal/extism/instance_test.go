package extism

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cloister-wasm/cloister/internal/plaintext"
	"github.com/cloister-wasm/cloister/internal/waittest"
)

func call(t *testing.T, i *Instance, export, input string) string {
	t.Helper()
	out, err := i.Call(context.Background(), export, []byte(input))
	if err != nil {
		t.Fatalf("%s: %v", export, err)
	}
	return string(out)
}

func TestCall(t *testing.T) {
	i := instance(t, sharedModule(t))
	for _, in := range []string{"", "x", `{"a":1}`, strings.Repeat("0123456789", 10_000)} {
		if got := call(t, i, "echo", in); got != in {
			t.Errorf("echo(%.20q) = %.20q", in, got)
		}
	}
	if got := call(t, i, "work", `{"name":"n","tags":["a","b"]}`); got != `{"hello":"n","tags":2}` {
		t.Errorf("work = %s", got)
	}
}

func TestGuestErrors(t *testing.T) {
	i := instance(t, sharedModule(t))
	tests := []struct {
		export, input string
		want          GuestError
	}{
		{"fail", "Atlantis", GuestError{1, "no such city: Atlantis"}},
		{"fail_silently", "", GuestError{7, ""}},
		{"fail", strings.Repeat("x", MaxMessageBytes), GuestError{1, plaintext.Clip("no such city: "+strings.Repeat("x", MaxMessageBytes), MaxMessageBytes)}},
	}
	for _, tt := range tests {
		_, err := i.Call(context.Background(), tt.export, []byte(tt.input))
		var ge *GuestError
		if !errors.As(err, &ge) {
			t.Fatalf("%s = %v, want a GuestError", tt.export, err)
		}
		if diff := cmp.Diff(tt.want, *ge); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.export, diff)
		}
		if n := len(err.Error()); n > 1000 {
			t.Errorf("error text of %d bytes", n)
		}
	}
	// A failure is data: the instance goes on.
	if i.Dead() || call(t, i, "echo", "still here") != "still here" {
		t.Error("the instance did not survive a failure")
	}
}

func TestExports(t *testing.T) {
	i := instance(t, sharedModule(t))
	for name, detail := range map[string]string{
		"nothing": "is not exported", "with_parameter": "no parameters", "_initialize": "for the runtime", "memory": "is not exported",
		"": "is not exported", "log_info": "is not exported",
	} {
		_, err := i.Call(context.Background(), name, nil)
		var ee *ExportError
		if !errors.As(err, &ee) || !errors.Is(err, ErrExport) || !strings.Contains(err.Error(), detail) {
			t.Errorf("Call(%q) = %v, want an ExportError saying %q", name, err, detail)
		}
	}
	if i.Dead() {
		t.Error("a wrong name cost the instance")
	}
}

// wazero's default source gives every instance the same sequence.
func TestRandomIsRandom(t *testing.T) {
	m := sharedModule(t)
	seen := map[string]bool{}
	for range 3 {
		i := instance(t, m)
		for range 2 {
			got := call(t, i, "random", "")
			if seen[got] || len(got) != 32 || strings.Trim(got, "0") == "" {
				t.Errorf("random = %q, not random", got)
			}
			seen[got] = true
		}
	}
}

func TestClockIsReal(t *testing.T) {
	i := instance(t, sharedModule(t))
	before := time.Now().UnixMilli()
	fields := strings.Fields(call(t, i, "clock", ""))
	after := time.Now().UnixMilli()
	ms, err := strconv.ParseInt(fields[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	if ms < before || ms > after {
		t.Errorf("the plugin's clock says %d, not between %d and %d", ms, before, after)
	}
	if fields[1] != "true" {
		t.Error("the plugin's monotonic clock did not move while it slept")
	}
}

func TestSealed(t *testing.T) {
	t.Setenv("CLOISTER_TEST_SECRET", "visible")
	i := instance(t, sharedModule(t))
	var got map[string]any
	if err := json.Unmarshal([]byte(call(t, i, "seal", "")), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"args": 0.0, "env": 0.0, "root": false, "file": false, "write": false}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestOutputVariableUnseals(t *testing.T) {
	m := sharedModule(t)
	t.Setenv("EXTISM_ENABLE_WASI_OUTPUT", "")
	if _, err := m.NewInstance(context.Background()); !errors.Is(err, ErrEnvironment) {
		t.Errorf("NewInstance = %v, want ErrEnvironment", err)
	}
}

func TestInstancesShareNothing(t *testing.T) {
	m := sharedModule(t)
	a, b := instance(t, m), instance(t, m)
	got := []string{call(t, a, "count", ""), call(t, a, "count", ""), call(t, b, "count", ""), call(t, a, "count", "")}
	if diff := cmp.Diff([]string{"1", "2", "1", "3"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestConcurrentCalls(t *testing.T) {
	m := sharedModule(t)
	i, other := instance(t, m), instance(t, m)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for n := range 10 {
				want := fmt.Sprintf("%d-%d", g, n)
				target := i
				if g%2 == 0 {
					target = other
				}
				out, err := target.Call(context.Background(), "echo", []byte(want))
				if err != nil || string(out) != want {
					t.Errorf("echo(%s) = %q, %v", want, out, err)
				}
			}
		})
	}
	wg.Wait()
}

func TestLimits(t *testing.T) {
	m := guestModule(t, Config{InputBytes: 1000, OutputBytes: 1 << 20})
	i := instance(t, m)
	limit := func(export, input, what string) *LimitError {
		t.Helper()
		_, err := i.Call(context.Background(), export, []byte(input))
		var le *LimitError
		if !errors.As(err, &le) || !errors.Is(err, ErrLimit) || le.What != what {
			t.Fatalf("%s = %v, want a LimitError for the %s", export, err, what)
		}
		return le
	}
	if le := limit("count", strings.Repeat("x", 1001), "input"); le.Got != 1001 || le.Limit != 1000 {
		t.Errorf("%+v", le)
	}
	if got := call(t, i, "count", strings.Repeat("x", 1000)); got != "1" {
		t.Errorf("the call over the limit happened: count = %s", got)
	}
	if got := len(call(t, i, "big_output", "1048576")); got != 1<<20 {
		t.Errorf("output of %d bytes", got)
	}
	if le := limit("big_output", "1048577", "output"); le.Got != 1<<20+1 {
		t.Errorf("%+v", le)
	}
	if i.Dead() {
		t.Fatal("output over the limit cost the instance")
	}
	// More than the shared memory takes: the plugin cannot even write it.
	limit("big_output", strconv.Itoa(20<<20), "output")
	if !i.Dead() {
		t.Error("the instance survived a failed store")
	}
}

// Each of these ends a call from outside. The instance is finished, the module is not.
func TestStopped(t *testing.T) {
	m := sharedModule(t)
	for _, export := range []string{"loop", "sleep_forever"} {
		t.Run(export, func(t *testing.T) {
			i := instance(t, m)
			_, err := i.Call(soon(t), export, nil)
			var se *StoppedError
			if !errors.As(err, &se) || !errors.Is(err, ErrStopped) || !errors.Is(err, context.DeadlineExceeded) || !se.Began {
				t.Fatalf("%s = %v, want a StoppedError", export, err)
			}
			if _, err := i.Call(context.Background(), "echo", nil); !errors.Is(err, ErrDead) {
				t.Errorf("the next call = %v, want ErrDead", err)
			}
			if got := call(t, instance(t, m), "echo", "x"); got != "x" {
				t.Errorf("a new instance answers %q", got)
			}
		})
	}
}

func TestStoppedByCause(t *testing.T) {
	i := instance(t, sharedModule(t))
	reason := errors.New("the user went away")
	ctx, cancel := context.WithCancelCause(context.Background())
	timer := time.AfterFunc(50*time.Millisecond, func() { cancel(reason) })
	defer timer.Stop()
	_, err := i.Call(ctx, "loop", nil)
	if !errors.Is(err, ErrStopped) || !errors.Is(err, reason) || !errors.Is(err, context.Canceled) {
		t.Errorf("Call = %v, want one stopped by the cause", err)
	}
}

func TestStoppedByConfig(t *testing.T) {
	i := instance(t, guestModule(t, Config{CallTime: 100 * time.Millisecond}))
	if _, err := i.Call(context.Background(), "loop", nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Call without a deadline = %v, want the configured one", err)
	}
}

func TestStoppedBeforeItBegan(t *testing.T) {
	i := instance(t, sharedModule(t))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := i.Call(ctx, "count", nil)
	var se *StoppedError
	if !errors.As(err, &se) || se.Began {
		t.Fatalf("Call = %v, want a StoppedError that did not begin", err)
	}
	if got := call(t, i, "count", ""); got != "1" {
		t.Errorf("count = %s: the cancelled call happened", got)
	}
}

func TestTraps(t *testing.T) {
	m := guestModule(t, Config{MemoryBytes: 16 << 20})
	tests := []struct {
		export, input, reason, output string
		memory                        bool
	}{
		{"panics", "boo", "unreachable", "panic: on purpose: boo", false},
		{"exits", "0", "exited", "", false},
		{"exits", "3", "exited with code 3", "", false},
		{"eat_memory", "", "", "out of memory", true},
	}
	for _, tt := range tests {
		t.Run(tt.export+tt.input, func(t *testing.T) {
			i := instance(t, m)
			_, err := i.Call(context.Background(), tt.export, []byte(tt.input))
			var te *TrapError
			if !errors.As(err, &te) || !errors.Is(err, ErrTrap) {
				t.Fatalf("Call = %v, want a TrapError", err)
			}
			if te.OutOfMemory != tt.memory || errors.Is(err, ErrMemory) != tt.memory {
				t.Errorf("OutOfMemory = %v, want %v (%v)", te.OutOfMemory, tt.memory, err)
			}
			if !strings.Contains(te.Reason, tt.reason) || strings.Contains(te.Reason, "\n") {
				t.Errorf("Reason = %q, want it to say %q", te.Reason, tt.reason)
			}
			if !strings.Contains(te.Output, tt.output) || len(te.Output) > 3*maxKept {
				t.Errorf("Output = %q, want it to hold %q", te.Output, tt.output)
			}
			if _, err := i.Call(context.Background(), "echo", nil); !errors.Is(err, ErrDead) {
				t.Errorf("the next call = %v, want ErrDead", err)
			}
			if n := i.MemoryBytes(); n > 16<<20 {
				t.Errorf("%d bytes of memory", n)
			}
		})
	}
}

func TestLog(t *testing.T) {
	var got []LogRecord
	i := instance(t, guestModule(t, Config{Log: func(r LogRecord) { got = append(got, r) }}))
	call(t, i, "logs", "")
	want := []LogRecord{
		{Level: "stdout", Text: "to stdout"},
		{Level: "stderr", Text: "to stderr"},
		{Level: "warn", Text: "through the PDK in two lines"},
		{Level: "stdout", Text: "no line end"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLogIsBounded(t *testing.T) {
	var bytes, truncated int
	i := instance(t, guestModule(t, Config{LogBytes: 10_000, Log: func(r LogRecord) {
		bytes += len(r.Text)
		if r.Truncated {
			truncated++
		}
	}}))
	if got := call(t, i, "logs_much", ""); got == "" {
		t.Error("the plugin was not told that its log is full")
	}
	if bytes > 10_000+200 || truncated != 1 {
		t.Errorf("%d bytes logged, %d notes of truncation", bytes, truncated)
	}
	bytes, truncated = 0, 0
	call(t, i, "logs", "") // the next call has a budget of its own
	if bytes == 0 || truncated != 0 {
		t.Errorf("in the next call %d bytes logged, %d notes of truncation", bytes, truncated)
	}
}

func TestClose(t *testing.T) {
	m := guestModule(t, Config{})
	i, idle := instance(t, m), instance(t, m)
	running := make(chan error)
	go func() {
		_, err := i.Call(context.Background(), "loop", nil)
		running <- err
	}()
	waittest.Until(t, "the call has its turn", func() bool { return len(i.turn) == 0 })
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-running; !errors.Is(err, ErrStopped) && !errors.Is(err, ErrClosed) {
		t.Errorf("the running call = %v, want it stopped", err)
	}
	if _, err := idle.Call(context.Background(), "echo", nil); !errors.Is(err, ErrClosed) {
		t.Errorf("a call after Close = %v, want ErrClosed", err)
	}
	if _, err := m.NewInstance(context.Background()); !errors.Is(err, ErrClosed) {
		t.Errorf("NewInstance after Close = %v, want ErrClosed", err)
	}
	i.Close()
	idle.Close()
	if err := m.Close(); err != nil {
		t.Errorf("the second Close = %v", err)
	}
}

// Hammer: calls, closings and new instances at once; the race detector and a crash of unmapped code are the judges.
func TestCloseHammer(t *testing.T) {
	for range 3 {
		m := guestModule(t, Config{})
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				i, err := m.NewInstance(context.Background())
				if err != nil {
					if !errors.Is(err, ErrClosed) && !errors.Is(err, ErrStopped) {
						t.Error(err)
					}
					return
				}
				defer i.Close()
				for range 20 {
					if _, err := i.Call(context.Background(), "work", []byte(`{}`)); err != nil {
						if !errors.Is(err, ErrClosed) && !errors.Is(err, ErrStopped) && !errors.Is(err, ErrDead) {
							t.Error(err)
						}
						return
					}
				}
			})
		}
		wg.Go(func() {
			if err := m.Close(); err != nil {
				t.Error(err)
			}
		})
		wg.Wait()
	}
}
