package quickjs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
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

	mu      sync.Mutex
	idle    []*VM
	closed  bool
	mapping sync.RWMutex // held for reading while memory is mapped from the image
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
	pages := t.im.dirty(vm.lm, t.im.size)
	vm.destroy()
	t.im.setHot(pages)
	return nil
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
	t.mapping.Lock()
	defer t.mapping.Unlock()
	closeImage(t.im)
}
