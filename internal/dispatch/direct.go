package dispatch

import (
	"context"

	"github.com/cloister-wasm/cloister/api"
)

// CallTool runs a tool directly, through the same dispatcher as the calls of cells.
// It is for surfaces without code mode. It ends with the run, and gives ErrClosed
// after. A call that fails or is refused is a *ToolError.
func (r *Run) CallTool(ctx context.Context, in api.CallInput) (*api.CallResult, error) {
	if r.o.Context.Err() != nil {
		return nil, api.ErrClosed
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(r.o.Context, cancel)()
	if in.CallID == "" {
		var err error
		if in.CallID, err = r.d.NewID("call_"); err != nil {
			return nil, err
		}
	}
	files := NewAttachments(r.d.o.Budget)
	defer files.Drop()
	c := &Call{run: r, tc: &api.ToolCall{ID: in.CallID, Tool: in.ID, Input: in.Input, Scope: r.o.Scope}, files: files}
	c.root = c
	if from := callOf(ctx); from != nil && from.run == r {
		c.parent = from // a tool that calls tools by way of its run is inside of its call all the same
	}
	out, te := c.Dispatch(ctx)
	if te != nil {
		return nil, te
	}
	res := &api.CallResult{Value: out, Attachments: files.named(out)}
	if c.mcp != nil {
		res.Structured, res.Content = c.mcp.Structured, c.mcp.Content
	}
	return res, nil
}
