package host

import (
	"context"
	"encoding/json"

	"github.com/cloister-wasm/cloister/api"
)

// CallTool runs a tool directly, through the same dispatcher as the calls of cells.
// It is for surfaces without code mode. It ends with the run, and gives ErrClosed
// after. A call that fails or is refused is a *ToolError.
func (r *Run) CallTool(ctx context.Context, in api.CallInput) (*api.CallResult, error) {
	if r.ctx.Err() != nil {
		return nil, api.ErrClosed
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(r.ctx, cancel)()
	if in.CallID == "" {
		var err error
		if in.CallID, err = r.h.newID("call_"); err != nil {
			return nil, err
		}
	}
	files := &attachments{budget: &r.h.budget}
	defer files.drop()
	c := &call{run: r, tc: &api.ToolCall{ID: in.CallID, Tool: in.ID, Input: in.Input, Scope: r.scope}, files: files}
	c.root = c
	if from := callOf(ctx); from != nil && from.run == r {
		c.parent = from // a tool that calls tools by way of its run is inside of its call all the same
	}
	out, te := c.dispatch(ctx)
	if te != nil {
		return nil, te
	}
	res := &api.CallResult{Value: out, Attachments: files.named(out)}
	if c.mcp != nil {
		res.Structured, res.Content = c.mcp.Structured, c.mcp.Content
	}
	return res, nil
}

// Call is CallTool for callers that want nothing but the value.
func (r *Run) Call(ctx context.Context, id string, input json.RawMessage) (json.RawMessage, error) {
	res, err := r.CallTool(ctx, api.CallInput{ID: id, Input: input})
	if err != nil {
		return nil, err
	}
	return res.Value, nil
}
