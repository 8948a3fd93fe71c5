package extism

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"
)

// refusal compiles a module that must be refused and gives the error.
func refusal(t *testing.T, wasm []byte, kind error) error {
	t.Helper()
	m, err := Compile(context.Background(), wasm, Config{})
	if err == nil {
		if cerr := m.Close(); cerr != nil {
			t.Error(cerr)
		}
	}
	if !errors.Is(err, kind) {
		t.Fatalf("Compile = %v, want %v", err, kind)
	}
	if cerr := Check(wasm, nil); cerr == nil && !errors.Is(err, ErrLimit) {
		t.Errorf("Check let it pass, Compile said %v", err)
	}
	if n := len(err.Error()); n > 3000 {
		t.Errorf("error text of %d bytes", n)
	}
	return err
}

func TestRefusedImports(t *testing.T) {
	tests := []struct{ module, name, why string }{
		{"extism:host/env", "http_request", "no HTTP"},
		{"extism:host/env", "http_status_code", "no HTTP"},
		{"extism:host/env", "http_headers", "no HTTP"},
		{"extism:host/env", "var_get", "memory"},
		{"extism:host/env", "var_set", "memory"},
		{"extism:host/env", "config_get", "tool input"},
		{"extism:host/env", "reset", "host's side"},
		{"extism:host/env", "input_set", "host's side"},
		{"extism:host/env", "no_such_function", "current Extism PDK"},
		{"extism:host/user", "hello", "host functions"},
		{"cloister:extism", "store_u64", "only"},
		{"cloister:host", "http", "permissions.hosts"},
		{"cloister:host", "call_tool", "permissions.tools"},
		{"cloister:host", "log", "permissions do not grant"},
		{"cloister:host", "exec", "unknown host function"},
		{"cloister:host", "", "unknown host function"},
		{"wasi_snapshot_preview1", "sock_open", "not a function of WASI"},
		{"wasi_unstable", "fd_write", "only"},
		{"env", "memory_grow", "only"},
		{"main_1", "run", "only"}, // another instance, by the SDK's name for it
		{"", "", "only"},
		{strings.Repeat("m", 1<<16), strings.Repeat("\xff\n", 1<<15), "only"},
	}
	all := runModule([]byte{0x41, 0})
	for _, tt := range tests {
		m := runModule([]byte{0x41, 0})
		m.importFunc(tt.module, tt.name, 0)
		err := refusal(t, m.bytes(), ErrImport)
		var ie *ImportError
		if !errors.As(err, &ie) || len(ie.Refused) != 1 || ie.Refused[0].Name != tt.name || ie.Refused[0].Module != tt.module {
			t.Fatalf("%.20s %.20s: %v", tt.module, tt.name, err)
		}
		if !strings.Contains(ie.Refused[0].Why, tt.why) {
			t.Errorf("%.20s: why = %q, want it to say %q", tt.name, ie.Refused[0].Why, tt.why)
		}
		all.importFunc(tt.module, tt.name, 0)
	}
	var ie *ImportError
	if err := refusal(t, all.bytes(), ErrImport); !errors.As(err, &ie) || len(ie.Refused) != len(tests) {
		t.Errorf("not all refused imports are listed: %v", err)
	}
}

func TestRefusedImportKinds(t *testing.T) {
	for name, desc := range map[string][]byte{
		"memory": {2, 0, 1}, "table": {1, 0x70, 0, 1}, "global": {3, 0x7f, 0},
	} {
		wasm := join([]byte("\x00asm\x01\x00\x00\x00"), section(2, join([]byte{1}, str("extism:host/env"), str("alloc"), desc)))
		var ie *ImportError
		if err := refusal(t, wasm, ErrImport); !errors.As(err, &ie) || !strings.Contains(ie.Refused[0].Why, "only functions") {
			t.Errorf("imported %s: %v", name, err)
		}
	}
}

// An import of the right name and the wrong type ends before any of its code runs.
func TestImportOfWrongType(t *testing.T) {
	m := runModule([]byte{0x41, 0})
	m.importFunc("extism:host/env", "alloc", 0) // () → i32 instead of i64 → i64
	mod := compileFor(t, m.bytes(), Config{})
	if _, err := mod.NewInstance(context.Background()); !errors.Is(err, ErrModule) {
		t.Errorf("NewInstance = %v, want ErrModule", err)
	}
}

