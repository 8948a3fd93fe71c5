package wasmbin

import (
	"bytes"
	"errors"
	"slices"
	"testing"
)

func TestMeterCountsIterations(t *testing.T) {
	for _, c := range []struct {
		name       string
		quantum    int32
		iterations uint64
		want       int
	}{
		{"none left over", 100, 100, 0},
		{"one over", 100, 101, 1},
		{"ten quanta", 100, 1010, 10},
		{"one short of ten", 100, 1009, 9},
		{"quantum of one", 1, 10, 5},
		{"largest quantum", 1<<31 - 1, 100_000, 0},
	} {
		mt := hook
		mt.Quantum = c.quantum
		wasm, st := metered(t, program(noLocals, countdown...), mt)
		if st.Loops != 1 || st.Bulk != 0 {
			t.Fatalf("%s: %+v", c.name, st)
		}
		h := start(t, wasm)
		if got := h.mustCall(c.iterations); got != 0 || h.calls != c.want {
			t.Errorf("%s: result %d, %d checkpoints, want 0 and %d", c.name, got, h.calls, c.want)
		}
	}
}

func TestMeterPricesBulkInstructions(t *testing.T) {
	fill := []byte{0x41, 0, 0x41, 7, 0x20, 0, 0xfc, 11, 0, 0x20, 0}
	both := slices.Concat([]byte{0x41, 0, 0x41, 1, 0x20, 0, 0xfc, 10, 0, 0}, fill)
	for _, c := range []struct {
		name  string
		code  []byte
		shift uint8
		n     uint64
		calls int // of f
		want  int // of the hook
	}{
		{"free below the unit", fill, 6, 63, 1000, 0},
		{"one unit each", fill, 6, 64, 101, 1},
		{"a page at once", fill, 6, 65536, 1, 1},
		{"a page is many units of two", fill, 1, 65536, 1, 1},
		{"copy and fill", both, 6, 6400, 1, 1},
		{"a high shift prices nothing", fill, 31, 65536, 500, 0},
	} {
		mt := hook
		mt.BulkShift = c.shift
		wasm, _ := metered(t, program(noLocals, c.code...), mt)
		h := start(t, wasm)
		for range c.calls {
			if got := h.mustCall(c.n); got != c.n {
				t.Fatalf("%s: result %d", c.name, got)
			}
		}
		if h.calls != c.want {
			t.Errorf("%s: %d checkpoints, want %d", c.name, h.calls, c.want)
		}
		mem, _ := h.mod.Memory().Read(0, uint32(c.n))
		if !bytes.Equal(mem, bytes.Repeat([]byte{7}, int(c.n))) {
			t.Errorf("%s: the memory was not filled", c.name)
		}
	}
}

// A length with its highest bits set must not turn into a negative price, which
// would grant iterations.
func TestHugeBulkLengthsGrantNothing(t *testing.T) {
	code := slices.Concat([]byte{0x41, 0, 0x41, 7, 0x20, 0, 0xfc, 11, 0, 0x20, 0})
	for _, shift := range []uint8{1, 6, 31} {
		for _, n := range []uint64{1<<32 - 1, 1 << 31, 3 << 30} {
			mt := hook
			mt.BulkShift = shift
			wasm, st := metered(t, program(noLocals, code...), mt)
			m, err := Decode(wasm)
			if err != nil {
				t.Fatal(err)
			}
			if err := m.AddGlobalExport("counter", st.Counter); err != nil {
				t.Fatal(err)
			}
			h := start(t, m.Encode())
			if _, err := h.call(n); err == nil {
				t.Fatalf("filling %d bytes of a page did not trap", n)
			}
			if c := int32(h.mod.ExportedGlobal("counter").Get()); c > mt.Quantum {
				t.Errorf("shift %d, %d bytes: the counter is %d, the quantum %d", shift, n, c, mt.Quantum)
			}
		}
	}
}

func TestCheckpointDecides(t *testing.T) {
	wasm, _ := metered(t, program(noLocals, countdown...), hook)
	for _, c := range []struct {
		name  string
		reply uint32
		trap  bool
	}{
		{"go on", 0, false}, {"the program's own bit", 1, false}, {"trap", 2, true}, {"both", 3, true}, {"other bits", 0xfffffffc, false},
	} {
		h := start(t, wasm)
		h.reply = func(call int) uint32 {
			if call == 3 {
				return c.reply
			}
			return 0
		}
		_, err := h.call(1000)
		if (err != nil) != c.trap {
			t.Errorf("%s: %v", c.name, err)
		}
		if c.trap && h.calls != 3 {
			t.Errorf("%s: %d checkpoints, want 3", c.name, h.calls)
		}
	}
}

