package spans

import (
	"math"
	"time"

	"github.com/cloister-wasm/cloister/api"
	"github.com/cloister-wasm/cloister/guestabi"
)

// Kind says what a span is.
type Kind uint8

// The kinds of spans.
const (
	KindExec Kind = iota
	KindWait
	KindSuspended // in a Tree
	KindCall
	KindApproval
	KindEvent // without duration
)

// String gives the kind as a word.
func (k Kind) String() string {
	return [...]string{"exec", "wait", "suspended", "call", "approval", "event"}[k]
}

// phase says whether a span of this kind has the calls of a cell in it.
func (k Kind) phase() bool { return k == KindExec || k == KindWait }

// Oddity says what does not fit in a trace, as bits.
type Oddity uint8

// What may be odd about a span.
const (
	OddNoStart  Oddity = 1 << iota // a call that ended and never began
	OddParent                      // its parent is not in the trace
	OddCycle                       // its parents lead back to it
	OddTwice                       // its id had been used before
	OddClock                       // it ends before it starts
	OddDuration                    // it lasted longer than anything does, or less than nothing
)

var oddTexts = [...]string{"no start", "parent unknown", "its own parent", "id used twice", "ends before it starts", "impossible duration"}

// Texts says in words what is odd.
func (o Oddity) Texts() []string {
	var out []string
	for i, text := range oddTexts {
		if o&(1<<i) != 0 {
			out = append(out, text)
		}
	}
	return out
}

// Span is something that happened in a run, from Start to End, which are the same for a
// moment. Texts are as the events had them, but cut. Times are in UTC.
type Span struct {
	Kind  Kind
	Run   *Run
	Scope *Scope // of the event that began it; shared, and not to be changed
	// Parent is what it happened in; nil for an exec, a wait, and what happened
	// outside of them. In a Stream the parent of an ended span is kept no longer.
	Parent *Span
	// ID is what StreamOptions.Identify gave.
	ID [8]byte

	// Name is the name of the tool or of the namespace's function for a call, of the
	// event for an event, and else the kind.
	Name                    string
	CallID                  string // of an approval: that of its call
	Tool, Namespace, Caller string
	Status, Rule            string
	Reason                  guestabi.Reason
	By, Extent              string // of an approval

	Start, End              time.Time
	DurationMs              float64 // as told, or -1
	InputBytes, OutputBytes int
	// Count is how many such things the span stands for, or 0 for itself alone.
	Count int

	Unsigned, Untrusted bool
	// Open says that the end is not known. A Tree ends such a span with its run, a
	// Stream where it gave up.
	Open bool
	// Bad says that it failed, or was denied.
	Bad, Denied bool
	// Moment says that it has no duration: an event, or a call that was denied before
	// it began.
	Moment bool
	Odd    Oddity

	// Number is the place in Run.Spans, from 1, and Depth the number of parents. Only a
	// Tree sets them.
	Number, Depth int
	// Notes are the events in a span of a Stream, nil for none.
	Notes *Notes

	parentID string
	visit    uint8 // of the search for cycles
	keep     bool  // of Troubled
}

// Notes are the first few events in a span.
type Notes struct {
	List    []Note
	Dropped int
}

// Note is a moment in a span of a Stream.
type Note struct {
	Name               api.EventName
	Time               time.Time
	Tool               string
	OutputBytes, Count int
}

// Duration is how long a span took, in milliseconds: what was told, else what the times
// say. What is open, a moment or denied has no duration.
func (s *Span) Duration() (ms float64, ok bool) {
	switch {
	case s.Open, s.Moment, s.Denied:
		return 0, false
	case s.DurationMs >= 0:
		return s.DurationMs, true
	}
	// A time.Duration does not hold the ten thousand years that times span.
	return float64(s.End.UnixMicro()-s.Start.UnixMicro()) / 1000, true
}

// MaxDurationMs is the longest duration that is believed: a year.
const MaxDurationMs = 366 * 24 * 3600 * 1000

// told gives a duration in whole µs, as events have it; 0 if it is none.
func (s *Span) told(ms float64) time.Duration {
	if !(ms >= 0 && ms <= MaxDurationMs) { // or not a number
		s.Odd |= OddDuration
		return 0
	}
	return time.Duration(math.Round(ms*1000)) * time.Microsecond
}

// close ends a span. The times of the events place it; the duration, which a change of
// the clock does not touch, helps where they make no sense.
func (s *Span) close(at time.Time, ms float64) {
	d := s.told(ms)
	if d > 0 {
		s.DurationMs = ms
	}
	s.Open = false
	if at.Before(s.Start) {
		s.Odd |= OddClock
		at = s.Start.Add(d)
	}
	s.End = at
}

// refuse marks a span as denied.
func (s *Span) refuse() { s.Denied, s.Bad = true, true }