func TestRefusedModules(t *testing.T) {
	header := "\x00asm\x01\x00\x00\x00"
	ok := runModule([]byte{0x41, 0}).bytes()
	with := func(change func(*wasmModule)) []byte {
		m := runModule([]byte{0x41, 0})
		change(m)
		return m.bytes()
	}
	huge := []byte{0xff, 0xff, 0xff, 0xff, 0x0f}
	tests := []struct {
		name   string
		wasm   []byte
		kind   error
		detail string
	}{
		{"empty", nil, ErrModule, "GOOS=wasip1"},
		{"text", []byte("#!/bin/sh\necho"), ErrModule, "GOOS=wasip1"},
		{"ELF", []byte("\x7fELF\x02\x01\x01\x00\x00"), ErrModule, "GOOS=wasip1"},
		{"component", []byte("\x00asm\x0d\x00\x01\x00"), ErrComponent, "core module"},
		{"version 2", []byte("\x00asm\x02\x00\x00\x00"), ErrModule, "version"},
		{"too large", append([]byte(header), make([]byte, MaxWasmBytes)...), ErrLimit, "module"},
		{"cut off", ok[:len(ok)-3], ErrModule, ""},
		{"cut off in a number", []byte(header + "\x01\xff"), ErrModule, ""},
		{"unknown section", append([]byte(header), section(14, []byte{0})...), ErrModule, "proposal"},
		{"exceptions", append([]byte(header), section(13, []byte{1, 0, 0})...), ErrModule, "proposal"},
		{"types by the billion", append([]byte(header), section(1, huge)...), ErrModule, "more entries"},
		{"imports by the billion", append([]byte(header), section(2, huge)...), ErrModule, "more entries"},
		{"functions by the billion", append([]byte(header), section(3, huge)...), ErrModule, "more entries"},
		{"globals by the billion", append([]byte(header), section(6, huge)...), ErrModule, "more entries"},
		{"exports by the billion", append([]byte(header), section(7, huge)...), ErrModule, "more entries"},
		{"elements by the billion", append([]byte(header), section(9, huge)...), ErrModule, "more entries"},
		{"code by the billion", append([]byte(header), section(10, huge)...), ErrModule, "more entries"},
		{"data by the billion", append([]byte(header), section(11, huge)...), ErrModule, "more entries"},
		{"parameters by the billion", append([]byte(header), section(1, join([]byte{1, 0x60}, huge))...), ErrModule, "more entries"},
		{"a name by the gigabyte", append([]byte(header), section(7, join([]byte{1}, huge))...), ErrModule, "more bytes"},
		{"an element segment by the billion", with(func(m *wasmModule) {
			m.tables, m.elements = []byte{1, 0x70, 0, 1}, join([]byte{1, 0, 0x41, 0, 0x0b}, huge)
		}), ErrModule, "more entries"},
		{"a data segment by the gigabyte", with(func(m *wasmModule) { m.datas = join([]byte{1, 0, 0x41, 0, 0x0b}, huge) }), ErrModule, "more bytes"},
		{"locals by the billion", with(func(m *wasmModule) { m.funcs[0].locals = join([]byte{1}, huge, []byte{i64}) }), ErrModule, "locals"},
		{"locals by the billion, in portions", with(func(m *wasmModule) {
			m.funcs[0].locals = join([]byte{3}, leb(30_000), []byte{i64}, leb(20_000), []byte{i32}, leb(1), []byte{i32})
		}), ErrModule, "locals"},
		{"a table by the billion", with(func(m *wasmModule) { m.tables = join([]byte{1, 0x70, 0}, huge) }), ErrModule, "entries"},
		{"tables by the million", with(func(m *wasmModule) {
			m.tables = join([]byte{2, 0x70, 0}, leb(600_000), []byte{0x6f, 0}, leb(600_000))
		}), ErrModule, "entries"},
		{"many tables", with(func(m *wasmModule) { m.tables = join([]byte{17}, []byte(strings.Repeat("\x70\x00\x00", 17))) }), ErrModule, "tables"},
		{"two memories", append([]byte(header), section(5, []byte{2, 0, 1, 0, 1})...), ErrModule, "several memories"},
		{"shared memory", with(func(m *wasmModule) { m.memory = []byte{3, 1, 2} }), ErrModule, "shared"},
		{"64-bit memory", with(func(m *wasmModule) { m.memory = []byte{4, 1} }), ErrModule, "64 bits"},
		{"memory over the limit", with(func(m *wasmModule) { m.memory = join([]byte{0}, leb(65536)) }), ErrLimit, "memory"},
		{"typed references", append([]byte(header), section(1, []byte{1, 0x60, 2, 0x64, 0x70, 0})...), ErrModule, "proposal"},
		{"invalid code", with(func(m *wasmModule) { m.funcs[0].code = []byte{0x6a} }), ErrModule, ""},
		{"unknown instruction in an offset", with(func(m *wasmModule) { m.datas = []byte{1, 0, 0x10, 0, 0x0b, 0} }), ErrModule, "instruction"},
		{"a hundred thousand loops", with(func(m *wasmModule) {
			m.funcs[0].code = join(bytes.Repeat([]byte{0x03, 0x40, 0x0b}, 100_000), []byte{0x41, 0})
		}), ErrModule, "branches 100000 times"},
		{"many functions of many branches", with(func(m *wasmModule) {
			f := wasmFunc{code: join([]byte{0x02, 0x40}, bytes.Repeat([]byte{0x41, 0, 0x0d, 0}, 15_000), []byte{0x0b, 0x41, 0})}
			for range 9 {
				m.funcs = append(m.funcs, f)
			}
		}), ErrModule, "all together"},
		{"many types", append([]byte(header), section(1, join(leb(10_001), []byte(strings.Repeat("\x60\x00\x00", 10_001))))...), ErrModule, "10001 types"},
		{"many imports", with(func(m *wasmModule) {
			for range 1001 {
				m.importFunc("extism:host/env", "input_length", 0)
			}
		}), ErrModule, "1001 imports"},
		{"many exports", with(func(m *wasmModule) {
			for n := range 10_000 {
				m.funcs = append(m.funcs, wasmFunc{export: "f" + strings.Repeat("x", n%7) + string(leb(n)), code: []byte{0x41, 0}})
			}
		}), ErrModule, "exports, more than"},
		{"a jump table by the thousand", with(func(m *wasmModule) {
			m.funcs[0].code = join([]byte{0x02, 0x40, 0x41, 0, 0x0e}, leb(200_000), make([]byte, 200_001), []byte{0x0b, 0x41, 0})
		}), ErrModule, "branches"},
		{"a jump table by the billion", with(func(m *wasmModule) { m.funcs[0].code = join([]byte{0x02, 0x40, 0x41, 0, 0x0e}, huge) }), ErrModule, "more entries"},
		{"tail call", with(func(m *wasmModule) { m.funcs[0].code = []byte{0x12, 0} }), ErrModule, "0x12"},
		{"atomics", with(func(m *wasmModule) { m.funcs[0].code = []byte{0x41, 0, 0x41, 0, 0xfe, 0, 2, 0} }), ErrModule, "0xfe"},
		{"bytes after a section's end", append([]byte(header), section(1, []byte{0, 0})...), ErrModule, "after its end"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, err := Compile(context.Background(), tt.wasm, Config{})
			if err == nil {
				if cerr := m.Close(); cerr != nil {
					t.Error(cerr)
				}
			}
			if !errors.Is(err, tt.kind) {
				t.Fatalf("Compile = %v, want %v", err, tt.kind)
			}
			if !strings.Contains(err.Error(), tt.detail) || len(err.Error()) > 1000 {
				t.Errorf("error %q, want it to say %q", err, tt.detail)
			}
		})
	}
}

