package main

import (
	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/host"
)

// trace is what was read: its runs as they appear.
type trace struct {
	name string // of the file, for messages
	runs []*traceRun

	damaged  int // lines that are no events
	damage   []damagedLine
	leftOut  bool   // --run left events out
	otherRun string // the first run of them, if they are of any

	byRun map[string]*traceRun
	byID  map[spanKey]*traceSpan // the latest of each id
}

// spanKey names an exec or a call: ids are only unique within a run.
type spanKey struct {
	run *traceRun
	id  string
}

// traceRun is one cell, or with the id "" what belongs to none.
type traceRun struct {
	id    string
	scope traceScope
	spans []*traceSpan // as they began; in the order of the tree after finish
	// status and reason are those of the last end.
	status, reason string

	phase     *traceSpan            // the exec or wait that is open
	asked     map[string]*traceSpan // approvals that are open, by call
	suspended *traceSpan            // the stretch since the last end, while it is open
	snapshot  *host.TraceEvent

	first, last int64 // µs since 1970, over all spans
	counts      struct{ calls, failed, denied, unsigned int }
}

// Kinds of spans, as --json names them.
const (
	spanExec      = "exec"
	spanWait      = "wait"
	spanSuspended = "suspended"
	spanCall      = "call"
	spanApproval  = "approval"
	spanEvent     = "event" // without duration
)

// oddity is what does not fit in a trace, as bits.
type oddity uint8

const (
	oddNoStart oddity = 1 << iota
	oddParent
	oddCycle
	oddTwice
	oddClock
	oddDuration
)

var oddTexts = []string{"no start", "parent unknown", "its own parent", "id used twice", "ends before it starts", "impossible duration"}

// list gives the texts of the bits.
func (o oddity) list() []string {
	var out []string
	for i, text := range oddTexts {
		if o&(1<<i) != 0 {
			out = append(out, text)
		}
	}
	return out
}

// traceSpan is one line of the picture. Its texts are as they came, but cut.
type traceSpan struct {
	kind, name        string
	callID, parentID  string
	tool, namespace   string
	caller            string
	status, rule      string
	reason            guestabi.Reason
	start, end        int64   // µs since 1970
	durationMs        float64 // as told, or -1
	in, out           int
	unsigned          bool
	untrusted         bool
	by, extent        string // of an approval
	open, bad, denied bool
	odd               oddity
	visit             uint8 // of the search for cycles
	keep              bool  // of --denied
	number, depth     int
	parent            *traceSpan
	children          []*traceSpan
}

func newTrace(name string) *trace {
	return &trace{name: name, byRun: map[string]*traceRun{}, byID: map[spanKey]*traceSpan{}}
}

// add takes the next event.
func (t *trace) add(e *host.TraceEvent) {
	r := t.byRun[e.RunID]
	if r == nil {
		r = &traceRun{id: e.RunID, scope: traceScope{e.AgentID, e.AgentRunID, e.SessionID, e.Sender, e.Channel}}
		t.byRun[e.RunID] = r
		t.runs = append(t.runs, r)
	}
	at := e.Time.UnixMicro()
	switch e.Event {
	case "exec.start", "wait.start":
		t.startPhase(r, e, at)
	case "exec.end", "wait.end":
		t.endPhase(r, e, at)
	case "call.start":
		s := t.begin(r, e, spanCall, at)
		s.open = true
		t.index(r, s)
	case "call.end":
		t.endCall(r, e, at)
	case "call.denied":
		s := t.begin(r, e, spanCall, at)
		s.denied, s.bad = true, true
	case "approval.asked":
		s := t.begin(r, e, spanApproval, at)
		s.open = true
		if r.asked == nil {
			r.asked = map[string]*traceSpan{}
		}
		r.asked[e.CallID] = s
	case "approval.decided":
		t.decide(r, e, at)
	case "namespace.refused":
		s := t.begin(r, e, spanEvent, at)
		s.denied, s.bad = true, true
	case "suspend":
		r.snapshot = e
	case "expire", "abort":
		t.endFromOutside(r, e, at)
	default:
		t.begin(r, e, spanEvent, at)
	}
}

// begin makes a span of an event; it is no longer than a moment yet.
func (t *trace) begin(r *traceRun, e *host.TraceEvent, kind string, at int64) *traceSpan {
	s := &traceSpan{
		kind: kind, name: cutText(string(e.Event)), callID: e.CallID, parentID: e.ParentID, caller: cutText(e.Caller),
		tool: cutText(e.Tool), namespace: cutText(e.Namespace), status: cutText(e.Status), rule: cutText(e.Rule),
		reason: guestabi.Reason(cutText(string(e.Reason))), start: at, end: at, durationMs: -1,
		in: e.InputBytes, out: e.OutputBytes, unsigned: e.Unsigned, untrusted: e.Untrusted,
		by: cutText(e.By), extent: cutText(string(e.Extent)),
	}
	if kind == spanApproval { // belongs to its call
		s.name, s.parentID, s.callID = kind, e.CallID, ""
	}
	switch kind {
	case spanExec, spanWait:
		s.name = kind
	default:
		t.adopt(r, s)
	}
	if kind == spanCall {
		s.name = s.tool
		if s.namespace != "" {
			s.name = s.namespace
		}
	}
	r.spans = append(r.spans, s)
	return s
}

