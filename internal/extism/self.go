package extism

import (
	"context"
	"fmt"

	ext "github.com/extism/go-sdk"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/cloister-wasm/cloister/internal/plaintext"
)

// selfExport is an empty function that is added to each plugin. Whoever listens to it learns which module the plugin's
// is, which the SDK does not tell. No caller can name it.
const selfExport = "cloister_self"

// selfListener listens to that function and to no other of the plugin's, so that nothing else gets slower.
type selfListener struct{}

// Before implements experimental.FunctionListener.
func (selfListener) Before(ctx context.Context, m api.Module, _ api.FunctionDefinition, _ []uint64, _ experimental.StackIterator) {
	if f, ok := ctx.Value(frameKey{}).(*frame); ok && !f.starting {
		f.instance.main = m
	}
}

// After implements experimental.FunctionListener.
func (selfListener) After(context.Context, api.Module, api.FunctionDefinition, []uint64) {}

// Abort implements experimental.FunctionListener.
func (selfListener) Abort(context.Context, api.Module, api.FunctionDefinition, error) {}

// invoke calls an export. The first call goes to one that does nothing, by way of the SDK, which starts the runtime
// inside the plugin. After that the SDK has no part in calls: each of its own makes seven native stacks and throws them
// away.
func (i *Instance) invoke(ctx context.Context, export string) (rc uint32, err error) {
	if i.main == nil {
		_, _, err := i.plugin.CallWithContext(ctx, selfExport, nil)
		if err == nil && i.main == nil {
			err = errSelf
		}
		if err != nil || i.dead.Load() {
			return 0, err
		}
	}
	f := i.exports[export]
	if f == nil {
		if f = i.main.ExportedFunction(export); f == nil {
			return 0, fmt.Errorf("the runtime has no export %s", plaintext.Short(export, maxName)) // CheckExport knows it
		}
		i.exports[export] = f
	}
	res, err := f.Call(context.WithValue(ctx, ext.PluginCtxKey("plugin"), i.plugin)) // the SDK's host modules ask for it
	if err == nil && len(res) > 0 {
		rc = api.DecodeU32(res[0])
	}
	return rc, err
}