// runs compiles a hand-made module and makes an instance.
func runs(t *testing.T, m *wasmModule, c Config) *Instance {
	t.Helper()
	return instance(t, compileFor(t, m.bytes(), c))
}

func mustStop(t *testing.T, i *Instance, export string) {
	t.Helper()
	if _, err := i.Call(soon(t), export, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("Call = %v, want it stopped by the deadline", err)
	}
	if !i.Dead() {
		t.Error("the instance survived")
	}
}

// wazero looks at the deadline at loop headers only. This function has none, and doubles its work sixty times.
func TestRecursionWithoutLoopsIsStopped(t *testing.T) {
	m := &wasmModule{
		types: [][2][]byte{{nil, {i32}}, {{i32}, {i32}}},
		funcs: []wasmFunc{
			{export: "run", typ: 0, code: []byte{0x41, 60, 0x10, 1}},
			{typ: 1, code: []byte{
				0x20, 0, 0x45, 0x04, i32, // if n == 0
				0x41, 1,
				0x05,                            // else
				0x20, 0, 0x41, 1, 0x6b, 0x10, 1, //        f(n-1)
				0x20, 0, 0x41, 1, 0x6b, 0x10, 1, 0x6a, //  + f(n-1)
				0x0b,
			}},
		},
	}
	mustStop(t, runs(t, m, Config{}), "run")
}