// adopt finds the parent of a span as far as it is known already. What a cell
// calls belongs to the exec or wait in which it did.
func (t *trace) adopt(r *traceRun, s *traceSpan) {
	if s.parentID == "" {
		s.parent = r.phase
		return
	}
	s.parent = t.byID[spanKey{r, s.parentID}]
	if s.parent != nil && s.parent.kind == spanExec && r.phase != nil {
		s.parent = r.phase
	}
}

// index makes a span known by its id, in place of an older one.
func (t *trace) index(r *traceRun, s *traceSpan) {
	if s.callID == "" {
		return
	}
	key := spanKey{r, s.callID}
	if t.byID[key] != nil {
		s.odd |= oddTwice
	}
	t.byID[key] = s
}

func (t *trace) startPhase(r *traceRun, e *host.TraceEvent, at int64) {
	if r.suspended != nil {
		r.suspended.close(at, 0)
		r.suspended = nil
	}
	kind := string(e.Event[:4])
	s := t.begin(r, e, kind, at)
	s.open = true
	if kind == spanExec {
		t.index(r, s)
	}
	r.phase = s
}

func (t *trace) endPhase(r *traceRun, e *host.TraceEvent, at int64) {
	kind := string(e.Event[:4])
	s := r.phase
	if s == nil || s.kind != kind || s.callID != e.CallID {
		// A run that fails before there is a cell has an end alone, so this is
		// nothing odd.
		s = t.begin(r, e, kind, at)
		if kind == spanExec {
			t.index(r, s)
		}
		s.start = at - s.told(e.DurationMs)
	} else {
		r.phase = nil
	}
	s.close(at, e.DurationMs)
	// It began before the cell did: with preparing the engine.
	s.start = min(s.start, s.end-s.told(e.DurationMs))
	s.status, s.reason, s.out = cutText(e.Status), guestabi.Reason(cutText(string(e.Reason))), e.OutputBytes
	s.bad = s.status == string(guestabi.StatusFailed)
	r.status, r.reason = s.status, string(s.reason)
	if s.status == string(guestabi.StatusWaiting) && r.id != "" {
		t.suspend(r, s.end)
	}
}

// suspend begins the stretch in which a run waits to be continued.
func (t *trace) suspend(r *traceRun, at int64) {
	s := &traceSpan{kind: spanSuspended, name: spanSuspended, start: at, end: at, durationMs: -1, open: true}
	if r.snapshot != nil {
		s.out, r.snapshot = r.snapshot.OutputBytes, nil
	}
	r.spans = append(r.spans, s)
	r.suspended = s
}

func (t *trace) endCall(r *traceRun, e *host.TraceEvent, at int64) {
	s := t.byID[spanKey{r, e.CallID}]
	if s == nil || !s.open || s.kind != spanCall {
		s = t.begin(r, e, spanCall, at)
		s.odd |= oddNoStart
		t.index(r, s)
		s.start = at - s.told(e.DurationMs)
	}
	s.close(at, e.DurationMs)
	s.status, s.out = cutText(e.Status), e.OutputBytes
	s.unsigned, s.untrusted = s.unsigned || e.Unsigned, s.untrusted || e.Untrusted
	s.bad = s.status != "ok"
	if e.Rule != "" {
		s.rule, s.denied = cutText(e.Rule), true
	}
}

// decide ends an approval. One that was never asked for was answered before.
func (t *trace) decide(r *traceRun, e *host.TraceEvent, at int64) {
	s := r.asked[e.CallID]
	if s == nil {
		s = t.begin(r, e, spanApproval, at)
	}
	delete(r.asked, e.CallID)
	s.close(at, e.DurationMs)
	s.status, s.by, s.extent = cutText(e.Status), cutText(e.By), cutText(string(e.Extent))
	s.bad = s.status != "approved"
}

// endFromOutside ends a run that nobody continues.
func (t *trace) endFromOutside(r *traceRun, e *host.TraceEvent, at int64) {
	status := map[string]string{"expire": "expired", "abort": "aborted"}[string(e.Event)]
	s := r.suspended
	if s != nil {
		s.close(at, 0)
		r.suspended = nil
	} else {
		s = t.begin(r, e, spanEvent, at)
	}
	s.status, s.bad = status, true
	r.status, r.reason = status, ""
}

// maxDurationMs is the longest duration that is believed: a year.
const maxDurationMs = 366 * 24 * 3600 * 1000

// told gives a duration in µs, or 0 if it is none.
func (s *traceSpan) told(ms float64) int64 {
	if ms < 0 || ms > maxDurationMs {
		s.odd |= oddDuration
		return 0
	}
	return int64(ms * 1000)
}

// close ends a span. The times of the events place it; the duration, which a
// change of the clock does not touch, helps where they make no sense.
func (s *traceSpan) close(at int64, ms float64) {
	d := s.told(ms)
	if d > 0 {
		s.durationMs = ms
	}
	s.open = false
	if at < s.start {
		s.odd |= oddClock
		at = s.start + d
	}
	s.end = at
}
