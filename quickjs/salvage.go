package quickjs

import (
	"context"
	"errors"
)

// salvageChecks is how many checkpoints guest code may pass while Salvage looks at it: some
// milliseconds of computing. It is a count and not a time, so that what can be salvaged does not depend on how busy the
// machine is.
const salvageChecks = 32

// Salvage calls look with a VM whose guest code was stopped by its deadline, so that what the program left
// can still be read: its outbox, and the error that was thrown where it was stopped, which has a stack trace. It does so
// only where the guest unwound by itself: a VM that trapped, or was stopped for another reason, is not looked at.
// Whatever guest code look causes to run is bounded by a count of checkpoints. Afterwards only Close may be called.
func (vm *VM) Salvage(ctx context.Context, look func(thrown Value) error) error {
	if !vm.unwound || vm.closed || !errors.Is(vm.interrupted, context.DeadlineExceeded) {
		return ErrClosed
	}
	vm.dead, vm.unwound, vm.interrupted, vm.fuel = false, false, nil, salvageChecks+1
	defer func() { vm.dead, vm.fuel = true, 0 }()
	r, err := vm.do(ctx, opException, args{})
	if err != nil {
		return err
	}
	return look(Value(r))
}

// burn is checkpoint while Salvage looks.
func (vm *VM) burn() uint32 {
	if vm.fuel > 1 {
		vm.fuel--
		return 0
	}
	vm.stopFor(context.DeadlineExceeded)
	return 3
}
