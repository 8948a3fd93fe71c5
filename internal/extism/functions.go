package extism

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/internal/plaintext"
	ext "github.com/extism/go-sdk"
)

// HostFunction is a function of the host that a plugin may import from [guestabi.PluginHostModule], with the type
// (i64) → i64: the offset of a block with the request, and of one with the response, in Extism's shared memory.
type HostFunction struct {
	// Name is the import's name.
	Name string
	// Pauses stops the clock of the plugin's call while Call runs: waiting for a person is not the plugin's time. The
	// call's context ends it all the same.
	Pauses bool
	// Call answers a request, both opaque bytes; the request is Call's own. ctx is derived from that of [Instance.Call]
	// and ends when the call does. Call runs on the goroutine of the plugin's call, so two of one instance never run at
	// the same time, but those of other instances do. It must not call the same instance: that gives [ErrBusy]. A panic
	// costs the instance.
	//
	// A request over [Config.InputBytes] never comes here, and a response over [Config.OutputBytes] does not reach the
	// plugin: it gets a [guestabi.PluginResponse] with the error code "too_large" instead.
	Call func(ctx context.Context, request []byte) (response []byte)
}

func functionNames(fs []HostFunction) []string {
	names := make([]string, 0, len(fs))
	for _, f := range fs {
		names = append(names, f.Name)
	}
	return names
}

// checkFunctions refuses what no import could mean one function of.
func checkFunctions(fs []HostFunction) error {
	for n, f := range fs {
		if f.Name == "" || f.Call == nil {
			return fmt.Errorf("%w: number %d has no name or no Call", ErrFunctions, n)
		}
		if slices.ContainsFunc(fs[:n], func(g HostFunction) bool { return g.Name == f.Name }) {
			return fmt.Errorf("%w: %q is there twice", ErrFunctions, f.Name)
		}
	}
	return nil
}

// offered makes them importable.
func offered(fs []HostFunction) []ext.HostFunction {
	var out []ext.HostFunction
	for _, f := range fs {
		hf := ext.NewHostFunctionWithStack(f.Name, f.serve, []ext.ValueType{ext.ValueTypeI64}, []ext.ValueType{ext.ValueTypeI64})
		hf.SetNamespace(guestabi.PluginHostModule)
		out = append(out, hf)
	}
	return out
}

// serve is one call of the function by a plugin. The plugin goes on only if its own call does.
func (f HostFunction) serve(ctx context.Context, _ *ext.CurrentPlugin, stack []uint64) {
	i := current(ctx)
	i.goOn()
	response := f.answer(ctx, i, stack[0])
	i.goOn()
	stack[0] = i.kernel.put(response)
	if stack[0] == 0 && len(response) > 0 {
		panic(errShared)
	}
}

// answer bounds request and response.
func (f HostFunction) answer(ctx context.Context, i *Instance, offset uint64) []byte {
	block, c := i.kernel.block(offset), i.module.config
	if len(block) > c.InputBytes {
		return overLimit("request", len(block), c.InputBytes)
	}
	response := f.run(ctx, i, slices.Clone(block))
	if len(response) > c.OutputBytes {
		return overLimit("response", len(response), c.OutputBytes)
	}
	return response
}

// run calls the host's code. Its panic becomes the plugin's trap; the text is for the host.
func (f HostFunction) run(ctx context.Context, i *Instance, request []byte) []byte {
	defer func() {
		if r := recover(); r != nil {
			panic(fmt.Errorf("the host function %s panicked: %v", plaintext.Short(f.Name, maxName), r))
		}
	}()
	if f.Pauses {
		i.clock.pause()
		defer i.clock.resume()
	}
	return f.Call(ctx, request)
}

// overLimit is an answer that the plugin can handle.
func overLimit(what string, got, most int) []byte {
	b, err := json.Marshal(guestabi.PluginResponse{ABI: guestabi.PluginABI, Error: &guestabi.PluginFailure{
		Name: "RangeError", Code: "too_large",
		Message: fmt.Sprintf("the %s of %d bytes is over the limit of %d bytes; ask for less at once", what, got, most),
	}})
	if err != nil {
		panic(err) // a struct of strings and numbers
	}
	return b
}
