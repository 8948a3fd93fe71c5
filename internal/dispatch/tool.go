package dispatch

import (
	"context"
	"encoding/json"
	"time"

	"github.com/cloister-wasm/cloister/api"
	"github.com/cloister-wasm/cloister/internal/schema"
	"github.com/cloister-wasm/cloister/plugins"
)

// Tool is the host's side of a catalog entry: how to check and run a call.
type Tool struct {
	Params, Returns *schema.Schema // nil: not declared
	Approval        api.Approval
	Plugin          *plugins.Plugin // whose tool it is, if it is a plugin's
	Manifest        *plugins.Tool   // the tool in the plugin's manifest
	Timeout         time.Duration
	Client          bool           // executed by the caller of Exec
	MCP             bool           // a tool, resource or prompt of an MCP server
	strict          bool           // what invoke returns has been checked to be strict JSON
	Original        *api.MCPTool   // as the server has it; nil for resources and prompts
	Structured      *schema.Schema // of an MCP tool's structuredContent
	Definition      func() string  // hash of what the tool says of itself
	Facts           *api.ToolFacts
	Invoke          Invocation
	// prepare, if set, does what comes before a call and does not count against
	// its timeout: a plugin is compiled at its first use.
	prepare func(ctx context.Context, r *Run) error
}

// Invocation makes a call that has passed all checks.
type Invocation func(ctx context.Context, c *Call) (json.RawMessage, error)

// InvokeGo is the call of a Go function.
func InvokeGo(f func(ctx context.Context, input json.RawMessage) (json.RawMessage, error)) Invocation {
	return func(ctx context.Context, c *Call) (json.RawMessage, error) { return f(ctx, c.tc.Input) }
}

// ToolOfPlugin makes the tool of a plugin. The plugin bounds the time of a call itself: what waits for a person does not count.
func ToolOfPlugin(p *plugins.Plugin, t *plugins.Tool) *Tool {
	return &Tool{
		Approval: api.Approval(t.Approval), Plugin: p, Manifest: t, strict: true,
		prepare: func(ctx context.Context, r *Run) error {
			_, err := r.instance(ctx, p)
			return err
		},
		Invoke: func(ctx context.Context, c *Call) (json.RawMessage, error) {
			return c.run.callPlugin(ctx, p, t.Name, c.tc.Input)
		},
	}
}

// OfPlugin implements ref.
func (r *Tool) OfPlugin() *plugins.Plugin { return r.Plugin }

// OfServer implements ref.
func (r *Tool) OfServer() *api.MCPTool { return r.Original }

// Hints implements ref.
func (r *Tool) Hints() api.ToolAnnotations { return r.Facts.Annotations }
