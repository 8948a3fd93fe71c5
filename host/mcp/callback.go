package mcp

import (
	"context"
	"crypto/subtle"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/cloister-wasm/cloister/internal/plaintext"
)

const (
	// callbackGrace is how long a browser may take for its page after the answer is there.
	callbackGrace = time.Second
	// callbackHeaderTime bounds the reading of a request.
	callbackHeaderTime = 10 * time.Second
	// callbackHeaderBytes bounds a request: a code and what a browser adds.
	callbackHeaderBytes = 64 << 10
)

// Callback waits on a loopback address of this machine for the browser that comes back from an authorization server (RFC
// 8252, 7.3). It is for [Options.Authorize] of programs whose user has a browser here:
//
//	c, err := mcp.ListenCallback(redirect, address)
//	// show address to the user
//	return c.Wait(ctx)
//
// Any web page can send a browser to such an address. What ends the wait is a GET of exactly the redirect's path, at exactly
// its host, with the state of the address that the user was sent to: with a code, or with an error (RFC 6749, 4.1.2).
// Everything else gets an error page and changes nothing.
type Callback struct {
	back    *url.URL
	state   string
	server  *http.Server
	answers chan callbackAnswer
	once    sync.Once
}

type callbackAnswer struct {
	auth *Authorization
	err  error
}

// ListenCallback opens the address of a server's OAuth.Redirect for the answer to address, which [Options.Authorize] is given.
// Close it, or Wait. Errors are [ErrCallback].
func ListenCallback(redirect, address string) (*Callback, error) {
	back, err := loopbackRedirect(redirect)
	if err != nil {
		return nil, err
	}
	asked, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("%w: the address of the authorization server is malformed", ErrCallback)
	}
	state := asked.Query().Get("state")
	if state == "" {
		return nil, fmt.Errorf("%w: the address of the authorization server has no state, so that nobody could tell its answer from another", ErrCallback)
	}
	l, err := net.Listen("tcp", back.Host)
	if err != nil {
		return nil, fmt.Errorf("%w: %w; set oauth.redirect to another port", ErrCallback, err)
	}
	if at, err := netip.ParseAddrPort(l.Addr().String()); err != nil || !at.Addr().IsLoopback() {
		_ = l.Close() // nobody was told of it
		return nil, fmt.Errorf("%w: %s is not this machine alone; write 127.0.0.1", ErrCallback, plaintext.Line(back.Host, 100))
	}
	c := &Callback{back: back, state: state, answers: make(chan callbackAnswer, 1)}
	c.server = &http.Server{Handler: c, ReadHeaderTimeout: callbackHeaderTime, ReadTimeout: callbackHeaderTime, MaxHeaderBytes: callbackHeaderBytes}
	go func() { _ = c.server.Serve(l) }() // ends with Close
	return c, nil
}

// loopbackRedirect checks a redirect: http, a loopback host with a port, and nothing behind the path.
func loopbackRedirect(redirect string) (*url.URL, error) {
	back, err := url.Parse(redirect)
	if err != nil || back.Scheme != "http" || back.User != nil || back.RawQuery != "" || back.Fragment != "" {
		return nil, fmt.Errorf("%w: oauth.redirect %s is no address of this machine; write one such as http://127.0.0.1:38917/callback", ErrCallback, plaintext.Line(redirect, 200))
	}
	addr, err := netip.ParseAddr(back.Hostname())
	if back.Port() == "" || !strings.EqualFold(back.Hostname(), "localhost") && (err != nil || !addr.IsLoopback()) {
		return nil, fmt.Errorf("%w: oauth.redirect %s is no port of this machine; write one such as http://127.0.0.1:38917/callback", ErrCallback, plaintext.Line(redirect, 200))
	}
	if back.Path == "" {
		back.Path = "/"
	}
	return back, nil
}

// Wait gives what the browser brought, and closes. An error is that of ctx, or [ErrDenied] with what the authorization
// server said.
func (c *Callback) Wait(ctx context.Context) (*Authorization, error) {
	defer c.Close()
	select {
	case got := <-c.answers:
		return got.auth, got.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Close stops listening. Idempotent.
func (c *Callback) Close() {
	c.once.Do(func() {
		// The browser gets its page to the end; one that does not take it is left behind.
		grace, cancel := context.WithTimeout(context.Background(), callbackGrace)
		defer cancel()
		if c.server.Shutdown(grace) != nil {
			_ = c.server.Close() // what is left has no answer to give
		}
	})
}

// ServeHTTP implements [http.Handler].
func (c *Callback) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	got, problem, status := c.read(r)
	if problem == "" {
		select {
		case c.answers <- got:
		default: // the first one counts
			problem, status = "The answer is there already.", http.StatusGone
		}
	}
	switch {
	case problem != "":
	case got.err != nil:
		problem, status = "The server did not agree; the program that asked says why.", http.StatusOK
	default:
		problem, status = "You can close this page and go back to the program that asked.", http.StatusOK
	}
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")      // the address has the code in it
	h.Set("Referrer-Policy", "no-referrer") // the same
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, problem+"\n") // the answer is there, whether the page is or not
}

// read checks a request, from what is cheapest to forge to what cannot be.
func (c *Callback) read(r *http.Request) (got callbackAnswer, problem string, status int) {
	q, err := url.ParseQuery(r.URL.RawQuery)
	switch {
	case !strings.EqualFold(strings.TrimSuffix(r.Host, ":80"), strings.TrimSuffix(c.back.Host, ":80")): // another name for this address: DNS rebinding
		return got, "This is another address.", http.StatusMisdirectedRequest
	case r.URL.EscapedPath() != c.back.EscapedPath():
		return got, "There is nothing here.", http.StatusNotFound
	case r.Method != http.MethodGet:
		return got, "Only GET is answered.", http.StatusMethodNotAllowed
	case err != nil || len(q["state"]) != 1 || subtle.ConstantTimeCompare([]byte(q["state"][0]), []byte(c.state)) != 1:
		return got, "This is not the answer that is waited for: its state is another.", http.StatusBadRequest
	case len(q["error"]) == 1 && len(q["code"]) == 0:
		return callbackAnswer{err: fmt.Errorf("%w: %q", ErrDenied, plaintext.Line(q["error"][0], 200))}, "", 0
	case len(q["code"]) != 1 || q["code"][0] == "" || len(q["error"]) > 0 || len(q["iss"]) > 1:
		return got, "This is not the answer that is waited for: it needs one code.", http.StatusBadRequest
	}
	return callbackAnswer{auth: &Authorization{Code: q["code"][0], State: c.state, Issuer: q.Get("iss")}}, "", 0
}
