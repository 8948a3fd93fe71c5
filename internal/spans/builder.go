package spans

import (
	"slices"
	"time"

	"github.com/cloister-wasm/cloister/api"
	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/internal/plaintext"
)

// maxPhases bounds the execs and waits of a run that run at once. There is one, but for
// races between their events.
const maxPhases = 16

// builder gives events their meaning. What becomes of the spans is the keeper's matter.
type builder struct {
	keeper
	maxText int    // bytes of a text
	open    int    // spans whose end is to come
	scope   *Scope // of the last event: most have the same
}

// keeper is what a Tree and a Stream do differently.
type keeper interface {
	// room is called before a span begins that stays open.
	room()
	// adopt sets the parent of a span that is no exec and no wait.
	adopt(s *Span, e *Event)
	// began takes a span, and makes a call known by its id. If it is not open, its end
	// follows at once.
	began(s *Span)
	// ended is told that nothing will change about a span. One that is open still is
	// given up: its end will not come.
	ended(s *Span)
}

// add takes an event of a run.
func (b *builder) add(r *Run, e *Event) {
	switch e.Event {
	case api.EventExecStart, api.EventWaitStart:
		b.startPhase(r, e)
	case api.EventExecEnd, api.EventWaitEnd:
		b.endPhase(r, e)
	case api.EventCallStart:
		b.startCall(r, e)
	case api.EventCallEnd:
		b.endCall(r, e)
	case api.EventCallDenied:
		b.deny(r, e)
	case api.EventApprovalAsked:
		b.ask(r, e)
	case api.EventApprovalDecided:
		b.decide(r, e)
	default:
		b.moment(r, e)
	}
}

// span makes a span of an event; it is no longer than a moment yet.
func (b *builder) span(r *Run, e *Event, kind Kind, ago float64) *Span {
	s := &Span{
		Kind: kind, Run: r, Scope: b.scopeOf(e), Name: kind.String(), CallID: e.CallID, parentID: e.ParentID,
		Tool: b.text(e.Tool), Namespace: b.text(e.Namespace), Caller: b.text(e.Caller), Status: b.text(e.Status),
		Rule: b.text(e.Rule), Reason: guestabi.Reason(b.text(string(e.Reason))), By: b.text(e.By), Extent: b.text(e.Extent),
		DurationMs: -1, InputBytes: e.InputBytes, OutputBytes: e.OutputBytes, Count: e.Count, Unsigned: e.Unsigned, Untrusted: e.Untrusted,
	}
	s.Start = e.at().Add(-s.told(ago))
	s.End = s.Start
	switch kind {
	case KindCall:
		switch { // a call of what is no tool names none
		case s.Namespace != "":
			s.Name = s.Namespace
		case s.Tool != "":
			s.Name = s.Tool
		}
	case KindApproval: // belongs to its call
		s.parentID = e.CallID
	case KindEvent:
		s.Name, s.Moment = b.text(string(e.Event)), true
	}
	if !kind.phase() {
		b.adopt(s, e)
	}
	return s
}

// scopeOf gives the scope of an event, as long as it is the same in the same place.
func (b *builder) scopeOf(e *Event) *Scope {
	if b.scope == nil || *b.scope != e.Scope {
		scope := e.Scope
		b.scope = &scope
	}
	return b.scope
}

// text bounds a text without holding on to the rest of it.
func (b *builder) text(s string) string { return plaintext.Clip(s, b.maxText) }

// begin makes a span that stays open.
func (b *builder) begin(r *Run, e *Event, kind Kind) *Span {
	b.room()
	s := b.span(r, e, kind, 0)
	s.Open = true
	b.open++
	b.began(s)
	return s
}

// released counts a span that the run has just let go.
func (b *builder) released(s *Span) *Span {
	b.open--
	return s
}

// abandon gives up a span that the run has let go: its end will not come.
func (b *builder) abandon(s *Span, at time.Time) {
	if at.After(s.End) {
		s.End = at
	}
	b.ended(b.released(s))
}

func phaseOf(e *Event) Kind {
	if e.Event == api.EventExecStart || e.Event == api.EventExecEnd {
		return KindExec
	}
	return KindWait
}

func (b *builder) startPhase(r *Run, e *Event) {
	if len(r.phases) == maxPhases {
		oldest := r.phases[0]
		r.phases = slices.Delete(r.phases, 0, 1)
		b.abandon(oldest, e.at())
	}
	s := b.begin(r, e, phaseOf(e))
	r.phases = append(r.phases, s)
}

