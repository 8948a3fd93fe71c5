package extism

import (
	"context"
	"encoding/binary"
	"errors"

	ext "github.com/extism/go-sdk"

	"github.com/cloister-wasm/cloister/internal/plaintext"
)

var (
	errTransfer = errors.New("the plugin stored outside the memory it shares with the host")
	errLoad     = errors.New("the plugin read outside the memory it shares with the host")
	errShared   = errors.New("the memory that the plugin shares with the host is full")
	errSelf     = errors.New("the runtime does not say which module is the plugin's")
	errStart    = errors.New("a start function may not call the host")
	errOver     = errors.New("the call is over")
)

type frameKey struct{}

// frame is a call in progress. Contexts that host functions hand on carry it.
type frame struct {
	instance *Instance
	outer    *frame // the call from which this one is made
	starting bool   // a start function runs; there is no call
}

// within reports whether the instance is in the middle of a call that ctx belongs to.
func (i *Instance) within(ctx context.Context) bool {
	f, _ := ctx.Value(frameKey{}).(*frame)
	for ; f != nil; f = f.outer {
		if f.instance == i {
			return true
		}
	}
	return false
}

// current is the instance whose call this is. A start function runs outside of any; what it wants of the host panics,
// which wazero turns into an error of the instantiation.
func current(ctx context.Context) *Instance {
	f, ok := ctx.Value(frameKey{}).(*frame)
	if !ok || f.starting {
		panic(errStart)
	}
	return f.instance
}

// env are the functions of Extism's module for plugins, all of those in [envImports] that are not refused.
func env() []ext.HostFunction {
	const i32, i64 = ext.ValueTypeI32, ext.ValueTypeI64
	one, word, two := []ext.ValueType{i64}, []ext.ValueType{i32}, []ext.ValueType{i64, i64}
	fs := []ext.HostFunction{
		own("alloc", hostAlloc, one, one),
		own("free", hostFree, one, nil),
		own("length", hostLength, one, one),
		own("length_unsafe", hostLength, one, one),
		own("load_u8", hostLoad8, one, word),
		own("load_u64", hostLoad64, one, one),
		own("store_u8", hostStore8, []ext.ValueType{i64, i32}, nil),
		own("store_u64", hostStore64, two, nil),
		own("input_length", hostInputLength, nil, one),
		own("input_offset", hostInputOffset, nil, one),
		own("input_load_u8", hostInputLoad8, one, word),
		own("input_load_u64", hostInputLoad64, one, one),
		own("output_set", hostOutputSet, two, nil),
		own("error_set", hostErrorSet, one, nil),
		own("get_log_level", hostLogLevel, nil, word),
	}
	for _, level := range []string{"trace", "debug", "info", "warn", "error"} {
		fs = append(fs, own("log_"+level, hostLog(level), one, nil))
	}
	return fs
}

func own(name string, f ext.HostFunctionStackCallback, params, results []ext.ValueType) ext.HostFunction {
	hf := ext.NewHostFunctionWithStack(name, f, params, results)
	hf.SetNamespace(ownModule)
	return hf
}

func hostAlloc(ctx context.Context, _ *ext.CurrentPlugin, stack []uint64) {
	i := current(ctx)
	i.goOn() // zeroing megabytes takes a while
	stack[0] = i.kernel.alloc(stack[0])
}

func hostFree(ctx context.Context, _ *ext.CurrentPlugin, stack []uint64) {
	current(ctx).kernel.release(stack[0])
}

func hostLength(ctx context.Context, _ *ext.CurrentPlugin, stack []uint64) {
	stack[0] = uint64(current(ctx).kernel.length(stack[0]))
}

// hostLoad8 gives 0 for what is outside, as Extism's kernel does.
func hostLoad8(ctx context.Context, _ *ext.CurrentPlugin, stack []uint64) {
	var v byte
	if b := current(ctx).kernel.view(stack[0], 1); b != nil {
		v = b[0]
	}
	stack[0] = uint64(v)
}

func hostLoad64(ctx context.Context, _ *ext.CurrentPlugin, stack []uint64) {
	b := current(ctx).kernel.view(stack[0], 8)
	if b == nil {
		panic(errLoad)
	}
	stack[0] = binary.LittleEndian.Uint64(b)
}

func hostStore8(ctx context.Context, _ *ext.CurrentPlugin, stack []uint64) {
	b := current(ctx).kernel.view(stack[0], 1)
	if b == nil {
		panic(errTransfer)
	}
	b[0] = byte(stack[1])
}

func hostStore64(ctx context.Context, _ *ext.CurrentPlugin, stack []uint64) {
	b := current(ctx).kernel.view(stack[0], 8)
	if b == nil {
		panic(errTransfer)
	}
	binary.LittleEndian.PutUint64(b, stack[1])
}

func hostInputLength(ctx context.Context, _ *ext.CurrentPlugin, stack []uint64) {
	stack[0] = uint64(len(current(ctx).kernel.given))
}

func hostInputOffset(ctx context.Context, _ *ext.CurrentPlugin, stack []uint64) {
	stack[0] = uint64(current(ctx).kernel.input)
}

func hostInputLoad8(ctx context.Context, _ *ext.CurrentPlugin, stack []uint64) {
	var words [windowWords]uint64
	fill(words[:], current(ctx).kernel.inputFrom(stack[0]))
	stack[0] = words[0] & 0xff
}

func hostInputLoad64(ctx context.Context, _ *ext.CurrentPlugin, stack []uint64) {
	var words [windowWords]uint64
	fill(words[:], current(ctx).kernel.inputFrom(stack[0]))
	stack[0] = words[0]
}

func hostOutputSet(ctx context.Context, _ *ext.CurrentPlugin, stack []uint64) {
	k := current(ctx).kernel
	k.output, k.outputLen = 0, 0
	if k.view(stack[0], stack[1]) != nil {
		k.output, k.outputLen = int(stack[0]), int(stack[1])
	}
}

func hostErrorSet(ctx context.Context, _ *ext.CurrentPlugin, stack []uint64) {
	current(ctx).kernel.failure = stack[0]
}

// hostLogLevel answers with the lowest level to be logged; PDKs do not even build a message below it.
func hostLogLevel(ctx context.Context, _ *ext.CurrentPlugin, stack []uint64) {
	level := ext.LogLevelOff
	if current(ctx).log.sink != nil {
		level = ext.LogLevelTrace
	}
	stack[0] = ext.EncodeU32(uint32(level.ExtismCompat()))
}

func hostLog(level string) ext.HostFunctionStackCallback {
	return func(ctx context.Context, _ *ext.CurrentPlugin, stack []uint64) {
		i := current(ctx)
		i.goOn()
		text := i.kernel.block(stack[0])
		text = text[:min(len(text), maxLogLine)]
		if len(text) > 0 && i.log.sink != nil && i.log.spend(len(text)) == nil {
			i.log.record(level, []byte(plaintext.Line(string(text), plaintext.Whole)))
		}
		i.kernel.release(stack[0])
	}
}
