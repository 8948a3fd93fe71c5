package api

import (
	"time"

	"github.com/cloister-wasm/cloister/guestabi"
)

// TraceEvent is one thing that happened in a run. Inputs and results are not
// part of it, only their sizes, and neither is any other text that a cell chose: Tool
// is an id that there is, or empty.
type TraceEvent struct {
	Time time.Time `json:"time"`
	// Event says what happened, and with that which of the other fields are set.
	Event  EventName `json:"event"`
	CellID string    `json:"runId"`
	// CallID and ParentID relate a nested call to the exec that made it.
	CallID   string `json:"callId,omitempty"`
	ParentID string `json:"parentId,omitempty"`
	Tool     string `json:"tool,omitempty"`
	Unsigned bool   `json:"unsigned,omitempty"`
	// Untrusted says that the call is one of an MCP server, whose texts anybody may
	// have written.
	Untrusted bool `json:"untrusted,omitempty"`
	// Namespace is the function that a cell called, or a namespace that was refused.
	Namespace string `json:"namespace,omitempty"`
	// Caller is the plugin that made the call, if no cell did.
	Caller string `json:"caller,omitempty"`

	AgentID    string `json:"agentId,omitempty"`
	AgentRunID string `json:"agentRunId,omitempty"`
	SessionID  string `json:"sessionId,omitempty"`
	Sender     string `json:"sender,omitempty"`
	Channel    string `json:"channel,omitempty"`

	Status      string          `json:"status,omitempty"`
	Reason      guestabi.Reason `json:"reason,omitempty"`
	Rule        string          `json:"rule,omitempty"` // of a denial
	By          string          `json:"by,omitempty"`   // who decided about an approval; "grant" or "envelope" for an earlier answer
	Extent      Extent          `json:"extent,omitempty"`
	DurationMs  float64         `json:"durationMs,omitempty"`
	InputBytes  int             `json:"inputBytes,omitempty"`
	OutputBytes int             `json:"outputBytes,omitempty"`
	// Count is set if the event stands for more than one: so many of its kind happened,
	// and were not traced one by one.
	Count int `json:"count,omitempty"`
}

// EventName is the name of what a [TraceEvent] tells. A sink lets names pass that it
// does not know: later versions may add some.
type EventName string

// The events of a trace. Besides the fields that are named here, every event has
// Time and the scope of its run (AgentID, AgentRunID, SessionID, Sender, Channel),
// and CellID if it belongs to a cell.
//
// The events about one call (call.start, call.end, call.denied, approval.asked,
// approval.decided) have CallID, ParentID, Tool, and as they apply Namespace, Caller,
// Unsigned and Untrusted. Their ParentID is the CallID of the exec, or of the call
// whose plugin made this one.
const (
	// EventExecStart tells that a cell begins. CallID is the model's call of exec,
	// InputBytes the size of the program.
	EventExecStart EventName = "exec.start"
	// EventExecEnd tells that exec returns: CallID, Status, Reason and DurationMs,
	// which covers all of the call. An exec that fails before there is a cell has this
	// event alone, without CellID.
	EventExecEnd EventName = "exec.end"
	// EventWaitStart tells that a wait continues a cell. CallID is the model's call of
	// wait.
	EventWaitStart EventName = "wait.start"
	// EventWaitEnd tells that wait returns: CallID, Status, Reason and DurationMs.
	EventWaitEnd EventName = "wait.end"
	// EventCallStart tells that a call of a tool begins. InputBytes is the size of its
	// input. CellID is empty for a call without a cell.
	EventCallStart EventName = "call.start"
	// EventCallEnd tells that a call has ended: Status is "ok" or the code of its
	// error; DurationMs, OutputBytes, and Rule if a rule of the policy refused it.
	EventCallEnd EventName = "call.end"
	// EventCallsMore tells of calls that were not traced one by one: Count, and with
	// ParentID whose calls they are.
	EventCallsMore EventName = "calls.more"
	// EventCallDenied tells of a call that never began: Rule says why, and Status has
	// the code of the error where there is one. Tool is empty for an id that is none.
	EventCallDenied EventName = "call.denied"
	// EventApprovalAsked tells that a call waits for somebody to approve it.
	EventApprovalAsked EventName = "approval.asked"
	// EventApprovalDecided tells the answer: Status is "approved", "denied" or
	// "failed"; By, Extent, and DurationMs since it was asked for. Without an
	// approval.asked before it, an earlier answer covered the call.
	EventApprovalDecided EventName = "approval.decided"
	// EventSearch tells that a cell searched the catalog: ParentID, and Namespace if
	// it searched by a function of one.
	EventSearch EventName = "search"
	// EventDescribe tells that a cell asked for a tool's description: ParentID, Tool if
	// there is such a tool, and for one of an MCP server Namespace and Untrusted.
	EventDescribe EventName = "describe"
	// EventSuspend tells that a cell was stored. OutputBytes is the size of its state.
	EventSuspend EventName = "suspend"
	// EventResume tells that a stored cell is in memory again.
	EventResume EventName = "resume"
	// EventExpire tells that a stored cell was dropped because nobody continued it.
	EventExpire EventName = "expire"
	// EventAbort tells that a cell was ended from outside.
	EventAbort EventName = "abort"
	// EventNamespaceRefused tells that a plugin's namespace is left out of the run.
	// Tool is the plugin's id, Namespace the namespace, Status says why; Unsigned.
	EventNamespaceRefused EventName = "namespace.refused"
)

// TraceSink receives events, from many goroutines at once. Emit must not block
// for long: it is on the path of every call.
type TraceSink interface{ Emit(e TraceEvent) }
