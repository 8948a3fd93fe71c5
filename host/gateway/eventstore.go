package gateway

import (
	"container/list"
	"context"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Bounds of an eventStore.
const (
	maxSessionEvents  = 8 << 20  // bytes of one session
	maxAllEvents      = 64 << 20 // bytes of all sessions
	maxSessionStreams = 256      // of one session, beside those that go on
	eventCost         = 64       // bytes that an event costs beside its text
	eventTime         = 2 * time.Minute
)

// eventStore keeps what was sent to clients for a while, so that one whose connection
// broke can have it sent again (MCP 2025-11-25, Resumability and Redelivery). It
// implements mcp.EventStore. What was given up is never skipped in silence: After says
// so. Streams that still go on keep their count of events whatever is given up.
type eventStore struct {
	now func() time.Time

	mu       sync.Mutex
	sessions map[string]*sessionEvents
	oldest   list.List // of *eventStream, by their last event
	bytes    int
}

type sessionEvents struct {
	streams map[string]*eventStream
	bytes   int
}

type eventStream struct {
	session, id string
	post        *post // that it answers; nil for the stream of the session
	first       int   // index of events[0]
	events      [][]byte
	bytes       int
	last        time.Time
	place       *list.Element
}

var _ mcp.EventStore = (*eventStore)(nil)

func newEventStore(now func() time.Time) *eventStore {
	return &eventStore{now: now, sessions: map[string]*sessionEvents{}}
}

// Open implements mcp.EventStore. The stream of a POST is that of the post in ctx.
func (e *eventStore) Open(ctx context.Context, session, stream string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.openLocked(session, stream)
	if p, ok := ctx.Value(postKey{}).(*post); ok && stream != "" {
		s.post = p
		p.stream.Store(&stream)
	}
	e.sweepLocked()
	return nil
}

func (e *eventStore) openLocked(session, stream string) *eventStream {
	of := e.sessions[session]
	if of == nil {
		of = &sessionEvents{streams: map[string]*eventStream{}}
		e.sessions[session] = of
	}
	s := of.streams[stream]
	if s == nil {
		if len(of.streams) >= maxSessionStreams {
			e.dropOldestLocked(session)
		}
		s = &eventStream{session: session, id: stream, last: e.now()}
		s.place = e.oldest.PushBack(s)
		of.streams[stream] = s
	}
	return s
}

// Append implements mcp.EventStore. It does not fail: the SDK counts events that were
// not kept as well.
func (e *eventStore) Append(_ context.Context, session, stream string, data []byte) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.openLocked(session, stream)
	s.events = append(s.events, data)
	s.last = e.now()
	e.oldest.MoveToBack(s.place)
	e.addLocked(s, len(data)+eventCost)
	e.sweepLocked()
	for of := e.sessions[session]; of.bytes > maxSessionEvents || e.bytes > maxAllEvents; {
		if !e.giveUpLocked(session, of.bytes > maxSessionEvents) {
			break
		}
	}
	return nil
}

func (e *eventStore) addLocked(s *eventStream, n int) {
	s.bytes += n
	e.sessions[s.session].bytes += n
	e.bytes += n
}

// giveUpLocked makes room: of one session, or of all. It says false if there is none
// to make.
func (e *eventStore) giveUpLocked(session string, own bool) bool {
	for at := e.oldest.Front(); at != nil; at = at.Next() {
		s := at.Value.(*eventStream)
		if own && s.session != session || len(s.events) == 0 {
			continue
		}
		e.addLocked(s, -(len(s.events[0]) + eventCost))
		s.events[0] = nil
		s.events = s.events[1:]
		s.first++
		return true
	}
	return false
}

// sweepLocked forgets streams that have ended and were quiet for a while.
func (e *eventStore) sweepLocked() {
	for at := e.oldest.Front(); at != nil; {
		s := at.Value.(*eventStream)
		if e.now().Sub(s.last) < eventTime {
			return // and so are all behind it
		}
		if at = at.Next(); !s.goesOn() {
			e.dropLocked(s)
		}
	}
}

// dropOldestLocked forgets the session's stream that was quiet for the longest time, of
// those that have ended.
func (e *eventStore) dropOldestLocked(session string) {
	for at := e.oldest.Front(); at != nil; at = at.Next() {
		if s := at.Value.(*eventStream); s.session == session && !s.goesOn() {
			e.dropLocked(s)
			return
		}
	}
}

// goesOn says whether more events may come.
func (s *eventStream) goesOn() bool { return s.id == "" || s.post != nil && !s.post.over.Load() }

func (e *eventStore) dropLocked(s *eventStream) {
	e.addLocked(s, -s.bytes)
	e.oldest.Remove(s.place)
	of := e.sessions[s.session]
	if delete(of.streams, s.id); len(of.streams) == 0 {
		delete(e.sessions, s.session)
	}
}

// After implements mcp.EventStore.
func (e *eventStore) After(_ context.Context, session, stream string, index int) iter.Seq2[[]byte, error] {
	events, err := e.after(session, stream, index)
	return func(yield func([]byte, error) bool) {
		if err != nil {
			yield(nil, err)
			return
		}
		for _, data := range events {
			if !yield(data, nil) {
				return
			}
		}
	}
}

func (e *eventStore) after(session, stream string, index int) ([][]byte, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	of := e.sessions[session]
	if of == nil || of.streams[stream] == nil {
		return nil, fmt.Errorf("%w: no such stream", mcp.ErrEventsPurged)
	}
	s := of.streams[stream]
	from := index + 1 - s.first
	if from < 0 || from > len(s.events) {
		return nil, fmt.Errorf("%w: event %d", mcp.ErrEventsPurged, index)
	}
	return append([][]byte(nil), s.events[from:]...), nil
}

// has says whether a client can resume a stream: it was sent an event of it.
func (e *eventStore) has(session, stream string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	of := e.sessions[session]
	return of != nil && of.streams[stream] != nil && of.streams[stream].first+len(of.streams[stream].events) > 0
}

// SessionClosed implements mcp.EventStore.
func (e *eventStore) SessionClosed(_ context.Context, session string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if of := e.sessions[session]; of != nil {
		for _, s := range of.streams {
			e.dropLocked(s)
		}
	}
	return nil
}
