package quickjs

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/cloister-wasm/cloister/guestabi"
)

var update = flag.Bool("update", false, "write golden files and fuzz corpora")

// cacheDir holds compiled code for one run of the tests.
var cacheDir string

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "cloister-quickjs-*")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		cacheDir = dir
		return m.Run()
	}())
}

// sample gives what a test runs of a table: all, with -short one row of every n, another one on the next day.
func sample[T any](rows []T, n int) []T {
	if !testing.Short() {
		return rows
	}
	day := int(time.Now().Unix() / (24 * 60 * 60))
	var some []T
	for i := day % min(n, len(rows)); i < len(rows); i += n {
		some = append(some, rows[i])
	}
	return some
}

// shorter is n, with -short the other number.
func shorter(n, short int) int {
	if testing.Short() {
		return short
	}
	return n
}

// testPrelude is a prelude of the tests' own, so that they do not depend on the
// wire between guestabi and the host. A cell may call ask(x), a request that
// settle answers.
const testPrelude = `(function (setup) {
  'use strict';
  const { stringify } = JSON;
  const { apply } = Reflect;
  const { toString } = Function.prototype;
  const GuestPromise = Promise, toText = String, GuestMap = Map;
  const get = Map.prototype.get, set = Map.prototype.set;
  const open = new GuestMap();
  let next = 0, outbox = '';
  Object.defineProperty(globalThis, 'ask', { value: function ask(x) {
    const slot = next++;
    outbox += slot + ' ' + stringify(x) + '\n';
    return new GuestPromise((resolve, reject) => { apply(set, open, [slot, { __proto__: null, resolve, reject }]); });
  } });
  return [
    function start(fn) { return fn(); },
    function settle(slot, ok, value) {
      const waiter = apply(get, open, [slot]);
      if (ok === 1) waiter.resolve(value); else waiter.reject(value);
    },
    function drain() { const text = outbox; outbox = ''; return text === '' ? undefined : text; },
    function show(value) {
      if (typeof value === 'string') return value;
      if (typeof value === 'object' && value !== null) {
        if (value instanceof Error) return value.name + ': ' + value.message;
        const text = stringify(value);
        return text === undefined ? 'undefined' : text;
      }
      return typeof value === 'bigint' ? value + 'n' : toText(value);
    },
  ];
})`

const (
	entryStart = iota
	entrySettle
	entryDrain
	entryShow
	entryCount
)

// mode is a way of giving instances their memory.
type mode struct {
	name  string
	plain bool
}

var modes = []mode{{"copy-on-write", false}, {"plain", true}}

var engines = map[bool]func() (*Engine, error){
	false: sync.OnceValues(func() (*Engine, error) { return loadEngine(false) }),
	true:  sync.OnceValues(func() (*Engine, error) { return loadEngine(true) }),
}

func loadEngine(plain bool) (*Engine, error) {
	return Load(context.Background(), &EngineOptions{CacheDir: cacheDir, PlainMemory: plain})
}

// testEngine is an engine that the tests share. Nobody closes it.
func testEngine(tb testing.TB, plain bool) *Engine {
	tb.Helper()
	e, err := engines[plain]()
	if err != nil {
		tb.Fatal(err)
	}
	return e
}

// newTemplate makes a template that ends with the test. A zero prelude is
// testPrelude.
func newTemplate(tb testing.TB, e *Engine, o TemplateOptions) *Template {
	tb.Helper()
	if o.Prelude == "" {
		o.Prelude, o.Entries = testPrelude, entryCount
	}
	t, err := e.NewTemplate(context.Background(), &o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(t.Close)
	return t
}

func testTemplate(tb testing.TB) *Template {
	tb.Helper()
	return newTemplate(tb, testEngine(tb, false), TemplateOptions{})
}

// newVM makes a VM that ends with the test, if it was not closed before.
func newVM(tb testing.TB, t *Template, o *VMOptions) *VM {
	tb.Helper()
	vm, err := t.NewVM(context.Background(), o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(vm.Close)
	return vm
}

// cell is the body of an async function, running in a VM made with testPrelude.
type cell struct {
	vm   *VM
	main Value
}

func startCell(ctx context.Context, vm *VM, src string) (*cell, error) {
	code, err := vm.Compile(ctx, "(async function(){"+src+"\n})")
	if err != nil {
		return nil, err
	}
	fn, err := vm.Run(ctx, code)
	if err != nil {
		return nil, err
	}
	t := vm.Template()
	main, err := vm.Call(ctx, t.Entry(entryStart), t.Undefined(), fn)
	if err != nil {
		return nil, err
	}
	return &cell{vm: vm, main: main}, nil
}

// turn runs jobs and gives the state and the outbox.
func (c *cell) turn(ctx context.Context, batch ...Settlement) (State, string, error) {
	t := c.vm.Template()
	st, out, err := c.vm.Turn(ctx, t.Entry(entrySettle), batch, t.Entry(entryDrain), c.main, 1<<20)
	return st, string(out), err
}

// show gives a value as text.
func show(ctx context.Context, vm *VM, v Value) (string, error) {
	t := vm.Template()
	s, err := vm.Call(ctx, t.Entry(entryShow), t.Undefined(), v)
	if err != nil {
		return "", err
	}
	b, err := vm.ReadString(ctx, s, 16<<20)
	return string(b), err
}

// result gives the settled cell's value as text, or "throw " and the reason.
func (c *cell) result(ctx context.Context, st State) (string, error) {
	v, err := c.vm.Result(ctx, c.main)
	if err != nil {
		return "", err
	}
	text, err := show(ctx, c.vm, v)
	if st == Rejected {
		text = "throw " + text
	}
	return text, err
}

// run runs a cell that asks for nothing, and gives its result as text. What it
// throws is "throw " and the reason; a cell that waits is "pending". Errors are
// those of the VM itself.
func run(ctx context.Context, vm *VM, src string) (string, error) {
	c, err := startCell(ctx, vm, src)
	var st State
	if err == nil {
		st, _, err = c.turn(ctx)
	}
	var exc *Exception
	if errors.As(err, &exc) {
		text, err := show(ctx, vm, exc.Value)
		return "throw " + text, err
	}
	if err != nil {
		return "", err
	}
	if st == Pending {
		return "pending", nil
	}
	return c.result(ctx, st)
}

// mustRun runs a cell on a fresh VM with a generous deadline.
func mustRun(tb testing.TB, t *Template, src string) string {
	tb.Helper()
	vm, err := t.NewVM(context.Background(), nil)
	if err != nil {
		tb.Fatal(err)
	}
	defer vm.Close()
	vm.SetDeadline(time.Now().Add(time.Minute))
	text, err := run(context.Background(), vm, src)
	if err != nil {
		tb.Fatalf("%s: %v", src, err)
	}
	return text
}

// codecString is a string in the value codec of guestabi.
func codecString(s string) []byte { return guestabi.AppendString(nil, s) }
