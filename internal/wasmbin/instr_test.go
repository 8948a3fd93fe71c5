package wasmbin

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"
)

// immediates gives, for every opcode of the core specification 2.0 and for tail
// calls, immediates whose bytes look like a loop header (03 40) wherever the
// grammar lets them. Opcodes that are not listed have to be refused.
func immediates() map[string][][]byte {
	out := map[string][][]byte{}
	add := func(op []byte, imm ...[]byte) { out[string(op)] = imm }
	long := []byte{0x83, 0xc0, 0x80, 0x80, 0x00} // 3 + 0x40<<7 in five bytes
	for _, op := range []byte{0x00, 0x01, 0x05, 0x0b, 0x0f, 0x1a, 0x1b, 0xd1} {
		add([]byte{op}, nil)
	}
	for op := 0x45; op <= 0xc4; op++ {
		add([]byte{byte(op)}, nil)
	}
	for _, op := range []byte{0x02, 0x03, 0x04} {
		add([]byte{op}, []byte{0x40}, []byte{0x7f}, []byte{0x70}, []byte{0x6f}, []byte{0x7b}, []byte{0x03}, long)
	}
	for _, op := range []byte{0x0c, 0x0d, 0x10, 0x12, 0x20, 0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0xd2} {
		add([]byte{op}, []byte{0x03}, []byte{0x40}, long)
	}
	add([]byte{0x0e}, []byte{0, 3}, []byte{2, 3, 0x40, 3}, slices.Concat([]byte{2}, long, long, long))
	for _, op := range []byte{0x11, 0x13} {
		add([]byte{op}, []byte{0x03, 0x40}, slices.Concat(long, long))
	}
	add([]byte{0x1c}, []byte{1, 0x7f}, []byte{1, 0x6f})
	for op := 0x28; op <= 0x3e; op++ {
		add([]byte{byte(op)}, []byte{3, 0x40}, slices.Concat([]byte{0x83, 0}, long))
	}
	add([]byte{0x3f}, []byte{0})
	add([]byte{0x40}, []byte{0})
	add([]byte{0x41}, []byte{3}, []byte{0x40}, long)
	add([]byte{0x42}, []byte{3}, []byte{0x83, 0xc0, 0x83, 0xc0, 0x83, 0xc0, 0x83, 0xc0, 0x83, 0})
	add([]byte{0x43}, []byte{3, 0x40, 3, 0x40})
	add([]byte{0x44}, []byte{3, 0x40, 3, 0x40, 3, 0x40, 3, 0x40})
	add([]byte{0xd0}, []byte{0x70}, []byte{0x6f})
	for op := byte(0); op <= 7; op++ {
		add([]byte{0xfc, op}, nil)
	}
	add([]byte{0xfc, 8}, []byte{3, 0})
	add([]byte{0xfc, 9}, []byte{3}, long)
	add([]byte{0xfc, 10}, []byte{0, 0})
	add([]byte{0xfc, 11}, []byte{0})
	add([]byte{0xfc, 12}, []byte{3, 0x40})
	add([]byte{0xfc, 14}, []byte{3, 0x40})
	for _, op := range []byte{13, 15, 16, 17} {
		add([]byte{0xfc, op}, []byte{3}, long)
	}
	for op := 0; op <= 255; op++ {
		code := append([]byte{0xfd}, leb(op)...)
		switch {
		case op <= 11, op == 92, op == 93:
			add(code, []byte{3, 0x40}, slices.Concat([]byte{0x83, 0}, long))
		case op == 12, op == 13:
			add(code, bytes.Repeat([]byte{3, 0x40}, 8))
		case op >= 21 && op <= 34:
			add(code, []byte{3})
		case op >= 84 && op <= 91:
			add(code, []byte{3, 0x40, 3})
		default:
			add(code, nil)
		}
	}
	return out
}

func TestEveryInstructionIsPassedWhole(t *testing.T) {
	for op, list := range immediates() {
		for _, imm := range list {
			code := slices.Concat([]byte(op), imm)
			r := &reader{b: slices.Concat(code, []byte{0x03, 0x40, 0x0b})}
			in := r.instr()
			if r.err != nil || in.start != 0 || in.end != len(code) {
				t.Errorf("% x: read to %d of %d, %v", code, in.end, len(code), r.err)
				continue
			}
			if next := r.instr(); r.err != nil || next.code != opLoop {
				t.Errorf("% x: the loop behind it is not seen", code)
			}
			for n := range code {
				r := &reader{b: code[:n]}
				if r.instr(); n > 0 && r.err == nil {
					t.Errorf("% x: cut to %d bytes and accepted", code, n)
				}
			}
		}
	}
}

func TestUnknownInstructionsAreRefused(t *testing.T) {
	known := immediates()
	check := func(code []byte) {
		if _, ok := known[string(code)]; ok {
			return
		}
		r := &reader{b: slices.Concat(code, make([]byte, 24))}
		if r.instr(); !errors.Is(r.err, ErrUnsupported) {
			t.Errorf("% x: %v, want %v", code, r.err, ErrUnsupported)
		}
	}
	for op := range 0x100 {
		if op != opPrefixMisc && op != opPrefixVector {
			check([]byte{byte(op)})
		}
	}
	for op := range 300 {
		check(append([]byte{opPrefixMisc}, leb(op)...))
		check(append([]byte{opPrefixVector}, leb(op)...))
	}
}

