package extism

import (
	"context"
	"errors"
	"math"

	ext "github.com/extism/go-sdk"
)

// kernelBlocks is where the blocks of the kernel's memory begin. Below lie its own words (position, length, offsets of
// input and output), which no plugin writes. The SDK's store_u64 does not check this.
const kernelBlocks = 65

var errTransfer = errors.New("the plugin stored outside the memory it shares with the host")

type instanceKey struct{}

// hostFunctions are ours in place of the SDK's; see the package comment.
func hostFunctions() []ext.HostFunction {
	const i32, i64 = ext.ValueTypeI32, ext.ValueTypeI64
	fs := []ext.HostFunction{
		own("input_length", hostInputLength, nil, []ext.ValueType{i64}),
		own("input_load_u8", hostInputLoad8, []ext.ValueType{i64}, []ext.ValueType{i32}),
		own("load_u8", hostLoad8, []ext.ValueType{i64}, []ext.ValueType{i32}),
		own("store_u8", hostStore8, []ext.ValueType{i64, i32}, nil),
		own("store_u64", hostStore64, []ext.ValueType{i64, i64}, nil),
		own("get_log_level", hostLogLevel, nil, []ext.ValueType{i32}),
	}
	for _, level := range []string{"trace", "debug", "info", "warn", "error"} {
		fs = append(fs, own("log_"+level, hostLog(level), []ext.ValueType{i64}, nil))
	}
	return fs
}

func own(name string, f ext.HostFunctionStackCallback, params, results []ext.ValueType) ext.HostFunction {
	hf := ext.NewHostFunctionWithStack(name, f, params, results)
	hf.SetNamespace(ownModule)
	return hf
}

// current is the instance whose call this is. A start function runs before there is one; what it wants of the host
// panics, which wazero turns into an error of the instantiation.
func current(ctx context.Context) *Instance {
	i, ok := ctx.Value(instanceKey{}).(*Instance)
	if !ok {
		panic(errors.New("a start function may not call the host"))
	}
	return i
}

// hostInputLength, hostInputLoad8 and hostLoad8 save a call into the kernel each, of two microseconds.
func hostInputLength(ctx context.Context, _ *ext.CurrentPlugin, stack []uint64) {
	stack[0] = uint64(current(ctx).inputLen)
}

func hostInputLoad8(ctx context.Context, _ *ext.CurrentPlugin, stack []uint64) {
	i, offset := current(ctx), stack[0]
	start, ok := ctx.Value(ext.InputOffsetKey("inputOffset")).(uint64)
	var b byte
	if ok && offset < uint64(i.inputLen) {
		b, _ = i.kernel.ReadByte(uint32(start + offset)) // the SDK put the input there
	}
	stack[0] = uint64(b)
}

func hostLoad8(ctx context.Context, _ *ext.CurrentPlugin, stack []uint64) {
	var b byte
	if stack[0] <= math.MaxUint32 {
		b, _ = current(ctx).kernel.ReadByte(uint32(stack[0])) // outside: 0, as the kernel has it
	}
	stack[0] = uint64(b)
}

func hostStore8(ctx context.Context, _ *ext.CurrentPlugin, stack []uint64) {
	if !storable(stack[0]) || !current(ctx).kernel.WriteByte(uint32(stack[0]), byte(stack[1])) {
		panic(errTransfer)
	}
}

func hostStore64(ctx context.Context, _ *ext.CurrentPlugin, stack []uint64) {
	if !storable(stack[0]) || !current(ctx).kernel.WriteUint64Le(uint32(stack[0]), stack[1]) {
		panic(errTransfer)
	}
}

func storable(offset uint64) bool { return offset >= kernelBlocks && offset <= math.MaxUint32 }

// hostLogLevel answers with the lowest level to be logged; PDKs do not even build a message below it.
func hostLogLevel(ctx context.Context, _ *ext.CurrentPlugin, stack []uint64) {
	level := ext.LogLevelOff
	if current(ctx).log.sink != nil {
		level = ext.LogLevelTrace
	}
	stack[0] = ext.EncodeU32(uint32(level.ExtismCompat()))
}

// hostLog reads the message under the call's context: the plugin can make the kernel's list of blocks endless.
func hostLog(level string) ext.HostFunctionStackCallback {
	return func(ctx context.Context, p *ext.CurrentPlugin, stack []uint64) {
		i, offset := current(ctx), stack[0]
		n, err := p.LengthWithContext(ctx, offset)
		if err != nil {
			panic(err)
		}
		if n > 0 && offset <= math.MaxUint32 && i.log.sink != nil {
			if text, ok := i.kernel.Read(uint32(offset), uint32(min(n, maxLogLine))); ok && i.log.spend(len(text)) == nil {
				i.log.record(level, printableBytes(text))
			}
		}
		if err := p.FreeWithContext(ctx, offset); err != nil {
			panic(err)
		}
	}
}

func printableBytes(b []byte) []byte { return []byte(printable(string(b))) }
