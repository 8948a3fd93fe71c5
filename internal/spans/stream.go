package spans

import (
	"container/list"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/cloister-wasm/cloister/api"
)

// maxNotes bounds the notes of one span.
const maxNotes = 64

// StreamOptions configures a Stream. All of it is required.
type StreamOptions struct {
	// Ended takes each span when it has ended, or was given up: then it is open. It
	// must not change the span after it returns, nor use the Stream.
	Ended func(*Span)
	// Identify gives a span its ID when it begins. Children may end before it does.
	Identify func(*Span) [8]byte
	// MaxOpen bounds the spans that are open. To make room, the run that was quiet for
	// longest is closed.
	MaxOpen int
	// TTL is after how long without an event Expire closes a run.
	TTL time.Duration
	// MaxText bounds each text of a span, in bytes.
	MaxText int
	// Now is the clock for TTL.
	Now func() time.Time
}

// Stream hands spans on as they end. A run is known while a span of it is open, and no
// longer. A call without a cell makes a run of its own, with the calls that its plugin
// makes in it.
type Stream struct {
	o      StreamOptions
	b      builder
	runs   map[string]*live
	quiet  *list.List       // of *live, the one that was quiet for longest first
	direct map[string]*live // by call: the runs of calls without a cell
	made   int              // keys that were made up
}

// live is a run of which something is open.
type live struct {
	run   Run
	key   string
	last  time.Time // of its last event
	seen  time.Time // when that came
	place *list.Element
}

// Key names a run of a Stream among all runs: "run:" and its ID, or for a call without a
// cell "call:" and the id of that.
func (r *Run) Key() string { return r.live.key }

// NewStream makes a Stream.
func NewStream(o StreamOptions) *Stream {
	s := &Stream{o: o, runs: map[string]*live{}, quiet: list.New(), direct: map[string]*live{}}
	s.b = builder{keeper: (*streamKeeper)(s), maxText: o.MaxText}
	return s
}

// Add takes the next event.
func (s *Stream) Add(e *Event) {
	l := s.runOf(e)
	l.last, l.seen = e.at(), s.o.Now()
	s.quiet.MoveToBack(l.place)
	if !s.note(&l.run, e) {
		s.b.add(&l.run, e)
	}
	if r := &l.run; len(r.phases)+len(r.byID)+len(r.asked) == 0 {
		s.forget(l)
	}
}

// Open is the number of spans that are open.
func (s *Stream) Open() int { return s.b.open }

// Expire closes the runs that have been quiet for too long.
func (s *Stream) Expire(now time.Time) {
	for s.quiet.Len() > 0 {
		l := s.quiet.Front().Value.(*live)
		if now.Sub(l.seen) < s.o.TTL {
			return
		}
		s.abandon(l)
	}
}

// Close closes all runs.
func (s *Stream) Close() {
	for s.quiet.Len() > 0 {
		s.abandon(s.quiet.Front().Value.(*live))
	}
}

// runOf finds or makes the run of an event.
func (s *Stream) runOf(e *Event) *live {
	key := "run:" + e.RunID
	if e.RunID == "" {
		for _, id := range []string{e.CallID, e.ParentID} {
			if l := s.direct[id]; l != nil {
				return l
			}
		}
		key = "call:" + e.CallID
		if e.CallID == "" {
			s.made++
			key = "event:" + e.Time.String() + strconv.Itoa(s.made)
		}
	}
	l := s.runs[key]
	if l == nil {
		l = &live{run: Run{ID: e.RunID, Scope: s.b.scopeOf(e)}, key: key}
		l.run.live = l
		s.remember(l)
	}
	return l
}

// remember puts a run where it is found, if it is not there: one that was given up to
// make room for a span of its own comes back.
func (s *Stream) remember(l *live) {
	if s.runs[l.key] != l {
		s.runs[l.key] = l
		l.place = s.quiet.PushBack(l)
	}
}

func (s *Stream) forget(l *live) {
	if s.runs[l.key] == l {
		delete(s.runs, l.key)
		s.quiet.Remove(l.place)
	}
}

// abandon gives up all that is open of a run, at its last event.
func (s *Stream) abandon(l *live) {
	r := &l.run
	open := slices.Concat(slices.Collect(maps.Values(r.asked)), slices.Collect(maps.Values(r.byID)), r.phases)
	clear(r.asked)
	r.phases = nil
	for _, sp := range open {
		s.b.abandon(sp, l.last)
	}
	s.forget(l)
}

// note adds an event to the span during which it happened, if it is one for that.
func (s *Stream) note(r *Run, e *Event) bool {
	switch e.Event {
	case api.EventSearch, api.EventDescribe, api.EventSuspend, api.EventResume, api.EventCallsMore:
	default:
		return false
	}
	sp := r.within(e)
	if sp == nil {
		return false
	}
	if sp.Notes == nil {
		sp.Notes = &Notes{}
	}
	if len(sp.Notes.List) >= maxNotes {
		sp.Notes.Dropped++
		return true
	}
	sp.Notes.List = append(sp.Notes.List, Note{Name: e.Event, Time: e.at(), Tool: s.b.text(e.Tool), OutputBytes: e.OutputBytes, Count: e.Count})
	return true
}

// within gives the span during which something happened: an open call that it names as
// its parent, or the exec or wait that runs.
func (r *Run) within(e *Event) *Span {
	if s := r.byID[e.ParentID]; s != nil && e.ParentID != e.CallID {
		return s
	}
	return r.phase()
}

// streamKeeper is a Stream as its builder sees it.
type streamKeeper Stream

func (k *streamKeeper) room() {
	s := (*Stream)(k)
	for s.b.open >= s.o.MaxOpen && s.quiet.Len() > 0 {
		s.abandon(s.quiet.Front().Value.(*live))
	}
}

func (k *streamKeeper) adopt(s *Span, e *Event) {
	if s.Kind == KindApproval {
		if s.Parent = s.Run.byID[e.CallID]; s.Parent != nil {
			return
		}
	}
	s.Parent = s.Run.within(e)
}

func (k *streamKeeper) began(s *Span) {
	s.ID = k.o.Identify(s)
	if !s.Open {
		return
	}
	l := s.Run.live
	(*Stream)(k).remember(l)
	if s.Kind != KindCall {
		return
	}
	put(&l.run.byID, s.CallID, s)
	if l.run.ID == "" && s.CallID != "" {
		k.direct[s.CallID] = l
	}
}

func (k *streamKeeper) ended(s *Span) {
	if s.Kind == KindCall {
		if s.Run.byID[s.CallID] == s {
			delete(s.Run.byID, s.CallID)
		}
		if k.direct[s.CallID] == s.Run.live {
			delete(k.direct, s.CallID)
		}
	}
	k.o.Ended(s)
	s.Parent = nil // or a chain of calls, each in the one before it, would be kept whole
}
