package otel

import (
	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/internal/spans"
)

// eventOf gives an event as package spans takes it, which package host cannot know.
func eventOf(e *host.TraceEvent) *spans.Event {
	return &spans.Event{
		Time: e.Time, Event: e.Event, RunID: e.CellID, CallID: e.CallID, ParentID: e.ParentID,
		Tool: e.Tool, Unsigned: e.Unsigned, Untrusted: e.Untrusted, Namespace: e.Namespace, Caller: e.Caller,
		Scope:  spans.Scope{AgentID: e.AgentID, AgentRunID: e.AgentRunID, SessionID: e.SessionID, Sender: e.Sender, Channel: e.Channel},
		Status: e.Status, Reason: e.Reason, Rule: e.Rule, By: e.By, Extent: string(e.Extent),
		DurationMs: e.DurationMs, InputBytes: e.InputBytes, OutputBytes: e.OutputBytes, Count: e.Count,
	}
}
