package quickjs

import (
	"fmt"

	"github.com/cloister-wasm/cloister/internal/wasmbin"
)

// The operations of the dispatch function. One function instead of the engine's
// many exports: wazero keeps a native stack for each function that a host
// calls, and one crossing can do the work of several.
const (
	opMalloc    = iota // (p0=bytes) -> address
	opFree             // (p0=address)
	opCompile          // (p0=source, p1=length, p2=file name) -> bytecode value
	opRun              // (v0=bytecode) -> value
	opCall             // (v0=function, v1=this, p0=argc, p1=argv) -> value
	opString           // (p0=address, p1=length) -> value
	opParse            // (p0=address, p1=length, p2=file name) -> value
	opToC              // (v0=value, p0=address for the length) -> address
	opFreeC            // (p0=address)
	opFreeValue        // (v0=value)
	opException        // () -> value
	opResult           // (v0=promise) -> value
	opMemLimit         // (p0=runtime, p1=bytes)
	opTurn             // (p0=runtime, p1=scratch, v0=drain, v1=undefined) -> state, see turnBody
	opCount
)

// Parameters of the dispatch function.
const (
	argOp = iota
	argCtx
	argP0
	argP1
	argP2
	argV0
	argV1
	argLen
)

const (
	// evalFlagsCompile is JS_EVAL_TYPE_GLOBAL | JS_EVAL_FLAG_COMPILE_ONLY.
	evalFlagsCompile = 1 << 5
	// tagException is JS_TAG_EXCEPTION, the upper half of an exception's encoding.
	// Templates check it against the engine.
	tagException = 6
	// propAll is JS_PROP_C_W_E: configurable, writable, enumerable.
	propAll = 7
)

// linker resolves the engine's exports. The first missing one sticks.
type linker struct {
	m   *wasmbin.Module
	err error
}

func (l *linker) fn(name string) uint32 {
	i, ok := l.m.ExportedFunc(name)
	if !ok && l.err == nil {
		l.err = fmt.Errorf("the engine has no export %s", name)
	}
	return i
}

// addDispatch adds `cloister_dispatch(op, ctx, p0, p1, p2 i32, v0, v1 i64) i64`.
func addDispatch(m *wasmbin.Module) error {
	l := &linker{m: m}
	decode, cursor, err := addDecode(m, l)
	if err != nil {
		return err
	}
	c := wasmbin.NewBody(2) // two locals for turnBody
	for range opCount + 1 {
		c = c.Block()
	}
	c = c.Get(argOp).BrTable(opCount).End()
	next := func(body wasmbin.Code) { c = append(c, body...).Return().End() }
	b := func() wasmbin.Code { return nil }

	next(b().Get(argP0).Call(l.fn("wasm_malloc")).ExtendU())
	next(b().Get(argP0).Call(l.fn("wasm_free")).I64(0))
	next(b().Get(argCtx).Get(argP0).Get(argP1).Get(argP2).I32(evalFlagsCompile).Call(l.fn("JS_Eval")))
	next(b().Get(argCtx).Get(argV0).Call(l.fn("JS_EvalFunction")))
	next(b().Get(argCtx).Get(argV0).Get(argV1).Get(argP0).Get(argP1).Call(l.fn("JS_Call")))
	next(b().Get(argCtx).Get(argP0).Get(argP1).Call(l.fn("JS_NewStringLen")))
	next(b().Get(argCtx).Get(argP0).Get(argP1).Get(argP2).Call(l.fn("JS_ParseJSON")))
	next(b().Get(argCtx).Get(argP0).Get(argV0).I32(0).Call(l.fn("JS_ToCStringLen2")).ExtendU())
	next(b().Get(argCtx).Get(argP0).Call(l.fn("JS_FreeCString")).I64(0))
	next(b().Get(argCtx).Get(argV0).Call(l.fn("JS_FreeValue")).I64(0))
	next(b().Get(argCtx).Call(l.fn("JS_GetException")))
	next(b().Get(argCtx).Get(argV0).Call(l.fn("JS_PromiseResult")))
	next(b().Get(argP0).Get(argP1).Call(l.fn("JS_SetMemoryLimit")).I64(0))
	next(turnBody(b(), l, decode, cursor))
	c = c.Unreachable().End()
	if l.err != nil {
		return l.err
	}
	i32, i64 := wasmbin.I32, wasmbin.I64
	index, err := m.AddFunc(wasmbin.FuncType{Params: []byte{i32, i32, i32, i32, i32, i64, i64}, Results: []byte{i64}}, c)
	if err != nil {
		return err
	}
	return m.AddExport(exportDispatch, index)
}

// Layout of the scratch memory that a template reserves for the host, in bytes.
const (
	scratchLen    = 0  // i32: a length that the engine writes
	scratchJob    = 4  // i32: the context of the last job
	scratchMain   = 8  // i64, in: the main promise
	scratchArgs   = 16 // 4 × i64: arguments of a call
	scratchSettle = 48 // i64, in: the settle function
	scratchBatch  = 56 // i32, in: address of settlements
	scratchCount  = 60 // i32, in: their number
	scratchOut    = 64 // i32, out: address of the drained text, 0 if there is none
	scratchOutLen = 68 // i32, out: its length
	scratchName   = 72 // file names, zero-terminated
	scratchSize   = 512
)

