package spans

import (
	"github.com/cloister-wasm/cloister/api"
	"github.com/cloister-wasm/cloister/guestabi"
)

// Tree keeps the spans of a trace. It is as large as what is added: Read bounds that.
type Tree struct {
	// Runs are in the order in which they appear.
	Runs []*Run

	b     builder
	byRun map[string]*Run
}

// NewTree makes a Tree that keeps maxText bytes of each text.
func NewTree(maxText int) *Tree {
	t := &Tree{byRun: map[string]*Run{}}
	t.b = builder{keeper: (*treeKeeper)(t), maxText: maxText}
	return t
}

// Add takes the next event. There is none after Finish.
func (t *Tree) Add(e *Event) {
	r := t.byRun[e.RunID]
	if r == nil {
		r = &Run{ID: e.RunID, Scope: t.b.scopeOf(e)}
		t.byRun[e.RunID] = r
		t.Runs = append(t.Runs, r)
	}
	switch e.Event {
	case api.EventSuspend:
		r.snapshot = &Span{Kind: KindSuspended, Start: e.at(), OutputBytes: e.OutputBytes}
	case api.EventExpire, api.EventAbort:
		t.endFromOutside(r, e)
	default:
		t.b.add(r, e)
	}
}

// suspend begins the stretch in which a run waits to be continued.
func (r *Run) suspend(s *Span) {
	s.Name, s.Run, s.Scope = KindSuspended.String(), r, r.Scope
	s.End, s.DurationMs, s.Open = s.Start, -1, true
	if r.snapshot != nil {
		s.OutputBytes, r.snapshot = r.snapshot.OutputBytes, nil
	}
	r.Spans = append(r.Spans, s)
	r.suspended = s
}

// endFromOutside ends a run that nobody continues.
func (t *Tree) endFromOutside(r *Run, e *Event) {
	s := r.suspended
	if s != nil {
		r.suspended = nil
		s.close(e.at(), 0)
		s.endRun(e.Event)
	} else {
		s = t.b.moment(r, e)
	}
	r.Status, r.Reason = s.Status, ""
}

// treeKeeper is a Tree as its builder sees it.
type treeKeeper Tree

func (t *treeKeeper) room() {}

// adopt finds the parent of a span as far as it is known already. What a cell calls
// belongs to the exec or wait in which it did.
func (t *treeKeeper) adopt(s *Span, _ *Event) {
	r := s.Run
	if s.parentID == "" {
		s.Parent = r.phase()
		return
	}
	s.Parent = r.byID[s.parentID]
	if s.Parent != nil && s.Parent.Kind == KindExec && r.phase() != nil {
		s.Parent = r.phase()
	}
}

func (t *treeKeeper) began(s *Span) {
	r := s.Run
	if s.Open && s.Kind.phase() && r.suspended != nil {
		r.suspended.close(s.Start, 0)
		r.suspended = nil
	}
	r.Spans = append(r.Spans, s)
	if s.CallID == "" || s.Kind != KindExec && (s.Kind != KindCall || s.Moment) {
		return
	}
	if r.byID[s.CallID] != nil {
		s.Odd |= OddTwice
	}
	put(&r.byID, s.CallID, s)
}

func (t *treeKeeper) ended(s *Span) {
	r := s.Run
	if s.Open || !s.Kind.phase() {
		return
	}
	r.Status, r.Reason = s.Status, s.Reason
	if s.Status == string(guestabi.StatusWaiting) && r.ID != "" {
		r.suspend(&Span{Kind: KindSuspended, Start: s.End})
	}
}