func (b *builder) endPhase(r *Run, e *Event) {
	kind := phaseOf(e)
	var s *Span
	if i := slices.IndexFunc(r.phases, func(s *Span) bool { return s.Kind == kind && s.CallID == e.CallID }); i >= 0 {
		s = b.released(r.phases[i])
		r.phases = slices.Delete(r.phases, i, i+1)
	} else { // it failed before there was a cell, which is nothing odd
		s = b.span(r, e, kind, e.DurationMs)
		b.began(s)
	}
	s.close(e.at(), e.DurationMs)
	// It began before its cell did: with preparing the engine.
	if start := s.End.Add(-s.told(e.DurationMs)); start.Before(s.Start) {
		s.Start = start
	}
	s.Status, s.Reason, s.OutputBytes = b.text(e.Status), guestabi.Reason(b.text(string(e.Reason))), e.OutputBytes
	s.Bad = s.Status == string(guestabi.StatusFailed)
	b.ended(s)
}

// openCall gives the call of an id if it has not ended.
func (r *Run) openCall(id string) *Span {
	if s := r.byID[id]; s != nil && s.Open && s.Kind == KindCall {
		return s
	}
	return nil
}

func (b *builder) startCall(r *Run, e *Event) {
	if old := r.openCall(e.CallID); old != nil {
		b.abandon(old, e.at())
	}
	b.begin(r, e, KindCall)
}

func (b *builder) endCall(r *Run, e *Event) {
	s := r.openCall(e.CallID)
	if s != nil {
		b.released(s)
	} else {
		s = b.span(r, e, KindCall, e.DurationMs)
		s.Odd |= OddNoStart
		b.began(s)
	}
	if asked := take(r.asked, e.CallID); asked != nil { // nobody answered
		b.released(asked).close(e.at(), 0)
		asked.Status = "unanswered"
		b.ended(asked)
	}
	s.close(e.at(), e.DurationMs)
	s.Status, s.OutputBytes = b.text(e.Status), e.OutputBytes
	s.Unsigned, s.Untrusted = s.Unsigned || e.Unsigned, s.Untrusted || e.Untrusted
	s.Bad = s.Bad || s.Status != "ok"
	if e.Rule != "" {
		s.Rule, s.Denied = b.text(e.Rule), true
	}
	b.ended(s)
}

// deny marks an open call as denied, or makes a span of one that never began.
func (b *builder) deny(r *Run, e *Event) {
	if s := r.openCall(e.CallID); s != nil {
		s.refuse()
		s.Rule = b.text(e.Rule)
		return
	}
	s := b.span(r, e, KindCall, 0)
	s.refuse()
	s.Moment = true
	b.began(s)
	b.ended(s)
}

func (b *builder) ask(r *Run, e *Event) {
	if r.asked[e.CallID] == nil {
		put(&r.asked, e.CallID, b.begin(r, e, KindApproval))
	}
}

// decide ends an approval. One that was never asked for was answered before.
func (b *builder) decide(r *Run, e *Event) {
	s := take(r.asked, e.CallID)
	if s != nil {
		b.released(s)
	} else {
		s = b.span(r, e, KindApproval, e.DurationMs)
		b.began(s)
	}
	s.close(e.at(), e.DurationMs)
	s.Status, s.By, s.Extent, s.Rule = b.text(e.Status), b.text(e.By), b.text(e.Extent), b.text(e.Rule)
	s.Bad = s.Status != "approved"
	b.ended(s)
}

// moment makes a span without duration.
func (b *builder) moment(r *Run, e *Event) *Span {
	s := b.span(r, e, KindEvent, 0)
	switch e.Event {
	case api.EventNamespaceRefused:
		s.refuse()
	case api.EventExpire, api.EventAbort:
		s.endRun(e.Event)
	}
	b.began(s)
	b.ended(s)
	return s
}

// endRun marks a span with which a run ended from outside.
func (s *Span) endRun(by api.EventName) {
	s.Status, s.Bad = "aborted", true
	if by == api.EventExpire {
		s.Status = "expired"
	}
}

// take removes an entry and gives it, or nil.
func take(m map[string]*Span, id string) *Span {
	s := m[id]
	delete(m, id)
	return s
}

// put makes the map that it needs: most runs of a large trace need none.
func put(m *map[string]*Span, id string, s *Span) {
	if *m == nil {
		*m = map[string]*Span{}
	}
	(*m)[id] = s
}
