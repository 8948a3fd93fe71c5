package otel

import (
	"math"
	"slices"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/host"
)

// duration gives the duration that an event tells; none that makes no sense, such as
// one of more than a year.
func duration(e *host.TraceEvent) time.Duration {
	const most = 366 * 24 * 3600 * 1000
	if math.IsNaN(e.DurationMs) || e.DurationMs < 0 || e.DurationMs > most {
		return 0
	}
	return time.Duration(e.DurationMs * float64(time.Millisecond))
}

// phase makes the span of an exec or wait.
func (s *spans) phase(r *run, e *host.TraceEvent, at time.Time) *openSpan {
	kind := string(e.Event[:4])
	sp := s.begin(r, e, kind, at, nil)
	sp.Name, sp.Kind = "execute_tool "+kind, tracepb.Span_SPAN_KIND_INTERNAL
	sp.plain("gen_ai.operation.name", "execute_tool")
	sp.plain("gen_ai.tool.name", kind)
	sp.plain("gen_ai.tool.type", "function")
	sp.free("gen_ai.tool.call.id", e.CallID) // the model's own
	return sp
}

func (s *spans) startPhase(r *run, e *host.TraceEvent) {
	sp := s.phase(r, e, e.Time)
	sp.number("cloister.input.bytes", e.InputBytes)
	s.keep()
	s.again(r)
	r.phases = append(r.phases, sp)
}

func (s *spans) endPhase(r *run, e *host.TraceEvent) {
	i := slices.IndexFunc(r.phases, func(sp *openSpan) bool { return sp.kind == string(e.Event[:4]) && sp.callID == e.CallID })
	start := e.Time.Add(-duration(e))
	var sp *openSpan
	if i >= 0 {
		sp = r.phases[i]
		r.phases = slices.Delete(r.phases, i, i+1)
		s.open--
		// It began before its cell did: with preparing the engine.
		if sp.start.Before(start) {
			start = sp.start
		}
	} else { // it failed before there was a cell
		sp = s.phase(r, e, start)
	}
	sp.word("cloister.status", e.Status)
	sp.word("cloister.reason", string(e.Reason))
	sp.number("cloister.output.bytes", e.OutputBytes)
	if e.Status == string(guestabi.StatusFailed) {
		failed(sp.Span, &sp.attributes, string(e.Reason), string(e.Reason))
	}
	s.finish(sp, start, e.Time)
}

// within gives the span during which an event happened: the call that it names as
// its parent, or the exec or wait that runs.
func (r *run) within(e *host.TraceEvent) *openSpan {
	if sp := r.calls[e.ParentID]; sp != nil && e.ParentID != e.CallID {
		return sp
	}
	if n := len(r.phases); n > 0 {
		return r.phases[n-1]
	}
	return nil
}

func (s *spans) startCall(r *run, e *host.TraceEvent) {
	if old := r.calls[e.CallID]; old != nil { // an id that is used twice
		old.flag("cloister.unfinished", true)
		s.finish(old, old.start, e.Time)
		delete(r.calls, e.CallID)
		s.open--
	}
	s.keep()
	s.again(r)
	sp := s.begin(r, e, "call", e.Time, r.within(e))
	call(sp.Span, &sp.attributes, e, true)
	r.calls[e.CallID] = sp
	if e.RunID == "" && e.CallID != "" {
		s.direct[e.CallID] = r
	}
}

func (s *spans) endCall(r *run, e *host.TraceEvent) {
	start := e.Time.Add(-duration(e))
	sp := r.calls[e.CallID]
	if sp != nil {
		delete(r.calls, e.CallID)
		if s.direct[e.CallID] == r {
			delete(s.direct, e.CallID)
		}
		s.open--
		start = sp.start
	} else {
		sp = s.begin(r, e, "call", start, r.within(e))
		call(sp.Span, &sp.attributes, e, true)
	}
	if asked := r.asked[e.CallID]; asked != nil { // nobody answered
		delete(r.asked, e.CallID)
		s.open--
		asked.plain("cloister.status", "unanswered")
		s.finish(asked, asked.start, e.Time)
	}
	sp.word("cloister.status", e.Status)
	sp.number("cloister.output.bytes", e.OutputBytes)
	if e.Status != "ok" && e.Status != "" {
		kind := e.Status
		if kind == "mcp_tool_error" { // the conventions' word for isError
			kind = "tool_error"
		}
		failed(sp.Span, &sp.attributes, kind, e.Status)
	}
	s.finish(sp, start, e.Time)
}

