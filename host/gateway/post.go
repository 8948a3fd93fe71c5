package gateway

import (
	"context"
	"crypto/rand"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// post is an HTTP request of a session with a message in it. It goes on for a while
// when its connection breaks: the client may come back for the rest of the answer.
type post struct {
	id     string
	ctx    context.Context // of the calls in it
	cancel context.CancelFunc
	stream atomic.Pointer[string] // its name in event ids, once there is one
	over   atomic.Bool            // nothing more will be answered

	// Guarded by the session's mu.
	carried bool               // an HTTP response is open for its answer: its own, or that of a GET
	drop    context.CancelFunc // ends that response
	dropped chan struct{}      // closed when it has ended
	began   bool
	calls   int         // that are being answered
	expiry  *time.Timer // cancels, while it is not carried
}

type postKey struct{}

// newPost makes a post, carried by the HTTP request whose context is given.
func (s *session) newPost(ctx context.Context) (*post, context.Context) {
	p := &post{id: rand.Text()}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.posts[p.id] = p
	return p, s.carryLocked(p, context.WithValue(ctx, postKey{}, p))
}

func (s *session) carryLocked(p *post, ctx context.Context) context.Context {
	ctx, p.drop = context.WithCancel(ctx)
	p.dropped = make(chan struct{})
	p.carried = true
	if p.expiry != nil {
		p.expiry.Stop()
		p.expiry = nil
	}
	return ctx
}

// left notes that the HTTP response that carried a post has ended. Where it broke before
// the end of the answer, the client has Limits.ResumeTimeout to come back.
func (s *session) left(p *post, broke bool) {
	resumable := broke && s.g.o.Limits.ResumeTimeout > 0
	if resumable {
		stream := p.stream.Load()
		resumable = stream != nil && s.g.events.has(s.client.SessionID, *stream)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p.drop()
	close(p.dropped)
	p.carried = false
	switch {
	case p.over.Load():
	case !resumable || s.ended || p.began && p.calls == 0:
		s.overLocked(p)
	default:
		p.expiry = time.AfterFunc(s.g.o.Limits.ResumeTimeout, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			if !p.carried {
				s.overLocked(p)
			}
		})
	}
}

// overLocked ends a post: its calls are cancelled if there are any left.
func (s *session) overLocked(p *post) {
	p.over.Store(true)
	delete(s.posts, p.id)
	if p.expiry != nil {
		p.expiry.Stop()
	}
	p.cancel()
}

// postSession answers a POST in a session.
func (e *mcpEndpoint) postSession(w http.ResponseWriter, r *http.Request, s *session) {
	s.hold()
	defer s.letGo()
	p, ctx := s.newPost(r.Context())
	r.Header.Set(requestHeader, p.id)
	out := newStream(w, p.drop, e.h.g.patience.comment, true)
	e.stateful.ServeHTTP(out, r.WithContext(ctx))
	out.done()
	s.left(p, ctx.Err() != nil)
}

// getSession answers a GET in a session: its event stream, or the rest of a POST's.
func (e *mcpEndpoint) getSession(w http.ResponseWriter, r *http.Request, s *session) {
	s.hold()
	defer s.letGo()
	p, ctx := s.resume(r)
	if p == nil {
		s.listen(1)
		defer s.listen(-1)
		e.h.stream(w, r, e.stateful, false)
		return
	}
	out := newStream(w, p.drop, e.h.g.patience.comment, false)
	e.stateful.ServeHTTP(s.early(out, r), r.WithContext(ctx))
	out.done()
	s.left(p, true) // or it was refused, which is no reason to cancel anything
}

// early begins the answer to a GET that goes on with a stream: the SDK (1.8.0) sends no
// header before the next event, for which a client may not want to wait. It does
// nothing where the SDK will refuse the request.
func (s *session) early(w http.ResponseWriter, r *http.Request) http.ResponseWriter {
	stream, at, _ := strings.Cut(r.Header.Get("Last-Event-ID"), "_")
	index, err := strconv.Atoi(at)
	if err != nil || index < 0 || !strings.Contains(r.Header.Get("Accept"), eventsType) {
		return w
	}
	if _, err := s.g.events.after(s.client.SessionID, stream, index); err != nil {
		return w
	}
	w.Header().Set("Content-Type", eventsType)
	w.Header().Set("Cache-Control", "no-cache, no-transform")
	w.WriteHeader(http.StatusOK)
	// A client that is gone again is noticed by the SDK.
	_, _ = w.Write([]byte(": ok\n\n"))
	_ = http.NewResponseController(w).Flush()
	return begunWriter{w}
}

// begunWriter is a response whose header has been sent.
type begunWriter struct{ http.ResponseWriter }

// WriteHeader does nothing.
func (begunWriter) WriteHeader(int) {}

// Unwrap is for http.ResponseController.
func (w begunWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// takeoverTime is how long the connection that a client gave up may take to end.
const takeoverTime = 2 * time.Second

// resume finds the post whose answer a GET goes on with. A connection that still
// carries it is ended: the client has given it up, which this side may not know.
func (s *session) resume(r *http.Request) (*post, context.Context) {
	stream, _, ok := strings.Cut(r.Header.Get("Last-Event-ID"), "_")
	if !ok || stream == "" {
		return nil, nil
	}
	patience := time.NewTimer(takeoverTime)
	defer patience.Stop()
	for {
		s.mu.Lock()
		p := s.postOfLocked(stream)
		if p == nil {
			s.mu.Unlock()
			return nil, nil
		}
		if !p.carried {
			ctx := s.carryLocked(p, r.Context())
			s.mu.Unlock()
			return p, ctx
		}
		p.drop()
		dropped := p.dropped
		s.mu.Unlock()
		select {
		case <-dropped:
		case <-patience.C:
			return nil, nil // the SDK refuses a second carrier
		case <-r.Context().Done():
			return nil, nil
		}
	}
}

func (s *session) postOfLocked(stream string) *post {
	for _, p := range s.posts {
		if at := p.stream.Load(); at != nil && *at == stream {
			return p
		}
	}
	return nil
}

// bind makes a call end when nobody can be answered any more.
func (s *session) bind(ctx context.Context, extra *mcp.RequestExtra) (context.Context, func(), error) {
	if extra == nil || extra.Header.Get(requestHeader) == "" {
		return ctx, func() {}, nil
	}
	s.mu.Lock()
	p := s.posts[extra.Header.Get(requestHeader)]
	if p == nil {
		s.mu.Unlock()
		return nil, nil, context.Canceled
	}
	p.began = true
	p.calls++
	s.mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(p.ctx, cancel)
	return ctx, func() {
		stop()
		cancel()
		s.mu.Lock()
		defer s.mu.Unlock()
		if p.calls--; p.calls == 0 && !p.carried && !p.over.Load() {
			s.overLocked(p)
		}
	}, nil
}