// Each of these never ends by itself. The hook traps at its tenth call.
func TestEndlessLoopsEnd(t *testing.T) {
	for name, code := range map[string][]byte{
		"plain":           {0x03, 0x40, 0x0c, 0, 0x0b, 0x20, 0},
		"with a result":   {0x03, 0x7f, 0x0c, 0, 0x0b},
		"nested":          {0x03, 0x40, 0x03, 0x40, 0x0c, 1, 0x0b, 0x0b, 0x20, 0},
		"in a block":      {0x02, 0x40, 0x03, 0x40, 0x0c, 0, 0x0b, 0x0b, 0x20, 0},
		"in a branch":     {0x41, 1, 0x04, 0x40, 0x03, 0x40, 0x0c, 0, 0x0b, 0x05, 0x0b, 0x20, 0},
		"in an else":      {0x41, 0, 0x04, 0x40, 0x05, 0x03, 0x40, 0x0c, 0, 0x0b, 0x0b, 0x20, 0},
		"by br_table":     {0x03, 0x40, 0x41, 0, 0x0e, 0, 0, 0x0b, 0x20, 0},
		"by br_if":        {0x03, 0x40, 0x41, 1, 0x0d, 0, 0x0b, 0x20, 0},
		"from a block":    {0x03, 0x40, 0x02, 0x40, 0x0c, 1, 0x0b, 0x0b, 0x20, 0},
		"calling":         {0x03, 0x40, 0x41, 0, 0x04, 0x40, 0x20, 0, 0x10, 1, 0x1a, 0x0b, 0x0c, 0, 0x0b, 0x20, 0},
		"of a type index": {0x20, 0, 0x03, 1, 0x0c, 0, 0x0b},
		"filling":         {0x03, 0x40, 0x41, 0, 0x41, 1, 0x41, 0, 0xfc, 11, 0, 0x0c, 0, 0x0b, 0x20, 0},
		"a tail call":     {0x20, 0, 0x12, 1},
		"by the table":    {0x20, 0, 0x41, 0, 0x13, 1, 0},
	} {
		wasm := program(noLocals, code...)
		if name == "by the table" {
			wasm = withElement(wasm)
		}
		out, _ := metered(t, wasm, hook)
		h := start(t, out)
		h.reply = func(call int) uint32 {
			if call == 10 {
				return 2
			}
			return 0
		}
		if _, err := h.call(5); err == nil || h.calls != 10 {
			t.Errorf("%s: %d checkpoints, %v", name, h.calls, err)
		}
	}
}

// withElement puts function 1 into the table of a program.
func withElement(wasm []byte) []byte {
	at := bytes.LastIndex(wasm, []byte{secCode})
	for ; at >= 0; at = bytes.LastIndex(wasm[:at], []byte{secCode}) {
		out := slices.Concat(wasm[:at], sect(secElement, vec([]byte{0, 0x41, 0, 0x0b, 1, 1})), wasm[at:])
		if m, err := Decode(out); err == nil && len(m.bodies) == 1 {
			return out
		}
	}
	return nil
}

