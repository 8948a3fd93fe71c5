package quickjs

import (
	"context"
	"encoding/binary"
	"io"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// callContext carries the VM to the host functions. Each call into the guest
// passes it, and wazero hands it on unchanged.
type callContext struct {
	context.Context
	vm *VM
}

func vmOf(ctx context.Context) *VM {
	if c, ok := ctx.(*callContext); ok {
		return c.vm
	}
	return nil
}

const (
	errnoSuccess = 0
	errnoBadf    = 8
	errnoInval   = 28
	errnoNosys   = 52
)

type hostFunc func(vm *VM, stack []uint64)

// hostFuncs are the twelve functions that the engine imports, with their
// signatures. Arguments come from the guest and are checked like anything else
// that does: each address and length against the memory, before use.
var hostFuncs = []struct {
	module, name    string
	params, results []api.ValueType
	fn              hostFunc
}{
	{"env", "host_get_timezone_offset", i32s(2), i32s(1), func(_ *VM, s []uint64) { s[0] = 0 }}, // UTC
	{"env", "host_interrupt", nil, i32s(1), func(vm *VM, s []uint64) { s[0] = uint64(vm.checkpoint()) }},
	{"env", "host_promise_rejection", i32s(3), nil, func(vm *VM, s []uint64) {
		vm.trackRejection(uint32(s[0]), uint32(s[1]), uint32(s[2]) != 0)
	}},
	{"env", "host_module_normalize", i32s(2), i32s(1), func(vm *VM, s []uint64) { vm.moduleDenied = true; s[0] = 0 }},
	{"env", "host_module_load", i32s(2), i32s(1), func(vm *VM, s []uint64) { vm.moduleDenied = true; s[0] = 0 }},
	// No function object that leads here is ever made, so no guest code calls it.
	{"env", "host_call", i32s(5), i32s(1), func(_ *VM, s []uint64) { s[0] = 0 }},
	{"wasi_snapshot_preview1", "clock_time_get", []api.ValueType{api.ValueTypeI32, api.ValueTypeI64, api.ValueTypeI32}, i32s(1), clockTimeGet},
	{"wasi_snapshot_preview1", "fd_close", i32s(1), i32s(1), nosys},
	{"wasi_snapshot_preview1", "fd_fdstat_get", i32s(2), i32s(1), badf},
	{"wasi_snapshot_preview1", "fd_seek", []api.ValueType{api.ValueTypeI32, api.ValueTypeI64, api.ValueTypeI32, api.ValueTypeI32}, i32s(1), nosys},
	{"wasi_snapshot_preview1", "fd_write", i32s(4), i32s(1), badf},
	{"wasi_snapshot_preview1", "random_get", i32s(2), i32s(1), randomGet},
}

func i32s(n int) []api.ValueType {
	t := make([]api.ValueType, n)
	for i := range t {
		t[i] = api.ValueTypeI32
	}
	return t
}

func nosys(_ *VM, s []uint64) { s[0] = errnoNosys }
func badf(_ *VM, s []uint64)  { s[0] = errnoBadf }

// clockTimeGet answers every clock with the host's coarse clock.
func clockTimeGet(vm *VM, s []uint64) {
	at := uint32(s[2])
	mem := vm.mem()
	if uint64(at)+8 > uint64(len(mem)) {
		s[0] = errnoInval
		return
	}
	now := vm.now().Truncate(vm.clockStep)
	binary.LittleEndian.PutUint64(mem[at:], uint64(now.UnixNano()))
	s[0] = errnoSuccess
}

// maxRandom bounds one request for random bytes. The engine asks for 8.
const maxRandom = 4096

func randomGet(vm *VM, s []uint64) {
	at, n := uint32(s[0]), uint32(s[1])
	mem := vm.mem()
	if n > maxRandom || uint64(at)+uint64(n) > uint64(len(mem)) {
		s[0] = errnoInval
		return
	}
	if _, err := io.ReadFull(vm.random, mem[at:at+n]); err != nil {
		s[0] = errnoNosys
		return
	}
	s[0] = errnoSuccess
}

// instantiateImports defines the host modules once per runtime.
func instantiateImports(ctx context.Context, rt wazero.Runtime) error {
	builders := map[string]wazero.HostModuleBuilder{}
	for _, h := range hostFuncs {
		b := builders[h.module]
		if b == nil {
			b = rt.NewHostModuleBuilder(h.module)
			builders[h.module] = b
		}
		fn := h.fn
		b.NewFunctionBuilder().WithGoFunction(api.GoFunc(func(ctx context.Context, stack []uint64) {
			if vm := vmOf(ctx); vm != nil {
				fn(vm, stack)
			} else if len(stack) > 0 {
				stack[0] = 0
			}
		}), h.params, h.results).Export(h.name)
	}
	for _, b := range builders {
		if _, err := b.Instantiate(ctx); err != nil {
			return err
		}
	}
	return nil
}

// graceAfterDeadline is how long the engine gets after the deadline to end by
// its own interrupt, which unwinds cleanly, before a checkpoint traps.
const graceAfterDeadline = 2 * time.Millisecond

// graceChecks is how many checkpoints it gets at least, about as much computing: on a busy machine the
// time may pass without the guest.
const graceChecks = 16

// checkpoint is called by the engine's own polls and by the metered loops. Bit
// 0 asks the engine to stop, bit 1 makes a metered loop trap.
func (vm *VM) checkpoint() uint32 {
	if vm.fuel > 0 {
		return vm.burn()
	}
	if vm.interrupt.Load() {
		vm.stopFor(ErrStopped)
		return 3
	}
	if ctx := vm.callCtx.Context; ctx != nil && ctx.Err() != nil {
		vm.stopFor(contextError(ctx))
		return 3
	}
	now := time.Now()
	if vm.deadline.IsZero() || now.Before(vm.deadline) {
		vm.slice.share(now)
		return 0
	}
	over := now.Sub(vm.deadline)
	vm.stopFor(context.DeadlineExceeded)
	if vm.late++; over < graceAfterDeadline || vm.late <= graceChecks {
		return 1
	}
	return 3
}

// stopFor keeps the first reason to stop: later ones come while the guest unwinds.
func (vm *VM) stopFor(reason error) {
	if vm.interrupted == nil {
		vm.interrupted = reason
	}
}
