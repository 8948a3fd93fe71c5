package guestloop_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cloister-wasm/cloister/internal/guestloop"
	"github.com/cloister-wasm/cloister/quickjs"
)

func TestValues(t *testing.T) {
	for _, tt := range []struct{ name, code, want string }{
		{"nothing to wait for", "return 1 + 1", "2"},
		{"one after the other", "let s = 0; for (let i = 0; i < 5; i++) s += await work(i); return s", "10"},
		{"side by side", "return (await Promise.all([1, 2, 3].map(work))).length", "3"},
		{"the host's own answers", "return [await know(1), await know({ a: 2 })]", `[1,{"a":2}]`},
		{"open at the end", "work(1); return 7", "7"},
		{"more than work at once", "return (await Promise.all(Array.from({ length: 100 }, (_, i) => work(i)))).reduce((a, b) => a + b)", "4950"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := &program{code: tt.code}
			if s := run(t, start(t, p, nil), long); !s.Ended {
				t.Fatalf("%+v", s)
			}
			if ended, released, err := p.counts(); p.value != tt.want || err != nil || ended != 1 || released != 1 {
				t.Errorf("value %s, %v, ended %d, released %d; want %s", p.value, err, ended, released, tt.want)
			}
		})
	}
}

// TestForged: whatever a guest says ends its program at most, and never the process.
func TestForged(t *testing.T) {
	for _, tt := range []struct {
		name, code string
		want       error
	}{
		{"a yield twice", `forge("y0,null\ny0,null\n"); await new Promise(() => {})`, guestloop.ErrForged},
		{"a yield that is work", `forge("y0,null\nw0,1\n"); await new Promise(() => {})`, guestloop.ErrForged},
		{"work that is an answer", `forge("w0,1\nk0,1\n"); await new Promise(() => {})`, guestloop.ErrForged},
		{"a yield of open work", `work(1); forge("y0,null\n"); await new Promise(() => {})`, guestloop.ErrForged},
		{"a number out of range", `forge("w256,1\n"); await new Promise(() => {})`, guestloop.ErrForged},
		{"a negative number", `forge("y-1,1\n"); await new Promise(() => {})`, guestloop.ErrForged},
		{"no line end", `forge("y0,1")`, guestloop.ErrForged},
		{"an empty queue of nothing", `await new Promise(() => {})`, guestloop.ErrDeadlock},
		{"too much", `forge("k0," + "1".repeat(2 << 20) + "\n")`, quickjs.ErrTooLarge},
		{"more than may be open", `for (let i = 0; i < 300; i++) work(i); await pause()`, guestloop.ErrForged},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := &program{code: tt.code}
			l := start(t, p, nil)
			toEnd(t, l, long)
			if ended, released, err := p.counts(); !errors.Is(err, tt.want) || ended != 1 || released != 1 {
				t.Errorf("ended %d, released %d, %v; want %v", ended, released, err, tt.want)
			}
		})
	}
}

// TestForgedThenSuspended: what was forged is looked at also where the program is suspended
// and goes on, saved and parked.
func TestForgedThenSuspended(t *testing.T) {
	for _, store := range []guestloop.Store{nil, &memory{}} {
		p := &program{code: `forge("y7,null\n"); try { await pause() } catch {} ; forge("y7,null\ny7,null\n"); await pause()`, store: store}
		l := start(t, p, nil)
		if s := run(t, l, long); s.Ended {
			t.Fatalf("%+v", s)
		}
		toEnd(t, l, long)
		if _, _, err := p.counts(); !errors.Is(err, guestloop.ErrForged) {
			t.Errorf("ended as %v", err)
		}
	}
}