func TestPureLoopIsStopped(t *testing.T) {
	mustStop(t, runs(t, runModule([]byte{0x03, 0x40, 0x0c, 0, 0x0b, 0x41, 0}), Config{}), "run")
}

func TestEndlessRecursionTraps(t *testing.T) {
	i := runs(t, runModule([]byte{0x10, 0}), Config{})
	if _, err := i.Call(context.Background(), "run", nil); !errors.Is(err, ErrTrap) || !strings.Contains(err.Error(), "stack overflow") {
		t.Errorf("Call = %v, want a trap by stack overflow", err)
	}
}

// A start function runs while the instance is made.
func TestStartFunction(t *testing.T) {
	loop := runModule([]byte{0x03, 0x40, 0x0c, 0, 0x0b, 0x41, 0})
	loop.types = append(loop.types, [2][]byte{nil, nil})
	loop.funcs = append(loop.funcs, wasmFunc{typ: 1, code: []byte{0x03, 0x40, 0x0c, 0, 0x0b}})
	loop.start = 2
	if _, err := compileFor(t, loop.bytes(), Config{}).NewInstance(soon(t)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("NewInstance with an endless start function = %v", err)
	}
	trap := *loop
	trap.funcs = append([]wasmFunc(nil), loop.funcs...)
	trap.funcs[1].code = []byte{0x00}
	if _, err := compileFor(t, trap.bytes(), Config{}).NewInstance(context.Background()); !errors.Is(err, ErrTrap) {
		t.Errorf("NewInstance with a trapping start function = %v", err)
	}
	calls := *loop
	calls.types = append(append([][2][]byte(nil), loop.types...), [2][]byte{{i64}, nil})
	calls.importFunc("extism:host/env", "log_info", 2)
	calls.funcs = append([]wasmFunc(nil), loop.funcs...)
	calls.funcs[1].code = []byte{0x42, 0, 0x10, 0}
	if _, err := compileFor(t, calls.bytes(), Config{}).NewInstance(context.Background()); !errors.Is(err, ErrTrap) {
		t.Errorf("NewInstance with a start function that calls the host = %v", err)
	}
	fine := *loop
	fine.funcs = append([]wasmFunc(nil), loop.funcs...)
	fine.funcs[1].code = nil
	fine.funcs[0].code = []byte{0x41, 0}
	i := runs(t, &fine, Config{})
	if _, err := i.Call(context.Background(), "run", nil); err != nil {
		t.Errorf("a module with a start function: %v", err)
	}
}

// The SDK's store_u64 writes anywhere in its kernel's memory. A plugin could set the kernel's own words (here: its
// position) so that the SDK's next reset fails, and it prints that to the process's standard output. Below the first
// block nothing can be stored.
func TestKernelWordsAreSafe(t *testing.T) {
	for _, addr := range []int64{0, 1, 9, 17, 57, 64} {
		m := runModule([]byte{0x42}, sleb(addr), []byte{0x42, 0x7f, 0x10, 0, 0x41, 0})
		m.types = append(m.types, [2][]byte{{i64, i64}, nil})
		m.importFunc("extism:host/env", "store_u64", 1)
		i := runs(t, m, Config{})
		if _, err := i.Call(context.Background(), "run", nil); !errors.Is(err, ErrTrap) || !strings.Contains(err.Error(), errTransfer.Error()) {
			t.Errorf("a store at %d = %v, want a trap", addr, err)
		}
	}
	for _, addr := range []int64{1 << 31, 1 << 32, 1<<32 + 100, -8} {
		m := runModule([]byte{0x42}, sleb(addr), []byte{0x41, 1, 0x10, 0, 0x41, 0})
		m.types = append(m.types, [2][]byte{{i64, i32}, nil})
		m.importFunc("extism:host/env", "store_u8", 1)
		if _, err := runs(t, m, Config{}).Call(context.Background(), "run", nil); !errors.Is(err, ErrTrap) {
			t.Errorf("a store at %d = %v, want a trap", addr, err)
		}
	}
}

