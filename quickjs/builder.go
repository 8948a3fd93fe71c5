package quickjs

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

// builder makes a template step by step. The first fault sticks.
type builder struct {
	t   *Template
	vm  *VM
	ctx context.Context
	err error
}

func (b *builder) call(name string, args ...uint64) uint64 {
	if b.err != nil {
		return 0
	}
	fn := b.vm.mod.ExportedFunction(name)
	if fn == nil {
		b.err = fmt.Errorf("the engine has no export %s", name)
		return 0
	}
	res, err := fn.Call(b.ctx, args...)
	if err != nil {
		b.err = fmt.Errorf("%s: %w", name, err)
		return 0
	}
	if len(res) == 0 {
		return 0
	}
	return res[0]
}

func (b *builder) run() {
	t, vm := b.t, b.vm
	mem := vm.mem()
	for _, d := range t.e.prog.data {
		if uint64(d.Offset)+uint64(len(d.Bytes)) > uint64(len(mem)) {
			b.err = errors.New("a data segment lies outside of the memory")
			return
		}
		copy(mem[d.Offset:], d.Bytes)
	}
	b.call("_initialize")
	if r := b.call("qjs_init2", intrinsics); r != 0 && b.err == nil {
		b.err = fmt.Errorf("qjs_init2: %d", int32(r))
	}
	t.rtPtr, t.ctxPtr = uint32(b.call("qjs_get_runtime_ptr")), uint32(b.call("qjs_get_context_ptr"))
	t.evalAt = b.findEvalHook()
	b.call("qjs_set_interrupt_handler", 1)
	b.call("qjs_set_promise_rejection_handler", 1)
	b.call("qjs_set_module_loader", 1)
	b.call("qjs_set_max_stack_size", maxNativeStack)
	b.constants()
	if b.err != nil {
		return
	}
	t.randAt = b.findRandomState()
	b.prelude()
	b.finish()
}

// contextBytes is how much of the engine's context structure is searched.
const contextBytes = 1024

func (b *builder) contextCopy() []byte {
	mem := b.vm.mem()
	if uint64(b.t.ctxPtr)+contextBytes > uint64(len(mem)) {
		b.err = errors.New("the context lies outside of the memory")
		return make([]byte, contextBytes)
	}
	return append([]byte(nil), mem[b.t.ctxPtr:b.t.ctxPtr+contextBytes]...)
}

// findEvalHook finds the word of the context that holds the engine's evaluator,
// by seeing which one JS_AddIntrinsicEval sets. While it is zero, eval and the
// Function constructors throw, whoever reaches them.
func (b *builder) findEvalHook() uint32 {
	before := b.contextCopy()
	b.call("JS_AddIntrinsicEval", uint64(b.t.ctxPtr))
	at := changed(before, b.contextCopy(), 4)
	if len(at) != 1 && b.err == nil {
		b.err = fmt.Errorf("finding the eval hook: %d words changed", len(at))
	}
	if b.err != nil {
		return 0
	}
	return b.t.ctxPtr + uint32(at[0])
}

// findRandomState finds the state of Math.random: the 64-bit word of the context
// that a call changes and an empty script does not.
func (b *builder) findRandomState() uint32 {
	c0 := b.contextCopy()
	b.eval("0")
	c1 := b.contextCopy()
	b.eval("Math.random()")
	noise := map[int]bool{}
	for _, at := range changed(c0, c1, 8) {
		noise[at] = true
	}
	var found []int
	for _, at := range changed(c1, b.contextCopy(), 8) {
		if !noise[at] {
			found = append(found, at)
		}
	}
	if len(found) != 1 && b.err == nil {
		b.err = fmt.Errorf("finding the random state: %d words changed", len(found))
	}
	if b.err != nil {
		return 0
	}
	return b.t.ctxPtr + uint32(found[0])
}

func changed(a, c []byte, width int) []int {
	var out []int
	for i := 0; i+width <= len(a); i += width {
		if string(a[i:i+width]) != string(c[i:i+width]) {
			out = append(out, i)
		}
	}
	return out
}

