package quickjs

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// looks is a context that counts how often it is looked at, which is how much work
// was done, and may do something at that moment. It is for one goroutine.
type looks struct {
	context.Context
	n  int
	at func(n int)
}

func (l *looks) Err() error {
	l.n++
	if l.at != nil {
		l.at(l.n)
	}
	return l.Context.Err()
}

func count() *looks { return &looks{Context: context.Background()} }

var errEnough = errors.New("that is enough")

// cancelAt is a context that ends when it is looked at for the n-th time.
func cancelAt(n int) *looks {
	ctx, cancel := context.WithCancelCause(context.Background())
	return &looks{Context: ctx, at: func(i int) {
		if i == n {
			cancel(errEnough)
		}
	}}
}

func TestSnapshotHeedsItsContext(t *testing.T) {
	tmpl := testTemplate(t)
	c := largeCell(t, tmpl, large[0].src)
	whole := count()
	snap, err := c.vm.Snapshot(whole, nil, c.main)
	if err != nil {
		t.Fatal(err)
	}
	if whole.n < len(snap)/snapshotWindow {
		t.Errorf("%d looks at the context for %d bytes", whole.n, len(snap))
	}
	before := measure()
	for _, n := range []int{1, 2, 3, whole.n / 2, whole.n - len(snap)/finishStep/2, whole.n} {
		ctx := cancelAt(n)
		if _, err := c.vm.Snapshot(ctx, nil, c.main); !errors.Is(err, context.Canceled) || !errors.Is(err, errEnough) || ctx.n > n+2 {
			t.Errorf("cancelled at look %d of %d: %v after %d looks", n, whole.n, err, ctx.n)
		}
		if got, err := resume(tmpl, suspend(t, tmpl, "return 'small ' + await ask(1)"), "x"); got != "small x" {
			t.Errorf("a small cell after that: %q, %v", got, err)
		}
	}
	if again := mustSave(t, c); !bytes.Equal(again, snap) {
		t.Errorf("a snapshot of %d bytes became one of %d", len(snap), len(again))
	}
	if after := measure(); after.mappings > before.mappings+4 {
		t.Errorf("%d mappings became %d", before.mappings, after.mappings)
	}
	goesOn(t, "saved", c)

	late, cancel := context.WithDeadline(context.Background(), time.Now().Add(-time.Second))
	defer cancel()
	if _, err := newVM(t, tmpl, nil).Snapshot(late, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("past the context's deadline: %v", err)
	}
}

func TestRestoreHeedsItsContext(t *testing.T) {
	for _, m := range sample(modes, 2) {
		tmpl := newTemplate(t, testEngine(t, m.plain), TemplateOptions{})
		c := largeCell(t, tmpl, large[0].src)
		snap := mustSave(t, c)
		c.vm.Close()
		whole := count()
		vm, roots, err := tmpl.Restore(whole, snap, nil)
		if err != nil {
			t.Fatal(err)
		}
		goesOn(t, m.name, &cell{vm: vm, main: roots[0]})
		vm.Close()
		live := instances(tmpl.e)
		for _, n := range []int{1, 2, 3, whole.n / 2, whole.n} {
			ctx := cancelAt(n)
			if vm, _, err := tmpl.Restore(ctx, snap, nil); vm != nil || !errors.Is(err, context.Canceled) || !errors.Is(err, errEnough) || errors.Is(err, ErrSnapshot) || ctx.n > n+2 {
				t.Errorf("%s, cancelled at look %d of %d: %v after %d looks", m.name, n, whole.n, err, ctx.n)
			}
			if now := instances(tmpl.e); now != live || idle(tmpl) != 0 {
				t.Errorf("%s, cancelled at look %d of %d: %d instances became %d, %d in the pool", m.name, n, whole.n, live, now, idle(tmpl))
			}
		}
		if got := mustRun(t, tmpl, "return 6 * 7"); got != "42" {
			t.Errorf("%s: the next cell gives %q", m.name, got)
		}
	}
}

// The bytes of a snapshot may lie in a file that is mapped and that others write. A
// change after the checksum was verified gives a refusal or a guest in another state.
func TestRestoreOfBytesThatChangeMeanwhile(t *testing.T) {
	tmpl := testTemplate(t)
	c := largeCell(t, tmpl, "let s = 1; const a = new Int32Array(4e5); for (let i = 0; i < a.length; i++) { s = (s * 48271) % 2147483647; a[i] = i % 16 ? s & 255 : s; } const sum = () => a[7]; const first = sum();")
	snap := mustSave(t, c)
	c.vm.Close()
	whole := count()
	vm, _, err := tmpl.Restore(whole, snap, nil)
	if err != nil {
		t.Fatal(err)
	}
	vm.Close()
	random := rand.New(rand.NewPCG(1, 2))
	refused := 0
	for i := range shorter(60, 20) {
		changing := slices.Clone(snap)
		at := 1 + i%whole.n
		vm, roots, err := tmpl.Restore(&looks{Context: context.Background(), at: func(n int) {
			if n == at {
				for range 1 + i {
					changing[random.IntN(len(changing))] ^= byte(1 + random.IntN(255))
				}
			}
		}}, changing, nil)
		if err != nil {
			if !errors.Is(err, ErrSnapshot) {
				t.Errorf("round %d: %v", i, err)
			}
			refused++
			continue
		}
		exercise(vm, roots)
		vm.Close()
	}
	if refused == 0 {
		t.Error("no change was noticed: none came in time")
	}
	if got := mustRun(t, tmpl, "return 6 * 7"); got != "42" {
		t.Errorf("the next cell gives %q", got)
	}
}
