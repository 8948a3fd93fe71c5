package wasmbin

import (
	"bytes"
	"errors"
	"slices"
	"testing"
)

var (
	wide  = Bounds{Types: 100, Imports: 100, Exports: 100, Params: 100, Tables: 4, TableEntries: 1000, TableGrowth: 100, Branches: 1000, BranchSquares: 100_000}
	guest = GuestMeter{Quantum: 100, Unit: 64, Module: "env", Name: "hook", BulkShift: 6, ImportCost: func(Import) uint64 { return 64 }}
)

// guestModule reads a module as a plugin's.
func guestModule(wasm []byte) (*Module, *Analysis, error) {
	m, err := Decode(wasm)
	if err != nil {
		return nil, nil, err
	}
	m.DropCustom()
	if err := m.CheckDeclared(wide); err != nil {
		return nil, nil, err
	}
	if _, err := m.MergeData(); err != nil {
		return nil, nil, err
	}
	a, err := m.Analyze(wide)
	return m, a, err
}

// guestMetered is the module after MeterGuest.
func guestMetered(t *testing.T, wasm []byte, g GuestMeter) []byte {
	t.Helper()
	m, a, err := guestModule(wasm)
	if err == nil {
		err = m.MeterGuest(a, g)
	}
	if err != nil {
		t.Fatal(err)
	}
	return m.Encode()
}

// calls is a module in which everything refers to the first function: exports,
// the start function, a table, a global, a reference in code, calls. f(n) is 7n
// by calling it directly and 9 more through the table.
func calls() []byte {
	return mod(
		sect(secType, vec(fnType("", tI32), fnType(tI32, tI32), fnType("", ""))),
		sect(secImport, vec(importFunc("env", "hook", 0))),
		sect(secFunction, vec([]byte{1}, []byte{2}, []byte{1})),
		sect(secTable, vec([]byte{0x70, 0, 4})),
		sect(secMemory, vec([]byte{0, 1})),
		sect(secGlobal, vec([]byte{0x70, 0, 0xd2, 1, 0x0b})),
		sect(secExport, vec(export("seven", KindFunc, 1), export("f", KindFunc, 3), export("memory", KindMemory, 0))),
		sect(secStart, []byte{2}),
		sect(secElement, vec([]byte{0, 0x41, 0, 0x0b, 2, 1, 3}, []byte{3, 0, 1, 1}, []byte{5, 0x70, 1, 0xd2, 1, 0x0b})),
		sect(secCode, vec(
			fnBody(noLocals, 0x20, 0, 0x41, 7, 0x6c),
			fnBody(noLocals, 0xd2, 1, 0x1a, 0x41, 1, 0x10, 1, 0x1a),
			fnBody(noLocals, 0x20, 0, 0x10, 1, 0x20, 0, 0x41, 0, 0x11, 1, 0, 0x6a),
		)),
	)
}

func TestGuestIndicesHold(t *testing.T) {
	h := start(t, guestMetered(t, calls(), guest))
	if got := h.mustCall(3); got != 42 {
		t.Errorf("f(3) = %d, want 42", got)
	}
	res, err := h.mod.ExportedFunction("seven").Call(t.Context(), 5)
	if err != nil || res[0] != 35 {
		t.Errorf("seven(5) = %v, %v", res, err)
	}
}

func TestGuestCountsIterations(t *testing.T) {
	for _, c := range []struct {
		quantum    int32
		unit       uint32
		iterations uint64
		want       int
	}{{100, 64, 100, 0}, {100, 64, 101, 1}, {100, 64, 1010, 10}, {1, 64, 10, 5}, {1<<31 - 1, 64, 100_000, 0}, {100, 6, 100, 1}} {
		g := guest
		g.Quantum, g.Unit = c.quantum, c.unit
		h := start(t, guestMetered(t, program(noLocals, countdown...), g))
		if got := h.mustCall(c.iterations); got != 0 || h.calls != c.want {
			t.Errorf("%+v: result %d, %d checkpoints", c, got, h.calls)
		}
	}
}

