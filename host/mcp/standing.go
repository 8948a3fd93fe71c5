package mcp

import (
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// methodListen opens the stream of changes of protocol 2026-07-28.
const methodListen = "subscriptions/listen"

// Pauses between attempts to open a standing stream.
const (
	firstStanding = time.Second
	mostStanding  = 30 * time.Second
)

// listening is a request whose answer is a standing stream.
type listening struct {
	body []byte
	msg  *jsonrpc.Request
}

// standing is a stream on which a server may say something any time. It breaks off in
// proxies and restarts all the time; the SDK would give the whole session up for it, or
// not open it again. This one is opened when it is first read, and again whenever it
// breaks; without one the session goes on, deaf to changes.
type standing struct {
	w      *web
	req    *http.Request
	listen *listening // nil: a GET
	ctx    context.Context
	cancel context.CancelFunc

	cur      *events
	lastID   string
	failures int
	opened   int
	wait     time.Duration
	gone     bool // the server does not offer it
}

// standing answers the SDK's request at once, with a stream that opens later.
func (w *web) standing(req *http.Request, listen *listening) *http.Response {
	s := &standing{w: w, req: req, listen: listen}
	s.ctx, s.cancel = context.WithCancel(req.Context())
	context.AfterFunc(w.ctx, s.cancel)
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: s, ContentLength: -1, Request: req,
	}
}

// Close implements io.Closer.
func (s *standing) Close() error {
	s.cancel()
	return nil
}

// Read implements io.Reader. It is called by one goroutine, which Close wakes up.
func (s *standing) Read(p []byte) (int, error) {
	for s.ctx.Err() == nil {
		if s.gone {
			<-s.ctx.Done()
			break
		}
		if s.cur == nil {
			s.open()
			continue
		}
		n, err := s.cur.Read(p)
		if n > 0 {
			s.failures = 0
			return n, nil
		}
		if s.w.violation() != nil {
			break
		}
		if err != nil {
			s.broken()
		}
	}
	if s.cur != nil {
		_ = s.cur.Close() // only read from
	}
	return 0, io.EOF
}

// broken plans the next attempt after an end.
func (s *standing) broken() {
	_ = s.cur.Close() // only read from
	if s.cur.lastID != "" {
		s.lastID = s.cur.lastID
	}
	s.pause()
	if ms, err := strconv.Atoi(s.cur.retry); err == nil {
		s.wait = max(time.Duration(ms)*time.Millisecond, firstStanding)
	}
	s.cur = nil
}

func (s *standing) pause() {
	s.wait = min(mostStanding, firstStanding<<min(s.failures, 5))
	s.wait = s.wait/2 + rand.N(s.wait/2)
	s.failures++
}

// open asks for the stream.
func (s *standing) open() {
	if s.wait > 0 {
		t := time.NewTimer(s.wait)
		defer t.Stop()
		select {
		case <-t.C:
		case <-s.ctx.Done():
			return
		}
	}
	req := s.req.Clone(s.ctx)
	if s.lastID != "" && s.listen == nil {
		req.Header.Set("Last-Event-ID", s.lastID)
	}
	var body []byte
	var id int64
	if s.listen != nil {
		body = s.listen.body
		id, _ = s.listen.msg.ID.Raw().(int64)
		if s.w.s.wire.outgoing(s.ctx, s.listen.msg) != nil {
			s.gone = true
			return
		}
	}
	if s.opened > 0 {
		s.w.authorize(req)
	}
	resp, err := s.w.send(req, body)
	if err != nil {
		s.pause()
		return
	}
	switch {
	case resp.StatusCode == http.StatusOK && mediaType(resp) == "text/event-stream":
		s.cur = newEvents(s.w, resp.Body, id, false)
		if s.listen != nil {
			s.cur.answered = func(r *jsonrpc.Response) { s.gone = s.gone || r.Error != nil }
		}
		if s.opened++; s.opened > 1 {
			s.w.s.changed() // what was said meanwhile is not known
		}
		return
	case resp.StatusCode == http.StatusNotFound && req.Header.Get("Mcp-Session-Id") != "" && s.opened > 0:
		s.w.s.cancel(statusError(resp.StatusCode, ""))
	case resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests:
		s.pause()
	default:
		s.gone = true
	}
	closeBody(resp)
}

// resume is the SDK's request for the rest of a stream that broke off.
func (w *web) resume(req *http.Request) (*http.Response, error) {
	resp, err := w.send(req, nil)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusOK && mediaType(resp) == "text/event-stream" {
		resp.Body = newEvents(w, resp.Body, 0, true)
		return resp, nil
	}
	drop(resp)
	return resp, nil
}
