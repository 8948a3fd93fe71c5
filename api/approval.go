package api

import (
	"encoding/json"
	"time"
)

// Extent says for what a Decision holds.
type Extent string

// Extents of a decision. A refusal always holds for one call.
const (
	// ApproveOnce is for this call alone; the zero value means the same.
	ApproveOnce Extent = "once"
	// ApproveRun is for all calls of this tool by the same exec.
	ApproveRun Extent = "run"
	// ApproveSession is for all calls of this tool in the same session of the same agent.
	ApproveSession Extent = "session"
)

// Envelope approves calls ahead: at most Calls calls of the tool in the same run,
// this one included, as long as the arguments in Fixed are as they are there. It
// is counted down by the dispatcher.
type Envelope struct {
	// Calls is 1 to MaxEnvelopeCalls.
	Calls int `json:"calls"`
	// Fixed is an object. Each of its members must be in a call's input with an equal
	// value; other members of the input are free. Nil fixes the whole input as it is in this call.
	Fixed json.RawMessage `json:"fixed,omitempty"`
}

// MaxEnvelopeCalls bounds an Envelope.
const MaxEnvelopeCalls = 10_000

// PendingApproval is a question that waits for an answer.
type PendingApproval struct {
	// ID names the question: ApprovalQueue.Decide answers it.
	ID   string    `json:"id"`
	Call *ToolCall `json:"call"`
	// Since is when it was asked.
	Since time.Time `json:"since"`
}

// Decision is the answer to a request for approval.
type Decision struct {
	Approved bool `json:"approved"`
	// Reason is shown to the guest when the call is refused.
	Reason string `json:"reason,omitempty"`
	// Extent says for what an approval holds. A tool whose approval is "always" is
	// asked for every time, whatever was answered before.
	Extent Extent `json:"extent,omitempty"`
	// Envelope approves further calls of the same run, within bounds.
	Envelope *Envelope `json:"envelope,omitempty"`
	// By says who decided, for the trace.
	By string `json:"by,omitempty"`
}
