package spans

import (
	"errors"
	"time"

	"github.com/cloister-wasm/cloister/api"
	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/internal/schema"
)

// Scope says for whom a run ran.
type Scope struct {
	AgentID    string `json:"agentId,omitempty"`
	AgentRunID string `json:"agentRunId,omitempty"`
	SessionID  string `json:"sessionId,omitempty"`
	Sender     string `json:"sender,omitempty"`
	Channel    string `json:"channel,omitempty"`
}

// Event is one line of a trace: host.TraceEvent as JSON has it.
type Event struct {
	Time      time.Time     `json:"time"`
	Event     api.EventName `json:"event"`
	RunID     string        `json:"runId"` // "" for what belongs to no cell
	CallID    string        `json:"callId,omitempty"`
	ParentID  string        `json:"parentId,omitempty"`
	Tool      string        `json:"tool,omitempty"`
	Unsigned  bool          `json:"unsigned,omitempty"`
	Untrusted bool          `json:"untrusted,omitempty"`
	Namespace string        `json:"namespace,omitempty"`
	Caller    string        `json:"caller,omitempty"`
	Scope
	Status      string          `json:"status,omitempty"`
	Reason      guestabi.Reason `json:"reason,omitempty"`
	Rule        string          `json:"rule,omitempty"`
	By          string          `json:"by,omitempty"`
	Extent      string          `json:"extent,omitempty"`
	DurationMs  float64         `json:"durationMs,omitempty"`
	InputBytes  int             `json:"inputBytes,omitempty"`
	OutputBytes int             `json:"outputBytes,omitempty"`
	Count       int             `json:"count,omitempty"` // how many it stands for, if more than itself
}

// Decode reads one line of a trace. Members that this version does not know are none of
// its business; those that it does know must be right: of their type, named exactly,
// no member twice. Event and time are required, sizes and counts are not negative.
func Decode(line []byte) (*Event, error) {
	var e Event
	if err := schema.DecodeInto(line, &e, &schema.DecodeOptions{AllowUnknown: true}); err != nil {
		return nil, err
	}
	switch {
	case e.Event == "":
		return nil, errors.New("event is missing")
	case e.Time.IsZero():
		return nil, errors.New("time is missing")
	case e.InputBytes < 0 || e.OutputBytes < 0:
		return nil, errors.New("a size is negative")
	case e.Count < 0:
		return nil, errors.New("the count is negative")
	}
	return &e, nil
}

// at is the time of an event on the wall clock: two events may come from two processes.
func (e *Event) at() time.Time { return e.Time.Round(0).UTC() }
