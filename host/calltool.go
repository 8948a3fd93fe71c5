package host

import (
	"context"
	"encoding/json"
)

// CallInput is a direct call of a tool.
type CallInput struct {
	// ID is the tool's catalog id.
	ID string
	// Input is the JSON object of its arguments.
	Input json.RawMessage
	// CallID identifies the call in trace and approvals: the model's tool call id. One is
	// made if it is empty.
	CallID string
}

// CallResult is what a tool gave.
type CallResult struct {
	// Value is the result as a cell would see it. That of an MCP tool is an object with
	// structuredContent and content.
	Value json.RawMessage
	// Structured and Content are those of an MCP tool's result, with its binaries.
	Structured json.RawMessage
	Content    []MCPContent
	// Attachments are the binaries that Value names.
	Attachments []Attachment
}

// CallTool runs a tool directly, through the same dispatcher as the calls of cells.
// It is for surfaces without code mode. It ends with the run, and gives ErrClosed
// after. A call that fails or is refused is a *ToolError.
func (r *Run) CallTool(ctx context.Context, in CallInput) (*CallResult, error) {
	if r.ctx.Err() != nil {
		return nil, ErrClosed
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
	c := &call{run: r, tc: &ToolCall{ID: in.CallID, Tool: in.ID, Input: in.Input, Scope: r.scope}, files: files}
	c.root = c
	if from := callOf(ctx); from != nil && from.run == r {
		c.parent = from // a tool that calls tools by way of its run is inside of its call all the same
	}
	out, te := c.dispatch(ctx)
	if te != nil {
		return nil, te
	}
	res := &CallResult{Value: out, Attachments: files.named(out)}
	if c.mcp != nil {
		res.Structured, res.Content = c.mcp.Structured, c.mcp.Content
	}
	return res, nil
}

// Call is CallTool for callers that want nothing but the value.
func (r *Run) Call(ctx context.Context, id string, input json.RawMessage) (json.RawMessage, error) {
	res, err := r.CallTool(ctx, CallInput{ID: id, Input: input})
	if err != nil {
		return nil, err
	}
	return res.Value, nil
}
