package extism

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cloister-wasm/cloister/guestabi"
)

// more adds a function () → () and gives its index, with no imports counted.
func (m *wasmModule) more(code ...[]byte) {
	if len(m.types) < 2 {
		m.types = append(m.types, [2][]byte{nil, nil})
	}
	m.funcs = append(m.funcs, wasmFunc{typ: 1, code: join(code...)})
}

// endless is every way to run for ever, or nearly so, that code has without recursion of its own.
func endless() map[string]*wasmModule {
	out := map[string]*wasmModule{
		"br":                                runModule([]byte{0x03, 0x40, 0x0c, 0, 0x0b, 0x41, 0}),
		"br_if":                             runModule([]byte{0x03, 0x40, 0x41, 1, 0x0d, 0, 0x0b, 0x41, 0}),
		"br_table":                          runModule([]byte{0x03, 0x40, 0x41, 5, 0x0e, 1, 0, 0, 0x0b, 0x41, 0}),
		"nested loops, the inner one short": runModule([]byte{0x03, 0x40, 0x03, 0x40, 0x41, 0, 0x0d, 0, 0x0b, 0x0c, 0, 0x0b, 0x41, 0}),
		"if in a loop":                      runModule([]byte{0x03, 0x40, 0x41, 1, 0x04, 0x40, 0x0c, 1, 0x0b, 0x0b, 0x41, 0}),
		"loop in the else":                  runModule([]byte{0x41, 0, 0x04, 0x40, 0x05, 0x03, 0x40, 0x0c, 0, 0x0b, 0x0b, 0x41, 0}),
		"loop with a result":                runModule([]byte{0x03, i32, 0x0c, 0, 0x0b}),
		"loop in a callee": func() *wasmModule {
			m := runModule([]byte{0x10, 1, 0x41, 0})
			m.more([]byte{0x03, 0x40, 0x0c, 0, 0x0b})
			return m
		}(),
		"fills of all memory": func() *wasmModule {
			m := runModule([]byte{0x03, 0x40, 0x41, 0, 0x41, 1, 0x41}, sleb(1000*wasmPage), []byte{0xfc, 11, 0, 0x0c, 0, 0x0b, 0x41, 0})
			m.memory = join([]byte{0}, leb(1000))
			return m
		}(),
		"copies of all memory": func() *wasmModule {
			m := runModule([]byte{0x03, 0x40, 0x41, 1, 0x41, 0, 0x41}, sleb(999*wasmPage), []byte{0xfc, 10, 0, 0, 0x0c, 0, 0x0b, 0x41, 0})
			m.memory = join([]byte{0}, leb(1000))
			return m
		}(),
		"fills of a table": func() *wasmModule {
			m := runModule([]byte{0x03, 0x40, 0x41, 0, 0xd0, 0x70, 0x41}, sleb(1<<20), []byte{0xfc, 17, 0, 0x0c, 0, 0x0b, 0x41, 0})
			m.tables = join([]byte{1, 0x70, 0}, leb(1<<20))
			return m
		}(),
		"copies of a table": func() *wasmModule {
			m := runModule([]byte{0x03, 0x40, 0x41, 1, 0x41, 0, 0x41}, sleb(1<<20-1), []byte{0xfc, 14, 0, 0, 0x0c, 0, 0x0b, 0x41, 0})
			m.tables = join([]byte{1, 0x70, 0}, leb(1<<20))
			return m
		}(),
		"memory that cannot grow":      runModule([]byte{0x03, 0x40, 0x41}, sleb(1<<16), []byte{0x40, 0, 0x1a, 0x0c, 0, 0x0b, 0x41, 0}),
		"much straight code in a loop": runModule([]byte{0x03, 0x40}, slices.Repeat([]byte{0x41, 1, 0x1a}, 500_000), []byte{0x0c, 0, 0x0b, 0x41, 0}),
	}
	// Functions without loops that call the next one twice: 2 to the 200th calls, and no cycle.
	ladder := runModule([]byte{0x10, 1, 0x41, 0})
	for n := range 200 {
		ladder.more([]byte{0x10}, leb(n+2), []byte{0x10}, leb(n+2))
	}
	ladder.more()
	out["a ladder of calls"] = ladder
	// Small functions, each below the price of a countdown, that multiply.
	wide := runModule([]byte{0x03, 0x40}, slices.Repeat([]byte{0x10, 1}, 1000), []byte{0x0c, 0, 0x0b, 0x41, 0})
	for n := range 6 {
		wide.more(slices.Repeat(join([]byte{0x10}, leb(n+2)), 30))
	}
	wide.more([]byte{0x01})
	out["a pyramid of calls"] = wide
	return out
}

