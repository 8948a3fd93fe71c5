package api

import (
	"encoding/json"
	"time"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/internal/plainjson"
)

// ExecInput is the input of the exec tool.
type ExecInput struct {
	// Code is the cell's source. Command is an alias; if both are given they must
	// be equal.
	Code    string `json:"code,omitempty"`
	Command string `json:"command,omitempty"`
	// Language is "javascript", the default, or "typescript".
	Language string `json:"language,omitempty"`
	// CallID identifies this exec in the trace as the parent of nested calls: the
	// model's tool call id. One is made if it is empty.
	CallID string `json:"-"`
}

// WaitInput is the input of the wait tool.
type WaitInput struct {
	CellID string `json:"runId"`
	// TimeoutMs bounds this wait, within 100 ms and the configured timeout.
	// Zero means the configured timeout.
	TimeoutMs int `json:"timeoutMs,omitempty"`
	// CallID is the model's tool call id, for the trace.
	CallID string `json:"-"`
}

// Result is what exec and wait give. Status decides which fields are set.
type Result struct {
	Status guestabi.Status
	// Value is the JSON of a completed cell's value; null if it returned none.
	Value json.RawMessage
	// CellID, Waiting and Pending are set while the run is waiting.
	CellID  string
	Waiting guestabi.WaitReason
	Pending []PendingToolCall
	// Message is set while the run waits for approval: one sentence for people on what waits, and
	// with Options.ApprovalHint on where that is answered. In a completed result it is for the model:
	// what the program most likely missed, where it returned nothing or a filter did not wait.
	Message string
	// Error, Code, Reason, Line and Column are set for a failed run. Line and
	// Column count from 1 in the source given, and are 0 where unknown.
	Error        string
	Code         guestabi.Code
	Reason       guestabi.Reason
	Line, Column int

	// Output is what the run has put out so far, in order.
	Output []OutputItem
	// Attachments are the images, sounds and other binaries whose handles stand in
	// Value or Output. They are not part of the JSON.
	Attachments []Attachment
	Telemetry   Telemetry
}

// OutputItem is one item of a run's output. A text has the member text, also an empty one.
type OutputItem struct {
	Type string `json:"type"` // "text" or "json"
	Text string `json:"text,omitempty"`
	// Level is set for lines of the console: log, info, warn, error or debug.
	Level string          `json:"level,omitempty"`
	Value json.RawMessage `json:"value,omitempty"`
}

// MarshalJSON writes the members of the item's type.
func (o OutputItem) MarshalJSON() ([]byte, error) {
	if o.Type == "json" {
		return plainjson.Encode(struct {
			Type  string          `json:"type"`
			Value json.RawMessage `json:"value"`
		}{o.Type, o.Value})
	}
	return plainjson.Encode(struct {
		Type  string `json:"type"`
		Text  string `json:"text"`
		Level string `json:"level,omitempty"`
	}{o.Type, o.Text, o.Level})
}

// PendingToolCall is a call that has not settled.
type PendingToolCall struct {
	ID string `json:"id"`
	// Method is "call", "client" for one that the caller executes, or "interrupt"
	// for one that waits until the caller resolves it.
	Method string `json:"method"`
	Tool   string `json:"tool,omitempty"`
	// Since is when the guest made the call.
	Since time.Time `json:"since"`
	// Approval says that the call waits for approval.
	Approval bool `json:"approval,omitempty"`
	// Input is that of a client call, or what an interrupted call asks.
	Input json.RawMessage `json:"input,omitempty"`
}

// Telemetry counts what a run did. It holds no inputs and no secrets.
type Telemetry struct {
	CatalogSize   int            `json:"catalogSize"`
	Sources       map[string]int `json:"sources"`
	SearchCount   int            `json:"searchCount"`
	DescribeCount int            `json:"describeCount"`
	CallCount     int            `json:"callCount"`
	VisibleTools  []string       `json:"visibleTools"`
	ExecCount     int            `json:"execCount"`
	WaitCount     int            `json:"waitCount"`
	// CalledTools lists the ids called, each once, in order of the first call.
	CalledTools []string `json:"calledTools"`
	// LimitsHit lists the reasons of limits that were met, also where the run went on.
	LimitsHit []guestabi.Reason `json:"limitsHit"`
	// Snapshot is set when the run was suspended in this exec or wait.
	Snapshot *SnapshotTelemetry `json:"snapshot,omitempty"`
}

// SnapshotTelemetry describes a snapshot.
type SnapshotTelemetry struct {
	Bytes int     `json:"bytes"`
	Ms    float64 `json:"ms"`
}

// MarshalJSON writes the union that the contract describes: only the fields of
// the result's status. It makes no escapes for HTML; json.Marshal does of what it gets, a json.Encoder with
// SetEscapeHTML(false) and ModelAnswer.JSON do not.
func (r *Result) MarshalJSON() ([]byte, error) {
	switch r.Status {
	case guestabi.StatusCompleted:
		return plainjson.Encode(struct {
			Status    guestabi.Status `json:"status"`
			Value     json.RawMessage `json:"value"`
			Message   string          `json:"message,omitempty"`
			Output    []OutputItem    `json:"output,omitempty"`
			Telemetry Telemetry       `json:"telemetry"`
		}{r.Status, r.Value, r.Message, r.Output, r.Telemetry})
	case guestabi.StatusWaiting:
		return plainjson.Encode(struct {
			Status    guestabi.Status     `json:"status"`
			RunID     string              `json:"runId"`
			Reason    guestabi.WaitReason `json:"reason"`
			Message   string              `json:"message,omitempty"`
			Pending   []PendingToolCall   `json:"pendingToolCalls,omitempty"`
			Output    []OutputItem        `json:"output,omitempty"`
			Telemetry Telemetry           `json:"telemetry"`
		}{r.Status, r.CellID, r.Waiting, r.Message, r.Pending, r.Output, r.Telemetry})
	}
	return plainjson.Encode(struct {
		Status    guestabi.Status `json:"status"`
		Error     string          `json:"error"`
		Code      guestabi.Code   `json:"code"`
		Reason    guestabi.Reason `json:"reason,omitempty"`
		Line      int             `json:"line,omitempty"`
		Column    int             `json:"column,omitempty"`
		Output    []OutputItem    `json:"output,omitempty"`
		Telemetry Telemetry       `json:"telemetry"`
	}{guestabi.StatusFailed, r.Error, r.Code, r.Reason, r.Line, r.Column, r.Output, r.Telemetry})
}