// Encodings that wazero reads in another way than the specification, or that
// announce something longer than this package knows, would let code hide behind
// what the meter takes for an immediate.
func TestAmbiguousEncodingsAreRefused(t *testing.T) {
	for _, c := range []struct {
		name string
		code []byte
	}{
		{"vector opcode of two bytes where one will do", []byte{0xfd, 0x8c, 0x00}},
		{"vector opcode of three bytes", []byte{0xfd, 0xae, 0x81, 0x00}},
		{"vector opcode of five bytes", []byte{0xfd, 0x8c, 0x80, 0x80, 0x80, 0x00}},
		{"block of a reference to a type", []byte{0x02, 0x63, 0x70}},
		{"block of a reference that is not null", []byte{0x02, 0x64, 0x03}},
		{"loop of an exception reference", []byte{0x03, 0x69}},
		{"block type of ten bytes", []byte{0x02, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00}},
		{"block of a reference in two bytes", []byte{0x02, 0xe3, 0x7f, 0x20}},
		{"block of a reference in five bytes", []byte{0x02, 0xe3, 0xff, 0xff, 0xff, 0x7f, 0x20}},
		{"block type of 33 bits", []byte{0x02, 0xe3, 0xff, 0xff, 0xff, 0x3f, 0x20}},
		{"block type that goes on in a fifth byte", []byte{0x02, 0x80, 0x80, 0x80, 0x80, 0x80}},
		{"empty block type in two bytes", []byte{0x02, 0xc0, 0x7f}},
		{"ref.null of a type index", []byte{0xd0, 0x03}},
		{"ref.null of two bytes", []byte{0xd0, 0xf0, 0x7f}},
		{"select of a reference to a type", []byte{0x1c, 1, 0x63, 0x70}},
		{"load with a memory index", []byte{0x28, 0x42, 0x03, 0x40}},
		{"memory.grow of memory 3", []byte{0x40, 0x03}},
		{"memory.size in two bytes", []byte{0x3f, 0x80, 0x00}},
		{"memory.copy to memory 3", []byte{0xfc, 10, 3, 0}},
		{"memory.copy from memory 3", []byte{0xfc, 10, 0, 3}},
		{"memory.fill of memory 3", []byte{0xfc, 11, 3}},
		{"memory.init of memory 3", []byte{0xfc, 8, 0, 3}},
	} {
		r := &reader{b: slices.Concat(c.code, make([]byte, 32))}
		if r.instr(); r.err == nil {
			t.Errorf("%s (% x) is accepted", c.name, c.code)
		}
	}
	for _, c := range []struct {
		name  string
		decls []byte
	}{
		{"local of a reference to a type", []byte{1, 1, 0x63, 0x70}},
		{"local of an unknown type", []byte{1, 1, 0x03}},
		{"50,001 locals", []byte{1, 0xd1, 0x86, 0x03, 0x7f}},
		{"4 G locals twice", []byte{2, 0xff, 0xff, 0xff, 0xff, 0x0f, 0x7f, 0xff, 0xff, 0xff, 0xff, 0x0f, 0x7f}},
	} {
		r := &reader{b: slices.Concat(c.decls, make([]byte, 8))}
		if r.locals(); r.err == nil {
			t.Errorf("%s (% x) is accepted", c.name, c.decls)
		}
	}
}

func TestIntegers(t *testing.T) {
	for _, v := range []int32{0, 1, -1, 63, 64, -64, -65, 127, 128, 8191, 8192, -8192, -8193, 1<<31 - 1, -1 << 31} {
		r := &reader{b: appendS32(nil, v)}
		if got := r.s32(); got != v || r.err != nil || r.left() != 0 {
			t.Errorf("s32(%d) = %d, %v", v, got, r.err)
		}
	}
	for _, v := range []uint32{0, 1, 127, 128, 16383, 16384, 1<<32 - 1} {
		r := &reader{b: appendU32(nil, v)}
		if got := r.u32(); got != v || r.err != nil || r.left() != 0 {
			t.Errorf("u32(%d) = %d, %v", v, got, r.err)
		}
	}
	for _, v := range []int64{0, 1, -1, 1 << 40, -1 << 40, 1<<63 - 1, -1 << 63} {
		r := &reader{b: Code{}.I64Const(v)}
		if in := r.instr(); r.err != nil || r.left() != 0 || in.code != 0x42 {
			t.Errorf("i64.const %d: %v", v, r.err)
		}
	}
}

func TestErrorTextsSayWhere(t *testing.T) {
	wasm := program(noLocals, 0x41, 0, 0xff)
	m, err := Decode(wasm)
	if err != nil {
		t.Fatal(err)
	}
	_, err = m.MeterLoops(hook)
	var fe *FormatError
	if !errors.As(err, &fe) {
		t.Fatalf("%v is no *FormatError", err)
	}
	if at := bytes.IndexByte(wasm, 0xff); fe.Offset != at+1 || fe.Detail != "opcode 0xff" {
		t.Errorf("%v, want offset %d", err, at+1)
	}
	if got, want := err.Error(), fmt.Sprintf("%v at byte %d: opcode 0xff", ErrUnsupported, fe.Offset); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