// constants learns the engine's representation of undefined and of exceptions,
// and reserves the memory that the host uses.
func (b *builder) constants() {
	t := b.t
	if b.err != nil {
		return
	}
	vm := b.vm
	t.scratch, b.err = vm.malloc(b.ctx, scratchSize)
	if b.err == nil {
		t.input, b.err = vm.malloc(b.ctx, inputSize)
	}
	if b.err != nil {
		return
	}
	mem := vm.mem()
	clear(mem[t.scratch : t.scratch+scratchSize])
	copy(mem[t.scratch+scratchName:t.scratch+scratchSize-1], cellFile)
	box := uint32(b.call("qjs_get_undefined"))
	if uint64(box)+8 > uint64(len(mem)) {
		b.err = errors.New("undefined lies outside of the memory")
		return
	}
	t.undefined = Value(binary.LittleEndian.Uint64(vm.mem()[box:]))
	exc := b.call("JS_Throw", uint64(t.ctxPtr), uint64(t.undefined))
	if uint32(exc>>32) != tagException && b.err == nil {
		b.err = fmt.Errorf("an exception is encoded as %#x", exc)
	}
	if _, err := vm.do(b.ctx, opException, args{}); err != nil && b.err == nil {
		b.err = err
	}
}

// eval runs a script in the template and frees its value.
func (b *builder) eval(src string) {
	if b.err != nil {
		return
	}
	code, err := b.vm.compile(b.ctx, src)
	if err == nil {
		var v Value
		if v, err = b.vm.Run(b.ctx, code); err == nil {
			b.vm.Free(b.ctx, v)
		}
	}
	b.err = err
}

// prelude evaluates the prelude without its source and line numbers, calls it
// with the setup, and keeps the functions that it returns.
func (b *builder) prelude() {
	const stripSource, stripDebug = 1 << 4, 1 << 5
	if b.err != nil {
		return
	}
	t, vm := b.t, b.vm
	src, err := vm.put(b.ctx, []byte(t.o.Prelude))
	if err != nil {
		b.err = err
		return
	}
	name, err := vm.put(b.ctx, []byte(t.o.PreludeName))
	if err != nil {
		b.err = err
		return
	}
	code := b.call("qjs_compile", uint64(src), uint64(len(t.o.Prelude)), uint64(name), 0, stripSource|stripDebug, uint64(t.scratch+scratchLen))
	if code == 0 {
		b.fail("compiling the prelude", b.exceptionText())
		return
	}
	n := binary.LittleEndian.Uint32(vm.mem()[t.scratch+scratchLen:])
	box := uint32(b.call("qjs_eval_bytecode", code, uint64(n)))
	if b.err != nil {
		return
	}
	fn := Value(binary.LittleEndian.Uint64(vm.mem()[box:]))
	if vm.isException(fn) {
		b.fail("evaluating the prelude", b.exceptionText())
		return
	}
	setup, err := vm.ParseJSON(b.ctx, t.o.Setup)
	if err != nil {
		b.fail("reading the prelude's setup", b.errText(err))
		return
	}
	entries, err := vm.Call(b.ctx, fn, t.undefined, setup)
	if err != nil {
		b.fail("running the prelude", b.errText(err))
		return
	}
	for i := range t.o.Entries {
		v := Value(b.call("JS_GetPropertyUint32", uint64(t.ctxPtr), uint64(entries), uint64(i)))
		if vm.isException(v) || v == t.undefined {
			b.fail("running the prelude", fmt.Sprintf("entry %d is missing", i))
			return
		}
		t.entries = append(t.entries, v)
	}
	vm.Free(b.ctx, setup)
}

func (b *builder) fail(step, detail string) {
	if b.err == nil {
		b.err = fmt.Errorf("%s: %s", step, detail)
	}
}

func (b *builder) errText(err error) string {
	var exc *Exception
	if !errors.As(err, &exc) {
		return err.Error()
	}
	s, err := b.vm.ReadString(b.ctx, exc.Value, 4096)
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(s))
}

func (b *builder) exceptionText() string {
	v, err := b.vm.do(b.ctx, opException, args{})
	if err != nil {
		return err.Error()
	}
	return b.errText(&Exception{Value(v)})
}

// finish leaves the heap collected, with room to allocate, and learns its size.
func (b *builder) finish() {
	t, vm := b.t, b.vm
	if b.err != nil {
		return
	}
	room, err := vm.malloc(b.ctx, headroom)
	if err != nil {
		b.err = err
		return
	}
	if _, b.err = vm.do(b.ctx, opFree, args{p0: room}); b.err != nil {
		return
	}
	b.call("qjs_run_gc")
	usage, err := vm.malloc(b.ctx, 512)
	if err != nil {
		b.err = err
		return
	}
	b.call("qjs_compute_memory_usage", uint64(usage))
	t.baseBytes = uint32(binary.LittleEndian.Uint64(vm.mem()[usage:]))
	if _, err := vm.do(b.ctx, opFree, args{p0: usage}); err != nil {
		b.err = err
		return
	}
	b.call("JS_SetGCThreshold", uint64(t.rtPtr), uint64(t.baseBytes+gcHeadroom))
}
