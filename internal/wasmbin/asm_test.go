package wasmbin

import (
	"math"
	"testing"
)

// Opcodes that the assembler takes as they are, 5.4.
const (
	i32Eqz, i32Add, i32Mul, i64Add, i64ShrU, i32Wrap, i32TruncF64 = 0x45, 0x6a, 0x6c, 0x7c, 0x88, 0xa7, 0xaa
)

// TestCodeRuns runs each of the assembler's instructions. Each case is the body
// of a function f(i32) -> i32 with local 1 an i32 and local 2 an i64; function 2
// is itself, global 0 holds 3.
func TestCodeRuns(t *testing.T) {
	body := func() Code { return NewLocals(1, 1) }
	const self, global = 2, 0
	for _, c := range []struct {
		name      string
		code      Code
		arg, want int32
	}{
		{"constants", body().I32(-70).I32(math.MaxInt32).Op(i32Add).End(), 0, math.MaxInt32 - 70},
		{"smallest constant", body().I32(math.MinInt32).End(), 0, math.MinInt32},
		{"locals", body().Get(0).Set(1).Get(1).Get(1).Op(i32Add).End(), 21, 42},
		{"globals", body().GlobalGet(global).Get(0).Op(i32Mul).GlobalSet(global).GlobalGet(global).End(), 5, 15},
		{"if taken", body().Get(0).If().I32(10).Return().End().I32(20).End(), 1, 10},
		{"if not taken", body().Get(0).If().I32(10).Return().End().I32(20).End(), 0, 20},
		{"loop", body().Block().Loop().Get(0).Op(i32Eqz).BrIf(1).Get(1).Get(0).Op(i32Add).Set(1).
			Get(0).I32(-1).Op(i32Add).Set(0).Br(0).End().End().Get(1).End(), 10, 55},
		{"table 0", brTable(body()), 0, 100},
		{"table 1", brTable(body()), 1, 101},
		{"table 2", brTable(body()), 2, 102},
		{"table beyond", brTable(body()), -1, 102},
		{"sign", body().Get(0).ExtendS().I64(32).Op(i64ShrU, i32Wrap).End(), -1, -1},
		{"no sign", body().Get(0).ExtendU().I64(32).Op(i64ShrU, i32Wrap).End(), -1, 0},
		{"64 bits", body().I64Const(-1<<40).I64Const(1<<40+9).Op(i64Add, i32Wrap).End(), 0, 9},
		{"wide constant", body().I64Const(math.MinInt64).I64(63).Op(i64ShrU, i32Wrap).End(), 0, 1},
		{"store and load", body().Get(0).I32(0x01020304).Store32(8).Get(0).Load32(8).End(), 16, 0x01020304},
		{"load a byte", body().Get(0).I32(-2).Store32(0).Get(0).Load8(1).End(), 16, 255},
		{"store and load 64", body().Get(0).I64Const(7 << 32).Store64(8).Get(0).Load32(12).End(), 16, 7},
		{"load 64", body().Get(0).I32(5).Store32(4).Get(0).Load64(0).I64(32).Op(i64ShrU, i32Wrap).End(), 64, 5},
		{"load a float", body().Get(0).I64Const(int64(math.Float64bits(-12.5))).Store64(0).
			Get(0).LoadF64(0).Op(i32TruncF64).End(), 16, -12},
		{"call", body().Get(0).Op(i32Eqz).If().I32(1).Return().End().
			Get(0).Get(0).I32(-1).Op(i32Add).Call(self).Op(i32Mul).End(), 6, 720},
		{"no locals", NewBody(0).Get(0).End(), 3, 3},
		{"300 locals", NewBody(300).Get(0).Set(300).Get(300).End(), 3, 3},
	} {
		m := decode(t, program(noLocals, 0x20, 0))
		if g, err := m.AddCounter(3); err != nil || g != global {
			t.Fatal(g, err)
		}
		fn, err := m.AddFunc(FuncType{Params: []byte{I32}, Results: []byte{I32}}, c.code)
		if err != nil || fn != self {
			t.Fatal(fn, err)
		}
		if err := m.KeepExports(); err != nil {
			t.Fatal(err)
		}
		if err := m.AddExport("f", fn); err != nil {
			t.Fatal(err)
		}
		h := start(t, m.Encode())
		if got := int32(h.mustCall(uint64(uint32(c.arg)))); got != c.want {
			t.Errorf("%s: f(%d) = %d, want %d", c.name, c.arg, got, c.want)
		}
	}
}

func brTable(c Code) Code {
	return c.Block().Block().Block().Get(0).BrTable(2).End().I32(100).Return().End().
		I32(101).Return().End().I32(102).End()
}

func TestUnreachableTraps(t *testing.T) {
	m := decode(t, program(noLocals, 0x20, 0))
	if err := m.Prepend(1, Code{}.Get(0).If().Unreachable().End()); err != nil {
		t.Fatal(err)
	}
	h := start(t, m.Encode())
	if got := h.mustCall(0); got != 0 {
		t.Errorf("f(0) = %d", got)
	}
	if _, err := h.call(1); err == nil {
		t.Error("f(1) did not trap")
	}
}