// The price of a loop covers the code in it, however long.
func TestGuestPricesCode(t *testing.T) {
	long := slices.Concat([]byte{0x03, 0x40}, bytes.Repeat([]byte{0x41, 1, 0x1a}, 32*50), countdown[2:])
	h := start(t, guestMetered(t, program(noLocals, long...), guest))
	if h.mustCall(100); h.calls < 45 || h.calls > 55 { // 50 units each
		t.Errorf("%d checkpoints, want about 50", h.calls)
	}
	// Imports have their price too.
	calling := slices.Concat([]byte{0x03, 0x40, 0x10, 0, 0x1a}, countdown[2:])
	g := guest
	g.ImportCost = func(Import) uint64 { return 64 * 50 }
	h = start(t, guestMetered(t, program(noLocals, calling...), g))
	if h.mustCall(100); h.calls-100 < 45 || h.calls-100 > 55 {
		t.Errorf("%d checkpoints, want about 50", h.calls-100)
	}
}

// Calls count where they could multiply: 2 to the n of them, by recursion or by a ladder of functions.
func TestGuestCountsCalls(t *testing.T) {
	twice := []byte{0x20, 0, 0x04, 0x7f, 0x20, 0, 0x41, 1, 0x6b, 0x10, 1, 0x20, 0, 0x41, 1, 0x6b, 0x10, 1, 0x6a, 0x05, 0x41, 1, 0x0b}
	h := start(t, guestMetered(t, program(noLocals, twice...), guest))
	if got := h.mustCall(12); got != 1<<12 || h.calls < 50 {
		t.Errorf("recursion: result %d, %d checkpoints", got, h.calls)
	}
	funcs, bodies := [][]byte{}, [][]byte{}
	for n := range byte(12) {
		funcs, bodies = append(funcs, []byte{1}), append(bodies, fnBody(noLocals, 0x20, 0, 0x10, n+2, 0x10, n+2))
	}
	funcs, bodies = append(funcs, []byte{1}), append(bodies, fnBody(noLocals, 0x20, 0, 0x41, 1, 0x6a))
	h = start(t, guestMetered(t, mod(
		sect(secType, vec(fnType("", tI32), fnType(tI32, tI32))),
		sect(secImport, vec(importFunc("env", "hook", 0))),
		sect(secFunction, vec(funcs...)),
		sect(secExport, vec(export("f", KindFunc, 1))),
		sect(secCode, vec(bodies...)),
	), guest))
	if got := h.mustCall(0); got != 1<<12 || h.calls < 5 {
		t.Errorf("a ladder: result %d, %d checkpoints", got, h.calls)
	}
}

// A chain of calls as long as the module does not use up the stack of the one who reads it.
func TestGuestLongChain(t *testing.T) {
	const n = 200_000
	bodies := make([][]byte, n)
	for i := range bodies {
		bodies[i] = fnBody(noLocals, append(append([]byte{0x10}, leb((i+1)%n)...), 0x01)...)
	}
	m, a, err := guestModule(mod(sect(secType, vec(fnType("", ""))), sect(secFunction, vec(slices.Repeat([][]byte{{0}}, n)...)), sect(secCode, vec(bodies...))))
	if err != nil {
		t.Fatal(err)
	}
	if err := m.MeterGuest(a, guest); err != nil {
		t.Error(err)
	}
}