// denied marks an open call as denied, or makes a span of one that never began.
func (s *spans) denied(r *run, e *host.TraceEvent) {
	if sp := r.calls[e.CallID]; sp != nil {
		sp.free("cloister.denied.rule", e.Rule)
		return
	}
	sp := s.begin(r, e, "denied", e.Time, r.within(e))
	call(sp.Span, &sp.attributes, e, e.Rule != "no such tool")
	sp.free("cloister.denied.rule", e.Rule)
	failed(sp.Span, &sp.attributes, "denied", e.Rule)
	s.finish(sp, e.Time, e.Time)
}

func (s *spans) approval(r *run, e *host.TraceEvent, at time.Time) *openSpan {
	parent := r.calls[e.CallID]
	if parent == nil {
		parent = r.within(e)
	}
	sp := s.begin(r, e, "approval", at, parent)
	sp.Name, sp.Kind = "approval", tracepb.Span_SPAN_KIND_INTERNAL
	sp.plain("gen_ai.tool.call.id", e.CallID)
	sp.free("cloister.tool.id", e.Tool)
	return sp
}

func (s *spans) askApproval(r *run, e *host.TraceEvent) {
	if r.asked[e.CallID] != nil {
		return
	}
	s.keep()
	s.again(r)
	r.asked[e.CallID] = s.approval(r, e, e.Time)
}

func (s *spans) decideApproval(r *run, e *host.TraceEvent) {
	start := e.Time.Add(-duration(e))
	sp := r.asked[e.CallID]
	if sp != nil {
		delete(r.asked, e.CallID)
		s.open--
		start = sp.start
	} else { // answered by an earlier answer, unasked
		sp = s.approval(r, e, start)
	}
	sp.word("cloister.status", e.Status)
	sp.free("cloister.approval.by", e.By)
	sp.word("cloister.approval.extent", string(e.Extent))
	sp.free("cloister.denied.rule", e.Rule)
	if e.Status != "approved" { // denied, failed, or what nobody knows
		failed(sp.Span, &sp.attributes, "approval_"+e.Status, e.Status)
	}
	s.finish(sp, start, e.Time)
}

// maxNotes bounds the events of one span.
const maxNotes = 64

// note adds an event to the span during which it happened.
func (s *spans) note(r *run, e *host.TraceEvent) {
	sp := r.within(e)
	if sp == nil {
		s.moment(r, e)
		return
	}
	if len(sp.Events) >= maxNotes {
		sp.DroppedEventsCount++
		return
	}
	a := attributes{redactor: s.redactor}
	a.free("cloister.tool.id", e.Tool)
	a.number("cloister.output.bytes", e.OutputBytes)
	sp.Events = append(sp.Events, &tracepb.Span_Event{TimeUnixNano: nanos(e.Time), Name: string(e.Event), Attributes: a.list})
}

// moment makes a span without duration.
func (s *spans) moment(r *run, e *host.TraceEvent) {
	sp := s.begin(r, e, "moment "+string(e.Event), e.Time, r.within(e))
	sp.Name, sp.Kind = shown(string(e.Event)), tracepb.Span_SPAN_KIND_INTERNAL
	sp.free("cloister.tool.id", e.Tool)
	sp.free("cloister.namespace", e.Namespace)
	sp.flag("cloister.tool.unsigned", e.Unsigned)
	switch e.Event {
	case "expire":
		failed(sp.Span, &sp.attributes, "expired", "the run expired")
	case "abort":
		failed(sp.Span, &sp.attributes, "aborted", "the run was aborted")
	case "namespace.refused":
		failed(sp.Span, &sp.attributes, "namespace_refused", e.Status)
	default:
		sp.free("cloister.status", e.Status)
	}
	s.finish(sp, e.Time, e.Time)
}
