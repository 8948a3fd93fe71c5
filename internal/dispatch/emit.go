package dispatch

import (
	"time"

	"github.com/cloister-wasm/cloister/api"
	"github.com/cloister-wasm/cloister/internal/plaintext"
)

// MaxShownID bounds a tool id in traces and results. Ids that exist are shorter;
// those that a guest makes up may have any length.
const MaxShownID = 300

// Milliseconds is a duration as traces and results have it.
func Milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// emit traces what happens to the call.
func (c *Call) emit(e api.TraceEvent) {
	e.Untrusted = c.ref != nil && c.ref.MCP
	c.run.Emit(c.tc, e)
}

// Emit traces what happens to a call that tc describes.
func (r *Run) Emit(tc *api.ToolCall, e api.TraceEvent) {
	if r.d.o.Trace == nil && r.o.OnEvent == nil {
		return
	}
	e.CellID, e.CallID, e.ParentID, e.Tool, e.Unsigned = tc.CellID, tc.ID, tc.ParentID, plaintext.Clip(tc.Tool, MaxShownID), tc.Unsigned
	e.Namespace, e.Caller = tc.Namespace, tc.Caller
	r.Stamp(&e)
}

// Stamp completes an event with time and scope, and hands it to the sinks, unless the
// host has been closed.
func (r *Run) Stamp(e *api.TraceEvent) {
	h := r.d
	if h.o.Trace == nil && r.o.OnEvent == nil || !h.events.Enter() {
		return
	}
	defer h.events.Leave()
	e.Time = h.Now()
	e.AgentID, e.AgentRunID, e.SessionID = r.o.Scope.AgentID, r.o.Scope.AgentRunID, r.o.Scope.SessionID
	e.Sender, e.Channel = r.o.Scope.Sender, r.o.Scope.Channel
	if h.o.Trace != nil {
		h.Contain("Trace.Emit", func() { h.o.Trace.Emit(*e) })
	}
	if r.o.OnEvent != nil {
		h.Contain("OnEvent", func() { r.o.OnEvent(*e) })
	}
}
