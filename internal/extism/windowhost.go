package extism

import (
	"context"
	"encoding/binary"

	ext "github.com/extism/go-sdk"
)

// windowFunctions are the host's side.
func windowFunctions() []ext.HostFunction {
	return []ext.HostFunction{
		own(readInputName, func(ctx context.Context, _ *ext.CurrentPlugin, stack []uint64) {
			fill(stack, current(ctx).kernel.inputFrom(stack[0]))
		}, typeRead.Params, typeRead.Results),
		own(readName, func(ctx context.Context, _ *ext.CurrentPlugin, stack []uint64) {
			fill(stack, current(ctx).kernel.from(stack[0]))
		}, typeRead.Params, typeRead.Results),
		own(writeName, hostWrite, typeWrite.Params, nil),
	}
}

// fill lays bytes out as words, and zeros behind them.
func fill(stack []uint64, b []byte) {
	for n := range windowWords {
		switch {
		case len(b) >= 8:
			stack[n], b = binary.LittleEndian.Uint64(b), b[8:]
		case len(b) > 0:
			var word [8]byte
			copy(word[:], b)
			stack[n], b = binary.LittleEndian.Uint64(word[:]), nil
		default:
			stack[n] = 0
		}
	}
}

func hostWrite(ctx context.Context, _ *ext.CurrentPlugin, stack []uint64) {
	n := min(stack[1], windowBytes)
	b := current(ctx).kernel.view(stack[0], n)
	if b == nil && n > 0 {
		panic(errTransfer)
	}
	var text [windowBytes]byte
	for k, word := range stack[2 : 2+windowWords] {
		binary.LittleEndian.PutUint64(text[8*k:], word)
	}
	copy(b, text[:n])
}