func TestYield(t *testing.T) {
	for name, store := range map[string]guestloop.Store{"parked": nil, "saved": &memory{}} {
		t.Run(name, func(t *testing.T) {
			p := &program{code: "let n = 0; for (let i = 0; i < 3; i++) { await pause(); n++ } return n", store: store}
			l := start(t, p, nil)
			if legs := toEnd(t, l, long); legs != 4 || p.value != "3" {
				t.Errorf("%d legs, value %s", legs, p.value)
			}
			if want := []guestloop.Why{guestloop.Yielded, guestloop.Yielded, guestloop.Yielded}; !slices.Equal(p.whys, want) {
				t.Errorf("suspended for %v", p.whys)
			}
			if m, ok := store.(*memory); ok && m.b != nil {
				t.Error("a snapshot is left")
			}
			if _, err := l.Run(t.Context(), guestloop.Leg{Until: time.Now().Add(long), Compute: long}); !errors.Is(err, guestloop.ErrOver) {
				t.Errorf("a leg after the end: %v", err)
			}
		})
	}
}

// spin is guest code that computes for that many milliseconds of the guest's own clock, which is coarse.
const spin = `const spin = (ms) => { const end = Date.now() + ms; while (Date.now() < end) { for (let i = 0; i < 1000; i++); } };`

// TestTimeUpDoesNotKill: the end of a leg finds the program computing, and leaves it to itself.
func TestTimeUpDoesNotKill(t *testing.T) {
	p := &program{code: spin + "await pause(); spin(300); return 'whole'"}
	l := start(t, p, nil)
	run(t, l, long)
	legs := toEnd(t, l, 20*time.Millisecond)
	if _, _, err := p.counts(); err != nil || p.value != `"whole"` {
		t.Errorf("value %s, %v after %d legs", p.value, err, legs)
	}
	if legs < 2 {
		t.Errorf("%d legs of 20 ms saw a turn of 300", legs)
	}
}

// TestTurnIsBounded: what computes for ever is interrupted, whether or not a leg is there.
func TestTurnIsBounded(t *testing.T) {
	for _, leg := range []time.Duration{long, 10 * time.Millisecond} {
		p := &program{code: "await pause(); for (;;);"}
		l := start(t, p, nil)
		run(t, l, long)
		for !runFor(t, l, leg, 100*time.Millisecond).Ended {
		}
		if _, _, err := p.counts(); !errors.Is(err, quickjs.ErrInterrupted) {
			t.Errorf("legs of %s: %v", leg, err)
		}
	}
}

// TestWorkGoesOn: work that is open when a leg ends settles for the next one.
func TestWorkGoesOn(t *testing.T) {
	for name, store := range map[string]guestloop.Store{"parked": nil, "saved": &memory{}} {
		t.Run(name, func(t *testing.T) {
			gate := make(chan struct{})
			p := &program{code: "return 'got ' + await work(1)", store: store}
			p.work = func(ctx context.Context, _ *guestloop.Request, x json.RawMessage) guestloop.Outcome {
				<-gate
				return guestloop.Outcome{Value: x}
			}
			l := start(t, p, nil)
			for range 3 {
				if s := run(t, l, 10*time.Millisecond); s.Ended {
					t.Fatalf("%+v", s)
				}
			}
			close(gate)
			toEnd(t, l, long)
			if p.value != `"got 1"` {
				t.Errorf("value %s", p.value)
			}
		})
	}
}

// TestPersonSuspends: a request that waits for a person ends the leg after the grace, one that waits
// for the caller at once.
func TestOutside(t *testing.T) {
	for _, tt := range []struct {
		outside guestloop.Outside
		told    bool
		want    guestloop.Why
	}{{guestloop.Person, false, guestloop.AwaitsPerson}, {guestloop.Caller, false, guestloop.AwaitsCaller}, {guestloop.Caller, true, guestloop.TimeUp}} {
		answer := make(chan struct{})
		p := &program{code: "return await work(1)", early: tt.outside == guestloop.Caller}
		p.work = func(_ context.Context, r *guestloop.Request, x json.RawMessage) guestloop.Outcome {
			r.Wait(tt.outside)
			<-answer
			r.Wait(guestloop.Inside)
			return guestloop.Outcome{Value: x}
		}
		l := start(t, p, func(o *guestloop.Options) { o.CallerTold = tt.told })
		d := long
		if tt.want == guestloop.TimeUp {
			d = 100 * time.Millisecond
		}
		if s := run(t, l, d); s.Ended || !slices.Equal(p.whys, []guestloop.Why{tt.want}) {
			t.Errorf("%v: %+v, %v", tt, s, p.whys)
		}
		close(answer)
		toEnd(t, l, long)
		if p.value != "1" {
			t.Errorf("%v: value %s", tt, p.value)
		}
	}
}