// Results of a turn other than a promise's state. An exception is pending.
const (
	turnSettleFailed = -1 - iota
	turnJobFailed
	turnDrainFailed
)

// turnBody does in one crossing what a turn of the event loop needs: free what
// the last turn drained, deliver settlements, run the jobs, call the drain
// function, convert its text, and read the state of the main promise. The text
// stays valid until the next turn.
//
// A settlement is u32 slot, u32 1 or 0, and a value of the codec; the settle
// function is called with (slot, flag, value).
func turnBody(c wasmbin.Code, l *linker, decode, cursor uint32) wasmbin.Code {
	const n, value = argLen, argV0 // a local; v0 is free once the drain function was called
	const rt, scratch, undefined = argP0, argP1, argV1
	const job = argLen + 1

	c = c.Get(scratch).Load32(scratchOut).If()
	c = c.Get(argCtx).Get(scratch).Load32(scratchOut).Call(l.fn("JS_FreeCString"))
	c = c.Get(scratch).I32(0).Store32(scratchOut).End()

	c = c.Get(scratch).Load32(scratchCount).Set(n)
	c = c.Get(scratch).Load32(scratchBatch).GlobalSet(cursor)
	c = c.Block().Loop()
	c = c.Get(n).Op(opcodeEqz).BrIf(1)
	c = c.Get(n).I32(1).Op(opcodeSub).Set(n)
	c = c.Get(scratch).GlobalGet(cursor).Load32(0).ExtendU().Store64(scratchArgs)
	c = c.Get(scratch).GlobalGet(cursor).Load32(4).ExtendU().Store64(scratchArgs + 8)
	c = c.GlobalGet(cursor).I32(8).Op(opcodeAdd).GlobalSet(cursor)
	c = c.Get(scratch).Get(argCtx).Call(decode).Store64(scratchArgs + 16)
	c = isException(c.Get(scratch).Load64(scratchArgs + 16)).If().I64(turnSettleFailed).Return().End()
	c = isException(c.Get(argCtx).Get(scratch).Load64(scratchSettle).Get(undefined).I32(3).
		Get(scratch).I32(scratchArgs).Op(opcodeAdd).Call(l.fn("JS_Call")))
	c = c.If().I64(turnSettleFailed).Return().End()
	c = c.Get(argCtx).Get(scratch).Load64(scratchArgs + 16).Call(l.fn("JS_FreeValue"))
	c = c.Br(0).End().End()
	c = c.Get(scratch).I32(0).Store32(scratchCount)

	c = c.Block().Loop()
	c = c.Get(rt).Get(scratch).I32(scratchJob).Op(opcodeAdd).Call(l.fn("JS_ExecutePendingJob")).Set(job)
	c = c.Get(job).I32(0).Op(opcodeLeS).BrIf(1)
	c = c.Br(0).End().End()
	c = c.Get(job).I32(0).Op(opcodeLtS).If().I64(turnJobFailed).Return().End()

	c = c.Get(argCtx).Get(argV0).Get(undefined).I32(0).I32(0).Call(l.fn("JS_Call")).Set(value)
	c = isException(c.Get(value)).If().I64(turnDrainFailed).Return().End()
	c = c.Get(scratch).I32(0).Store32(scratchOutLen)
	c = c.Get(value).Get(undefined).Op(opcodeNe64).If()
	c = c.Get(scratch)
	c = c.Get(argCtx).Get(scratch).I32(scratchOutLen).Op(opcodeAdd).Get(value).I32(0).Call(l.fn("JS_ToCStringLen2"))
	c = c.Store32(scratchOut)
	c = c.Get(argCtx).Get(value).Call(l.fn("JS_FreeValue"))
	c = c.Get(scratch).Load32(scratchOut).Op(opcodeEqz).If().I64(turnDrainFailed).Return().End()
	c = c.End()
	return c.Get(argCtx).Get(scratch).Load64(scratchMain).Call(l.fn("JS_PromiseState")).ExtendS()
}

// Single-byte opcodes without immediates, 5.4.5.
const (
	opcodeEqz  = 0x45
	opcodeEq   = 0x46
	opcodeLtS  = 0x48
	opcodeLeS  = 0x4c
	opcodeNe64 = 0x52
	opcodeAdd  = 0x6a
	opcodeSub  = 0x6b
	opcodeShr  = 0x88 // i64.shr_u
	opcodeWrap = 0xa7 // i32.wrap_i64
)

// isException replaces a value on the stack by whether it is an exception.
func isException(c wasmbin.Code) wasmbin.Code {
	return c.I64(32).Op(opcodeShr, opcodeWrap).I32(tagException).Op(opcodeEq)
}
