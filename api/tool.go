package api

import (
	"context"
	"encoding/json"
	"time"
)

// RawTool is a tool of the embedding program: JSON in, JSON out.
type RawTool struct {
	// Name is unique within its owner. The catalog id is "cloister:<Owner>:<Name>".
	Name string
	// Owner is "core" if empty.
	Owner string
	// Label is a short title for people; optional.
	Label string
	// Description tells the model what the tool does.
	Description string
	// Parameters is the JSON Schema of the input. Nil accepts any object.
	Parameters json.RawMessage
	// Returns is the JSON Schema of the result. Nil means undeclared.
	Returns json.RawMessage
	// Approval says when a call needs approval. The zero value means never.
	Approval Approval
	// Timeout bounds one call. Zero means no bound but the run's end.
	Timeout time.Duration
	// Call runs the tool. It may be called from many goroutines at once; ctx ends
	// with the run. Input has passed Parameters. Calls block nobody but their
	// own caller.
	Call func(ctx context.Context, input json.RawMessage) (json.RawMessage, error)
}

// Approval says when calls of a tool need approval.
type Approval string

// Approval needs.
const (
	ApprovalNever  Approval = "never"
	ApprovalAsk    Approval = "ask"
	ApprovalAlways Approval = "always"
)

// ClientTool is a tool that the caller of Exec executes: a call shows as pending
// with its input, and the caller settles it with Run.Resolve or Run.Reject. Its
// id is "client:<App>:<Name>".
type ClientTool struct {
	App         string // "app" if empty
	Name        string
	Label       string
	Description string
	Parameters  json.RawMessage
	Returns     json.RawMessage
}
