package quickjs

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// original drives the engine as it is published: not metered, with its own data
// segments, through its own exports and with host functions of the test's own.
// It is the oracle for what rewriting must not change.
type original struct {
	tb       testing.TB
	ctx      context.Context
	mod      api.Module
	ctxPtr   uint64
	rtPtr    uint64
	scratch  uint32
	now      time.Time
	rejected int
	onClock  func() // called once
}

type originalKey struct{}

// originalModule compiles the engine once for the process.
var originalModule = sync.OnceValues(func() (func(context.Context) (api.Module, error), error) {
	found, err := FindEngine()
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	rt := wazero.NewRuntime(ctx)
	builders := map[string]wazero.HostModuleBuilder{}
	for _, f := range originalHost {
		b := builders[f.module]
		if b == nil {
			b = rt.NewHostModuleBuilder(f.module)
			builders[f.module] = b
		}
		b.NewFunctionBuilder().WithGoFunction(api.GoFunc(func(ctx context.Context, s []uint64) {
			o, _ := ctx.Value(originalKey{}).(*original)
			f.fn(o, s)
		}), f.params, f.results).Export(f.name)
	}
	for _, b := range builders {
		if _, err := b.Instantiate(ctx); err != nil {
			return nil, err
		}
	}
	compiled, err := rt.CompileModule(ctx, found.Wasm)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (api.Module, error) {
		return rt.InstantiateModule(ctx, compiled, wazero.NewModuleConfig().WithName("").WithStartFunctions("_initialize"))
	}, nil
})

func originalZero(_ *original, s []uint64) { s[0] = 0 }
func originalFail(_ *original, s []uint64) { s[0] = errnoNosys }

var originalHost = []struct {
	module, name    string
	params, results []api.ValueType
	fn              func(*original, []uint64)
}{
	{"env", "host_get_timezone_offset", i32s(2), i32s(1), originalZero},
	{"env", "host_interrupt", nil, i32s(1), originalZero},
	{"env", "host_promise_rejection", i32s(3), nil, func(o *original, s []uint64) {
		if s[2] == 0 {
			o.rejected++
		} else {
			o.rejected--
		}
	}},
	{"env", "host_module_normalize", i32s(2), i32s(1), originalZero},
	{"env", "host_module_load", i32s(2), i32s(1), originalZero},
	{"env", "host_call", i32s(5), i32s(1), originalZero},
	{"wasi_snapshot_preview1", "clock_time_get", []api.ValueType{api.ValueTypeI32, api.ValueTypeI64, api.ValueTypeI32}, i32s(1), func(o *original, s []uint64) {
		if f := o.onClock; f != nil {
			o.onClock = nil
			f()
		}
		o.mod.Memory().WriteUint64Le(uint32(s[2]), uint64(o.now.UnixNano()))
		s[0] = 0
	}},
	{"wasi_snapshot_preview1", "fd_close", i32s(1), i32s(1), originalFail},
	{"wasi_snapshot_preview1", "fd_fdstat_get", i32s(2), i32s(1), originalFail},
	{"wasi_snapshot_preview1", "fd_seek", []api.ValueType{api.ValueTypeI32, api.ValueTypeI64, api.ValueTypeI32, api.ValueTypeI32}, i32s(1), originalFail},
	{"wasi_snapshot_preview1", "fd_write", i32s(4), i32s(1), originalFail},
	{"wasi_snapshot_preview1", "random_get", i32s(2), i32s(1), originalZero},
}

func newOriginal(tb testing.TB, now time.Time) *original {
	tb.Helper()
	instantiate, err := originalModule()
	if err != nil {
		tb.Fatal(err)
	}
	o := &original{tb: tb, now: now}
	o.ctx = context.WithValue(context.Background(), originalKey{}, o)
	if o.mod, err = instantiate(o.ctx); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { o.mod.Close(o.ctx) })
	o.call("qjs_init2", intrinsics)
	o.rtPtr, o.ctxPtr = o.call("qjs_get_runtime_ptr"), o.call("qjs_get_context_ptr")
	o.call("JS_AddIntrinsicEval", o.ctxPtr)
	o.call("qjs_set_promise_rejection_handler", 1)
	o.call("qjs_set_module_loader", 1)
	o.call("qjs_set_max_stack_size", maxNativeStack)
	o.scratch = uint32(o.call("wasm_malloc", 64))
	return o
}

func (o *original) call(name string, args ...uint64) uint64 {
	o.tb.Helper()
	res, err := o.mod.ExportedFunction(name).Call(o.ctx, args...)
	if err != nil {
		o.tb.Fatalf("%s: %v", name, err)
	}
	if len(res) == 0 {
		return 0
	}
	return res[0]
}

func (o *original) text(s string) uint64 {
	at := o.call("wasm_malloc", uint64(len(s)+1))
	o.mod.Memory().Write(uint32(at), append([]byte(s), 0))
	return at
}

// eval compiles a script and then runs it, as Compile and Run do.
func (o *original) eval(src, file string) (v uint64, thrown bool) {
	o.tb.Helper()
	code := o.call("JS_Eval", o.ctxPtr, o.text(src), uint64(len(src)), o.text(file), evalFlagsCompile)
	if !isThrown(code) {
		code = o.call("JS_EvalFunction", o.ctxPtr, code)
	}
	return o.value(code)
}

func isThrown(v uint64) bool { return uint32(v>>32) == tagException }

func (o *original) value(v uint64) (uint64, bool) {
	o.tb.Helper()
	if isThrown(v) {
		return o.call("JS_GetException", o.ctxPtr), true
	}
	return v, false
}

// apply calls a function with one argument.
func (o *original) apply(fn, arg uint64) (uint64, bool) {
	o.tb.Helper()
	o.mod.Memory().WriteUint64Le(o.scratch, arg)
	undefined := uint64(3) << 32
	return o.value(o.call("JS_Call", o.ctxPtr, fn, undefined, 1, uint64(o.scratch)))
}

// jobs runs pending jobs until none is left.
func (o *original) jobs() {
	o.tb.Helper()
	for int32(o.call("JS_ExecutePendingJob", o.rtPtr, uint64(o.scratch))) > 0 {
	}
}

func (o *original) string(v uint64) string {
	o.tb.Helper()
	p := uint32(o.call("JS_ToCStringLen2", o.ctxPtr, uint64(o.scratch), v, 0))
	mem := o.mod.Memory()
	n, _ := mem.ReadUint32Le(o.scratch)
	b, ok := mem.Read(p, n)
	if !ok || p == 0 {
		o.tb.Fatal("the original gave no string")
	}
	return strings.Clone(string(b))
}

// outcome runs a script to its end and describes what came of it.
func (o *original) outcome(describe uint64, src string) string {
	o.tb.Helper()
	v, thrown := o.eval(src, cellFile)
	label := "value"
	if thrown {
		label = "thrown"
	} else {
		o.jobs()
		if s := int32(o.call("JS_PromiseState", o.ctxPtr, v)); s >= 0 {
			label = []string{"pending", "fulfilled", "rejected"}[s]
			if s > 0 {
				v = o.call("JS_PromiseResult", o.ctxPtr, v)
			}
		}
	}
	text, bad := o.apply(describe, v)
	if bad {
		o.tb.Fatal("the description threw: " + o.string(text))
	}
	return outcomeText(label, o.string(text), o.rejected > 0)
}

func outcomeText(label, text string, unhandled bool) string {
	if unhandled {
		label += ", unhandled rejection"
	}
	return label + "\n" + text + "\n"
}
