package host

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/cloister-wasm/cloister/internal/schema"
	"github.com/cloister-wasm/cloister/plugins"
)

// interruption is a call that waits for somebody outside to resolve it.
type interruption struct {
	payload json.RawMessage
	since   time.Time
	answer  chan resolution // capacity 1
}

// resolution answers an interruption: a value or a failure.
type resolution struct {
	value json.RawMessage
	err   *ToolError
}

// interrupt shows an open call as interrupted until Run.Resolve or Run.Reject
// answers. Meanwhile the cell may be suspended; the call itself stays where it is.
func (c *cell) interrupt(ctx context.Context, oc *openCall, payload json.RawMessage) (json.RawMessage, error) {
	in := &interruption{payload: slices.Clone(payload), since: time.Now(), answer: make(chan resolution, 1)}
	c.mu.Lock()
	busy := oc.interrupted != nil
	if !busy {
		oc.interrupted = in
	}
	c.mu.Unlock()
	if busy {
		return nil, &plugins.ToolError{Name: "Error", Message: "the call is interrupted already", Code: "interrupted"}
	}
	defer func() {
		c.mu.Lock()
		oc.interrupted = nil
		c.mu.Unlock()
	}()
	c.draw()
	select {
	case r := <-in.answer:
		if r.err != nil {
			return nil, &plugins.ToolError{Name: r.err.Name, Message: r.err.Message, Code: r.err.Code}
		}
		return r.value, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// draw tells the driver that a call waits for a person.
func (c *cell) draw() {
	c.wake()
	select {
	case c.attention <- struct{}{}:
	default:
	}
}

// answerInterrupt resolves an interrupted call. It says false if there is no such call.
func (r *Run) answerInterrupt(callID string, res resolution) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.cells {
		c.mu.Lock()
		for _, oc := range c.open {
			if oc.interrupted != nil && oc.tc.ID == callID {
				in := oc.interrupted
				c.mu.Unlock()
				select {
				case in.answer <- res:
					return true
				default: // answered already
					return false
				}
			}
		}
		c.mu.Unlock()
	}
	return false
}

// checkResolution wants strict JSON within the bound of results.
func (r *Run) checkResolution(value json.RawMessage) (json.RawMessage, error) {
	if len(value) > r.h.o.MaxToolOutputBytes {
		return nil, &ToolError{Message: "the resolution is too large", Code: "tool_output_too_large"}
	}
	if len(value) == 0 {
		return json.RawMessage("null"), nil
	}
	if err := schema.Check(value); err != nil {
		return nil, &ToolError{Name: "TypeError", Message: "resolution: " + err.Error(), Code: "invalid_input"}
	}
	return slices.Clone(value), nil
}
