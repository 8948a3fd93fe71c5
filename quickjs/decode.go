package quickjs

import (
	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/internal/wasmbin"
)

// addDecode adds `decode(ctx i32) i64`: it reads a value of the guestabi codec at
// a cursor, a global, and moves the cursor behind it. Only the host writes what
// is decoded, so nothing is checked but for exceptions. No guest code runs: the
// objects are fresh and their properties are defined, not set.
func addDecode(m *wasmbin.Module, l *linker) (fn, cursor uint32, err error) {
	if cursor, err = m.AddCounter(0); err != nil {
		return 0, 0, err
	}
	const ctx = 0
	const tag, n, i, atom = 1, 2, 3, 4 // locals, i32
	const object, item = 5, 6          // locals, i64
	self := m.NextFunc()

	c := wasmbin.NewLocals(4, 2)
	advance := func(c wasmbin.Code, by int32) wasmbin.Code {
		return c.GlobalGet(cursor).I32(by).Op(opcodeAdd).GlobalSet(cursor)
	}
	c = c.GlobalGet(cursor).Load8(0).Set(tag)
	c = advance(c, 1)
	const cases = int(guestabi.TagObject) + 1
	for range cases + 1 {
		c = c.Block()
	}
	c = c.Get(tag).BrTable(uint32(cases)).End()
	constant := func(jsTag int64, payload int64) {
		c = c.I64Const(jsTag<<32 | payload).Return().End()
	}
	constant(3, 0) // undefined
	constant(2, 0) // null
	constant(1, 0) // false
	constant(1, 1) // true

	c = c.GlobalGet(cursor).Load32(0).ExtendU()
	c = advance(c, 4).Return().End()

	c = c.Get(ctx).GlobalGet(cursor).LoadF64(0).Call(l.fn("JS_NewNumber"))
	c = advance(c, 8).Return().End()

	c = c.GlobalGet(cursor).Load32(0).Set(n)
	c = advance(c, 4)
	c = c.Get(ctx).GlobalGet(cursor).Get(n).Call(l.fn("JS_NewStringLen"))
	c = c.GlobalGet(cursor).Get(n).Op(opcodeAdd).GlobalSet(cursor).Return().End()

	// array
	c = c.GlobalGet(cursor).Load32(0).Set(n)
	c = advance(c, 4)
	c = c.Get(ctx).Call(l.fn("JS_NewArray")).Set(object)
	c = isException(c.Get(object)).If().Get(object).Return().End()
	c = c.I32(0).Set(i)
	c = c.Block().Loop()
	c = c.Get(i).Get(n).Op(opcodeEq).BrIf(1)
	c = c.Get(ctx).Call(self).Set(item)
	c = isException(c.Get(item)).If().Get(ctx).Get(object).Call(l.fn("JS_FreeValue")).Get(item).Return().End()
	c = c.Get(ctx).Get(object).Get(i).Get(item).I32(propAll).Call(l.fn("JS_DefinePropertyValueUint32"))
	c = c.I32(0).Op(opcodeLtS).If().Get(ctx).Get(object).Call(l.fn("JS_FreeValue")).I64Const(int64(tagException) << 32).Return().End()
	c = c.Get(i).I32(1).Op(opcodeAdd).Set(i)
	c = c.Br(0).End().End()
	c = c.Get(object).Return().End()

	// object
	c = c.GlobalGet(cursor).Load32(0).Set(n)
	c = advance(c, 4)
	c = c.Get(ctx).Call(l.fn("JS_NewObject")).Set(object)
	c = isException(c.Get(object)).If().Get(object).Return().End()
	c = c.Block().Loop()
	c = c.Get(n).Op(opcodeEqz).BrIf(1)
	c = c.Get(n).I32(1).Op(opcodeSub).Set(n)
	c = c.GlobalGet(cursor).Load32(0).Set(i)
	c = advance(c, 4)
	c = c.Get(ctx).GlobalGet(cursor).Get(i).Call(l.fn("JS_NewAtomLen")).Set(atom)
	c = c.GlobalGet(cursor).Get(i).Op(opcodeAdd).GlobalSet(cursor)
	c = c.Get(ctx).Call(self).Set(item)
	c = isException(c.Get(item)).If()
	c = c.Get(ctx).Get(atom).Call(l.fn("JS_FreeAtom")).Get(ctx).Get(object).Call(l.fn("JS_FreeValue")).Get(item).Return().End()
	c = c.Get(ctx).Get(object).Get(atom).Get(item).I32(propAll).Call(l.fn("JS_DefinePropertyValue")).Set(i)
	c = c.Get(ctx).Get(atom).Call(l.fn("JS_FreeAtom"))
	c = c.Get(i).I32(0).Op(opcodeLtS).If().Get(ctx).Get(object).Call(l.fn("JS_FreeValue")).I64Const(int64(tagException) << 32).Return().End()
	c = c.Br(0).End().End()
	c = c.Get(object).Return().End()

	c = c.Unreachable().End()
	if l.err != nil {
		return 0, 0, l.err
	}
	fn, err = m.AddFunc(wasmbin.FuncType{Params: []byte{wasmbin.I32}, Results: []byte{wasmbin.I64}}, c)
	return fn, cursor, err
}
