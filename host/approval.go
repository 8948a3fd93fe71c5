package host

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cloister-wasm/cloister/internal/plaintext"
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

// maxMessageTools bounds the tools that ApprovalMessage names.
const maxMessageTools = 3

// ApprovalMessage is one sentence for people: that calls of these tools, given by their
// ids, wait for approval, and where that is answered (Options.ApprovalHint).
func (h *Host) ApprovalMessage(tools ...string) string {
	var names []string
	for _, id := range tools {
		if id = plaintext.Clip(id, maxShownID); !slices.Contains(names, id) {
			names = append(names, id)
		}
	}
	text := "A call waits"
	switch n := len(names); {
	case n == 1 && len(tools) == 1:
		text = "The call of " + names[0] + " waits"
	case n > maxMessageTools:
		text = fmt.Sprintf("Calls of %s and %d more tools wait", strings.Join(names[:maxMessageTools], ", "), n-maxMessageTools)
	case n > 1:
		text = "Calls of " + strings.Join(names[:n-1], ", ") + " and " + names[n-1] + " wait"
	case n == 1:
		text = fmt.Sprintf("%d calls of %s wait", len(tools), names[0])
	}
	if h.o.ApprovalHint == "" {
		return text + " for approval by a person"
	}
	return text + " for approval: " + h.o.ApprovalHint
}

// PendingApproval is a question that waits for an answer.
type PendingApproval struct {
	// ID names the question: ApprovalQueue.Decide answers it.
	ID   string    `json:"id"`
	Call *ToolCall `json:"call"`
	// Since is when it was asked.
	Since time.Time `json:"since"`
}
