package quickjs

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// Intrinsics of a template's context: the flags of the engine's qjs_init2. Left
// out are eval and the Function constructors (1), performance (10),
// DOMException (11), and atob with btoa (12).
const intrinsics = 1<<0 | 1<<2 | 1<<3 | 1<<4 | 1<<5 | 1<<6 | 1<<7 | 1<<8 | 1<<9

const (
	// maxNativeStack is QuickJS's stack limit in bytes, half of the 1 MiB stack
	// that the module was linked with: the rest is for native frames.
	maxNativeStack = 512 << 10
	// inputSize is the size of a buffer that each VM has for what the host puts in.
	inputSize = 32 << 10
	// initialPages is the engine's initial memory, in pages of 64 KiB.
	initialPages = 18
	// headroom is heap that a template owns and has not touched. A cell that
	// needs no more never grows its memory, so its instance can be used again.
	headroom = 4 << 20
	// gcHeadroom is what a cell allocates, in bytes, before the first collection.
	gcHeadroom = 1 << 20
	// maxHostBytes is guest memory beyond the cell's own limit, for what the
	// host puts in and for the allocator's slack.
	maxHostBytes = 32 << 20
)

// TemplateOptions says what a template contains.
type TemplateOptions struct {
	// Prelude is a script whose value is a function. It is called with Setup and
	// returns an array of functions, the entries that the host calls later.
	Prelude string
	// PreludeName is the prelude's file name. Default "prelude.js".
	PreludeName string
	// Setup is JSON text, the prelude's argument. Default null.
	Setup []byte
	// Entries is the number of functions that the prelude returns.
	Entries int
	// MemoryLimit bounds what one cell may allocate, in bytes. Default 64 MiB.
	MemoryLimit uint32
	// MaxIdle and MaxIdleBytes bound the pool of idle VMs. Defaults 32 and 64 MiB.
	MaxIdle      int
	MaxIdleBytes int64
	// Train runs a typical cell on a fresh VM when the template is made. The
	// pages that it writes are kept resident. Nil trains nothing.
	Train func(ctx context.Context, vm *VM) error
}

func (o *TemplateOptions) withDefaults() TemplateOptions {
	c := *o
	if c.PreludeName == "" {
		c.PreludeName = "prelude.js"
	}
	if c.Setup == nil {
		c.Setup = []byte("null")
	}
	if c.MemoryLimit == 0 {
		c.MemoryLimit = 64 << 20
	}
	if c.MaxIdle == 0 {
		c.MaxIdle = 32
	}
	if c.MaxIdleBytes == 0 {
		c.MaxIdleBytes = 64 << 20
	}
	return c
}

// Template is an initialised runtime with a prelude, as a memory image. It is
// safe for concurrent use.
type Template struct {
	e      *Engine
	o      TemplateOptions
	im     *image
	digest [32]byte
	maxMem uint64

	// Constants of the image: addresses and values that are the same in every VM.
	rtPtr, ctxPtr  uint32
	evalAt, randAt uint32 // addresses of the context's eval hook and random state
	scratch, input uint32
	stackTop       uint64
	baseBytes      uint32 // what the runtime has allocated
	entries        []Value
	undefined      Value

	mu     sync.Mutex
	idle   []*VM
	closed bool
}

// NewTemplate initialises a runtime, evaluates the prelude and keeps the memory.
func (e *Engine) NewTemplate(ctx context.Context, o *TemplateOptions) (*Template, error) {
	t := &Template{e: e, o: o.withDefaults()}
	t.maxMem = uint64(t.o.MemoryLimit) + maxHostBytes
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%d\n%s\n%d\n%s\n", e.digest, len(t.o.Prelude), t.o.Prelude, len(t.o.Setup), t.o.Setup)
	h.Sum(t.digest[:0])
	if err := t.build(ctx); err != nil {
		return nil, fmt.Errorf("building a template: %w", err)
	}
	sealImage(t.im)
	if t.o.Train != nil {
		if err := t.train(ctx); err != nil {
			t.Close()
			return nil, fmt.Errorf("training a template: %w", err)
		}
	}
	return t, nil
}

// Digest identifies the template: engine, prelude and setup. Snapshots are bound
// to it.
func (t *Template) Digest() string { return hex.EncodeToString(t.digest[:]) }

// ImageBytes is the size of the template's memory that is not zero, in bytes.
func (t *Template) ImageBytes() int {
	n := 0
	for _, page := range t.im.pages {
		n += len(page)
	}
	return n
}

// Undefined is JavaScript's undefined.
func (t *Template) Undefined() Value { return t.undefined }

// Entry gives the i-th function that the prelude returned.
func (t *Template) Entry(i int) Value { return t.entries[i] }

func (t *Template) build(ctx context.Context) error {
	t.im = &image{size: initialPages * wasmPage}
	lm, err := newMemory(t.im, t.maxMem+uint64(len(t.o.Setup))*64+headroom, t.e.plain)
	if err != nil {
		return err
	}
	vm, err := t.instantiate(ctx, lm)
	if err != nil {
		return err
	}
	defer vm.destroy()
	b := &builder{t: t, vm: vm, ctx: &callContext{ctx, vm}}
	b.run()
	if b.err != nil {
		return b.err
	}
	mem := vm.mem()
	t.maxMem += uint64(len(mem))
	t.im = newImage(mem)
	t.stackTop = vm.stackPtr.Get()
	return nil
}

// train runs the training cell and keeps the pages that it wrote resident.
func (t *Template) train(ctx context.Context) error {
	vm, err := t.NewVM(ctx, nil)
	if err != nil {
		return err
	}
	if err := t.o.Train(ctx, vm); err != nil {
		vm.destroy()
		return err
	}
	pages := vm.lm.dirty(t.im.size)
	vm.destroy()
	t.im.setHot(pages)
	return nil
}

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

// instantiate makes an instance over the given memory.
func (t *Template) instantiate(ctx context.Context, lm linear) (*VM, error) {
	if !t.e.enter() {
		lm.Free()
		return nil, ErrClosed
	}
	ctx = withAllocator(ctx, lm)
	mod, err := t.e.rt.InstantiateModule(ctx, t.e.compiled, wazero.NewModuleConfig().WithName("").WithStartFunctions())
	if err != nil {
		lm.Free()
		t.e.leave()
		return nil, fmt.Errorf("instantiating the engine: %w", err)
	}
	vm := &VM{t: t, mod: mod, lm: lm, memory: mod.Memory(), dispatch: mod.ExportedFunction(exportDispatch)}
	vm.callCtx.vm = vm
	vm.setDefaults()
	vm.stackPtr = mod.ExportedGlobal(exportStack).(api.MutableGlobal)
	vm.counter = mod.ExportedGlobal(exportCounter).(api.MutableGlobal)
	vm.oom = mod.ExportedGlobal(exportOOM).(api.MutableGlobal)
	if pages := uint32(t.im.size / wasmPage); pages > vm.memory.Size()/wasmPage {
		if _, ok := vm.memory.Grow(pages - vm.memory.Size()/wasmPage); !ok {
			vm.destroy()
			return nil, ErrOutOfMemory
		}
	}
	return vm, nil
}

// Close drops idle VMs and the image. VMs in use stay usable and are dropped
// when they are closed.
func (t *Template) Close() {
	t.mu.Lock()
	idle := t.idle
	t.idle, t.closed = nil, true
	t.mu.Unlock()
	for _, vm := range idle {
		vm.destroy()
	}
	closeImage(t.im)
}
