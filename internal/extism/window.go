package extism

import (
	"math"
	"strings"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/internal/wasmbin"
)

// Extism's PDKs read input and write output eight bytes a call of the host, which costs as much each as reading a
// hundred. So the functions for that are replaced once more, by wasm in the plugin's own module with two windows of eight
// words in globals: one call of the host fills or empties a window. The plugin sees no difference.
//
//   - The window for reading shows a piece of the input or of the shared memory. The input does not change during a call.
//     Whatever may change the memory voids the window.
//   - The window for stores takes those that follow each other. It is written out before anything else looks at the
//     memory, and when the call returns.
//
// The globals are few, and vectors, because wazero compiles a load of each mutable global after each call, only to find
// that nobody wants it: sixty globals of words made compiling a third slower.
const (
	windowWords = 8
	windowBytes = windowWords * 8
	// inputBit tells offsets of the input from those of the memory, which has no such large ones.
	inputBit = math.MinInt64
	// voidAt is where a window of nothing begins. Nothing is there to read.
	voidAt = 1 << 62

	readInputName = "read_input" // (offset) → 8 words
	readName      = "read"       // (offset) → 8 words
	writeName     = "write"      // (offset, bytes, 8 words)
)

var (
	typeLoad64  = wasmbin.FuncType{Params: []byte{wasmbin.I64}, Results: []byte{wasmbin.I64}}
	typeLoad8   = wasmbin.FuncType{Params: []byte{wasmbin.I64}, Results: []byte{wasmbin.I32}}
	typeStore64 = wasmbin.FuncType{Params: []byte{wasmbin.I64, wasmbin.I64}}
	typeStore8  = wasmbin.FuncType{Params: []byte{wasmbin.I64, wasmbin.I32}}
	typeRead    = wasmbin.FuncType{Params: []byte{wasmbin.I64}, Results: words()}
	typeWrite   = wasmbin.FuncType{Params: append([]byte{wasmbin.I64, wasmbin.I64}, words()...)}
)

func words() []byte { return []byte(strings.Repeat(string([]byte{wasmbin.I64}), windowWords)) }

// Instructions that the assembler has no names for.
const (
	i32Eqz, i64Eqz, i64Eq, i64LtU = 0x45, 0x50, 0x51, 0x54
	i64Add, i64Sub, i64And, i64Or = 0x7c, 0x7d, 0x83, 0x84
	i64Xor, i64Shl, i64ShrU       = 0x85, 0x86, 0x88
	i32And, i32Wrap               = 0x71, 0xa7
)

// window is one of the two, as indices in the plugin's module.
type window struct {
	vectors [windowWords / 2]uint32 // globals, two words each
	at      uint32                  // global: where it begins
	get     uint32                  // function: (number) → word
}

// windows adds them to a module.
type windows struct {
	m        *wasmbin.Module
	imported map[string][]uint32 // Extism's functions
	replace  map[uint32]uint32
	read     window
	stores   window
	length   uint32 // global: bytes in stores
	sync     uint32 // function: writes out the stores, voids the other window
	err      error
}

// addWindows is for [wasmbin.GuestMeter.Extend].
func addWindows(m *wasmbin.Module) (map[uint32]uint32, error) {
	w := &windows{m: m, imported: map[string][]uint32{}, replace: map[uint32]uint32{}}
	var changing []uint32 // imports that look at the memory, or change it
	for i, im := range m.Imports {
		if im.Module == ownModule {
			w.imported[im.Name] = append(w.imported[im.Name], uint32(i))
		}
		if im.Module == guestabi.PluginHostModule || im.Module == ownModule && syncs(im.Name) {
			changing = append(changing, uint32(i))
		}
	}
	input, inputs := w.slot("input_load_u64", "input_load_u8")
	memory, loads := w.slot("load_u64", "load_u8")
	write, stores := w.slot("store_u64", "store_u8")
	if !inputs && !loads && !stores || !w.typed() {
		return nil, nil // nothing to gain; or it will not be instantiated
	}
	w.read, w.stores, w.length = w.window(), w.window(), w.global(m.AddWord())
	w.sync = w.add(wasmbin.FuncType{}, w.syncBody(write, stores))
	if inputs {
		w.loads(input, readInputName, inputBit, "input_load_u64", "input_load_u8")
	}
	if loads {
		w.loads(memory, readName, 0, "load_u64", "load_u8")
	}
	if stores {
		w.fail(m.SetImport(int(write), ownModule, writeName, typeWrite))
		w.storeWord()
		w.storeByte()
	}
	for _, i := range changing {
		w.wrap(i)
	}
	w.enter()
	return w.replace, w.err
}

