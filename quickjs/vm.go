package quickjs

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"io"
	"math"
	"sync/atomic"
	"time"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// Value is a JavaScript value of one VM in the engine's own 64-bit encoding. It
// is meaningful only in its VM and in VMs restored from a snapshot of it.
type Value uint64

// VMOptions configures one VM.
type VMOptions struct {
	// Now is the clock that the guest sees. Default time.Now.
	Now func() time.Time
	// ClockStep is the clock's resolution. Default 10 ms.
	ClockStep time.Duration
	// Random seeds Math.random: eight bytes are read when the VM starts. Default
	// crypto/rand.
	Random io.Reader
	// MemoryLimit bounds what the cell allocates, in bytes. Default, and at most,
	// the template's limit.
	MemoryLimit uint32
}

// cellFile is the file name of a cell in stack traces.
const cellFile = "cell.js"

// VM is one sealed instance. All methods are for one goroutine at a time, save
// Stop. After ErrTrapped only Close may be called, after ErrInterrupted Salvage and Close.
type VM struct {
	t        *Template
	mod      api.Module
	lm       linear
	memory   api.Memory
	dispatch api.Function
	stackPtr api.MutableGlobal
	counter  api.MutableGlobal
	oom      api.MutableGlobal
	callCtx  callContext
	stack    [argLen + 1]uint64

	now       func() time.Time
	clockStep time.Duration
	random    io.Reader

	interrupt    atomic.Bool
	deadline     time.Time
	slice        slice // of the guest's computing; starts with the first checkpoint of a call
	interrupted  error // why guest code was stopped
	late         int   // checkpoints since its deadline
	unwound      bool  // it ended by itself after that, and no trap was needed
	fuel         int   // checkpoints that Salvage still allows, and one; 0 outside of it
	dead         bool
	closed       bool
	gone         bool // the instance was released
	moduleDenied bool
	rejections   map[uint64]rejection // by promise
	rejected     uint32               // numbers the rejections
	lost         uint32               // unhandled rejections that are not remembered
}

// args are the arguments of the dispatch function.
type args struct {
	p0, p1, p2 uint32
	v0, v1     Value
}

func withAllocator(ctx context.Context, lm linear) context.Context {
	return experimental.WithMemoryAllocator(ctx, experimental.MemoryAllocatorFunc(func(_, _ uint64) experimental.LinearMemory { return lm }))
}

// NewVM takes an idle VM or makes one. Its memory is bit-identical to the
// template, but for the seed of Math.random.
func (t *Template) NewVM(ctx context.Context, o *VMOptions) (*VM, error) {
	vm, err := t.blank(ctx)
	if err != nil {
		return nil, err
	}
	if o != nil {
		vm.configure(o)
	}
	var seed [8]byte
	if _, err := io.ReadFull(vm.random, seed[:]); err != nil {
		vm.destroy()
		return nil, err
	}
	if binary.LittleEndian.Uint64(seed[:]) == 0 {
		seed[0] = 1 // xorshift stays at zero for ever
	}
	copy(vm.mem()[t.randAt:], seed[:])
	if err := vm.limitMemory(ctx, o); err != nil {
		vm.destroy()
		return nil, err
	}
	return vm, nil
}

// blank gives a VM whose memory equals the image.
func (t *Template) blank(ctx context.Context) (*VM, error) {
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return nil, ErrClosed
	}
	if n := len(t.idle); n > 0 {
		vm := t.idle[n-1]
		t.idle = t.idle[:n-1]
		t.mu.Unlock()
		return vm, nil
	}
	t.mu.Unlock()
	lm, err := t.newMemory()
	if err != nil {
		return nil, err
	}
	vm, err := t.instantiate(ctx, lm)
	if err != nil {
		return nil, err
	}
	vm.stackPtr.Set(t.stackTop)
	return vm, nil
}

// newMemory maps an instance's memory. The image's file stays open meanwhile:
// Close waits, or another file might stand behind its number.
func (t *Template) newMemory() (linear, error) {
	t.mapping.RLock()
	defer t.mapping.RUnlock()
	t.mu.Lock()
	closed := t.closed
	t.mu.Unlock()
	if closed {
		return nil, ErrClosed
	}
	return newMemory(t.im, t.maxMem, t.e.plain)
}

func (vm *VM) setDefaults() {
	vm.now, vm.clockStep, vm.random = time.Now, 10*time.Millisecond, rand.Reader
}

func (vm *VM) configure(o *VMOptions) {
	if o.Now != nil {
		vm.now = o.Now
	}
	if o.ClockStep > 0 {
		vm.clockStep = o.ClockStep
	}
	if o.Random != nil {
		vm.random = o.Random
	}
}

