package wasmbin

import (
	"errors"
	"slices"
	"testing"
)

// forest is a module of 13 functions of its own; function 0 is the hook. 1 is
// exported as "f" and calls 2, which calls 3 and names 8 in a ref.func. 4 is the
// start function, 5 and 6 belong in the table, 7 lies in a global. 9 to 13 are
// led to by nothing, though they call one another and what is used.
func forest(elements []byte) []byte {
	result := func(n byte, calls ...byte) []byte {
		code := []byte{}
		for _, c := range calls {
			code = append(code, 0x10, c, 0x1a)
		}
		return fnBody(noLocals, append(code, 0x41, n)...)
	}
	return mod(
		sect(secType, vec(fnType("", tI32), fnType(tI32, tI32), fnType("", ""))),
		sect(secImport, vec(importFunc("env", "hook", 0))),
		sect(secFunction, vec([]byte{1}, []byte{0}, []byte{0}, []byte{2}, []byte{0}, []byte{0}, []byte{0}, []byte{0},
			[]byte{0}, []byte{0}, []byte{0}, []byte{0}, []byte{0})),
		sect(secTable, vec([]byte{0x70, 0, 8})),
		sect(secGlobal, vec([]byte{0x70, 0, 0xd2, 7, 0x0b})),
		sect(secExport, vec(export("f", KindFunc, 1))),
		sect(secStart, []byte{4}),
		sect(secElement, elements),
		sect(secCode, vec(
			fnBody(noLocals, 0x10, 2),
			fnBody(noLocals, 0xd2, 8, 0x1a, 0x10, 3),
			result(3),
			fnBody(noLocals, 0x10, 3, 0x1a),
			result(5), result(6), result(7), result(8),
			result(9, 9), result(10, 11), result(11, 10), result(12, 3), result(13, 5),
		)),
	)
}

func TestStubUnreachable(t *testing.T) {
	item := func(fn byte) []byte { return []byte{0xd2, fn, 0x0b} }
	for _, c := range []struct {
		name     string
		elements []byte
	}{
		{"active", vec([]byte{0, 0x41, 0, 0x0b, 3, 5, 6, 8})},
		{"passive", vec([]byte{1, 0, 3, 5, 6, 8})},
		{"active with a table", vec([]byte{2, 0, 0x41, 0, 0x0b, 0, 3, 5, 6, 8})},
		{"declarative", vec([]byte{3, 0, 3, 5, 6, 8})},
		{"active expressions", vec(slices.Concat([]byte{4, 0x41, 0, 0x0b, 3}, item(5), item(6), item(8)))},
		{"passive expressions", vec(slices.Concat([]byte{5, 0x70, 3}, item(5), item(6), item(8)))},
		{"active expressions with a table", vec(slices.Concat([]byte{6, 0, 0x41, 0, 0x0b, 0x70, 3}, item(5), item(6), item(8)))},
		{"declarative expressions", vec(slices.Concat([]byte{7, 0x70, 3}, item(5), item(6), item(8)))},
		{"one of each two", vec([]byte{0, 0x41, 0, 0x0b, 1, 5}, []byte{1, 0, 2, 6, 8})},
	} {
		wasm := forest(c.elements)
		if err := accepts(wasm); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		m := decode(t, wasm)
		n, err := m.StubUnreachable()
		if err != nil || n != 5 {
			t.Errorf("%s: %d functions emptied, %v, want 5", c.name, n, err)
			continue
		}
		got := reread(t, m)
		old := decode(t, wasm)
		for i := range old.bodies {
			stub := string(got.bodies[i]) == string([]byte{0, opUnreachable, opEnd})
			if fn := i + 1; stub != (fn >= 9) {
				t.Errorf("%s: function %d emptied: %t", c.name, fn, stub)
			} else if !stub && string(got.bodies[i]) != string(old.bodies[i]) {
				t.Errorf("%s: function %d changed", c.name, fn)
			}
		}
		if again, err := got.StubUnreachable(); err != nil || again != 5 {
			t.Errorf("%s: a second time: %d, %v", c.name, again, err)
		}
	}
}

func TestStubUnreachableFollowsTailCalls(t *testing.T) {
	wasm := mod(
		sect(secType, vec(fnType("", ""))),
		sect(secFunction, vec([]byte{0}, []byte{0}, []byte{0})),
		sect(secExport, vec(export("f", KindFunc, 0))),
		sect(secCode, vec(fnBody(noLocals, 0x12, 1), fnBody(noLocals, 0x01), fnBody(noLocals, 0x12, 2))),
	)
	m := decode(t, wasm)
	if n, err := m.StubUnreachable(); err != nil || n != 1 || string(m.bodies[1]) != string([]byte{0, 0x01, opEnd}) {
		t.Errorf("%d emptied, %v, bodies % x", n, err, m.bodies)
	}
}

func TestStubUnreachableRefuses(t *testing.T) {
	for _, c := range []struct {
		name string
		wasm []byte
		want error
	}{
		{"unknown opcode in a function that is used", program(noLocals, 0xff), ErrUnsupported},
		{"element segment of kind 8", forest(vec([]byte{8, 0})), ErrUnsupported},
		{"elements of 4 G", forest(vec([]byte{1, 0, 0xff, 0xff, 0xff, 0xff, 0x0f})), ErrMalformed},
		{"elements cut short", forest(vec([]byte{0, 0x41, 0, 0x0b, 3, 5})), ErrMalformed},
		{"an offset without end", forest(vec([]byte{0, 0x41, 0})), ErrMalformed},
	} {
		if _, err := decode(t, c.wasm).StubUnreachable(); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}
