package dispatch

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/cloister-wasm/cloister/api"
	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/internal/catalog"
	"github.com/cloister-wasm/cloister/plugins"
)

// pluginEnv is what a run offers to its plugins (plugins.Env).
type pluginEnv struct{ run *Run }

// Progress implements plugins.Env.
func (pluginEnv) Progress(ctx context.Context, p guestabi.ProgressRequest) {
	ReportProgress(ctx, api.Progress{Done: p.Progress, Total: p.Total, Message: p.Message})
}

// CallTool implements plugins.Env: the call goes through the dispatcher like any
// other.
func (env pluginEnv) CallTool(ctx context.Context, tool string, input json.RawMessage) (json.RawMessage, error) {
	c := callOf(ctx)
	if c == nil || c.ref == nil || c.ref.Plugin == nil {
		return nil, &plugins.ToolError{Name: "Error", Message: "tools can be called during a call only", Code: string(api.CodeUnavailable)}
	}
	if !strings.Contains(tool, ":") {
		tool = catalog.SourceCloister + ":" + catalog.OwnerCore + ":" + tool
	}
	child, err := c.child(tool, input)
	if err != nil {
		return nil, err
	}
	out, te := child.Dispatch(ctx)
	if te != nil {
		return nil, &plugins.ToolError{Name: te.Name, Message: te.Message, Code: string(te.Code)}
	}
	return out, nil
}

// Interrupt implements plugins.Env.
func (env pluginEnv) Interrupt(ctx context.Context, payload json.RawMessage) (out json.RawMessage, err error) {
	c := callOf(ctx)
	if c == nil {
		return nil, &plugins.ToolError{Name: "Error", Message: "a run can be interrupted during a call only", Code: string(api.CodeUnavailable)}
	}
	h := env.run.d
	if f := h.o.OnInterrupt; f != nil {
		if !h.Contain("OnInterrupt", func() { out, err = f(ctx, c.tc, payload) }) {
			return nil, &plugins.ToolError{Name: "Error", Message: "the interrupt could not be answered", Code: string(api.CodeUnavailable)}
		}
		return out, err
	}
	return c.interrupt(ctx, payload)
}
