package gateway

import (
	"bytes"
	"context"
	"net/http"
	"strings"
	"sync"
	"time"
)

// stream is the response of a request that the SDK answers by server-sent events, some
// of them hours apart. Between them it writes comments, and ends the request when one
// cannot be written: net/http sees that a client has left only while nothing else of it
// is unread, and never one that is gone without a word. It is safe for concurrent use.
type stream struct {
	w        http.ResponseWriter
	end      context.CancelFunc
	interval time.Duration
	// begins says that the first comment may begin the answer, where the SDK has not: the
	// answer is one of events then, whatever it will be.
	begins bool
	header http.Header // as the SDK sets it, until the answer begins

	mu      sync.Mutex
	timer   *time.Timer
	begun   bool // the header was sent
	early   bool // by a comment
	events  bool // it says that events follow
	between bool // nothing or a whole event was written last
	over    bool
}

// newStream begins with the comments. done is to be called before the handler returns.
func newStream(w http.ResponseWriter, end context.CancelFunc, interval time.Duration, begins bool) *stream {
	s := &stream{w: w, end: end, interval: interval, begins: begins, header: http.Header{}, between: true}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.timer = time.AfterFunc(interval, s.comment)
	return s
}

// done ends the comments.
func (s *stream) done() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	s.timer.Stop()
}

// comment writes a comment, unless the answer is none of events or is within one.
func (s *stream) comment() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over || s.begun && !s.events {
		return
	}
	if !s.begun && s.begins {
		s.early, s.events = true, true
		h := s.w.Header()
		h.Set("Content-Type", eventsType)
		h.Set("Cache-Control", "no-cache, no-transform")
		s.writeHeaderLocked(http.StatusOK)
	}
	if s.begun && s.between {
		_, err := s.w.Write([]byte(": \n\n"))
		if err == nil {
			err = http.NewResponseController(s.w).Flush()
		}
		if err != nil {
			s.end()
			return
		}
	}
	s.timer.Reset(s.interval)
}

const eventsType = "text/event-stream"

// Header implements http.ResponseWriter. It is not that of the connection, which a
// comment may send at any time.
func (s *stream) Header() http.Header { return s.header }

// WriteHeader implements http.ResponseWriter.
func (s *stream) WriteHeader(status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.beginLocked(status)
}

// beginLocked sends the header as the SDK set it, unless one was sent.
func (s *stream) beginLocked(status int) {
	if s.begun {
		return
	}
	h := s.w.Header()
	for name, values := range s.header {
		h[name] = values
	}
	s.events = status == http.StatusOK && strings.HasPrefix(s.header.Get("Content-Type"), eventsType)
	s.writeHeaderLocked(status)
}

func (s *stream) writeHeaderLocked(status int) {
	s.begun = true
	s.w.WriteHeader(status)
}

// Write implements io.Writer. What cannot be written ends the request.
func (s *stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.beginLocked(http.StatusOK)
	n, err := len(p), error(nil)
	switch kind := s.header.Get("Content-Type"); {
	case !s.early || strings.HasPrefix(kind, eventsType):
		n, err = s.w.Write(p)
	case kind == "application/json":
		// An error that the protocol has an HTTP status for came after the first comment.
		_, err = s.w.Write(append(append([]byte("event: message\ndata: "), bytes.TrimSpace(p)...), "\n\n"...))
	}
	s.between = bytes.HasSuffix(p, []byte("\n\n")) || s.early
	if err != nil {
		s.end()
	}
	return n, err
}

// FlushError is for http.ResponseController.
func (s *stream) FlushError() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.beginLocked(http.StatusOK)
	err := http.NewResponseController(s.w).Flush()
	if err != nil {
		s.end()
	}
	return err
}
