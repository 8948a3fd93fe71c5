package quickjs

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
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

// maxRejections bounds the unhandled promise rejections that are remembered. More
// are counted.
const maxRejections = 1 << 16

// VM is one sealed instance. All methods are for one goroutine at a time, save
// Stop. After ErrInterrupted or ErrTrapped only Close may be called.
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
	interrupted  bool
	dead         bool
	closed       bool
	gone         bool // the instance was released
	moduleDenied bool
	rejections   map[uint64]rejection // by promise
	rejected     uint32               // numbers the rejections
	lost         uint32               // unhandled rejections that are not remembered
}

type rejection struct {
	reason uint32 // address of a value box
	number uint32
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
	lm, err := newMemory(t.im, t.maxMem, t.e.plain)
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

// SetDeadline sets when guest code is stopped; the zero time means never.
func (vm *VM) SetDeadline(t time.Time) { vm.deadline = t }

// Stop makes running guest code end with ErrInterrupted within a fraction of a
// millisecond. It may be called from any goroutine.
func (vm *VM) Stop() { vm.interrupt.Store(true) }

// do makes one call into the guest.
func (vm *VM) do(ctx context.Context, op uint64, a args) (uint64, error) {
	if vm.dead {
		return 0, ErrClosed
	}
	vm.callCtx.Context = ctx
	s := vm.stack[:]
	s[argOp], s[argCtx] = op, uint64(vm.t.ctxPtr)
	s[argP0], s[argP1], s[argP2] = uint64(a.p0), uint64(a.p1), uint64(a.p2)
	s[argV0], s[argV1] = uint64(a.v0), uint64(a.v1)
	err := vm.dispatch.CallWithStack(&vm.callCtx, s)
	vm.callCtx.Context = nil
	if err != nil {
		vm.dead = true
		if vm.interrupted {
			return 0, ErrInterrupted
		}
		return 0, &TrapError{Cause: err}
	}
	if vm.interrupted {
		vm.dead = true
		return 0, ErrInterrupted
	}
	return s[0], nil
}

func (vm *VM) isException(v Value) bool { return uint32(v>>32) == tagException }

// value makes a call whose result is a JavaScript value or an exception.
func (vm *VM) value(ctx context.Context, op uint64, a args) (Value, error) {
	r, err := vm.do(ctx, op, a)
	if err != nil {
		return 0, err
	}
	if v := Value(r); !vm.isException(v) {
		return v, nil
	}
	return 0, vm.pendingException(ctx)
}

func (vm *VM) pendingException(ctx context.Context) error {
	r, err := vm.do(ctx, opException, args{})
	if err != nil {
		return err
	}
	return &Exception{Value: Value(r)}
}

func (vm *VM) malloc(ctx context.Context, n uint32) (uint32, error) {
	r, err := vm.do(ctx, opMalloc, args{p0: n})
	if err != nil {
		return 0, err
	}
	at := uint32(r)
	if at == 0 || uint64(at)+uint64(n) > uint64(vm.memory.Size()) {
		return 0, ErrOutOfMemory
	}
	return at, nil
}

// put copies b into memory of its own, with a zero at the end.
func (vm *VM) put(ctx context.Context, b []byte) (uint32, error) {
	if len(b) >= math.MaxInt32 {
		return 0, ErrTooLarge
	}
	at, err := vm.malloc(ctx, uint32(len(b)+1))
	if err != nil {
		return 0, err
	}
	mem := vm.mem()
	copy(mem[at:], b)
	mem[int(at)+len(b)] = 0
	return at, nil
}

// with calls f with the address of a copy of b: the input buffer if it fits,
// else memory of its own that is freed afterwards.
func (vm *VM) with(ctx context.Context, b string, f func(at uint32) (Value, error)) (Value, error) {
	if len(b) < inputSize {
		mem := vm.mem()
		at := vm.t.input
		copy(mem[at:], b)
		mem[int(at)+len(b)] = 0
		return f(at)
	}
	at, err := vm.put(ctx, []byte(b))
	if err != nil {
		return 0, err
	}
	v, err := f(at)
	if !vm.dead {
		if _, ferr := vm.do(ctx, opFree, args{p0: at}); ferr != nil {
			return 0, ferr
		}
	}
	return v, err
}

func (vm *VM) compile(ctx context.Context, src string) (Value, error) {
	return vm.with(ctx, src, func(at uint32) (Value, error) {
		return vm.value(ctx, opCompile, args{p0: at, p1: uint32(len(src)), p2: vm.t.scratch + scratchName})
	})
}

// Compile parses a script without running it. From then on the VM has no
// evaluator: eval and the Function constructors throw, for the script itself and
// for all that it reaches. A syntax error is an *Exception.
func (vm *VM) Compile(ctx context.Context, src string) (Value, error) {
	v, err := vm.compile(ctx, src)
	binary.LittleEndian.PutUint32(vm.mem()[vm.t.evalAt:], 0)
	return v, err
}

// Run evaluates what Compile gave and frees it.
func (vm *VM) Run(ctx context.Context, code Value) (Value, error) {
	return vm.value(ctx, opRun, args{v0: code})
}

// Call calls a function with up to four arguments, which stay the caller's.
func (vm *VM) Call(ctx context.Context, fn, this Value, argv ...Value) (Value, error) {
	at := vm.t.scratch + scratchArgs
	if len(argv) > 4 {
		return 0, errors.New("quickjs: Call takes at most four arguments")
	}
	mem := vm.mem()
	for i, v := range argv {
		binary.LittleEndian.PutUint64(mem[int(at)+8*i:], uint64(v))
	}
	return vm.value(ctx, opCall, args{v0: fn, v1: this, p0: uint32(len(argv)), p1: at})
}

// String makes a JavaScript string of UTF-8 text.
func (vm *VM) String(ctx context.Context, s string) (Value, error) {
	return vm.with(ctx, s, func(at uint32) (Value, error) {
		return vm.value(ctx, opString, args{p0: at, p1: uint32(len(s))})
	})
}

// ParseJSON makes a value of JSON text.
func (vm *VM) ParseJSON(ctx context.Context, text []byte) (Value, error) {
	return vm.with(ctx, string(text), func(at uint32) (Value, error) {
		return vm.value(ctx, opParse, args{p0: at, p1: uint32(len(text)), p2: vm.t.scratch + scratchName})
	})
}

// ReadString converts a value to a string, which may run guest code if it is an
// object, and copies out its UTF-8 text. More than max bytes are ErrTooLarge.
func (vm *VM) ReadString(ctx context.Context, v Value, max int) ([]byte, error) {
	at := vm.t.scratch + scratchLen
	r, err := vm.do(ctx, opToC, args{p0: at, v0: v})
	if err != nil {
		return nil, err
	}
	p := uint32(r)
	if p == 0 {
		return nil, vm.pendingException(ctx)
	}
	mem := vm.mem()
	n := binary.LittleEndian.Uint32(mem[at:])
	var out []byte
	switch {
	case uint64(p)+uint64(n) > uint64(len(mem)):
		vm.dead = true
		return nil, &TrapError{Cause: errors.New("the engine gave a string outside of its memory")}
	case uint64(n) > uint64(max):
		err = ErrTooLarge
	default:
		out = append(make([]byte, 0, n), mem[p:p+n]...)
	}
	if _, ferr := vm.do(ctx, opFreeC, args{p0: p}); ferr != nil {
		return nil, ferr
	}
	return out, err
}

// Free drops a reference to a value.
func (vm *VM) Free(ctx context.Context, v Value) error {
	_, err := vm.do(ctx, opFreeValue, args{v0: v})
	return err
}

// State is the state of a promise.
type State int

// The states of a promise.
const (
	Pending State = iota
	Fulfilled
	Rejected
)

// Settlement is the outcome of a request on its way to the guest.
type Settlement struct {
	Slot uint32
	// Flag is 1 for success and 0 for failure.
	Flag uint32
	// Value is encoded by the codec of package guestabi.
	Value []byte
}

// Turn is a turn of the event loop. It calls settle(slot, flag, value) for each
// settlement, runs pending jobs until none is left, calls drain without
// arguments, and reads the state of the promise main. The text that drain
// returns is valid until the next call into the VM; undefined gives nil. More
// than max bytes are ErrTooLarge.
func (vm *VM) Turn(ctx context.Context, settle Value, batch []Settlement, drain, main Value, max int) (State, []byte, error) {
	t := vm.t
	at, err := vm.putBatch(ctx, batch)
	if err != nil {
		return 0, nil, err
	}
	s := vm.mem()[t.scratch:]
	le := binary.LittleEndian
	le.PutUint64(s[scratchMain:], uint64(main))
	le.PutUint64(s[scratchSettle:], uint64(settle))
	le.PutUint32(s[scratchBatch:], at)
	le.PutUint32(s[scratchCount:], uint32(len(batch)))
	r, err := vm.do(ctx, opTurn, args{p0: t.rtPtr, p1: t.scratch, v0: drain, v1: t.undefined})
	if err != nil {
		return 0, nil, err
	}
	if at != 0 && at != t.input {
		if _, err := vm.do(ctx, opFree, args{p0: at}); err != nil {
			return 0, nil, err
		}
	}
	state := State(int64(r))
	switch {
	case state <= turnSettleFailed && state >= turnDrainFailed:
		return 0, nil, vm.pendingException(ctx)
	case state < Pending || state > Rejected:
		return 0, nil, errors.New("quickjs: the main value is no promise")
	}
	mem := vm.mem()
	p, n := le.Uint32(mem[t.scratch+scratchOut:]), le.Uint32(mem[t.scratch+scratchOutLen:])
	switch {
	case uint64(p)+uint64(n) > uint64(len(mem)):
		vm.dead = true
		return 0, nil, &TrapError{Cause: errors.New("the engine gave a string outside of its memory")}
	case uint64(n) > uint64(max):
		return 0, nil, ErrTooLarge
	}
	return state, mem[p : p+n], nil
}

// putBatch writes settlements into guest memory, into the input buffer if they
// fit.
func (vm *VM) putBatch(ctx context.Context, batch []Settlement) (uint32, error) {
	if len(batch) == 0 {
		return 0, nil
	}
	size := 0
	for i := range batch {
		size += 8 + len(batch[i].Value)
	}
	at := vm.t.input
	if size > inputSize {
		if size > math.MaxInt32 {
			return 0, ErrTooLarge
		}
		var err error
		if at, err = vm.malloc(ctx, uint32(size)); err != nil {
			return 0, err
		}
	}
	b := vm.mem()[at : int(at)+size : int(at)+size][:0]
	for i := range batch {
		b = binary.LittleEndian.AppendUint32(b, batch[i].Slot)
		b = binary.LittleEndian.AppendUint32(b, batch[i].Flag)
		b = append(b, batch[i].Value...)
	}
	return at, nil
}

// Result gives the value of a promise that is fulfilled or rejected.
func (vm *VM) Result(ctx context.Context, promise Value) (Value, error) {
	return vm.value(ctx, opResult, args{v0: promise})
}

// OutOfMemory says whether an allocation failed, also if guest code caught it.
func (vm *VM) OutOfMemory() bool { return vm.oom.Get() != 0 }

// ModuleDenied says whether guest code tried to load a module.
func (vm *VM) ModuleDenied() bool { return vm.moduleDenied }

// Interrupted says whether the VM was stopped by deadline, context or Stop.
func (vm *VM) Interrupted() bool { return vm.interrupted }

// trackRejection is the engine's report that a promise was rejected without a
// handler, or that such a promise was handled after all.
func (vm *VM) trackRejection(promise, reason uint32, handled bool) {
	mem := vm.mem()
	if uint64(promise)+8 > uint64(len(mem)) || uint64(reason)+8 > uint64(len(mem)) {
		return
	}
	key := binary.LittleEndian.Uint64(mem[promise:])
	_, known := vm.rejections[key]
	switch {
	case handled && known:
		delete(vm.rejections, key)
	case handled:
		vm.lost = max(vm.lost, 1) - 1
	case len(vm.rejections) >= maxRejections:
		vm.lost++
	default:
		if vm.rejections == nil {
			vm.rejections = map[uint64]rejection{}
		}
		vm.rejected++
		vm.rejections[key] = rejection{reason, vm.rejected}
	}
}

// Unhandled gives the reason of the first promise that was rejected and not
// handled, if there is one.
func (vm *VM) Unhandled() (reason Value, ok bool) {
	var first rejection
	for _, r := range vm.rejections {
		if first.number == 0 || r.number < first.number {
			first = r
		}
	}
	if mem := vm.mem(); first.number != 0 && uint64(first.reason)+8 <= uint64(len(mem)) {
		return Value(binary.LittleEndian.Uint64(mem[first.reason:])), true
	}
	return vm.t.undefined, vm.lost > 0
}

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