// TestEndRules: what becomes of requests that are open when the program returns.
func TestEndRules(t *testing.T) {
	for rule, want := range map[guestloop.AtEnd]error{guestloop.AwaitOpen: nil, guestloop.CancelOpen: nil, guestloop.FailOpen: guestloop.ErrOpenAtEnd} {
		var finished atomic.Bool
		p := &program{code: "work(1); return 7"}
		p.work = func(ctx context.Context, _ *guestloop.Request, x json.RawMessage) guestloop.Outcome {
			if rule == guestloop.CancelOpen {
				<-ctx.Done()
			} else {
				time.Sleep(10 * time.Millisecond)
			}
			finished.Store(true)
			return guestloop.Outcome{Value: x}
		}
		toEnd(t, start(t, p, func(o *guestloop.Options) { o.AtEnd = rule }), long)
		if _, _, err := p.counts(); !errors.Is(err, want) || want == nil && p.value != "7" {
			t.Errorf("rule %d: %v, value %s", rule, err, p.value)
		}
		if rule == guestloop.AwaitOpen && !finished.Load() {
			t.Error("the end came before that of the work")
		}
	}
}

// TestContained: a panic or an end of the goroutine in work is its failure; a panic in the program ends it,
// with no lock held: the loop can be asked and ended.
func TestContained(t *testing.T) {
	for name, fall := range map[string]func(){"panic": func() { panic("no") }, "goexit": runtime.Goexit} {
		p := &program{code: "return await Promise.all([work(1).catch((e) => e[2]), work(2).catch((e) => e[2])])"}
		p.work = func(context.Context, *guestloop.Request, json.RawMessage) guestloop.Outcome {
			fall()
			return guestloop.Outcome{}
		}
		single := &program{code: "return await work(1).catch((e) => e[2])", work: p.work}
		toEnd(t, start(t, p, nil), long)
		toEnd(t, start(t, single, nil), long)
		if p.value != `["tool_failed","tool_failed"]` || single.value != `"tool_failed"` {
			t.Errorf("%s: values %s, %s", name, p.value, single.value)
		}
	}
	for _, method := range []string{"Start", "Delivered", "Finish", "Suspend", "Ended"} {
		var told atomic.Int32
		p := &program{code: "await pause(); await work(1); return 1"}
		p.on = func(m string) {
			if m == method {
				panic(m)
			}
		}
		l := start(t, p, func(o *guestloop.Options) { o.Panicked = func(any) { told.Add(1) } })
		toEnd(t, l, long)
		l.Requests()
		l.End(errors.New("again"))
		if told.Load() == 0 {
			t.Errorf("%s: nobody was told of the panic", method)
		}
		if _, released, err := p.counts(); method != "Ended" && !errors.Is(err, guestloop.ErrPanicked) || released != 1 {
			t.Errorf("%s: released %d, %v", method, released, err)
		}
	}
}

// TestDeliveries: the observer sees each outcome as it goes in, and in that order.
func TestDeliveries(t *testing.T) {
	p := &program{code: "const order = []; await Promise.all([1, 2, 3, 4, 5].map((i) => work(i).then((v) => order.push(v)))); await know(9); return order"}
	toEnd(t, start(t, p, nil), long)
	seen := "[" + strings.Join(p.delivered[:5], ",") + "]"
	if p.value != seen || len(p.delivered) != 6 {
		t.Errorf("the program saw %s, the observer %v", p.value, p.delivered)
	}
}