func (vm *VM) limitMemory(ctx context.Context, o *VMOptions) error {
	limit := vm.t.o.MemoryLimit
	if o != nil && o.MemoryLimit != 0 {
		limit = min(limit, o.MemoryLimit)
	}
	total := uint32(min(uint64(vm.t.baseBytes)+uint64(limit), math.MaxUint32))
	_, err := vm.do(ctx, opMemLimit, args{p0: vm.t.rtPtr, p1: total})
	return err
}

// Template gives the template that the VM was made from.
func (vm *VM) Template() *Template { return vm.t }

// mem is the guest's memory at its present size. It must not be kept across a
// call into the guest.
func (vm *VM) mem() []byte { return vm.lm.base()[:vm.memory.Size()] }

// DirtyBytes is how much memory this VM holds beyond the image that all VMs of its
// template share, in bytes: the pages that were written, by the guest or when they
// were put back to the image. Where the kernel cannot tell, and where memory is
// plain (EngineOptions.PlainMemory, systems other than Linux), it is the whole
// memory. A closed VM holds none. The kernel is asked each time: a few microseconds
// for a small cell, a few hundred for 50 MB.
func (vm *VM) DirtyBytes() int {
	if vm.closed {
		return 0
	}
	return int(held(vm.lm, uint64(vm.memory.Size())))
}

// SetDeadline sets when guest code is stopped; the zero time means never.
func (vm *VM) SetDeadline(t time.Time) { vm.deadline = t }

// Stop makes running guest code end with ErrInterrupted and ErrStopped within a
// fraction of a millisecond. It may be called from any goroutine.
func (vm *VM) Stop() { vm.interrupt.Store(true) }

// do makes one call into the guest.
func (vm *VM) do(ctx context.Context, op uint64, a args) (uint64, error) {
	if vm.dead {
		return 0, ErrClosed
	}
	vm.callCtx.Context, vm.slice = ctx, slice{}
	s := vm.stack[:]
	s[argOp], s[argCtx] = op, uint64(vm.t.ctxPtr)
	s[argP0], s[argP1], s[argP2] = uint64(a.p0), uint64(a.p1), uint64(a.p2)
	s[argV0], s[argV1] = uint64(a.v0), uint64(a.v1)
	err := vm.dispatch.CallWithStack(&vm.callCtx, s)
	vm.callCtx.Context = nil
	if err != nil {
		vm.dead = true
		if vm.interrupted != nil {
			return 0, &InterruptError{Cause: vm.interrupted}
		}
		return 0, &TrapError{Cause: err}
	}
	if vm.interrupted != nil {
		vm.dead, vm.unwound = true, true
		return 0, &InterruptError{Cause: vm.interrupted}
	}
	return s[0], nil
}

// OutOfMemory says whether an allocation failed, also if guest code caught it.
func (vm *VM) OutOfMemory() bool { return vm.oom.Get() != 0 }

// ModuleDenied says whether guest code tried to load a module.
func (vm *VM) ModuleDenied() bool { return vm.moduleDenied }

// Interrupted says whether the VM was stopped by deadline, context or Stop.
func (vm *VM) Interrupted() bool { return vm.interrupted != nil }

// Close ends the VM. One that is whole and never grew is put back to the
// template's image and kept for the next cell; any other is dropped.
func (vm *VM) Close() {
	if vm.closed {
		return
	}
	vm.closed = true
	t := vm.t
	if vm.dead || uint64(vm.memory.Size()) != t.im.size || vm.interrupt.Load() {
		vm.destroy()
		return
	}
	vm.lm.reset()
	fresh := &VM{t: t, mod: vm.mod, lm: vm.lm, memory: vm.memory, dispatch: vm.dispatch, stackPtr: vm.stackPtr, counter: vm.counter, oom: vm.oom}
	fresh.callCtx.vm = fresh
	fresh.setDefaults()
	fresh.stackPtr.Set(t.stackTop)
	fresh.counter.Set(meterQuantum)
	fresh.oom.Set(0)
	vm.dead = true
	if !t.keep(fresh) {
		fresh.destroy()
	}
}

// keep puts a VM into the pool if there is room.
func (t *Template) keep(vm *VM) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	resident := int64(16 << 10)
	for _, s := range t.im.hot {
		resident += int64(s.to-s.from) * pageSize
	}
	if t.e.plain {
		resident = int64(t.im.size)
	}
	if t.closed || len(t.idle) >= t.o.MaxIdle || int64(len(t.idle)+1)*resident > t.o.MaxIdleBytes {
		return false
	}
	t.idle = append(t.idle, vm)
	return true
}

// destroy releases the instance and its memory.
func (vm *VM) destroy() {
	if vm.gone {
		return
	}
	vm.dead, vm.closed, vm.gone = true, true, true
	// Closing an instance only marks it and frees its memory; it has no exit
	// code to report that anyone could act on.
	_ = vm.mod.Close(context.Background())
	vm.lm.Free()
	vm.t.e.leave()
}