// A loop that the meter does not see, because it takes its bytes for an
// immediate while the runtime runs them, must be refused.
func TestLoopsCannotHide(t *testing.T) {
	hidden := slices.Concat(countdown[:len(countdown)-2], []byte{0x01, 0x01, 0x01})
	vector := slices.Concat([]byte{0x02, 0x40, 0x41, 1, 0x0d, 0}, v128LoopConst(), []byte{0x41, 0},
		[]byte{0xfd, 0x8c, 0x00, 0x0b}, hidden, []byte{0x20, 0})
	for name, code := range map[string][]byte{
		"behind an overlong vector opcode": vector,
		// block (ref null 32): wazero 1.12 reads it without any feature enabled. Who
		// reads one byte less takes 0x20 for local.get and the loop for its index.
		"behind a block type of a reference": {
			0x02, 0x40, 0x02, 0x63, 0x20,
			0x03, 0x7f, 0x20, 0, 0x41, 1, 0x6b, 0x22, 0, 0x0d, 0, 0x20, 0, 0x0b,
			0x1a, 0x0c, 1, 0x0b, 0x1a, 0x0b, 0x20, 0,
		},
	} {
		wasm := program(noLocals, code...)
		if name == "behind a block type of a reference" {
			wasm = manyTypes(code)
		}
		if err := accepts(wasm); err != nil {
			t.Errorf("%s: the runtime refuses it too, so the test shows nothing: %v", name, err)
			continue
		}
		m, err := Decode(wasm)
		if err == nil {
			_, err = m.MeterLoops(hook)
		}
		if err == nil {
			h := start(t, m.Encode())
			h.mustCall(10_000)
			t.Errorf("%s: accepted; %d checkpoints in 10,000 iterations", name, h.calls)
		} else if !errors.Is(err, ErrUnsupported) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// manyTypes is like program with 40 more types.
func manyTypes(code []byte) []byte {
	types := [][]byte{fnType("", tI32), fnType(tI32, tI32)}
	for range 40 {
		types = append(types, fnType("", ""))
	}
	return mod(
		sect(secType, vec(types...)),
		sect(secImport, vec(importFunc("env", "hook", 0))),
		sect(secFunction, vec([]byte{1})),
		sect(secExport, vec(export("f", KindFunc, 1))),
		sect(secCode, vec(fnBody(noLocals, code...))),
	)
}

func TestMeterRefuses(t *testing.T) {
	good := program(noLocals, countdown...)
	noHook := mod(sect(secType, vec(fnType("", ""))), sect(secFunction, vec([]byte{0})), sect(secCode, vec(fnBody(noLocals))))
	wrongType := mod(sect(secType, vec(fnType("", tI64))), sect(secImport, vec(importFunc("env", "hook", 0))),
		sect(secFunction, vec([]byte{0})), sect(secCode, vec(fnBody(noLocals, 0x42, 0))))
	withParam := mod(sect(secType, vec(fnType(tI32, tI32))), sect(secImport, vec(importFunc("env", "hook", 0))),
		sect(secFunction, vec([]byte{0})), sect(secCode, vec(fnBody(noLocals, 0x41, 0))))
	unknownType := mod(sect(secType, vec(fnType("", tI32))), sect(secImport, vec(importFunc("env", "hook", 0))),
		sect(secFunction, vec([]byte{9})), sect(secCode, vec(fnBody(noLocals))))
	noCode := mod(sect(secType, vec(fnType("", tI32))), sect(secImport, vec(importFunc("env", "hook", 0))))
	for _, c := range []struct {
		name string
		wasm []byte
		mt   Meter
		want error
	}{
		{"quantum 0", good, Meter{0, "env", "hook", 6}, ErrEdit},
		{"negative quantum", good, Meter{-1, "env", "hook", 6}, ErrEdit},
		{"shift 0", good, Meter{100, "env", "hook", 0}, ErrEdit},
		{"shift 32", good, Meter{100, "env", "hook", 32}, ErrEdit},
		{"another name", good, Meter{100, "env", "hooks", 6}, ErrEdit},
		{"no hook", noHook, hook, ErrEdit},
		{"hook of a wrong result", wrongType, hook, ErrEdit},
		{"hook with a parameter", withParam, hook, ErrEdit},
		{"a function of an unknown type", unknownType, hook, ErrMalformed},
		{"no code", noCode, hook, ErrEdit},
		{"an unknown opcode", program(noLocals, 0xff), hook, ErrUnsupported},
		{"a body that ends inside an instruction", program(noLocals, 0x41), hook, nil},
		{"a body that is cut short", program(noLocals, 0x0e, 0x7f), hook, ErrMalformed},
	} {
		m, err := Decode(c.wasm)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if _, err = m.MeterLoops(c.mt); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}

func TestMeteredSamplesStayValid(t *testing.T) {
	for name, wasm := range samples() {
		m, err := Decode(wasm)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.MeterLoops(Meter{Quantum: 10, Module: "env", Name: "hook", BulkShift: 6}); err != nil {
			if name != "empty" {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err := accepts(m.Encode()); err != nil {
			t.Errorf("%s: after metering: %v", name, err)
		}
	}
}
