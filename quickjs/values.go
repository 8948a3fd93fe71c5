package quickjs

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"unicode/utf8"
)

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
	if vm.dead {
		return 0, ErrClosed
	}
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
	if vm.dead {
		return 0, err
	}
	binary.LittleEndian.PutUint32(vm.mem()[vm.t.evalAt:], 0)
	return v, err
}

// Run evaluates what Compile gave and frees it.
func (vm *VM) Run(ctx context.Context, code Value) (Value, error) {
	return vm.value(ctx, opRun, args{v0: code})
}

// Call calls a function with up to four arguments, which stay the caller's.
func (vm *VM) Call(ctx context.Context, fn, this Value, argv ...Value) (Value, error) {
	if vm.dead {
		return 0, ErrClosed
	}
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
// object, and copies out its UTF-8 text, with U+FFFD for lone surrogates. More
// than max bytes are ErrTooLarge.
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
		if !utf8.Valid(out) { // lone surrogates
			out = bytes.ToValidUTF8(out, []byte("\uFFFD"))
		}
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

// Result gives the value of a promise that is fulfilled or rejected.
func (vm *VM) Result(ctx context.Context, promise Value) (Value, error) {
	return vm.value(ctx, opResult, args{v0: promise})
}