// recursions run for a time that is exponential in their depth, and have no loop.
func recursions() map[string]*wasmModule {
	param := [2][]byte{{i32}, nil}
	twice := func(call []byte) []byte { // if n { call(n-1); call(n-1) }
		one := join([]byte{0x20, 0, 0x41, 1, 0x6b}, call)
		return join([]byte{0x20, 0, 0x04, 0x40}, one, one, []byte{0x0b})
	}
	table := func(m *wasmModule, funcs ...byte) *wasmModule {
		m.tables = join([]byte{1, 0x70, 0}, leb(len(funcs)))
		m.elements = join([]byte{1, 0, 0x41, 0, 0x0b}, leb(len(funcs)), funcs)
		return m
	}
	base := func(codes ...[]byte) *wasmModule {
		m := runModule([]byte{0x41, 60, 0x10, 1, 0x41, 0})
		m.types = append(m.types, param)
		for _, c := range codes {
			m.funcs = append(m.funcs, wasmFunc{typ: 1, code: c})
		}
		return m
	}
	indirect := []byte{0x41, 0, 0x11, 1, 0}
	return map[string]*wasmModule{
		"direct":              base(twice([]byte{0x10, 1})),
		"mutual":              base(twice([]byte{0x10, 2}), twice([]byte{0x10, 3}), twice([]byte{0x10, 1})),
		"through a table":     table(base(twice(indirect)), 1),
		"mutual, one direct":  table(base(twice([]byte{0x10, 2}), twice(indirect)), 1),
		"through a small one": base(twice([]byte{0x10, 2}), []byte{0x20, 0, 0x10, 1}),
		"the first function itself": func() *wasmModule { // whose index moves
			m := runModule([]byte{0x41, 60, 0x10, 0})
			m.types = [][2][]byte{{nil, {i32}}, {{i32}, nil}}
			m.funcs = []wasmFunc{{typ: 1, code: twice([]byte{0x10, 0})}, {export: "run", code: []byte{0x41, 60, 0x10, 0, 0x41, 0}}}
			return m
		}(),
		"the first function, through a table": func() *wasmModule {
			m := runModule()
			m.types = [][2][]byte{{nil, {i32}}, {{i32}, nil}}
			m.funcs = []wasmFunc{{typ: 1, code: twice([]byte{0x41, 0, 0x11, 1, 0})}, {export: "run", code: []byte{0x41, 60, 0x10, 0, 0x41, 0}}}
			return table(m, 0)
		}(),
	}
}

// TestEndless holds that whatever runs on is stopped, metered, and that it is soon: a stop that takes seconds would let a
// plugin have a multiple of its time. The bound is generous: this is about orders of magnitude.
func TestEndless(t *testing.T) {
	for name, m := range sample(endless(), 4) {
		t.Run(name, func(t *testing.T) { stopsSoon(t, m.bytes(), nil) })
	}
	for name, m := range sample(recursions(), 4) {
		t.Run("recursion "+name, func(t *testing.T) { stopsSoon(t, m.bytes(), nil) })
	}
}

// stopsSoon has no bound of its own: a plugin that is not stopped hangs the test, which the test's timeout ends.
func stopsSoon(t *testing.T, wasm []byte, fs []HostFunction) {
	t.Helper()
	mod := compileFor(t, wasm, Config{Functions: fs, CallTime: 50 * time.Millisecond})
	if why := mod.SlowPath(); why != "" {
		t.Errorf("on the slow path: %s", why)
	}
	i := instance(t, mod)
	if _, err := i.Call(context.Background(), "run", nil); !errors.Is(err, context.DeadlineExceeded) || !i.Dead() {
		t.Fatalf("Call = %v, want it stopped by the deadline", err)
	}
}

