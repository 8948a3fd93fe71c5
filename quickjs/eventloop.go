package quickjs

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
)

// maxRejections bounds the unhandled promise rejections that are remembered. More
// are counted.
const maxRejections = 1 << 16

type rejection struct {
	reason uint32 // address of a value box
	number uint32
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
	if vm.dead {
		return 0, nil, ErrClosed
	}
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
	if vm.closed {
		return vm.t.undefined, false
	}
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
