package host

import (
	"context"
	"encoding/json"

	"github.com/cloister-wasm/cloister/api"
	"github.com/cloister-wasm/cloister/internal/dispatch"
)

// CallTool runs a tool directly, through the same dispatcher as the calls of cells.
// It is for surfaces without code mode. It ends with the run, and gives ErrClosed
// after. A call that fails or is refused is a *ToolError.
func (r *Run) CallTool(ctx context.Context, in CallInput) (*CallResult, error) {
	return r.calls.CallTool(ctx, in)
}

// Call is CallTool for callers that want nothing but the value.
func (r *Run) Call(ctx context.Context, id string, input json.RawMessage) (json.RawMessage, error) {
	res, err := r.CallTool(ctx, api.CallInput{ID: id, Input: input})
	if err != nil {
		return nil, err
	}
	return res.Value, nil
}

// Resolve settles an open client call with its result, which must be JSON and fit
// what the tool declares; or it answers a call that is interrupted
// (PendingToolCall.Method "interrupt") with any JSON, and the call goes on.
func (r *Run) Resolve(callID string, value json.RawMessage) error {
	return r.calls.Resolve(callID, value)
}

// Reject settles an open client call with a failure, or answers one that is
// interrupted with a failure. A nil te stands for one without details.
func (r *Run) Reject(callID string, te *ToolError) error { return r.calls.Reject(callID, te) }

// CallFrom gives a copy of the nested call that a tool, a hook or an approver is running for. Its input is shared and
// must not be changed.
func CallFrom(ctx context.Context) (*ToolCall, bool) { return dispatch.CallFrom(ctx) }

// ReportProgress hands a tool's progress to RunOptions.OnProgress. It does
// nothing outside of a tool call. Progress is a Progress, a text, or any value that makes sense
// to the embedding program.
func ReportProgress(ctx context.Context, progress any) { dispatch.ReportProgress(ctx, progress) }

// EndSession forgets the approvals that were given for a session of an agent.
func (h *Host) EndSession(agentID, sessionID string) { h.d.EndSession(agentID, sessionID) }
