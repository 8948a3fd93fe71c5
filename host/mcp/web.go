package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cloister-wasm/cloister/internal/plaintext"
)

// Bounds on HTTP.
const (
	maxErrorBody   = 64 << 10
	maxHeaderBytes = 256 << 10
	maxSessionID   = 1024
	maxRedirects   = 3
)

// web is the way to a server over HTTP: the SDK's transport sends through it, and gets
// nothing back that was not checked. It is an http.RoundTripper.
type web struct {
	s       *session
	url     *url.URL
	headers http.Header
	inner   *http.Transport
	oauth   auth.OAuthHandler // nil without
	ctx     context.Context   // ends with close
	cancel  context.CancelFunc

	mu    sync.Mutex
	fault error
}

// newWeb resolves headers. It opens no connection.
func newWeb(ctx context.Context, s *session) (*web, error) {
	cfg := &s.u.cfg
	u, err := url.Parse(cfg.URL)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	w := &web{s: s, url: u, headers: http.Header{}, inner: newHTTPTransport()}
	for name, v := range cfg.Headers {
		value, err := v.resolveHeader(ctx)
		if err != nil {
			return nil, fmt.Errorf("headers.%s: %w", name, err)
		}
		s.secrets.add(value[len(v.Prefix):], v.Text == "" || len(v.Text) > 7)
		w.headers.Set(name, value)
	}
	for _, values := range u.Query() {
		for _, v := range values {
			s.secrets.add(v, len(v) > 7)
		}
	}
	w.ctx, w.cancel = context.WithCancel(s.u.m.ctx)
	if cfg.OAuth != nil {
		if w.oauth, err = newOAuth(ctx, w); err != nil {
			w.cancel()
			return nil, err
		}
	}
	return w, nil
}

func newHTTPTransport() *http.Transport {
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: 15 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		ForceAttemptHTTP2:      true,
		MaxIdleConns:           16,
		IdleConnTimeout:        90 * time.Second,
		TLSHandshakeTimeout:    15 * time.Second,
		MaxResponseHeaderBytes: maxHeaderBytes,
	}
}

// transport is the SDK's, which sends through w.
func (w *web) transport() sdk.Transport {
	t := &sdk.StreamableClientTransport{
		Endpoint:     w.s.u.cfg.URL,
		HTTPClient:   &http.Client{Transport: w, CheckRedirect: w.redirect},
		MaxEventSize: 2*w.s.u.limits.MaxMessageBytes + 64<<10, // the bound is in events; this one only backs it
	}
	if w.oauth != nil {
		t.OAuthHandler = w.oauth
	}
	return t
}

// close ends everything that is open.
func (w *web) close() {
	w.cancel()
	w.inner.CloseIdleConnections()
}

// fail ends the session for a violation.
func (w *web) fail(err error) error {
	w.mu.Lock()
	if w.fault == nil {
		w.fault = err
	}
	w.mu.Unlock()
	w.s.cancel(err)
	return err
}

func (w *web) violation() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.fault
}

// RoundTrip implements http.RoundTripper.
func (w *web) RoundTrip(req *http.Request) (*http.Response, error) {
	if !sameOrigin(req.URL, w.url) {
		return nil, fmt.Errorf("%w: %s is not the configured server", ErrRedirect, plaintext.Short(req.URL.Host, 200))
	}
	switch req.Method {
	case http.MethodPost:
		return w.post(req)
	case http.MethodGet:
		if req.Header.Get("Last-Event-ID") == "" {
			return w.standing(req, nil), nil
		}
		return w.resume(req)
	default:
		resp, err := w.send(req, nil)
		if err == nil {
			drop(resp)
		}
		return resp, err
	}
}

// send sends a request with the configured headers. The body of the answer ends with the
// request's context, and with the session.
func (w *web) send(req *http.Request, body []byte) (*http.Response, error) {
	ctx, cancel := context.WithCancel(req.Context())
	stop := context.AfterFunc(w.ctx, cancel)
	end := func() { stop(); cancel() }
	out := req.Clone(ctx)
	for name, values := range w.headers {
		out.Header[name] = values
	}
	if body != nil {
		out.Body = io.NopCloser(bytes.NewReader(body))
		out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	}
	resp, err := w.inner.RoundTrip(out)
	if err != nil {
		end()
		return nil, w.s.secrets.clean(err)
	}
	if id := resp.Header.Get("Mcp-Session-Id"); len(id) > maxSessionID || strings.ContainsFunc(id, func(r rune) bool { return r < 0x21 || r > 0x7e }) {
		closeBody(resp)
		end()
		return nil, w.fail(protocolError("an Mcp-Session-Id is longer than %d bytes or not printable", maxSessionID))
	}
	resp.Body = &endingBody{ReadCloser: resp.Body, end: end}
	return resp, nil
}