// In the SDK's kernel a block whose size is -12 is its own successor: it walks it for ever, in alloc, in length, in free,
// and in the host's own reading of a log message or an error, which has no deadline. Here blocks have no headers that a
// plugin could write: whatever it stores, wherever it can, each function goes on to work.
func TestBlocksCannotBeDamaged(t *testing.T) {
	// for (at = 96; at < 4096; at += 4) store_u64(at, -12<<32|1); the first block is at 96.
	damage := join(
		[]byte{0x42}, sleb(4096), []byte{0x10, 0, 0x1a}, // alloc
		[]byte{0x42}, sleb(96), []byte{0x21, 0, 0x03, 0x40, 0x20, 0, 0x42}, sleb(-12<<32|1), []byte{0x10, 1},
		[]byte{0x20, 0, 0x42, 4, 0x7c, 0x22, 0, 0x42}, sleb(4096), []byte{0x54, 0x0d, 0, 0x0b},
	)
	offset := join([]byte{0x42}, sleb(100))
	tails := map[string][]byte{
		"alloc":     join([]byte{0x42}, sleb(70_000), []byte{0x10, 0, 0x1a, 0x42}, sleb(65_000), []byte{0x10, 0, 0x1a}),
		"length":    join(offset, []byte{0x10, 2, 0x1a}),
		"free":      join(offset, []byte{0x10, 3}),
		"log_info":  join(offset, []byte{0x10, 4}),
		"error_set": join(offset, []byte{0x10, 5}),
	}
	for name, tail := range tails {
		t.Run(name, func(t *testing.T) {
			// In the end the block's length is what it was: 4096, or 0 after it was freed; the test frees none.
			m := runModule(damage, tail, []byte{0x42}, sleb(96), []byte{0x10, 2, 0xa7})
			m.types = append(m.types, [2][]byte{{i64}, {i64}}, [2][]byte{{i64, i64}, nil}, [2][]byte{{i64}, nil})
			m.importFunc("extism:host/env", "alloc", 1)
			m.importFunc("extism:host/env", "store_u64", 2)
			m.importFunc("extism:host/env", "length", 1)
			m.importFunc("extism:host/env", "free", 3)
			m.importFunc("extism:host/env", "log_info", 3)
			m.importFunc("extism:host/env", "error_set", 3)
			m.funcs[0].locals = []byte{1, 1, i64}
			i := runs(t, m, Config{Log: func(LogRecord) {}})
			var ge *GuestError
			if _, err := i.Call(soon(t), "run", nil); !errors.As(err, &ge) || ge.Code != 4096 || ge.Message != "" {
				t.Errorf("Call = %v, want code 4096, the block's length", err)
			}
		})
	}
}

// A table without a maximum grows past every memory limit in wazero.
func TestTablesDoNotGrow(t *testing.T) {
	for name, limits := range map[string][]byte{"no maximum": {0, 1}, "a large one": join([]byte{1, 1}, leb(1<<30))} {
		m := runModule(
			[]byte{0xd2, 0}, []byte{0x41}, sleb(1<<20), []byte{0xfc, 0x0f, 0}, // table.grow by a million
		)
		m.tables = join([]byte{1, 0x70}, limits)
		m.elements = []byte{1, 3, 0, 1, 0} // declares ref.func 0
		i := runs(t, m, Config{})
		_, err := i.Call(context.Background(), "run", nil)
		var ge *GuestError
		if !errors.As(err, &ge) || ge.Code != 1<<32-1 {
			t.Errorf("%s: table.grow = %v, want -1", name, err)
		}
	}
}