// tank is a budget with so many bytes.
type tank struct{ left atomic.Int64 }

func (b *tank) Take(n int) bool {
	if b.left.Add(-int64(n)) < 0 {
		b.left.Add(int64(n))
		return false
	}
	return true
}
func (b *tank) Give(n int) { b.left.Add(int64(n)) }

// TestBudget: what is taken is given back however the program ends, and what does not fit fails.
func TestBudget(t *testing.T) {
	for _, code := range []string{
		"return (await Promise.all(Array.from({ length: 20 }, (_, i) => work('x'.repeat(100) + i)))).length",
		"for (let i = 0; i < 20; i++) work('x'.repeat(100)); throw 1",
		"await know('x'.repeat(1000)); await pause(); return 1",
		"work('x'.repeat(100)); forge('y0')",
	} {
		b := &tank{}
		b.left.Store(1 << 16)
		p := &program{code: code}
		toEnd(t, start(t, p, func(o *guestloop.Options) { o.Budget = b }), long)
		if left := b.left.Load(); left != 1<<16 {
			t.Errorf("%s: %d bytes are not given back", code, 1<<16-left)
		}
	}
	b := &tank{}
	b.left.Store(500)
	p := &program{code: "return await work(1).then(() => 'fits', (e) => e[2])"}
	p.work = func(context.Context, *guestloop.Request, json.RawMessage) guestloop.Outcome {
		return guestloop.Outcome{Value: json.RawMessage(`"` + strings.Repeat("x", 1000) + `"`)}
	}
	toEnd(t, start(t, p, func(o *guestloop.Options) { o.Budget = b }), long)
	if p.value != `"too_many_pending_tool_calls"` || b.left.Load() != 500 {
		t.Errorf("value %s, %d bytes left", p.value, b.left.Load())
	}
}

// TestExpire: a program is kept for as long as was said, and a leg that comes first keeps it.
func TestExpire(t *testing.T) {
	why := errors.New("too late")
	p := &program{code: "await pause(); await pause(); return 1"}
	l := start(t, p, nil)
	run(t, l, long)
	now := time.Now()
	l.Keep(now.Add(time.Hour))
	if l.Expire(now.Add(59*time.Minute), why) {
		t.Fatal("expired too early")
	}
	run(t, l, long)
	if !l.Expire(now.Add(time.Hour), why) || l.Expire(now.Add(time.Hour), why) {
		t.Fatal("it expires once")
	}
	if ended, released, err := p.counts(); ended != 1 || released != 1 || !errors.Is(err, why) {
		t.Errorf("ended %d, released %d, %v", ended, released, err)
	}
	if _, err := l.Run(t.Context(), guestloop.Leg{Until: now.Add(long), Compute: long}); err == nil {
		t.Error("a leg after expiry")
	}
}