// post sends a message.
func (w *web) post(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body) // the SDK's own text
	if err != nil {
		return nil, err
	}
	if err := req.Body.Close(); err != nil {
		return nil, err
	}
	msg, err := jsonrpc.DecodeMessage(body)
	if err != nil {
		return nil, err
	}
	r, _ := msg.(*jsonrpc.Request)
	if r != nil && r.Method == methodListen {
		return w.standing(req, &listening{body: body, msg: r}), nil
	}
	if err := w.s.wire.outgoing(req.Context(), msg); err != nil {
		return nil, err
	}
	resp, err := w.send(req, body)
	c := callFrom(req.Context())
	if err != nil {
		if c != nil {
			c.failed(fmt.Errorf("%w: %w", ErrUnavailable, err), neverSent(err))
		}
		return nil, err
	}
	if r != nil && r.Method == noteCancelled {
		// A server that will not hear of it has a call that nobody waits for, no more.
		drop(resp)
		resp.StatusCode = http.StatusAccepted
		return resp, nil
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return w.refused(req, resp, c)
	}
	if r == nil || !r.ID.IsValid() {
		drop(resp)
		return resp, nil
	}
	id, _ := r.ID.Raw().(int64)
	switch mediaType(resp) {
	case "application/json":
		return w.answer(resp, id)
	case "text/event-stream":
		resp.Body = newEvents(w, resp.Body, id, true)
		return resp, nil
	default:
		closeBody(resp)
		return nil, w.fail(protocolError("it answers %q with status %d and content type %q; is the url that of an MCP endpoint?",
			r.Method, resp.StatusCode, plaintext.Short(resp.Header.Get("Content-Type"), 80)))
	}
}

// answer reads a whole JSON body, here and not in the SDK: there a body that is late
// would end the session.
func (w *web) answer(resp *http.Response, id int64) (*http.Response, error) {
	data, err := readBounded(resp.Body, w.s.u.limits.MaxMessageBytes)
	closeBody(resp)
	if err != nil {
		if errors.Is(err, ErrProtocol) {
			return nil, w.fail(err)
		}
		return nil, w.s.secrets.clean(err)
	}
	msg, err := w.s.wire.incoming(data)
	if err != nil {
		return nil, w.fail(err)
	}
	r, ok := msg.(*jsonrpc.Response)
	if !ok || r.ID.Raw() != any(id) {
		return nil, w.fail(protocolError("the body for request %d is no answer to it", id))
	}
	if data, err = jsonrpc.EncodeMessage(msg); err != nil {
		return nil, err
	}
	setBody(resp, data)
	return resp, nil
}

// refused handles a status that is no success. The SDK gets the body only if it is a
// JSON-RPC error: by it servers say which versions they know.
func (w *web) refused(req *http.Request, resp *http.Response, c *call) (*http.Response, error) {
	if c != nil {
		c.refused(resp)
		if resp.StatusCode == http.StatusNotFound && req.Header.Get("Mcp-Session-Id") != "" {
			c.failed(fmt.Errorf("%w: it ended the session", ErrUnavailable), true)
		}
	}
	data, err := readBounded(resp.Body, maxErrorBody)
	if err != nil {
		data = nil
	}
	rpc := errorBody(data)
	if rpc == nil {
		data = nil
	} else if c != nil && resp.StatusCode != http.StatusUnauthorized && resp.StatusCode != http.StatusForbidden &&
		resp.StatusCode != http.StatusTooManyRequests {
		c.answered(rpc)
	}
	setBody(resp, data)
	return resp, nil
}

// errorBody gives the JSON-RPC error in a body, nil if it is something else.
func errorBody(data []byte) *jsonrpc.Error {
	e, err := decodeEnvelope(data)
	if err != nil || e.kind() != kindResponse || e.Error == nil {
		return nil
	}
	rpc, err := e.failure()
	if err != nil {
		return nil
	}
	return rpc
}