// syncs tells the functions of Extism that read, change or reuse blocks.
func syncs(name string) bool {
	return name == "alloc" || name == "free" || strings.HasPrefix(name, "log_")
}

// typed reports whether the functions that are replaced have the types they should.
func (w *windows) typed() bool {
	for name, want := range map[string]wasmbin.FuncType{
		"input_load_u64": typeLoad64, "input_load_u8": typeLoad8, "load_u64": typeLoad64, "load_u8": typeLoad8,
		"store_u64": typeStore64, "store_u8": typeStore8,
	} {
		for _, i := range w.imported[name] {
			got, ok := w.m.FuncType(i)
			if !ok || string(got.Params) != string(want.Params) || string(got.Results) != string(want.Results) {
				return false
			}
		}
	}
	return true
}

// slot finds an import of one of the names, which makes room for the host's side of a window.
func (w *windows) slot(names ...string) (uint32, bool) {
	for _, n := range names {
		if len(w.imported[n]) > 0 {
			return w.imported[n][0], true
		}
	}
	return 0, false
}

func (w *windows) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

func (w *windows) add(t wasmbin.FuncType, code wasmbin.Code) uint32 {
	fn, err := w.m.AddFunc(t, code.End())
	w.fail(err)
	return fn
}

func (w *windows) global(g uint32, err error) uint32 {
	w.fail(err)
	return g
}

// substitute puts a function in the place of all imports of a name.
func (w *windows) substitute(name string, fn func() uint32) {
	if slots := w.imported[name]; len(slots) > 0 {
		f := fn()
		for _, i := range slots {
			w.replace[i] = f
		}
	}
}

// window adds the globals of one, and the function that picks a word.
func (w *windows) window() window {
	win := window{at: w.global(w.m.AddWord())}
	for n := range win.vectors {
		win.vectors[n] = w.global(w.m.AddVector())
	}
	c := pick(wasmbin.NewBody(0))
	for n := range windowWords {
		c = c.End().GlobalGet(win.vectors[n/2]).Lane(byte(n % 2)).Return()
	}
	win.get = w.add(wasmbin.FuncType{Params: []byte{wasmbin.I32}, Results: []byte{wasmbin.I64}}, c.Unreachable())
	return win
}

// pick jumps behind the block whose number is in local 0.
func pick(c wasmbin.Code) wasmbin.Code {
	for range windowWords {
		c = c.Block()
	}
	return c.Get(0).BrTable(windowWords - 1)
}

// loads replaces the functions that load words and bytes. bit distinguishes what they load from.
func (w *windows) loads(slot uint32, name string, bit int64, word, single string) {
	win := &w.read
	w.fail(w.m.SetImport(int(slot), ownModule, name, typeRead))
	fill := wasmbin.NewLocals(0, windowWords).Get(0).Call(slot) // locals 1 to 8: the words
	for n := windowWords; n > 0; n-- {
		fill = fill.Set(uint32(n))
	}
	for n, g := range win.vectors {
		fill = fill.Get(uint32(2*n + 1)).Splat().Get(uint32(2*n + 2)).SetLane(1).GlobalSet(g)
	}
	filler := w.add(wasmbin.FuncType{Params: []byte{wasmbin.I64}}, fill.Get(0).I64Const(bit).Op(i64Xor).GlobalSet(win.at))

	begin := func() wasmbin.Code { // local 1 = offset - where the window begins; then: is it in there?
		c := wasmbin.NewLocals(0, 1)
		if bit == 0 {
			c = c.GlobalGet(w.length).Op(i64Eqz, i32Eqz).If().Call(w.sync).End()
		}
		c = c.Get(0).I64Const(bit).Op(i64Xor).GlobalGet(win.at).Op(i64Sub).Set(1)
		return c.Get(1).I64Const(windowBytes).Op(i64LtU)
	}
	number := func(c wasmbin.Code) wasmbin.Code { return c.Get(1).I64Const(3).Op(i64ShrU, i32Wrap).Call(win.get) }
	first := func(c wasmbin.Code) wasmbin.Code { return c.Get(0).Call(filler).GlobalGet(win.vectors[0]).Lane(0) }
	w.substitute(word, func() uint32 {
		// A word that lies across two of the window, or its end, begins a new one.
		c := begin().Get(1).I64Const(7).Op(i64And, i64Eqz, i32And).If()
		return w.add(typeLoad64, first(number(c).Return().End()))
	})
	w.substitute(single, func() uint32 {
		c := number(begin().If()).Get(1).I64Const(7).Op(i64And).I64Const(3).Op(i64Shl, i64ShrU)
		c = first(c.I64Const(255).Op(i64And, i32Wrap).Return().End())
		return w.add(typeLoad8, c.I64Const(255).Op(i64And, i32Wrap))
	})
}

