package quickjs

import (
	"fmt"

	"github.com/cloister-wasm/cloister/quickjs/wasmbin"
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
	opJobs             // (p0=runtime, p1=scratch) -> result of the last job: 0 none left, negative an exception
	opString           // (p0=address, p1=length) -> value
	opParse            // (p0=address, p1=length, p2=file name) -> value
	opToC              // (v0=value, p0=address for the length) -> address
	opFreeC            // (p0=address)
	opFreeValue        // (v0=value)
	opDupValue         // (v0=value) -> value
	opException        // () -> value
	opState            // (v0=promise) -> 0 pending, 1 fulfilled, 2 rejected, negative no promise
	opResult           // (v0=promise) -> value
	opMemLimit         // (p0=runtime, p1=bytes)
	opFreeBox          // (p0=address of a value box)
	opTurn             // see turn
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

// evalFlagsCompile is JS_EVAL_TYPE_GLOBAL | JS_EVAL_FLAG_COMPILE_ONLY.
const evalFlagsCompile = 1 << 5

// addDispatch adds `cloister_dispatch(op, ctx, p0, p1, p2 i32, v0, v1 i64) i64`.
func addDispatch(m *wasmbin.Module) error {
	var missing error
	fn := func(name string) uint32 {
		i, ok := m.ExportedFunc(name)
		if !ok && missing == nil {
			missing = fmt.Errorf("the engine has no export %s", name)
		}
		return i
	}
	const jobResult = argLen // a local
	c := wasmbin.NewBody(1)
	for range opCount + 1 {
		c = c.Block()
	}
	c = c.Get(argOp).BrTable(opCount).End()
	next := func(body wasmbin.Code) { c = append(c, body...).Return().End() }
	b := func() wasmbin.Code { return nil }

	next(b().Get(argP0).Call(fn("wasm_malloc")).ExtendU())
	next(b().Get(argP0).Call(fn("wasm_free")).I64(0))
	next(b().Get(argCtx).Get(argP0).Get(argP1).Get(argP2).I32(evalFlagsCompile).Call(fn("JS_Eval")))
	next(b().Get(argCtx).Get(argV0).Call(fn("JS_EvalFunction")))
	next(b().Get(argCtx).Get(argV0).Get(argV1).Get(argP0).Get(argP1).Call(fn("JS_Call")))
	next(jobLoop(b(), fn, jobResult, argP0, argP1).Get(jobResult).ExtendS())
	next(b().Get(argCtx).Get(argP0).Get(argP1).Call(fn("JS_NewStringLen")))
	next(b().Get(argCtx).Get(argP0).Get(argP1).Get(argP2).Call(fn("JS_ParseJSON")))
	next(b().Get(argCtx).Get(argP0).Get(argV0).I32(0).Call(fn("JS_ToCStringLen2")).ExtendU())
	next(b().Get(argCtx).Get(argP0).Call(fn("JS_FreeCString")).I64(0))
	next(b().Get(argCtx).Get(argV0).Call(fn("JS_FreeValue")).I64(0))
	next(b().Get(argCtx).Get(argV0).Call(fn("JS_DupValue")))
	next(b().Get(argCtx).Call(fn("JS_GetException")))
	next(b().Get(argCtx).Get(argV0).Call(fn("JS_PromiseState")).ExtendS())
	next(b().Get(argCtx).Get(argV0).Call(fn("JS_PromiseResult")))
	next(b().Get(argP0).Get(argP1).Call(fn("JS_SetMemoryLimit")).I64(0))
	next(b().Get(argP0).Call(fn("qjs_free_value")).I64(0))
	next(turnBody(b(), fn, jobResult))
	c = c.Unreachable().End()
	if missing != nil {
		return missing
	}
	i32, i64 := wasmbin.I32, wasmbin.I64
	index, err := m.AddFunc(wasmbin.FuncType{Params: []byte{i32, i32, i32, i32, i32, i64, i64}, Results: []byte{i64}}, c)
	if err != nil {
		return err
	}
	return m.AddExport(exportDispatch, index)
}

// jobLoop runs pending jobs until none is left or one fails; the result is put
// into local out.
func jobLoop(c wasmbin.Code, fn func(string) uint32, out, rt, scratch uint32) wasmbin.Code {
	c = c.Block().Loop()
	c = c.Get(rt).Get(scratch).Call(fn("JS_ExecutePendingJob")).Set(out)
	c = c.Get(out).I32(0).Op(0x4c /* i32.le_s */).BrIf(1)
	return c.Br(0).End().End()
}

// Layout of the scratch memory that a template reserves for the host, in bytes.
const (
	scratchLen   = 0  // i32: a length that the engine writes
	scratchJob   = 4  // i32: the context of the last job
	scratchMain  = 8  // i64: in: the main promise
	scratchArgs  = 16 // 4 × i64: arguments of a call
	scratchValue = 48 // i64: out: a value
	scratchName  = 64 // file names, zero-terminated
	scratchSize  = 512
)

// Results of a turn.
const (
	turnPending = iota // the main promise is open
	turnFulfilled
	turnRejected
	turnJobFailed    = -1 // a job threw: interrupted, as a rule
	turnSettleFailed = -2 // the delivery threw
	turnDrainFailed  = -3
	turnNoPromise    = -4
)

// turnBody does in one crossing what a turn of the event loop needs: run the
// jobs, call the drain function (v0), and read the state of the main promise.
// p0 = runtime, p1 = scratch. The drained value is left in scratch.
func turnBody(c wasmbin.Code, fn func(string) uint32, tmp uint32) wasmbin.Code {
	c = c.Get(argP1).I32(scratchJob).Op(0x6a /* i32.add */).Set(argP2)
	c = jobLoop(c, fn, tmp, argP0, argP2)
	c = c.Get(tmp).I32(0).Op(0x48 /* i32.lt_s */).If().I64(turnJobFailed).Return().End()
	c = c.Get(argP1) // address for the store
	c = c.Get(argCtx).Get(argV0).Get(argV1).I32(0).I32(0).Call(fn("JS_Call"))
	c = c.Store64(scratchValue)
	return c.Get(argCtx).Get(argP1).Load64(scratchMain).Call(fn("JS_PromiseState")).ExtendS()
}