// Calls of the host in an endless loop: all kinds of functions, and those that take long on purpose.
func TestHostCallSpam(t *testing.T) {
	loop := func(code ...[]byte) []byte {
		return join([]byte{0x03, 0x40}, join(code...), []byte{0x0c, 0, 0x0b, 0x41, 0})
	}
	big := sleb(1000 * wasmPage)
	tests := map[string]struct {
		module, name    string
		params, results []byte
		code            []byte
	}{
		"random bytes, all memory": {wasiModule, "random_get", []byte{i32, i32}, []byte{i32}, loop([]byte{0x41, 0, 0x41}, big, []byte{0x10, 0, 0x1a})},
		"writes of nothing, by the million": {wasiModule, "fd_write", []byte{i32, i32, i32, i32}, []byte{i32},
			loop([]byte{0x41, 1, 0x41, 0, 0x41}, sleb(8_000_000), []byte{0x41, 0, 0x10, 0, 0x1a})},
		"polls of a million clocks": {wasiModule, "poll_oneoff", []byte{i32, i32, i32, i32}, []byte{i32},
			loop([]byte{0x41, 0, 0x41, 0, 0x41}, sleb(1_000_000), []byte{0x41, 0, 0x10, 0, 0x1a})},
		"the clock":              {wasiModule, "clock_time_get", []byte{i32, i64, i32}, []byte{i32}, loop([]byte{0x41, 0, 0x42, 0, 0x41, 0, 0x10, 0, 0x1a})},
		"yields":                 {wasiModule, "sched_yield", nil, []byte{i32}, loop([]byte{0x10, 0, 0x1a})},
		"large blocks":           {envModule, "alloc", []byte{i64}, []byte{i64}, loop([]byte{0x42}, sleb(4<<20), []byte{0x10, 0, 0x1a})},
		"small blocks":           {envModule, "alloc", []byte{i64}, []byte{i64}, loop([]byte{0x42, 1, 0x10, 0, 0x1a})},
		"stores":                 {envModule, "input_length", nil, []byte{i64}, loop([]byte{0x10, 0, 0x1a})},
		"a function of the host": {guestabi.PluginHostModule, "f", []byte{i64}, []byte{i64}, loop([]byte{0x42, 0, 0x10, 0, 0x1a})},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			m := runModule(tt.code)
			m.types = append(m.types, [2][]byte{tt.params, tt.results})
			m.importFunc(tt.module, tt.name, 1)
			m.memory = join([]byte{0}, leb(1000))
			stopsSoon(t, m.bytes(), offers("f", func(context.Context, []byte) []byte { return nil }))
		})
	}
}

