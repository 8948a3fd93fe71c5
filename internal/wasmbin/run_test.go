package wasmbin

import (
	"context"
	"fmt"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// accepts says whether wazero compiles the module. Its validator is the oracle:
// an edit of a valid module must give a valid module.
func accepts(wasm []byte) (err error) {
	defer func() {
		if r := recover(); r != nil { // a fault of the oracle, not of ours
			err = fmt.Errorf("wazero: %v", r)
		}
	}()
	ctx := context.Background()
	rt := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter().WithMemoryLimitPages(64))
	defer rt.Close(ctx)
	_, err = rt.CompileModule(ctx, wasm)
	return err
}

// harness runs a module's function "f" with a hook that counts its calls and
// answers what reply says.
type harness struct {
	t     *testing.T
	calls int
	reply func(call int) uint32
	mod   api.Module
}

func start(t *testing.T, wasm []byte) *harness {
	t.Helper()
	ctx := context.Background()
	h := &harness{t: t, reply: func(int) uint32 { return 0 }}
	cfg := wazero.NewRuntimeConfigCompiler().WithCoreFeatures(api.CoreFeaturesV2 | experimental.CoreFeaturesTailCall)
	rt := wazero.NewRuntimeWithConfig(ctx, cfg)
	t.Cleanup(func() { rt.Close(ctx) })
	_, err := rt.NewHostModuleBuilder("env").NewFunctionBuilder().WithFunc(func() uint32 {
		h.calls++
		return h.reply(h.calls)
	}).Export("hook").Instantiate(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if h.mod, err = rt.Instantiate(ctx, wasm); err != nil {
		t.Fatal(err)
	}
	return h
}

func (h *harness) call(arg uint64) (uint64, error) {
	h.t.Helper()
	res, err := h.mod.ExportedFunction("f").Call(context.Background(), arg)
	if err != nil {
		return 0, err
	}
	return res[0], nil
}

func (h *harness) mustCall(arg uint64) uint64 {
	h.t.Helper()
	got, err := h.call(arg)
	if err != nil {
		h.t.Fatal(err)
	}
	return got
}

// metered is the module after MeterLoops.
func metered(t *testing.T, wasm []byte, mt Meter) ([]byte, MeterStats) {
	t.Helper()
	m, err := Decode(wasm)
	if err != nil {
		t.Fatal(err)
	}
	st, err := m.MeterLoops(mt)
	if err != nil {
		t.Fatal(err)
	}
	return m.Encode(), st
}
