package otel

import (
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/cloister-wasm/cloister/api"
	"github.com/cloister-wasm/cloister/internal/redact"
	"github.com/cloister-wasm/cloister/internal/spans"
)

// newStream makes spans of events, and hands them to emit as they end.
func newStream(o *Options, r *redact.Redactor, emit func(*tracepb.Span)) *spans.Stream {
	return spans.NewStream(spans.StreamOptions{
		Ended:    func(s *spans.Span) { emit(render(s, r)) },
		Identify: func(s *spans.Span) [8]byte { return [8]byte(idOf(s)) },
		MaxOpen:  o.MaxOpen, TTL: o.OpenTTL, Now: time.Now,
		// What is cut here is more than the redactor looks at.
		MaxText: lookAt + 4,
	})
}

// idOf gives the id of a span. That of an exec or a call follows from what its run and
// the call are called, so that others know it without having seen its event.
func idOf(s *spans.Span) []byte {
	key, kind, at := s.Run.Key(), s.Kind.String(), s.Start
	switch {
	case s.Kind == spans.KindExec:
		return rootID(key)
	case s.Kind == spans.KindEvent:
		kind = "moment " + s.Name
	case s.Kind == spans.KindCall && s.Moment:
		kind = "denied"
	case s.Kind == spans.KindCall:
		at = time.Time{}
	}
	return spanID(key, kind, s.CallID, at)
}

// render makes a span of OpenTelemetry.
func render(s *spans.Span, r *redact.Redactor) *tracepb.Span {
	p := &tracepb.Span{
		TraceId: traceID(s.Run.Key()), SpanId: s.ID[:], Kind: tracepb.Span_SPAN_KIND_INTERNAL,
		Flags:             uint32(tracepb.SpanFlags_SPAN_FLAGS_CONTEXT_HAS_IS_REMOTE_MASK) | 1, // known not to be remote, sampled
		StartTimeUnixNano: nanos(s.Start), EndTimeUnixNano: nanos(s.End),
	}
	switch {
	case s.Parent != nil:
		p.ParentSpanId = s.Parent.ID[:]
	case s.Kind != spans.KindExec && s.Run.ID != "":
		// The root of a run stands in for a parent that is not known, but for calls
		// without a cell.
		p.ParentSpanId = rootID(s.Run.Key())
	}
	a := attributes{redactor: r}
	a.scope(s)
	switch s.Kind {
	case spans.KindExec, spans.KindWait:
		phase(p, &a, s)
	case spans.KindCall:
		call(p, &a, s)
	case spans.KindApproval:
		approval(p, &a, s)
	default:
		moment(p, &a, s)
	}
	a.number("cloister.count", s.Count)
	a.flag("cloister.unfinished", s.Open)
	p.Attributes = a.list
	if s.Notes != nil {
		notes(p, s.Notes, r)
	}
	return p
}

// notes adds the events in a span.
func notes(p *tracepb.Span, n *spans.Notes, r *redact.Redactor) {
	p.DroppedEventsCount = uint32(n.Dropped)
	for _, n := range n.List {
		a := attributes{redactor: r}
		a.free("cloister.tool.id", n.Tool)
		a.number("cloister.output.bytes", n.OutputBytes)
		a.number("cloister.count", n.Count)
		p.Events = append(p.Events, &tracepb.Span_Event{TimeUnixNano: nanos(n.Time), Name: string(n.Name), Attributes: a.list})
	}
}

func nanos(t time.Time) uint64 {
	if t.Year() < 1970 || t.Year() > 2200 { // beyond, UnixNano is not defined
		return 0
	}
	return uint64(t.UnixNano())
}

// phase fills in the span of an exec or wait.
func phase(p *tracepb.Span, a *attributes, s *spans.Span) {
	p.Name = "execute_tool " + s.Name
	a.plain("gen_ai.operation.name", "execute_tool")
	a.plain("gen_ai.tool.name", s.Name)
	a.plain("gen_ai.tool.type", "function")
	a.free("gen_ai.tool.call.id", s.CallID) // the model's own
	a.number("cloister.input.bytes", s.InputBytes)
	a.word("cloister.status", s.Status)
	a.word("cloister.reason", string(s.Reason))
	a.number("cloister.output.bytes", s.OutputBytes)
	if s.Bad {
		a.fail(p, string(s.Reason), string(s.Reason))
	}
}

// call fills in the span of a call: what it is, and how it ended.
func call(p *tracepb.Span, a *attributes, s *spans.Span) {
	t := toolOf(s.Tool)
	t.name = a.redactor.Text(t.name, 200)
	p.Name = "execute_tool"
	if t.method != "" {
		p.Name, p.Kind = t.method, tracepb.Span_SPAN_KIND_CLIENT
		a.plain("mcp.method.name", t.method)
	}
	if t.method == "" || t.method == "tools/call" {
		a.plain("gen_ai.operation.name", "execute_tool")
		a.plain("gen_ai.tool.type", "function")
		a.plain("gen_ai.tool.name", t.name)
		if !s.Moment || s.Rule != "no such tool" {
			p.Name += " " + shown(t.name)
		}
	}
	a.plain("gen_ai.tool.call.id", s.CallID)
	a.free("cloister.tool.id", s.Tool)
	a.free("cloister.tool.owner", t.owner)
	a.free("cloister.namespace", s.Namespace)
	a.free("cloister.caller", s.Caller)
	a.flag("cloister.tool.unsigned", s.Unsigned)
	a.flag("cloister.tool.untrusted", s.Untrusted)
	a.number("cloister.input.bytes", s.InputBytes)
	a.free("cloister.denied.rule", s.Rule)
	if s.Moment {
		a.fail(p, "denied", s.Rule)
		return
	}
	a.word("cloister.status", s.Status)
	a.number("cloister.output.bytes", s.OutputBytes)
	switch s.Status {
	case "ok", "":
	case "mcp_tool_error": // the conventions' word for isError
		a.fail(p, "tool_error", s.Status)
	default:
		a.fail(p, s.Status, s.Status)
	}
}

func approval(p *tracepb.Span, a *attributes, s *spans.Span) {
	p.Name = "approval"
	a.plain("gen_ai.tool.call.id", s.CallID)
	a.free("cloister.tool.id", s.Tool)
	a.word("cloister.status", s.Status)
	a.free("cloister.approval.by", s.By)
	a.word("cloister.approval.extent", s.Extent)
	a.free("cloister.denied.rule", s.Rule)
	if s.Bad { // denied, failed, or what nobody knows
		a.fail(p, "approval_"+s.Status, s.Status)
	}
}

// moment fills in a span without duration.
func moment(p *tracepb.Span, a *attributes, s *spans.Span) {
	p.Name = shown(s.Name)
	a.free("cloister.tool.id", s.Tool)
	a.free("cloister.namespace", s.Namespace)
	a.flag("cloister.tool.unsigned", s.Unsigned)
	switch api.EventName(s.Name) {
	case api.EventExpire:
		a.fail(p, s.Status, "the run expired")
	case api.EventAbort:
		a.fail(p, s.Status, "the run was aborted")
	case api.EventNamespaceRefused:
		a.fail(p, "namespace_refused", s.Status)
	default:
		a.free("cloister.status", s.Status)
	}
}
