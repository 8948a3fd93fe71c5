package guestloop_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/internal/guestloop"
	"github.com/cloister-wasm/cloister/quickjs"
)

// prelude is a prelude of the tests' own: a guest may say anything, as if it had got hold of its outbox.
const prelude = `(function (setup) {
  'use strict';
  const open = {};
  let next = 0, outbox = '';
  const ask = (kind, x) => {
    const slot = next++;
    outbox += kind + slot + ',' + JSON.stringify(x ?? null) + '\n';
    return new Promise((resolve, reject) => { open[slot] = { resolve, reject }; });
  };
  Object.assign(globalThis, {
    work: (x) => ask('w', x), know: (x) => ask('k', x), pause: () => ask('y'), forge: (s) => { outbox += s; },
  });
  return [
    (fn) => fn(),
    (slot, ok, value) => { const w = open[slot]; delete open[slot]; if (w) { if (ok === 1) w.resolve(value); else w.reject(value); } },
    () => { const text = outbox; outbox = ''; return text === '' ? undefined : text; },
    (value) => JSON.stringify(value) ?? 'null',
    (value) => String(value),
  ];
})`

var shared = struct {
	sync.Once
	engine *quickjs.Engine
	tmpl   *quickjs.Template
	err    error
}{}

func TestMain(m *testing.M) {
	code := m.Run()
	if shared.tmpl != nil {
		shared.tmpl.Close()
	}
	if shared.engine != nil {
		shared.err = errors.Join(shared.err, shared.engine.Close(context.Background()))
	}
	if code == 0 && shared.err != nil {
		fmt.Fprintln(os.Stderr, shared.err)
		code = 1
	}
	os.Exit(code)
}