// TestSaveInBackground: a leg that comes while a program is saved has it, saved or not.
func TestSaveInBackground(t *testing.T) {
	m := &memory{}
	p := &program{code: "let n = 0; for (let i = 0; i < 50; i++) { await pause(); n += await work(1) } return n"}
	l := start(t, p, nil)
	saved := 0
	for {
		s := run(t, l, long)
		if s.Ended {
			break
		}
		done := make(chan bool)
		go func() { done <- l.Save(t.Context(), m, 1<<20) }()
		if saved%2 == 0 { // every other time before the leg
			if <-done {
				saved++
			}
			continue
		}
		go func() { <-done }()
		saved++
	}
	if _, _, err := p.counts(); err != nil || p.value != "50" {
		t.Errorf("value %s, %v", p.value, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.b != nil {
		t.Error("a snapshot is left")
	}
}

// TestHammer runs legs, work, yields, saves, expiry and ends against each other: for the race detector, and for
// the counts at its end.
func TestHammer(t *testing.T) {
	const programs = 24
	codes := []string{
		"let s = 0; for (let i = 0; i < 20; i++) s += await work(1); return s",
		"const r = await Promise.all(Array.from({ length: 60 }, () => work(1))); return r.length - 40",
		"let s = 0; for (let i = 0; i < 20; i++) { await pause(); s += await know(1) } return s",
		"const p = work(1); for (let i = 0; i < 10; i++) await pause(); return 19 + await p",
		"for (let i = 0; i < 5; i++) { work(1); await pause() } return 20",
	}
	var wg sync.WaitGroup
	for n := range programs {
		wg.Go(func() {
			p := &program{code: codes[n%len(codes)]}
			if n%3 == 1 {
				p.store = &memory{}
			}
			p.work = func(ctx context.Context, r *guestloop.Request, x json.RawMessage) guestloop.Outcome {
				switch n % 4 {
				case 1:
					runtime.Gosched()
				case 2:
					r.Wait(guestloop.Person)
					r.Wait(guestloop.Inside)
				case 3:
					r.Wait(guestloop.Caller)
					runtime.Gosched()
					r.Wait(guestloop.Inside)
				}
				return guestloop.Outcome{Value: x}
			}
			l := start(t, p, nil)
			ends := n%6 == 5
			stop := make(chan struct{})
			var others sync.WaitGroup
			for k := range 3 {
				others.Go(func() {
					for i := 0; ; i++ {
						select {
						case <-stop:
							return
						default:
						}
						switch k {
						case 0: // loses against the leg below, or steals it
							if _, err := l.Run(context.Background(), guestloop.Leg{Until: time.Now().Add(time.Millisecond), Compute: long}); err != nil && !errors.Is(err, guestloop.ErrInFlight) && !errors.Is(err, guestloop.ErrOver) {
								t.Errorf("Run: %v", err)
							}
						case 1:
							l.Save(context.Background(), &memory{}, 1<<20)
						case 2:
							l.Requests()
							l.Expire(time.Now(), errors.New("expired"))
							if ends && i == 50 {
								l.End(errors.New("ended"))
							}
						}
						runtime.Gosched()
					}
				})
			}
			for {
				s, err := l.Run(context.Background(), guestloop.Leg{Until: time.Now().Add(2 * time.Millisecond), Compute: long})
				if errors.Is(err, guestloop.ErrOver) || s.Ended {
					break
				}
				runtime.Gosched()
			}
			close(stop)
			others.Wait()
			ended, released, err := p.counts()
			if ended != 1 || released != 1 {
				t.Errorf("program %d: ended %d times, released %d", n, ended, released)
			}
			if err == nil && p.value != "20" || err != nil && !ends {
				t.Errorf("program %d: value %s, %v", n, p.value, err)
			}
		})
	}
	wg.Wait()
}

// TestCallerGoes: a caller that goes away ends the program or leaves it, as the leg says.
func TestCallerGoes(t *testing.T) {
	for _, ends := range []bool{true, false} {
		ctx, cancel := context.WithCancelCause(t.Context())
		why := fmt.Errorf("the caller went away")
		p := &program{code: "return await work(1)"}
		gate := make(chan struct{})
		p.work = func(wctx context.Context, _ *guestloop.Request, x json.RawMessage) guestloop.Outcome {
			cancel(why)
			select {
			case <-gate:
			case <-wctx.Done():
			}
			return guestloop.Outcome{Value: x}
		}
		l := start(t, p, nil)
		s, err := l.Run(ctx, guestloop.Leg{Until: time.Now().Add(long), Compute: long, EndWithCaller: ends})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(guestloop.Stop{Ended: ends, Gone: !ends, Payload: map[bool]any{true: "ended", false: "suspended"}[ends]}, s); d != "" {
			t.Errorf("ends %v (-want +got):\n%s", ends, d)
		}
		close(gate)
		if !ends {
			toEnd(t, l, long)
		} else if _, _, err := p.counts(); !errors.Is(err, why) {
			t.Errorf("ended as %v", err)
		}
	}
}
