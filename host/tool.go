package host

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/cloister-wasm/cloister/api"
	"github.com/cloister-wasm/cloister/internal/plainjson"
	"github.com/cloister-wasm/cloister/internal/schema"
)

// Tool makes a tool of a Go function. Parameters and Returns are derived from In
// and Out: field names and omitempty from `json` tags, descriptions from
// `jsonschema` tags. Input is decoded strictly: names are case-sensitive.
//
// It panics if a schema cannot be derived, which is a mistake in the types.
func Tool[In, Out any](name, description string, fn func(ctx context.Context, in In) (Out, error)) api.RawTool {
	params, err := schema.For[In]()
	if err != nil {
		panic(fmt.Sprintf("host.Tool %s: input type: %v", name, err))
	}
	returns, err := schema.For[Out]()
	if err != nil {
		panic(fmt.Sprintf("host.Tool %s: result type: %v", name, err))
	}
	return api.RawTool{
		Name: name, Description: description, Parameters: params, Returns: returns,
		Call: func(ctx context.Context, input json.RawMessage) (json.RawMessage, error) {
			var in In
			// The dispatcher has decoded the input strictly.
			if err := schema.DecodeInto(input, &in, &schema.DecodeOptions{Checked: true}); err != nil {
				return nil, &api.ToolError{Name: "TypeError", Message: "input does not fit the tool: " + err.Error(), Code: "invalid_input"}
			}
			out, err := fn(ctx, in)
			if err != nil {
				return nil, err
			}
			return plainjson.Encode(out)
		},
	}
}
