package wasmbin

import (
	"bytes"
	"errors"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSamplesAreValid(t *testing.T) {
	for name, wasm := range samples() {
		if err := accepts(wasm); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDecodeReadsWhatIsThere(t *testing.T) {
	m, err := Decode(everySection())
	if err != nil {
		t.Fatal(err)
	}
	want := &Module{
		Types:    []FuncType{{Params: []byte{}, Results: []byte{}}, {Params: []byte{}, Results: []byte{I32}}, {Params: []byte{I32, I64}, Results: []byte{I32}}},
		Imports:  []Import{{Module: "env", Name: "hook", Kind: KindFunc, Type: 1}, {Module: "env", Name: "g", Kind: KindGlobal}},
		Funcs:    []uint32{0, 2},
		Memories: []Memory{{Min: 1, Max: 3, HasMax: true}},
		Globals:  []Global{{Type: I32, Mutable: true}, {Type: I64}, {Type: I32}},
		Exports:  []Export{{"run", KindFunc, 1}, {"two", KindFunc, 2}, {"memory", KindMemory, 0}, {"count", KindGlobal, 1}},
	}
	if d := cmp.Diff(want.Types, m.Types) + cmp.Diff(want.Imports, m.Imports) + cmp.Diff(want.Funcs, m.Funcs) +
		cmp.Diff(want.Memories, m.Memories) + cmp.Diff(want.Globals, m.Globals) + cmp.Diff(want.Exports, m.Exports); d != "" {
		t.Error(d)
	}
	if n := m.ImportedFuncs(); n != 1 {
		t.Errorf("imported functions: %d, want 1", n)
	}
	for _, c := range []struct {
		index uint32
		ok    bool
		want  FuncType
	}{{0, true, want.Types[1]}, {1, true, want.Types[0]}, {2, true, want.Types[2]}, {3, false, FuncType{}}, {1<<32 - 1, false, FuncType{}}} {
		got, ok := m.FuncType(c.index)
		if ok != c.ok || !cmp.Equal(got, c.want) {
			t.Errorf("FuncType(%d) = %v, %v, want %v, %v", c.index, got, ok, c.want, c.ok)
		}
	}
	if i, ok := m.ExportedFunc("two"); !ok || i != 2 {
		t.Errorf("ExportedFunc(two) = %d, %v", i, ok)
	}
	if _, ok := m.ExportedFunc("memory"); ok {
		t.Error("ExportedFunc(memory) found a memory")
	}
	if i, ok := m.ImportedFunc("env", "hook"); !ok || i != 0 {
		t.Errorf("ImportedFunc(env, hook) = %d, %v", i, ok)
	}
	if _, ok := m.ImportedFunc("env", "g"); ok {
		t.Error("ImportedFunc(env, g) found a global")
	}
}

func TestEncodeOfWhatWasReadIsTheSame(t *testing.T) {
	for name, wasm := range samples() {
		m, err := Decode(wasm)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := m.Encode(); !bytes.Equal(got, wasm) {
			t.Errorf("%s: %d bytes became %d other ones", name, len(wasm), len(got))
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	oneFunc := [][]byte{sect(secType, vec(fnType("", ""))), sect(secFunction, vec([]byte{0}))}
	code := func(body ...byte) []byte {
		return mod(slices.Concat(oneFunc, [][]byte{sect(secCode, vec(append(leb(len(body)), body...)))})...)
	}
	huge := []byte{0xff, 0xff, 0xff, 0xff, 0x0f}
	for _, c := range []struct {
		name string
		wasm []byte
		want error
	}{
		{"nothing", nil, ErrMalformed},
		{"text", []byte("(module)"), ErrMalformed},
		{"half a preamble", []byte("\x00asm\x01"), ErrMalformed},
		{"version 2", []byte("\x00asm\x02\x00\x00\x00"), ErrMalformed},
		{"component", []byte("\x00asm\x0d\x00\x01\x00"), ErrMalformed},
		{"section id without size", append(mod(), secType), ErrMalformed},
		{"section longer than the module", append(mod(), secType, 5, 1), ErrMalformed},
		{"section of 4 GiB", append(append(mod(), secType), huge...), ErrMalformed},
		{"section of a proposal", mod(sect(13)), ErrUnsupported},
		{"section 255", mod(sect(255)), ErrUnsupported},
		{"repeated section", mod(sect(secType, vec()), sect(secType, vec())), ErrMalformed},
		{"order", mod(sect(secMemory, vec()), sect(secType, vec())), ErrMalformed},
		{"data count after code", mod(sect(secCode, vec()), sect(secDataCount, []byte{0})), ErrMalformed},
		{"size of six bytes", append(mod(), secType, 0x80, 0x80, 0x80, 0x80, 0x80, 0), ErrMalformed},
		{"size over 32 bits", append(mod(), secType, 0x80, 0x80, 0x80, 0x80, 0x10), ErrMalformed},
		{"vector of 4 G types", mod(sect(secType, huge)), ErrMalformed},
		{"vector of 4 G imports", mod(sect(secImport, huge)), ErrMalformed},
		{"vector of 4 G functions", mod(sect(secFunction, huge)), ErrMalformed},
		{"vector of 4 G exports", mod(sect(secExport, huge)), ErrMalformed},
		{"vector of 4 G bodies", mod(sect(secCode, huge)), ErrMalformed},
		{"vector of 4 G segments", mod(sect(secData, huge)), ErrMalformed},
		{"bytes left in a section", mod(sect(secType, vec(), []byte{0})), ErrMalformed},
		{"name longer than its section", mod(sect(secExport, []byte{1, 9, 'x', 0, 0})), ErrMalformed},
		{"type form of a struct", mod(sect(secType, vec([]byte{0x5f, 0, 0}))), ErrUnsupported},
		{"import of a tag", mod(sect(secImport, vec(slices.Concat(str("a"), str("b"), []byte{4, 0, 0})))), ErrUnsupported},
		{"shared memory", mod(sect(secMemory, vec([]byte{3, 1, 2}))), ErrUnsupported},
		{"64-bit memory", mod(sect(secMemory, vec([]byte{4, 1}))), ErrUnsupported},
		{"function without body", mod(oneFunc...), ErrMalformed},
		{"body without function", mod(sect(secCode, vec(fnBody(noLocals)))), ErrMalformed},
		{"body longer than its section", mod(slices.Concat(oneFunc, [][]byte{sect(secCode, []byte{1, 200, 1, 0, 0x0b})})...), ErrMalformed},
		{"global of an unknown opcode", mod(sect(secGlobal, vec([]byte{0x7f, 0, 0xff, 0x0b}))), ErrUnsupported},
		{"global without end", mod(sect(secGlobal, vec([]byte{0x7f, 0, 0x41, 0}))), ErrMalformed},
		{"global of a reference to a type", mod(sect(secGlobal, vec([]byte{0x63, 0x70, 0, 0xd0, 0x70, 0x0b}))), ErrUnsupported},
		{"code that is not read yet", code(0, 0xff, 0x0b), nil},
	} {
		_, err := Decode(c.wasm)
		if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
		var fe *FormatError
		if err != nil && (!errors.As(err, &fe) || fe.Offset < 0 || fe.Offset > len(c.wasm) || fe.Detail == "") {
			t.Errorf("%s: the error says neither where nor what: %#v", c.name, err)
		}
	}
}

func TestDecodeRefusesEveryPrefix(t *testing.T) {
	whole := everySection()
	for n := range whole {
		m, err := Decode(whole[:n])
		if err == nil {
			// A cut between two sections leaves a module of fewer sections.
			if got := m.Encode(); !bytes.Equal(got, whole[:n]) {
				t.Errorf("prefix of %d bytes decodes to something else", n)
			}
			continue
		}
		if !errors.Is(err, ErrMalformed) {
			t.Errorf("prefix of %d bytes: %v", n, err)
		}
	}
}

func TestDecodeBoundsTheInput(t *testing.T) {
	// The bytes are never touched: the length alone decides.
	_, err := Decode(make([]byte, maxModule+1))
	if !errors.Is(err, ErrUnsupported) {
		t.Errorf("a module over the bound: %v", err)
	}
}

// Sections and entries that take a few bytes each cost more than these in memory:
// 18 MB of empty custom sections took 960 MB and seconds.
func TestDecodeBoundsCounts(t *testing.T) {
	empty := sect(secCustom, []byte{0})
	if _, err := Decode(mod(bytes.Repeat(empty, maxSections))); err != nil {
		t.Errorf("%d sections: %v", maxSections, err)
	}
	many := func(id byte, n int, one ...byte) []byte {
		return mod(sect(id, slices.Concat(appendU32(nil, uint32(n)), bytes.Repeat(one, n))))
	}
	for name, wasm := range map[string][]byte{
		"sections":  mod(bytes.Repeat(empty, maxSections+1)),
		"a flood":   mod(bytes.Repeat(empty, 6_000_000)),
		"types":     many(secType, maxItems+1, 0x60, 0, 0),
		"imports":   many(secImport, maxItems+1, 0, 0, 0, 0),
		"functions": many(secFunction, maxItems+1, 0),
		"tables":    many(secTable, maxItems+1, valFuncRef, 0, 0),
		"memories":  many(secMemory, maxItems+1, 0, 0),
		"globals":   many(secGlobal, maxItems+1, I32, 0, opEnd),
		"exports":   many(secExport, maxItems+1, 0, 0, 0),
		"bodies":    many(secCode, maxItems+1, 0, 0),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Decode(wasm)
		runtime.ReadMemStats(&after)
		var fe *FormatError
		if !errors.Is(err, ErrBound) || !errors.As(err, &fe) || fe.Offset == 0 {
			t.Errorf("%s: %v", name, err)
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
			t.Errorf("%s: %d bytes allocated for %d bytes of input", name, n, len(wasm))
		}
	}
}

// A declared size must not size an allocation: each of these few bytes declares
// billions of elements.
func TestDeclaredSizesAllocateNothing(t *testing.T) {
	huge := []byte{0xff, 0xff, 0xff, 0xff, 0x0f}
	types := sect(secType, vec(fnType("", "")))
	funcs := sect(secFunction, vec([]byte{0}))
	inputs := map[string][]byte{
		"locals":   mod(types, funcs, sect(secCode, vec(slices.Concat([]byte{8, 1}, huge, []byte{0x7f, 0x0b})))),
		"groups":   mod(types, funcs, sect(secCode, vec(slices.Concat([]byte{6}, huge, []byte{0x0b})))),
		"br_table": mod(types, funcs, sect(secCode, vec(slices.Concat([]byte{8, 0, 0x0e}, huge, []byte{0x0b})))),
		"select":   mod(types, funcs, sect(secCode, vec(slices.Concat([]byte{8, 0, 0x1c}, huge, []byte{0x0b})))),
	}
	for id := range byte(secDataCount + 1) {
		inputs["section "+string('a'+rune(id))] = mod(sect(id, huge))
	}
	for name, wasm := range inputs {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if m, err := Decode(wasm); err == nil {
			m.StripData()    // an error or not: only what it allocates counts
			m.DataSegments() // likewise
		}
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 64<<10 {
			t.Errorf("%s: %d bytes allocated for %d bytes of input", name, n, len(wasm))
		}
	}
}