// Through a table nobody knows what is called: such a module has the runtime's checks, and is stopped as well.
func TestSlowPath(t *testing.T) {
	m := runModule([]byte{0x03, 0x40, 0x41, 0, 0x41, 1, 0x41, 0, 0x11, 1, 0, 0x1a, 0x0c, 0, 0x0b, 0x41, 0})
	m.types = append(m.types, [2][]byte{{i32, i32}, {i32}})
	m.importFunc(wasiModule, "random_get", 1)
	m.tables, m.elements = []byte{1, 0x70, 0, 1}, []byte{1, 0, 0x41, 0, 0x0b, 1, 0}
	mod := compileFor(t, m.bytes(), Config{CallTime: 50 * time.Millisecond})
	if !strings.Contains(mod.SlowPath(), "random_get") {
		t.Errorf("SlowPath = %q, want it to name the function", mod.SlowPath())
	}
	if _, err := instance(t, mod).Call(context.Background(), "run", nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Call = %v, want it stopped", err)
	}
	for _, name := range []string{"direct", "the first function, through a table"} {
		c, err := analyzed(recursions()[name].bytes())
		if err != nil {
			t.Fatal(err)
		}
		c.slow = "for the test"
		wasm, err := c.rewrite()
		if err != nil {
			t.Fatal(err)
		}
		slow := &Module{config: Config{CallTime: 50 * time.Millisecond}.withDefaults(), callable: c.callable, slow: c.slow}
		slow.closing, slow.close = context.WithCancelCause(context.Background())
		if slow.compiled, err = slow.compileSDK(context.Background(), wasm, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := instance(t, slow).Call(context.Background(), "run", nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("recursion %s: Call = %v, want it stopped", name, err)
		}
		if err := slow.Close(); err != nil {
			t.Error(err)
		}
	}
	if why := sharedModule(t).SlowPath(); why != "" {
		t.Errorf("a Go plugin is on the slow path: %s", why)
	}
}

// The counter is a global that is added. Code that names it by the index it will get would set it back for ever.
func TestCounterIsOutOfReach(t *testing.T) {
	reset := []byte{0x03, 0x40, 0x41}
	for name, code := range map[string][]byte{
		"global.set":             join(reset, sleb(1<<30), []byte{0x24, 0, 0x0c, 0, 0x0b, 0x41, 0}),
		"global.get":             {0x23, 0},
		"call of the checkpoint": {0x10, 1, 0x41, 0},
		"call of the meter":      {0x10, 2, 0x41, 0},
	} {
		if err := Check(runModule(code).bytes(), nil); !errors.Is(err, ErrModule) || !strings.Contains(err.Error(), "does not exist") {
			t.Errorf("%s: Check = %v, want ErrModule", name, err)
		}
	}
	exports := join([]byte("\x00asm\x01\x00\x00\x00"), section(1, []byte{1, 0x60, 0, 0}), section(3, []byte{1, 0}),
		section(7, join([]byte{1}, str("counter"), []byte{3, 0})), section(10, []byte{1, 2, 0, 0x0b}))
	if err := Check(exports, nil); !errors.Is(err, ErrModule) {
		t.Errorf("an export of the counter: Check = %v, want ErrModule", err)
	}
	for _, name := range []string{meterName, "alloc"} {
		m := runModule([]byte{0x41, 0})
		m.importFunc(ownModule, name, 0)
		if err := Check(m.bytes(), []string{name}); !errors.Is(err, ErrImport) {
			t.Errorf("an import of %s: Check = %v, want ErrImport", name, err)
		}
	}
}

// Native code that loops cannot be preempted: a garbage collection would wait for it with the world stopped, and the
// deadline could never come. The countdown gives it its turns.
func TestCollectionDuringLoop(t *testing.T) {
	mod := compileFor(t, runModule([]byte{0x03, 0x40, 0x0c, 0, 0x0b, 0x41, 0}).bytes(), Config{CallTime: 200 * time.Millisecond})
	ended := make(chan error)
	for range runtime.GOMAXPROCS(0) + 1 {
		i := instance(t, mod)
		go func() {
			_, err := i.Call(context.Background(), "run", nil)
			ended <- err
		}()
	}
	for left := runtime.GOMAXPROCS(0) + 1; left > 0; {
		runtime.GC()
		select {
		case err := <-ended:
			if left--; !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Call = %v, want it stopped", err)
			}
		default:
		}
	}
}

// An endless start function is stopped by the deadline of the instance's making, and at checkpoints before any call.
func TestStartFunctionForms(t *testing.T) {
	for name, code := range map[string][]byte{
		"long, but it ends": join([]byte{0x03, 0x40, 0x20, 0, 0x41, 1, 0x6a, 0x22, 0, 0x41}, sleb(10_000_000), []byte{0x49, 0x0d, 0, 0x0b}),
		"endless":           {0x03, 0x40, 0x0c, 0, 0x0b},
		"recursion":         {0x10, 1, 0x10, 1},
	} {
		m := runModule([]byte{0x41, 0})
		m.more(code)
		m.funcs[1].locals = []byte{1, 1, i32}
		m.start = 2
		mod := compileFor(t, m.bytes(), Config{CallTime: 2 * time.Second})
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		_, err := mod.NewInstance(ctx)
		cancel()
		switch name {
		case "long, but it ends":
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		case "endless":
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: %v, want it stopped", name, err)
			}
		default:
			if !errors.Is(err, ErrTrap) && !errors.Is(err, context.DeadlineExceeded) { // whichever comes first
				t.Errorf("%s: %v, want a trap by stack overflow, or a stop", name, err)
			}
		}
	}
}

// analyzed is a module with all checks made.
func analyzed(wasm []byte) (*checked, error) {
	c, err := check(wasm, nil)
	if err == nil {
		err = c.analyze()
	}
	return c, err
}
