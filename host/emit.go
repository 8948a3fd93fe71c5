package host

import (
	"time"

	"github.com/cloister-wasm/cloister/api"

	"github.com/cloister-wasm/cloister/internal/plaintext"
)

// maxShownID bounds a tool id in traces and results. Ids that exist are shorter;
// those that a guest makes up may have any length.
const maxShownID = 300

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// emit traces what happens to the call.
func (c *call) emit(e api.TraceEvent) {
	e.Untrusted = c.ref != nil && c.ref.mcp
	c.run.emit(c.tc, e)
}

func (r *Run) emit(tc *api.ToolCall, e api.TraceEvent) {
	if r.h.o.Trace == nil && r.o.OnEvent == nil {
		return
	}
	e.CellID, e.CallID, e.ParentID, e.Tool, e.Unsigned = tc.CellID, tc.ID, tc.ParentID, plaintext.Clip(tc.Tool, maxShownID), tc.Unsigned
	e.Namespace, e.Caller = tc.Namespace, tc.Caller
	r.stamp(&e)
}

// stamp completes an event with time and scope, and hands it to the sinks, unless the
// host has been closed.
func (r *Run) stamp(e *api.TraceEvent) {
	h := r.h
	if h.o.Trace == nil && r.o.OnEvent == nil || !h.closing.events.Enter() {
		return
	}
	defer h.closing.events.Leave()
	e.Time = h.now()
	e.AgentID, e.AgentRunID, e.SessionID = r.scope.AgentID, r.scope.AgentRunID, r.scope.SessionID
	e.Sender, e.Channel = r.scope.Sender, r.scope.Channel
	if h.o.Trace != nil {
		h.contain("Trace.Emit", func() { h.o.Trace.Emit(*e) })
	}
	if r.o.OnEvent != nil {
		h.contain("OnEvent", func() { r.o.OnEvent(*e) })
	}
}
