package gateway

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// mcpEndpoint is /mcp: the SDK's streamable HTTP, once with sessions and once without
// for protocol 2026-07-28, behind checks of our own.
type mcpEndpoint struct {
	h        *httpServer
	stateful http.Handler
	single   http.Handler
	// bare answers the SDK's questions about a server where there is no session yet.
	bare *mcp.Server
}

// requestHeader is set on requests on their way to the SDK: it leads from a call back
// to the HTTP request that it came in.
const requestHeader = "X-Cloister-Request"

type serverKey struct{}

func newMCPEndpoint(h *httpServer) *mcpEndpoint {
	e := &mcpEndpoint{h: h, bare: mcp.NewServer(&mcp.Implementation{Name: h.g.o.Name, Version: h.g.o.Version}, nil)}
	server := func(r *http.Request) *mcp.Server {
		if srv, ok := r.Context().Value(serverKey{}).(*mcp.Server); ok {
			return srv
		}
		return e.bare
	}
	o := mcp.StreamableHTTPOptions{
		Logger: slog.New(slog.DiscardHandler), MaxRequestBodyBytes: int64(h.g.o.Limits.MaxRequestBytes),
		DisableLocalhostProtection: true, // guard is stricter
	}
	resumable := o
	resumable.EventStore = h.g.events
	e.stateful = mcp.NewStreamableHTTPHandler(server, &resumable)
	o.Stateless, o.PropagateRequestCancellation = true, true
	e.single = mcp.NewStreamableHTTPHandler(server, &o)
	return e
}

func (e *mcpEndpoint) serve(w http.ResponseWriter, r *http.Request) {
	principal, ok := e.h.authenticate(w, r)
	if !ok {
		return
	}
	if !e.h.requests.try(principal) {
		busy(w, http.StatusTooManyRequests, "too many requests with this token are open")
		return
	}
	defer e.h.requests.give(principal)
	r.Header.Del(requestHeader)
	switch r.Method {
	case http.MethodPost:
		e.post(w, r, principal)
	case http.MethodGet, http.MethodDelete:
		s := e.session(w, r, principal)
		if s == nil {
			return
		}
		if r.Method == http.MethodDelete {
			s.end()
			w.WriteHeader(http.StatusNoContent)
			return
		}
		e.getSession(w, r, s)
	default:
		w.Header().Set("Allow", "GET, POST, DELETE")
		http.Error(w, "use GET, POST or DELETE", http.StatusMethodNotAllowed)
	}
}

// session finds the session of a request. That of another principal is not found.
func (e *mcpEndpoint) session(w http.ResponseWriter, r *http.Request, principal string) *session {
	ids := r.Header.Values("Mcp-Session-Id")
	if len(ids) != 1 || ids[0] == "" {
		http.Error(w, "give one Mcp-Session-Id header; initialize makes a session", http.StatusBadRequest)
		return nil
	}
	e.h.g.mu.Lock()
	s := e.h.g.sessions[ids[0]]
	e.h.g.mu.Unlock()
	if s == nil || s.client.Principal != principal || s.client.Transport != TransportHTTP {
		http.Error(w, "session not found", http.StatusNotFound)
		return nil
	}
	return s
}

// post answers a POST: one message.
func (e *mcpEndpoint) post(w http.ResponseWriter, r *http.Request, principal string) {
	text, ok := e.body(w, r)
	if !ok {
		return
	}
	msg, err := checkMessage(text)
	if err != nil {
		refuseMessage(w, err)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(text))
	r.ContentLength = int64(len(text))
	if r.Header.Get("Mcp-Protocol-Version") >= statelessProtocol || msg.version >= statelessProtocol {
		e.postSingle(w, r, principal)
		return
	}
	if len(r.Header.Values("Mcp-Session-Id")) > 0 {
		if s := e.session(w, r, principal); s != nil {
			e.postSession(w, r, s)
		}
		return
	}
	if msg.method != "initialize" {
		refuseMessage(w, errors.New("give one Mcp-Session-Id header; initialize makes a session"))
		return
	}
	s, err := e.h.g.open(Client{Principal: principal, Transport: TransportHTTP}, false, e.h.many())
	if err != nil {
		e.noSession(w, err)
		return
	}
	s.hold()
	defer s.letGo()
	srv := s.newServer()
	// The answer names the session in its header: no comment may come before it.
	e.h.stream(w, r.WithContext(context.WithValue(r.Context(), serverKey{}, srv)), e.stateful, false)
	if s.begun() {
		return
	}
	s.end() // it was refused, or never reached the server
}

// many says whether there can be more than one principal.
func (h *httpServer) many() bool { return len(h.clients) > 1 || h.o.Verify != nil }

// begun says whether the client was initialized.
func (s *session) begun() bool {
	s.mu.Lock()
	ss := s.ss
	s.mu.Unlock()
	return ss != nil && ss.InitializeParams() != nil
}

// postSingle answers a POST of a protocol without sessions, in what stands for the
// session of its principal.
func (e *mcpEndpoint) postSingle(w http.ResponseWriter, r *http.Request, principal string) {
	s, err := e.h.g.open(Client{Principal: principal, Transport: TransportStateless}, true, e.h.many())
	if err != nil {
		e.noSession(w, err)
		return
	}
	s.hold()
	defer s.letGo()
	srv := s.newServer()
	defer s.dropServer(srv)
	e.h.stream(w, r.WithContext(context.WithValue(r.Context(), serverKey{}, srv)), e.single, true)
}

// stream has the SDK answer a request by a stream of events. begins is as of newStream.
func (h *httpServer) stream(w http.ResponseWriter, r *http.Request, sdk http.Handler, begins bool) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	s := newStream(w, cancel, h.g.patience.comment, begins)
	defer s.done()
	sdk.ServeHTTP(s, r.WithContext(ctx))
}

func (e *mcpEndpoint) noSession(w http.ResponseWriter, err error) {
	status := http.StatusServiceUnavailable
	if errors.Is(err, errPrincipalFull) {
		status = http.StatusTooManyRequests
	}
	e.h.g.log.Warn("no session", "error", err)
	busy(w, status, err.Error())
}

// body reads the message of a POST.
func (e *mcpEndpoint) body(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	text, err := e.h.g.patience.readBody(w, r, e.h.g.o.Limits.MaxRequestBytes)
	switch {
	case tooLong(err):
		http.Error(w, "the message is too long", http.StatusRequestEntityTooLarge)
	case err != nil:
		http.Error(w, "the message could not be read", http.StatusBadRequest)
	}
	return text, err == nil
}

// refuseMessage answers a message that is not let through.
func refuseMessage(w http.ResponseWriter, why error) {
	text, err := refusal(why)
	if err != nil {
		http.Error(w, "the message is refused", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	// A client that is gone does not hear why.
	_, _ = w.Write(text)
}
