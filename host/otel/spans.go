package otel

import (
	"container/list"
	"strconv"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/internal/redact"
)

// spans makes spans of events. It is not safe for concurrent use.
//
// A run is known while a span of it is open, and no longer: ids and parents of what
// comes later follow from its id.
type spans struct {
	redactor *redact.Redactor
	emit     func(*tracepb.Span)
	max      int
	ttl      time.Duration
	now      func() time.Time

	runs   map[string]*run
	quiet  *list.List      // of *run, the one that was quiet for longest first
	direct map[string]*run // by call: the traces of calls without a cell
	open   int
	made   int // keys that were made up
}

// run is what is open of a trace.
type run struct {
	key    string
	trace  []byte
	phases []*openSpan // execs and waits; more than one only by a race of their ends
	calls  map[string]*openSpan
	asked  map[string]*openSpan // approvals, by call
	last   time.Time            // of its last event
	seen   time.Time            // when that came
	place  *list.Element
}

// openSpan is a span without an end.
type openSpan struct {
	*tracepb.Span
	attributes
	kind, callID string
	start        time.Time
	parent       *openSpan
}

func newSpans(o *Options, r *redact.Redactor, emit func(*tracepb.Span)) *spans {
	return &spans{redactor: r, emit: emit, max: o.MaxOpen, ttl: o.OpenTTL, now: time.Now,
		runs: map[string]*run{}, quiet: list.New(), direct: map[string]*run{}}
}

// add takes the next event.
func (s *spans) add(e *host.TraceEvent) {
	r := s.runOf(e)
	r.last, r.seen = e.Time, s.now()
	s.quiet.MoveToBack(r.place)
	switch e.Event {
	case "exec.start", "wait.start":
		s.startPhase(r, e)
	case "exec.end", "wait.end":
		s.endPhase(r, e)
	case "call.start":
		s.startCall(r, e)
	case "call.end":
		s.endCall(r, e)
	case "call.denied":
		s.denied(r, e)
	case "approval.asked":
		s.askApproval(r, e)
	case "approval.decided":
		s.decideApproval(r, e)
	case "search", "describe", "suspend", "resume":
		s.note(r, e)
	default:
		s.moment(r, e)
	}
	s.forget(r)
}

// runOf finds or makes the run of an event. A call without a cell has a run of its
// own, which those have that its plugin makes.
func (s *spans) runOf(e *host.TraceEvent) *run {
	key := "run:" + e.RunID
	if e.RunID == "" {
		for _, id := range []string{e.CallID, e.ParentID} {
			if r := s.direct[id]; r != nil {
				return r
			}
		}
		key = "call:" + e.CallID
		if e.CallID == "" {
			s.made++
			key = "event:" + e.Time.String() + strconv.Itoa(s.made)
		}
	}
	r := s.runs[key]
	if r == nil {
		r = &run{key: key, trace: traceID(key), calls: map[string]*openSpan{}, asked: map[string]*openSpan{}}
		r.place = s.quiet.PushBack(r)
		s.runs[key] = r
	}
	return r
}

// forget drops a run of which nothing is open.
func (s *spans) forget(r *run) {
	if len(r.phases)+len(r.calls)+len(r.asked) > 0 || s.runs[r.key] != r {
		return
	}
	delete(s.runs, r.key)
	s.quiet.Remove(r.place)
}

// begin makes a span that begins with an event, below parent. The root of a run
// stands in for a parent that is not known, but for calls without a cell.
func (s *spans) begin(r *run, e *host.TraceEvent, kind string, at time.Time, parent *openSpan) *openSpan {
	sp := &openSpan{Span: &tracepb.Span{TraceId: r.trace}, attributes: attributes{redactor: s.redactor}, kind: kind, callID: e.CallID, start: at, parent: parent}
	switch kind {
	case "exec":
		sp.SpanId = rootID(r.key)
	case "call":
		sp.SpanId = spanID(r.key, kind, e.CallID, time.Time{})
	default:
		sp.SpanId = spanID(r.key, kind, e.CallID, at)
	}
	switch {
	case parent != nil:
		sp.ParentSpanId = parent.SpanId
	case kind != "exec" && e.RunID != "":
		sp.ParentSpanId = rootID(r.key)
	}
	sp.Flags = uint32(tracepb.SpanFlags_SPAN_FLAGS_CONTEXT_HAS_IS_REMOTE_MASK) | 1 // known not to be remote, sampled
	sp.scope(e)
	return sp
}

// keep counts a span that stays open, and makes room for it.
func (s *spans) keep() {
	for s.open >= s.max && s.quiet.Len() > 0 {
		s.abandon(s.quiet.Front().Value.(*run))
	}
	s.open++
}

// finish ends a span and hands it on.
func (s *spans) finish(sp *openSpan, start, end time.Time) {
	if end.Before(start) {
		end = start
	}
	sp.StartTimeUnixNano, sp.EndTimeUnixNano = nanos(start), nanos(end)
	sp.Attributes = sp.attributes.list
	s.emit(sp.Span)
}

func nanos(t time.Time) uint64 {
	if t.Year() < 1970 || t.Year() > 2200 { // beyond, UnixNano is not defined
		return 0
	}
	return uint64(t.UnixNano())
}

// abandon closes all that is open of a run, at its last event.
func (s *spans) abandon(r *run) {
	closeOne := func(sp *openSpan) {
		sp.flag("cloister.unfinished", true)
		s.finish(sp, sp.start, r.last)
		s.open--
	}
	for _, sp := range r.asked {
		closeOne(sp)
	}
	for id, sp := range r.calls {
		closeOne(sp)
		if s.direct[id] == r {
			delete(s.direct, id)
		}
	}
	for _, sp := range r.phases {
		closeOne(sp)
	}
	r.phases = nil
	clear(r.calls)
	clear(r.asked)
	// A run to which an event is being added is put back by again.
	delete(s.runs, r.key)
	s.quiet.Remove(r.place)
}

// again puts a run back that was abandoned to make room for a span of its own.
func (s *spans) again(r *run) {
	if s.runs[r.key] != r {
		s.runs[r.key] = r
		r.place = s.quiet.PushBack(r)
	}
}

// expire abandons runs that were quiet for too long.
func (s *spans) expire(now time.Time) {
	for s.quiet.Len() > 0 {
		r := s.quiet.Front().Value.(*run)
		if now.Sub(r.seen) < s.ttl {
			return
		}
		s.abandon(r)
	}
}

// closeAll abandons all runs.
func (s *spans) closeAll() {
	for s.quiet.Len() > 0 {
		s.abandon(s.quiet.Front().Value.(*run))
	}
}