func TestMemoryDoesNotGrow(t *testing.T) {
	m := runModule([]byte{0x41}, sleb(1000), []byte{0x40, 0})
	i := runs(t, m, Config{MemoryBytes: 10 * wasmPage})
	_, err := i.Call(context.Background(), "run", nil)
	var ge *GuestError
	if !errors.As(err, &ge) || ge.Code != 1<<32-1 {
		t.Errorf("memory.grow = %v, want -1", err)
	}
	m = runModule([]byte{0x41}, sleb(9), []byte{0x40, 0})
	i = runs(t, m, Config{MemoryBytes: 10 * wasmPage})
	if _, err := i.Call(context.Background(), "run", nil); !errors.As(err, &ge) || ge.Code != 1 {
		t.Errorf("memory.grow within the limit = %v, want the old size", err)
	}
	if got := i.MemoryBytes(); got != 10*wasmPage {
		t.Errorf("MemoryBytes = %d, want %d", got, 10*wasmPage)
	}
}

// One call of fd_write may name the same megabytes a thousand times. The log's budget ends it.
func TestWriteVectorBomb(t *testing.T) {
	const pages, vectors = 100, 20_000
	m := runModule(
		// for (i = 0; i < vectors; i++) { iov[i] = {0, pages*64K} }
		[]byte{0x03, 0x40},
		[]byte{0x20, 0, 0x41, 0, 0x36, 2, 0}, // store base 0
		[]byte{0x20, 0, 0x41}, sleb(pages*wasmPage), []byte{0x36, 2, 4},
		[]byte{0x20, 0, 0x41, 8, 0x6a, 0x22, 0, 0x41}, sleb(vectors*8), []byte{0x49, 0x0d, 0, 0x0b},
		[]byte{0x41, 1, 0x41, 0, 0x41}, sleb(vectors), []byte{0x41}, sleb(vectors*8), []byte{0x10, 0},
	)
	m.types = append(m.types, [2][]byte{{i32, i32, i32, i32}, {i32}})
	m.importFunc("wasi_snapshot_preview1", "fd_write", 1)
	m.memory = []byte{0, pages}
	m.funcs[0].locals = []byte{1, 1, i32}
	var logged int
	i := runs(t, m, Config{LogBytes: 1000, Log: func(r LogRecord) { logged += len(r.Text) }})
	_, err := i.Call(context.Background(), "run", nil)
	var ge *GuestError
	if !errors.As(err, &ge) || ge.Code == 0 {
		t.Errorf("fd_write = %v, want an error code", err)
	}
	if logged > 1200 {
		t.Errorf("%d bytes reached the log", logged)
	}
}

// Output that the plugin claims and never wrote is not read from elsewhere.
func TestForgedOutputRange(t *testing.T) {
	for _, r := range [][2]int64{{1 << 40, 8}, {65, 1 << 40}, {-1, -1}, {1 << 31, 1 << 31}} {
		m := runModule([]byte{0x42}, sleb(r[0]), []byte{0x42}, sleb(r[1]), []byte{0x10, 0, 0x41, 0})
		m.types = append(m.types, [2][]byte{{i64, i64}, nil})
		m.importFunc("extism:host/env", "output_set", 1)
		out, err := runs(t, m, Config{}).Call(context.Background(), "run", nil)
		if err != nil || len(out) != 0 {
			t.Errorf("output_set(%d, %d) gave %d bytes, %v", r[0], r[1], len(out), err)
		}
	}
}

func TestCacheDirMustBeOurs(t *testing.T) {
	wasm := runModule([]byte{0x41, 0}).bytes()
	open := t.TempDir()
	if err := os.Chmod(open, 0o755); err != nil {
		t.Fatal(err)
	}
	real := t.TempDir()
	if err := os.Chmod(real, 0o700); err != nil {
		t.Fatal(err)
	}
	link := real + "-link"
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(link)
	file := real + "/file"
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, dir := range map[string]string{"open to others": open, "a link": link, "a file": file} {
		if _, err := Compile(context.Background(), wasm, Config{CacheDir: dir}); !errors.Is(err, ErrCacheDir) {
			t.Errorf("%s: Compile = %v, want ErrCacheDir", name, err)
		}
	}
	made := real + "/a/b"
	compileFor(t, wasm, Config{CacheDir: made})
	if info, err := os.Stat(made); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the directory made: %v, %v", info, err)
	}
}
