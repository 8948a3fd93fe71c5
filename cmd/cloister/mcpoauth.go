package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/cloister-wasm/cloister/host/mcp"
	"github.com/cloister-wasm/cloister/host/setup"
	"github.com/cloister-wasm/cloister/internal/plaintext"
)

// authorizer asks the person at the terminal to open an address, and waits until the
// browser comes back. It is nil where nobody sees the address.
func (a *app) authorizer(servers []mcp.Server) func(context.Context, string, string) (*mcp.Authorization, error) {
	if !a.stderr.tty {
		return nil
	}
	redirects := map[string]string{}
	for _, s := range servers {
		if s.OAuth != nil {
			redirects[s.Name] = cmp.Or(s.OAuth.Redirect, setup.Redirect)
		}
	}
	return func(ctx context.Context, server, address string) (*mcp.Authorization, error) {
		return a.authorize(ctx, server, address, redirects[server])
	}
}

// authorize waits for one request at the redirect's address.
func (a *app) authorize(ctx context.Context, server, address, redirect string) (*mcp.Authorization, error) {
	back, err := url.Parse(redirect)
	if err != nil || back.Scheme != "http" {
		return nil, fmt.Errorf("oauth.redirect %s is no address of this machine", redirect)
	}
	l, err := net.Listen("tcp", back.Host)
	if err != nil {
		return nil, fmt.Errorf("waiting for the browser: %w; set oauth.redirect to another port", err)
	}
	type answer struct {
		auth *mcp.Authorization
		err  error
	}
	answers := make(chan answer, 1)
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		auth, err := authorizationOf(r, back)
		if auth == nil && err == nil { // a browser asks for its own things too
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		text := "You can close this page and go back to the terminal.\n"
		if err != nil {
			text = "The server did not agree; the terminal says why.\n"
		}
		_, _ = io.WriteString(w, text) // the answer is there, whether the page is or not
		select {
		case answers <- answer{auth, err}:
		default:
		}
	})
	s := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10}
	go func() { _ = s.Serve(l) }() // ends with Shutdown
	defer func() {
		// The browser gets its page to the end; one that does not take it is left behind.
		grace, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if s.Shutdown(grace) != nil {
			_ = s.Close()
		}
	}()
	a.complain("the MCP server "+server+" wants your consent; open this address in a browser:", "")
	_, _ = io.WriteString(a.stderr, "  "+escapeLine(address)+"\n") // without standard error there is no authorizer
	select {
	case got := <-answers:
		return got.auth, got.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// authorizationOf reads what the browser brings; nil for another request.
func authorizationOf(r *http.Request, back *url.URL) (*mcp.Authorization, error) {
	if r.Method != http.MethodGet || r.URL.Path != back.Path {
		return nil, nil
	}
	q := r.URL.Query()
	if problem := q.Get("error"); problem != "" {
		return nil, fmt.Errorf("the authorization server says %q", plaintext.Line(problem, 200))
	}
	if q.Get("code") == "" {
		return nil, nil
	}
	return &mcp.Authorization{Code: q.Get("code"), State: q.Get("state"), Issuer: q.Get("iss")}, nil
}
