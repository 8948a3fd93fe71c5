package gateway

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// brittle is a connection that breaks when it is told to.
type brittle struct {
	*httptest.ResponseRecorder
	mu     sync.Mutex
	broken bool
}

func (b *brittle) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.broken {
		return 0, errors.New("broken pipe")
	}
	return b.ResponseRecorder.Write(p)
}

func (b *brittle) snap() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.broken = true
}

func TestStream(t *testing.T) {
	const every = 20 * time.Second
	events := func(s *stream) { s.Header().Set("Content-Type", eventsType) }
	for _, tt := range []struct {
		name   string
		begins bool
		do     func(s *stream, conn *brittle)
		status int
		kind   string
		body   string
		ends   bool
	}{
		{"comments between events", false, func(s *stream, _ *brittle) {
			events(s)
			_, _ = s.Write([]byte("data: 1\n\n"))
			time.Sleep(every + every/2)
			_, _ = s.Write([]byte("data: 2\n\n"))
		}, 200, eventsType, "data: 1\n\n: \n\ndata: 2\n\n", false},
		{"none within an event", false, func(s *stream, _ *brittle) {
			events(s)
			_, _ = s.Write([]byte("data: 1"))
			time.Sleep(3 * every)
			_, _ = s.Write([]byte("\n\n"))
		}, 200, eventsType, "data: 1\n\n", false},
		{"none before the header", false, func(s *stream, _ *brittle) {
			time.Sleep(3 * every)
			events(s)
			s.WriteHeader(http.StatusOK)
		}, 200, eventsType, "", false},
		{"none in what is no stream", true, func(s *stream, _ *brittle) {
			http.Error(s, "no", http.StatusConflict)
			time.Sleep(3 * every)
		}, 409, "text/plain; charset=utf-8", "no\n", false},
		{"the first begins the answer", true, func(s *stream, _ *brittle) {
			time.Sleep(every + every/2)
			events(s)
			_, _ = s.Write([]byte("data: 1\n\n"))
		}, 200, eventsType, ": \n\ndata: 1\n\n", false},
		{"an error after it is an event", true, func(s *stream, _ *brittle) {
			time.Sleep(every + every/2)
			s.Header().Set("Content-Type", "application/json")
			s.WriteHeader(http.StatusNotFound)
			_, _ = s.Write([]byte("{\"id\":1}\n"))
		}, 200, eventsType, ": \n\nevent: message\ndata: {\"id\":1}\n\n", false},
		{"what no event can be is left out", true, func(s *stream, _ *brittle) {
			time.Sleep(every + every/2)
			http.Error(s, "no", http.StatusConflict)
		}, 200, eventsType, ": \n\n", false},
		{"a comment that fails ends it", false, func(s *stream, conn *brittle) {
			events(s)
			_, _ = s.Write([]byte("data: 1\n\n"))
			conn.snap()
			time.Sleep(every + every/2)
		}, 200, eventsType, "data: 1\n\n", true},
		{"an event that fails ends it", false, func(s *stream, conn *brittle) {
			events(s)
			conn.snap()
			if _, err := s.Write([]byte("data: 1\n\n")); err == nil {
				t.Error("it was written")
			}
		}, 200, eventsType, "", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				conn := &brittle{ResponseRecorder: httptest.NewRecorder()}
				s := newStream(conn, cancel, every, tt.begins)
				tt.do(s, conn)
				s.done()
				time.Sleep(10 * every) // nothing is written when the handler has returned
				if got := conn.Body.Bytes(); conn.Code != tt.status || conn.Header().Get("Content-Type") != tt.kind || !bytes.Equal(got, []byte(tt.body)) {
					t.Errorf("%d %s %q, want %q", conn.Code, conn.Header().Get("Content-Type"), got, tt.body)
				}
				if ended := ctx.Err() != nil; ended != tt.ends {
					t.Errorf("ended: %t", ended)
				}
			})
		})
	}
}

// A client that takes nothing of its answer ends it.
func TestStalledReaders(t *testing.T) {
	r := newRig(t, true, Options{})
	r.patience.write = 50 * time.Millisecond
	srv := r.web(t, testHTTP)
	id := begin(t, srv.URL, aliceToken)
	if _, err := socket(t, srv, head("GET", "/mcp", aliceToken, "Mcp-Session-Id", id)).Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	s := r.all()[0]
	s.mu.Lock()
	ss := s.ss
	s.mu.Unlock()
	text := string(bytes.Repeat([]byte("x"), 1<<20))
	eventually(t, "the stream of a client that does not read ends", func() bool {
		_ = ss.NotifyProgress(t.Context(), &mcp.ProgressNotificationParams{ProgressToken: "t", Message: text})
		_, does := s.doing()
		return does == quiet
	})
}