func template(t testing.TB) *quickjs.Template {
	t.Helper()
	shared.Do(func() {
		if shared.engine, shared.err = quickjs.Load(context.Background(), nil); shared.err == nil {
			shared.tmpl, shared.err = shared.engine.NewTemplate(context.Background(), &quickjs.TemplateOptions{Prelude: prelude, Entries: guestabi.EntryCount})
		}
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.tmpl
}

// program is a surface as small as can be. Its fields are to be set before the loop runs.
type program struct {
	code string
	loop *guestloop.Loop
	// work does what work(x) of the guest asks for; nil gives x back.
	work func(ctx context.Context, r *guestloop.Request, x json.RawMessage) guestloop.Outcome
	// early marks the requests of work.
	early bool
	// on is called at each method of Program but Message, with its name.
	on    func(method string)
	store guestloop.Store // nil parks

	mu        sync.Mutex
	value     string
	delivered []string
	err       error // of Ended
	ended     int
	released  int
	whys      []guestloop.Why
}

func (p *program) call(method string) {
	if p.on != nil {
		p.on(method)
	}
}

func (p *program) Start(ctx context.Context, vm *quickjs.VM) (quickjs.Value, error) {
	p.call("Start")
	bytecode, err := vm.Compile(ctx, "(async () => {"+p.code+"\n})")
	if err != nil {
		return 0, err
	}
	fn, err := vm.Run(ctx, bytecode)
	if err != nil {
		return 0, err
	}
	t := vm.Template()
	return vm.Call(ctx, t.Entry(guestabi.EntryStart), t.Undefined(), fn)
}

func (p *program) Message(line []byte) error {
	number, text, _ := bytes.Cut(line[1:], []byte{','})
	id, err := strconv.Atoi(string(number))
	if err != nil {
		return guestloop.ErrForged
	}
	x := bytes.Clone(text)
	switch line[0] {
	case 'y':
		return p.loop.Yield(id)
	case 'k':
		return p.loop.Answer(id, guestloop.Outcome{Value: x})
	case 'w':
		return p.loop.Open(id, guestloop.Opening{Size: len(x), Data: string(x), Early: p.early, Work: func(ctx context.Context, r *guestloop.Request) guestloop.Outcome {
			if p.work == nil {
				return guestloop.Outcome{Value: x}
			}
			return p.work(ctx, r, x)
		}})
	}
	return guestloop.ErrForged
}

func (p *program) Delivered(d *guestloop.Delivery) {
	p.call("Delivered")
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delivered = append(p.delivered, fmt.Sprint(d.Data))
}

func (p *program) Finish(ctx context.Context, g *guestloop.Guest) error {
	p.call("Finish")
	v, err := g.VM.Result(ctx, g.Main)
	if err != nil {
		return err
	}
	t := g.VM.Template()
	text, err := g.VM.Call(ctx, t.Entry(guestabi.EntryFinish), t.Undefined(), v)
	if err != nil {
		return err
	}
	b, err := g.VM.ReadString(ctx, text, 1<<20)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.value = string(b)
	return err
}

func (p *program) Suspend(ctx context.Context, g *guestloop.Guest, why guestloop.Why) (any, error) {
	p.call("Suspend")
	p.mu.Lock()
	p.whys = append(p.whys, why)
	p.mu.Unlock()
	if p.store != nil && g != nil {
		if _, err := g.Save(ctx, p.store, 10<<20); err != nil {
			return nil, err
		}
	}
	return "suspended", nil
}

func (p *program) Computing() (any, error) {
	p.call("Computing")
	return "computing", nil
}

func (p *program) Ended(_ context.Context, _ *guestloop.Guest, err error) any {
	p.call("Ended")
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended++
	p.err = err
	return "ended"
}

func (p *program) Released() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.released++
}

// counts gives how often the program was told of its end.
func (p *program) counts() (ended, released int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ended, p.released, p.err
}

// start makes the loop of a program; change may alter its options.
func start(t testing.TB, p *program, change func(o *guestloop.Options)) *guestloop.Loop {
	t.Helper()
	tmpl := template(t)
	o := &guestloop.Options{
		Program: p, Grace: 20 * time.Millisecond,
		Limits: guestloop.Limits{MaxOpen: 256, MaxInFlight: 4, MaxHeld: 1 << 20, MaxBatch: 1 << 20, MaxOutbox: 1 << 20},
		NewVM:  func(ctx context.Context) (*quickjs.VM, error) { return tmpl.NewVM(ctx, nil) },
		Restore: func(ctx context.Context, b []byte) (*quickjs.VM, []quickjs.Value, error) {
			return tmpl.Restore(ctx, b, nil)
		},
	}
	if change != nil {
		change(o)
	}
	p.loop = guestloop.New(t.Context(), o)
	t.Cleanup(func() { p.loop.End(errors.New("the test is over")) })
	return p.loop
}

// run is one leg.
func run(t testing.TB, l *guestloop.Loop, d time.Duration) guestloop.Stop {
	t.Helper()
	return runFor(t, l, d, 10*time.Second)
}

// runFor is run with a bound on computing.
func runFor(t testing.TB, l *guestloop.Loop, d, compute time.Duration) guestloop.Stop {
	t.Helper()
	s, err := l.Run(t.Context(), guestloop.Leg{Until: time.Now().Add(d), Compute: compute})
	if err != nil {
		t.Fatalf("Run: %v", err)
	}
	return s
}

// long is a leg that a test does not mean to end by its time.
const long = time.Minute

// toEnd makes legs until the program has ended.
func toEnd(t testing.TB, l *guestloop.Loop, d time.Duration) (legs int) {
	t.Helper()
	for legs = 1; ; legs++ {
		if run(t, l, d).Ended {
			return legs
		}
	}
}

// memory is a store of one program.
type memory struct {
	mu sync.Mutex
	b  []byte
}

func (m *memory) Put(_ context.Context, b []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.b = bytes.Clone(b)
	return nil
}

func (m *memory) Get(context.Context) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.b == nil {
		return nil, errors.New("nothing is stored")
	}
	return m.b, nil
}

func (m *memory) Delete(context.Context) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.b = nil
}
