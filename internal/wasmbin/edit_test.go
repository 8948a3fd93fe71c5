package wasmbin

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func decode(t *testing.T, wasm []byte) *Module {
	t.Helper()
	m, err := Decode(wasm)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// reread encodes a module, asks wazero whether it is valid, and decodes it.
func reread(t *testing.T, m *Module) *Module {
	t.Helper()
	wasm := m.Encode()
	if err := accepts(wasm); err != nil {
		t.Fatalf("the edited module is refused: %v", err)
	}
	return decode(t, wasm)
}

func TestEditsMoveNoIndex(t *testing.T) {
	before := decode(t, everySection())
	m := decode(t, everySection())
	counter, err := m.AddCounter(41)
	if err != nil {
		t.Fatal(err)
	}
	if counter != 4 { // one imported, three defined
		t.Errorf("counter is global %d, want 4", counter)
	}
	next := m.NextFunc()
	fn, err := m.AddFunc(FuncType{Results: []byte{I32}}, NewBody(0).GlobalGet(counter).End())
	if err != nil {
		t.Fatal(err)
	}
	if fn != 3 || next != fn {
		t.Errorf("the function is %d (%d was announced), want 3", fn, next)
	}
	if _, err := m.AddFunc(FuncType{Params: []byte{F64}, Results: []byte{F64}}, NewBody(2).Get(0).End()); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(m.AddExport("read", fn), m.AddGlobalExport("counter", counter),
		m.Prepend(1, Code{}.I32(9).GlobalSet(counter))); err != nil {
		t.Fatal(err)
	}
	if _, err := m.MeterLoops(hook); err != nil {
		t.Fatal(err)
	}
	after := reread(t, m)
	if d := cmp.Diff(before.Imports, after.Imports); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(before.Exports, after.Exports[:len(before.Exports)]); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(before.Types, after.Types[:len(before.Types)]); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(before.Funcs, after.Funcs[:len(before.Funcs)]); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(before.Globals, after.Globals[:len(before.Globals)]); d != "" {
		t.Error(d)
	}
	for i := range before.sections {
		if b, a := before.sections[i], after.sections[i]; b.id != a.id {
			t.Errorf("section %d was %d and is %d", i, b.id, a.id)
		} else if b.id == secCustom && !bytes.Equal(b.raw, a.raw) {
			t.Errorf("custom section %d changed", i)
		}
	}
}

func TestPrependRunsFirst(t *testing.T) {
	m := decode(t, program([]byte{1, 1, 0x7f}, 0x20, 0))
	flag, err := m.AddCounter(0)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Prepend(1, Code{}.I32(-5).GlobalSet(flag)); err != nil {
		t.Fatal(err)
	}
	if err := m.AddGlobalExport("flag", flag); err != nil {
		t.Fatal(err)
	}
	h := start(t, m.Encode())
	if got := h.mod.ExportedGlobal("flag").Get(); got != 0 {
		t.Errorf("flag is %d before the call", got)
	}
	if got := h.mustCall(7); got != 7 {
		t.Errorf("result %d", got)
	}
	if got := int32(h.mod.ExportedGlobal("flag").Get()); got != -5 {
		t.Errorf("flag is %d after the call", got)
	}
	for _, fn := range []uint32{0, 2, 1<<32 - 1} { // 0 is imported
		if err := m.Prepend(fn, nil); !errors.Is(err, ErrEdit) {
			t.Errorf("Prepend(%d): %v", fn, err)
		}
	}
}

func TestAddCounterWithoutGlobals(t *testing.T) {
	for name, wasm := range map[string][]byte{"program": program(noLocals, 0x20, 0), "empty": mod(), "note": mod(sect(secCustom, str("n")))} {
		m := decode(t, wasm)
		index, err := m.AddCounter(-1)
		if err != nil || index != 0 {
			t.Errorf("%s: global %d, %v", name, index, err)
		}
		if err := m.AddGlobalExport("g", index); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		got := reread(t, m)
		if len(got.Globals) != 1 || !slices.Contains(got.Exports, Export{"g", KindGlobal, 0}) {
			t.Errorf("%s: globals %v, exports %v", name, got.Globals, got.Exports)
		}
	}
}

func TestStripData(t *testing.T) {
	m := decode(t, everySection())
	segments, err := m.DataSegments()
	if err != nil {
		t.Fatal(err)
	}
	want := []DataSegment{{8, []byte("hello")}, {128, []byte("world")}}
	if d := cmp.Diff(want, segments); d != "" {
		t.Error(d)
	}
	if err := m.StripData(); err != nil {
		t.Fatal(err)
	}
	got := reread(t, m)
	for _, s := range got.sections {
		if s.id == secData || s.id == secDataCount || s.id == secStart {
			t.Errorf("section %d is still there", s.id)
		}
	}
	if left, err := got.DataSegments(); err != nil || len(left) != 0 {
		t.Errorf("%d segments left, %v", len(left), err)
	}
}

// withData is a program with a passive segment and a data count.
func withData(code ...byte) []byte {
	return mod(
		sect(secType, vec(fnType("", ""))),
		sect(secFunction, vec([]byte{0})),
		sect(secMemory, vec([]byte{0, 1})),
		sect(secDataCount, []byte{1}),
		sect(secCode, vec(fnBody(noLocals, code...))),
		sect(secData, vec(slices.Concat([]byte{1}, str("passive")))),
	)
}

func TestStripDataRefusesCodeThatNeedsIt(t *testing.T) {
	for name, code := range map[string][]byte{
		"memory.init": {0x41, 0, 0x41, 0, 0x41, 1, 0xfc, 8, 0, 0},
		"data.drop":   {0xfc, 9, 0},
	} {
		wasm := withData(code...)
		if err := accepts(wasm); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := decode(t, wasm).StripData(); !errors.Is(err, ErrEdit) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := decode(t, program(noLocals, 0xff)).StripData(); !errors.Is(err, ErrUnsupported) {
		t.Errorf("unknown opcode: %v", err)
	}
}

func TestDataSegmentsRefuses(t *testing.T) {
	for _, c := range []struct {
		name    string
		segment []byte
		want    error
	}{
		{"passive", slices.Concat([]byte{1}, str("x")), ErrUnsupported},
		{"of memory 1", slices.Concat([]byte{2, 1, 0x41, 0, 0x0b}, str("x")), ErrUnsupported},
		{"at a global", slices.Concat([]byte{0, 0x23, 0, 0x0b}, str("x")), ErrUnsupported},
		{"at a sum", slices.Concat([]byte{0, 0x41, 0, 0x41, 1, 0x6a, 0x0b}, str("x")), ErrUnsupported},
		{"at 35 bits", slices.Concat([]byte{0, 0x41, 0x80, 0x80, 0x80, 0x80, 0x80, 0, 0x0b}, str("x")), ErrMalformed},
		{"longer than the section", []byte{0, 0x41, 0, 0x0b, 200, 1, 'x'}, ErrMalformed},
		{"of 4 GiB", []byte{0, 0x41, 0, 0x0b, 0xff, 0xff, 0xff, 0xff, 0x0f}, ErrMalformed},
	} {
		m := decode(t, mod(sect(secMemory, vec([]byte{0, 1})), sect(secData, vec(c.segment))))
		if _, err := m.DataSegments(); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}

func TestMutatesTables(t *testing.T) {
	for _, c := range []struct {
		name string
		code []byte
		want bool
	}{
		{"nothing", nil, false},
		{"table.get", []byte{0x41, 0, 0x25, 0, 0x1a}, false},
		{"table.size", []byte{0xfc, 16, 0, 0x1a}, false},
		{"call_indirect", []byte{0x20, 0, 0x41, 0, 0x11, 1, 0, 0x1a}, false},
		{"memory.copy", []byte{0x41, 0, 0x41, 0, 0x41, 0, 0xfc, 10, 0, 0}, false},
		{"memory.fill", []byte{0x41, 0, 0x41, 0, 0x41, 0, 0xfc, 11, 0}, false},
		{"table.set", []byte{0x41, 0, 0xd0, 0x70, 0x26, 0}, true},
		{"table.grow", []byte{0xd0, 0x70, 0x41, 1, 0xfc, 15, 0, 0x1a}, true},
		{"table.fill", []byte{0x41, 0, 0xd0, 0x70, 0x41, 1, 0xfc, 17, 0}, true},
		{"table.copy", []byte{0x41, 0, 0x41, 0, 0x41, 1, 0xfc, 14, 0, 0}, true},
		{"table.init", []byte{0x41, 0, 0x41, 0, 0x41, 0, 0xfc, 12, 0, 0}, true},
		{"elem.drop", []byte{0xfc, 13, 0}, true},
	} {
		got, err := decode(t, program(noLocals, append(c.code, 0x20, 0)...)).MutatesTables()
		if got != c.want || err != nil {
			t.Errorf("%s: %t, %v, want %t", c.name, got, err, c.want)
		}
	}
	if _, err := decode(t, program(noLocals, 0xff)).MutatesTables(); !errors.Is(err, ErrUnsupported) {
		t.Errorf("unknown opcode: %v", err)
	}
}

func TestKeepExports(t *testing.T) {
	m := decode(t, everySection())
	if err := m.KeepExports("run", "memory"); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]Export{{"run", KindFunc, 1}, {"memory", KindMemory, 0}}, reread(t, m).Exports); d != "" {
		t.Error(d)
	}
	if err := decode(t, everySection()).KeepExports("run", "missing"); !errors.Is(err, ErrEdit) {
		t.Errorf("a missing export: %v", err)
	}
	m = decode(t, everySection())
	if err := m.KeepExports(); err != nil || len(reread(t, m).Exports) != 0 {
		t.Errorf("keeping none: %v", err)
	}
}

func TestAddExportRefuses(t *testing.T) {
	m := decode(t, everySection())
	for _, c := range []struct {
		name string
		err  error
	}{
		{"a name that exists", m.AddExport("run", 2)},
		{"a name of another kind", m.AddExport("memory", 2)},
		{"a function that does not exist", m.AddExport("new", 3)},
		{"a function far off", m.AddExport("new", 1<<32-1)},
		{"a global's name that exists", m.AddGlobalExport("count", 1)},
		{"a global that does not exist", m.AddGlobalExport("new", 4)},
		{"a global far off", m.AddGlobalExport("new", 1<<32-1)},
	} {
		if !errors.Is(c.err, ErrEdit) {
			t.Errorf("%s: %v", c.name, c.err)
		}
	}
	if got := m.Encode(); !bytes.Equal(got, everySection()) {
		t.Error("refused edits changed the module")
	}
}

func TestAddFuncRefusesModulesWithoutCode(t *testing.T) {
	for name, wasm := range map[string][]byte{"empty": mod(), "types": mod(sect(secType, vec(fnType("", ""))))} {
		if _, err := decode(t, wasm).AddFunc(FuncType{}, NewBody(0).End()); !errors.Is(err, ErrEdit) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