func TestGuestTailCallsAndMissingThings(t *testing.T) {
	for name, c := range map[string]struct {
		code []byte
		want error
	}{
		"a tail call":               {[]byte{0x20, 0, 0x12, 1}, ErrUnsupported},
		"a tail call by the table":  {[]byte{0x20, 0, 0x41, 0, 0x13, 1, 0}, ErrUnsupported},
		"the counter, read":         {[]byte{0x23, 0}, ErrMalformed},
		"the counter, written":      {[]byte{0x41, 0, 0x24, 0, 0x20, 0}, ErrMalformed},
		"the function moved":        {[]byte{0x20, 0, 0x10, 2}, ErrMalformed},
		"a reference to it":         {[]byte{0xd2, 2, 0x1a, 0x20, 0}, ErrMalformed},
		"too many branches":         {slices.Concat([]byte{0x02, 0x40}, bytes.Repeat([]byte{0x41, 0, 0x0d, 0}, 1001), []byte{0x0b, 0x20, 0}), ErrBound},
		"code behind the end":       {[]byte{0x20, 0, 0x0b, 0x03, 0x40, 0x0b}, ErrMalformed},
		"an end that is missing":    {[]byte{0x02, 0x40}, ErrMalformed},
		"an overlong vector opcode": {[]byte{0xfd, 0x8c, 0x00, 0x0b}, ErrUnsupported},
	} {
		if _, _, err := guestModule(program(noLocals, c.code...)); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	long := sect(secElement, vec([]byte{1, 0x63, 1, 1})) // passive, of a type that is longer than a byte
	wasm := mod(sect(secType, vec(fnType("", ""))), sect(secFunction, vec([]byte{0})), long, sect(secCode, vec(fnBody(noLocals))))
	if _, _, err := guestModule(wasm); !errors.Is(err, ErrUnsupported) {
		t.Errorf("an element segment of a longer type: %v", err)
	}
}

func TestGuestReferenced(t *testing.T) {
	_, a, err := guestModule(calls())
	if err != nil {
		t.Fatal(err)
	}
	for fn, want := range []bool{false, true, true, true, false} {
		if a.Referenced[uint32(fn)] != want {
			t.Errorf("function %d referenced: %v, want %v", fn, a.Referenced[uint32(fn)], want)
		}
	}
}

// Extend's functions take the place of an import wherever it was.
func TestGuestExtend(t *testing.T) {
	g := guest
	g.Extend = func(m *Module) (map[uint32]uint32, error) {
		fn, err := m.AddFunc(FuncType{Results: []byte{I32}}, NewBody(0).I32(77).End())
		return map[uint32]uint32{0: fn}, err
	}
	h := start(t, guestMetered(t, program(noLocals, 0x10, 0), g))
	if got := h.mustCall(0); got != 77 || h.calls != 0 {
		t.Errorf("f = %d after %d calls of the hook, want 77 and none", got, h.calls)
	}
	g.Extend = func(m *Module) (map[uint32]uint32, error) { return map[uint32]uint32{1: 2}, nil }
	m, a, err := guestModule(program(noLocals, 0x20, 0))
	if err != nil {
		t.Fatal(err)
	}
	if err := m.MeterGuest(a, g); !errors.Is(err, ErrEdit) {
		t.Errorf("a replacement of what is no import: %v, want ErrEdit", err)
	}
}

func TestMergeData(t *testing.T) {
	segment := func(at int, text string) []byte {
		return slices.Concat([]byte{0, 0x41}, appendS32(nil, int32(at)), []byte{0x0b}, str(text))
	}
	for _, c := range []struct {
		name     string
		segments [][]byte
		want     []DataSegment // nil: not merged
	}{
		{"close", [][]byte{segment(8, "ab"), segment(12, "c")}, []DataSegment{{8, []byte("ab\x00\x00c")}}},
		{"far", [][]byte{segment(8, "ab"), segment(200, "c")}, []DataSegment{{8, []byte("ab")}, {200, []byte("c")}}},
		{"high addresses", [][]byte{segment(-16, "ab"), segment(-14, "c")}, []DataSegment{{1<<32 - 16, []byte("abc")}}},
		{"overlapping", [][]byte{segment(8, "abc"), segment(9, "d")}, nil},
		{"passive", [][]byte{segment(8, "a"), slices.Concat([]byte{1}, str("b"))}, nil},
		{"an offset that is no constant", [][]byte{slices.Concat([]byte{0, 0x41, 1, 0x41, 1, 0x6a, 0x0b}, str("b"))}, nil},
	} {
		m, err := Decode(mod(sect(secMemory, vec([]byte{0, 1})), sect(secData, vec(c.segments...))))
		if err != nil {
			t.Fatal(err)
		}
		merged, err := m.MergeData()
		if err != nil || merged != (c.want != nil) {
			t.Errorf("%s: %v, %v", c.name, merged, err)
			continue
		}
		if again, err := Decode(m.Encode()); err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if got, err := again.DataSegments(); merged && (err != nil || !slices.EqualFunc(got, c.want, func(a, b DataSegment) bool {
			return a.Offset == b.Offset && bytes.Equal(a.Bytes, b.Bytes)
		})) {
			t.Errorf("%s: %v, %v", c.name, got, err)
		}
	}
}

func TestLoopAtEntry(t *testing.T) {
	m, a, err := guestModule(calls())
	if err != nil {
		t.Fatal(err)
	}
	g := guest
	g.Unmetered = true
	if err := m.MeterGuest(a, g); err != nil {
		t.Fatal(err)
	}
	m.LoopAtEntry(a)
	for i, body := range m.bodies[:len(a.funcs)] {
		if !bytes.HasPrefix(body[a.funcs[i].start:], []byte{opLoop, blockEmpty, opEnd}) {
			t.Errorf("function %d does not start with a loop", i)
		}
	}
	if h := start(t, m.Encode()); h.mustCall(3) != 42 || h.calls != 0 {
		t.Error("f(3) is not 42 any more, or it was metered")
	}
}
