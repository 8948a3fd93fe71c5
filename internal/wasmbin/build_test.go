package wasmbin

import (
	"bytes"
	"slices"
)

// The tests write modules by hand, section by section, so that what is read has
// not passed through the code under test.

func mod(sections ...[]byte) []byte {
	return slices.Concat([]byte("\x00asm\x01\x00\x00\x00"), slices.Concat(sections...))
}

func sect(id byte, parts ...[]byte) []byte {
	raw := slices.Concat(parts...)
	return slices.Concat([]byte{id}, leb(len(raw)), raw)
}

func vec(items ...[]byte) []byte { return append(leb(len(items)), slices.Concat(items...)...) }

func leb(n int) []byte {
	var b []byte
	for ; n >= 0x80; n >>= 7 {
		b = append(b, byte(n)|0x80)
	}
	return append(b, byte(n))
}

func str(s string) []byte { return append(leb(len(s)), s...) }

// fnType is a signature; the strings are value type bytes.
func fnType(params, results string) []byte {
	return slices.Concat([]byte{0x60}, str(params), str(results))
}

// fnBody is a code entry: local declarations, instructions and the final end.
func fnBody(locals []byte, code ...byte) []byte {
	b := slices.Concat(locals, code, []byte{0x0b})
	return append(leb(len(b)), b...)
}

var noLocals = []byte{0}

func importFunc(module, name string, typ byte) []byte {
	return slices.Concat(str(module), str(name), []byte{KindFunc, typ})
}

func export(name string, kind, index byte) []byte {
	return slices.Concat(str(name), []byte{kind, index})
}

const (
	tI32 = "\x7f"
	tI64 = "\x7e"
)

// program is a module with the metering hook as function 0, a memory of one
// page, and one exported function "f" of type (i32) -> i32 with the given body.
func program(locals []byte, code ...byte) []byte {
	return mod(
		sect(secType, vec(fnType("", tI32), fnType(tI32, tI32))),
		sect(secImport, vec(importFunc("env", "hook", 0))),
		sect(secFunction, vec([]byte{1})),
		sect(secTable, vec([]byte{0x70, 0, 1})),
		sect(secMemory, vec([]byte{0, 1})),
		sect(secExport, vec(export("f", KindFunc, 1), export("memory", KindMemory, 0))),
		sect(secCode, vec(fnBody(locals, code...))),
	)
}

var hook = Meter{Quantum: 100, Module: "env", Name: "hook", BulkShift: 6}

// countdown is `loop; local.get 0; i32.const 1; i32.sub; local.tee 0; br_if 0;
// end; local.get 0`: as many iterations as the argument says.
var countdown = []byte{0x03, 0x40, 0x20, 0, 0x41, 1, 0x6b, 0x22, 0, 0x0d, 0, 0x0b, 0x20, 0}

// everySection is a valid module with one of each section and a custom section
// between any two.
func everySection() []byte {
	custom := sect(secCustom, str("note"), []byte("text"))
	parts := [][]byte{
		sect(secType, vec(fnType("", ""), fnType("", tI32), fnType(tI32+tI64, tI32))),
		sect(secImport, vec(
			importFunc("env", "hook", 1),
			slices.Concat(str("env"), str("g"), []byte{KindGlobal, 0x7f, 0}),
		)),
		sect(secFunction, vec([]byte{0}, []byte{2})),
		sect(secTable, vec([]byte{0x70, 1, 2, 4})),
		sect(secMemory, vec([]byte{1, 1, 3})),
		sect(secGlobal, vec([]byte{0x7f, 1, 0x41, 7, 0x0b}, []byte{0x7e, 0, 0x42, 0x7f, 0x0b}, []byte{0x7f, 0, 0x23, 0, 0x0b})),
		sect(secExport, vec(export("run", KindFunc, 1), export("two", KindFunc, 2), export("memory", KindMemory, 0), export("count", KindGlobal, 1))),
		sect(secStart, []byte{1}),
		sect(secElement, vec([]byte{0, 0x41, 0, 0x0b, 1, 2})),
		sect(secDataCount, []byte{2}),
		sect(secCode, vec(
			fnBody(noLocals, 0x23, 1, 0x41, 1, 0x6a, 0x24, 1),
			fnBody(slices.Concat([]byte{2, 1, 0x7f, 3, 0x7e}), 0x20, 0),
		)),
		sect(secData, vec(
			slices.Concat([]byte{0, 0x41, 8, 0x0b}, str("hello")),
			slices.Concat([]byte{0, 0x41, 0x80, 1, 0x0b}, str("world")),
		)),
	}
	var all [][]byte
	for _, p := range parts {
		all = append(all, custom, p)
	}
	return mod(append(all, custom)...)
}

// samples are small valid modules, the seeds of the fuzz corpora.
func samples() map[string][]byte {
	return map[string][]byte{
		"empty":     mod(),
		"sections":  everySection(),
		"countdown": program(noLocals, countdown...),
		"nested": program(noLocals,
			0x03, 0x40, 0x03, 0x40, 0x20, 0, 0x41, 1, 0x6b, 0x22, 0, 0x0d, 0, 0x0b, 0x20, 0, 0x0d, 0, 0x0b, 0x20, 0),
		"bulk": program([]byte{1, 2, 0x7e},
			0x41, 0, 0x41, 1, 0x20, 0, 0xfc, 11, 0, // memory.fill
			0x41, 0, 0x41, 16, 0x20, 0, 0xfc, 10, 0, 0, // memory.copy
			0x20, 0),
		"numbers": program(noLocals,
			0x43, 3, 0x40, 3, 0x40, 0xfc, 0, 0x1a, // f32.const of bytes that look like loops
			0x44, 3, 0x40, 3, 0x40, 3, 0x40, 3, 0x40, 0x1a,
			0x42, 0x83, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0xc0, 0, 0x1a,
			0x41, 0x83, 0x80, 0x80, 0x80, 0, 0x1a, 0x20, 0),
		"vectors": program(noLocals, slices.Concat(
			v128LoopConst(), v128LoopConst(),
			[]byte{0xfd, 13}, bytes.Repeat([]byte{3}, 16),
			v128LoopConst(),
			[]byte{0xfd, 0xae, 1, 0x1a, 0x20, 0}, // i32x4.add, drop
		)...),
		"table": program(noLocals,
			0x02, 0x40, 0x02, 0x40, 0x20, 0, 0x0e, 2, 0, 1, 1, 0x0b, 0x0b,
			0x41, 0, 0x41, 0, 0x11, 1, 0, 0x1a, 0x20, 0),
	}
}

// v128LoopConst is a v128.const whose bytes look like loop headers.
func v128LoopConst() []byte {
	return append([]byte{0xfd, 12}, bytes.Repeat([]byte{3, 0x40}, 8)...)
}