// syncBody writes out the stores and voids the other window.
func (w *windows) syncBody(write uint32, stores bool) wasmbin.Code {
	c := wasmbin.NewBody(0).I64Const(voidAt).GlobalSet(w.read.at)
	if !stores {
		return c
	}
	c = c.GlobalGet(w.length).Op(i64Eqz).If().Return().End().GlobalGet(w.stores.at).GlobalGet(w.length)
	for _, g := range w.stores.vectors {
		c = c.GlobalGet(g).Lane(0).GlobalGet(g).Lane(1)
	}
	return c.Call(write).I64Const(0).GlobalSet(w.length)
}

// next asks whether the store at local 0 continues the window, and there is room.
func (w *windows) next(c wasmbin.Code) wasmbin.Code {
	c = c.Get(0).GlobalGet(w.stores.at).GlobalGet(w.length).Op(i64Add, i64Eq)
	return c.GlobalGet(w.length).I64Const(windowBytes).Op(i64LtU, i32And)
}

// take ends a store: the window has n bytes more.
func (w *windows) take(c wasmbin.Code, n int64) wasmbin.Code {
	return c.GlobalGet(w.length).I64Const(n).Op(i64Add).GlobalSet(w.length)
}

// begin starts a new window with the word on the stack.
func (w *windows) begin(c wasmbin.Code, word wasmbin.Code, n int64) wasmbin.Code {
	c = c.Call(w.sync).Get(0).GlobalSet(w.stores.at)
	c = append(c, word...).Splat().GlobalSet(w.stores.vectors[0])
	return c.I64Const(n).GlobalSet(w.length)
}

// setter is the function that changes a word of the window.
func (w *windows) setter() uint32 {
	c := pick(wasmbin.NewBody(0))
	for n := range windowWords {
		g := w.stores.vectors[n/2]
		c = c.End().GlobalGet(g).Get(1).SetLane(byte(n % 2)).GlobalSet(g).Return()
	}
	return w.add(wasmbin.FuncType{Params: []byte{wasmbin.I32, wasmbin.I64}}, c.Unreachable())
}

// number is that of the word that comes next.
func (w *windows) number(c wasmbin.Code) wasmbin.Code {
	return c.GlobalGet(w.length).I64Const(3).Op(i64ShrU, i32Wrap)
}

func (w *windows) storeWord() {
	w.substitute("store_u64", func() uint32 {
		c := w.next(wasmbin.NewBody(0)).GlobalGet(w.length).I64Const(7).Op(i64And, i64Eqz, i32And).If()
		c = w.take(w.number(c).Get(1).Call(w.setter()), 8).Return().End()
		return w.add(typeStore64, w.begin(c, wasmbin.Code{}.Get(1), 8))
	})
}

func (w *windows) storeByte() {
	w.substitute("store_u8", func() uint32 {
		value := wasmbin.Code{}.Get(1).ExtendU().I64Const(255).Op(i64And)
		c := w.next(wasmbin.NewLocals(0, 1)).If()
		c = c.GlobalGet(w.length).I64Const(7).Op(i64And).I64Const(3).Op(i64Shl).Set(2) // bits before the byte in its word
		c = w.number(w.number(c)).Call(w.stores.get).I64Const(1).Get(2).Op(i64Shl).I64Const(1).Op(i64Sub, i64And)
		c = append(c, value...).Get(2).Op(i64Shl, i64Or).Call(w.setter())
		return w.add(typeStore8, w.begin(w.take(c, 1).Return().End(), value, 1))
	})
}

// wrap syncs before an import.
func (w *windows) wrap(i uint32) {
	t, ok := w.m.FuncType(i)
	if !ok {
		return
	}
	c := wasmbin.NewBody(0).Call(w.sync)
	for p := range t.Params {
		c = c.Get(uint32(p))
	}
	w.replace[i] = w.add(t, c.Call(i))
}

// enter voids the windows at the beginning of each call, and syncs at its end.
func (w *windows) enter() {
	for i, e := range w.m.Exports {
		if e.Kind != wasmbin.KindFunc {
			continue
		}
		if t, ok := w.m.FuncType(e.Index); ok && isCallable(t) {
			c := wasmbin.NewBody(0).I64Const(voidAt).GlobalSet(w.read.at).I64Const(0).GlobalSet(w.length)
			w.fail(w.m.SetExport(i, w.add(t, c.Call(e.Index).Call(w.sync))))
		}
	}
}
