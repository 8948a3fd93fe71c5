package spans

import (
	"math"
	"slices"
	"time"

	"github.com/cloister-wasm/cloister/api"
	"github.com/cloister-wasm/cloister/guestabi"
)

// Run is one cell, or with the ID "" what belongs to none.
type Run struct {
	ID    string
	Scope *Scope // of its first event
	// Status and Reason are those of its last end, "" as long as there is none.
	Status string
	Reason guestabi.Reason

	// Spans, in the order of the tree, First, Last and Counts are what Tree.Finish made
	// of the run. A Stream keeps none of these.
	Spans       []*Span
	First, Last time.Time
	Counts      Counts

	phases []*Span          // execs and waits that are open
	asked  map[string]*Span // approvals that are open, by call
	// byID has the latest exec or call of each id in a Tree, the open calls in a Stream.
	byID map[string]*Span

	suspended *Span // of a Tree: since the last end, while it is open
	snapshot  *Span // of a Tree: made by suspend, for when it is suspended
	live      *live // of a Stream
}

// phase is the exec or wait that runs, or nil.
func (r *Run) phase() *Span {
	if n := len(r.phases); n > 0 {
		return r.phases[n-1]
	}
	return nil
}

// Counts are numbers of calls. Those for which one event stands count as that many.
type Counts struct{ Calls, Failed, Denied, Unsigned int }

// add counts a span.
func (c *Counts) add(s *Span) {
	n := max(s.Count, 1)
	call := s.Kind == KindCall || s.Kind == KindEvent && s.Name == string(api.EventCallsMore)
	for _, each := range []struct {
		on    bool
		count *int
	}{
		{call, &c.Calls}, {call && s.Unsigned, &c.Unsigned}, {s.Denied, &c.Denied}, {s.Bad && !s.Denied && s.Kind == KindCall, &c.Failed},
	} {
		if each.on {
			*each.count += min(n, math.MaxInt-*each.count)
		}
	}
}

// Troubled gives the spans of a finished Tree that are bad, and all above them.
func (r *Run) Troubled() []*Span {
	return slices.DeleteFunc(slices.Clone(r.Spans), func(s *Span) bool { return !s.keep })
}
