package host

import (
	"encoding/json"
	"io"
	"sync"
	"time"

	"github.com/cloister-wasm/cloister/guestabi"
)

// TraceEvent is one thing that happened in a run. Inputs and results are not
// part of it, only their sizes.
type TraceEvent struct {
	Time time.Time `json:"time"`
	// Event is exec.start, exec.end, wait.start, wait.end, call.start, call.end,
	// call.denied, approval.asked, approval.decided, search, describe, suspend, resume,
	// expire, abort, or namespace.refused with the reason as its status.
	Event string `json:"event"`
	RunID string `json:"runId"`
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
}

// TraceSink receives events, from many goroutines at once. Emit must not block
// for long: it is on the path of every call.
type TraceSink interface{ Emit(e TraceEvent) }

// JSONLTrace writes events as JSON lines. It is safe for concurrent use.
type JSONLTrace struct {
	mu  sync.Mutex
	enc *json.Encoder
	err error
}

// NewJSONLTrace makes a sink that writes one JSON object a line to w.
func NewJSONLTrace(w io.Writer) *JSONLTrace { return &JSONLTrace{enc: json.NewEncoder(w)} }

// Emit implements TraceSink.
func (t *JSONLTrace) Emit(e TraceEvent) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err == nil {
		t.err = t.enc.Encode(e)
	}
}

// Err gives the first error of the underlying writer.
func (t *JSONLTrace) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}
