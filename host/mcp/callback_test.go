package mcp_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/cloister-wasm/cloister/host/mcp"
)

const callbackState = "the-state-that-was-sent"

// listenCallback waits at a port that is free now.
func listenCallback(t *testing.T, path string) (c *mcp.Callback, base string) {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	base = "http://" + free.Addr().String()
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	c, err = mcp.ListenCallback(base+path, "https://as.example/authorize?client_id=x&state="+callbackState)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c, base
}

// visit makes a request as a web page may have a browser make one, or as a program of this machine may.
func visit(t *testing.T, method, address string, change func(*http.Request)) (status int, page string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(req)
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if res.Header.Get("Referrer-Policy") != "no-referrer" || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/plain") {
		t.Errorf("%s %s: headers %v", method, address, res.Header)
	}
	return res.StatusCode, string(body)
}

// Whatever a web page sends a browser to, the wait goes on, and the right answer ends it.
func TestCallbackTakesTheRightAnswerOnly(t *testing.T) {
	c, base := listenCallback(t, "/callback")
	const right = "/callback?code=c1&iss=i1&state=" + callbackState
	host := func(name string) func(*http.Request) { return func(r *http.Request) { r.Host = name } }
	for _, tt := range []struct {
		name, method, path string
		change             func(*http.Request)
		status             int
	}{
		{"a browser's own wishes", "GET", "/favicon.ico", nil, 404},
		{"nothing", "GET", "/callback", nil, 400},
		{"a denial without a state", "GET", "/callback?error=access_denied", nil, 400},
		{"a denial with another state", "GET", "/callback?error=access_denied&state=x", nil, 400},
		{"a code without a state", "GET", "/callback?code=evil", nil, 400},
		{"a code with another state", "GET", "/callback?code=evil&state=" + callbackState + "x", nil, 400},
		{"an empty state", "GET", "/callback?code=evil&state=", nil, 400},
		{"a state in capitals", "GET", "/callback?code=evil&state=" + strings.ToUpper(callbackState), nil, 400},
		{"two states", "GET", "/callback?code=evil&state=" + callbackState + "&state=x", nil, 400},
		{"no code", "GET", "/callback?state=" + callbackState, nil, 400},
		{"an empty code", "GET", "/callback?code=&state=" + callbackState, nil, 400},
		{"two codes", "GET", "/callback?code=a&code=b&state=" + callbackState, nil, 400},
		{"a code and an error", "GET", "/callback?code=a&error=b&state=" + callbackState, nil, 400},
		{"a malformed query", "GET", "/callback?code=%zz&state=" + callbackState, nil, 400},
		{"another path", "GET", "/other" + right[len("/callback"):], nil, 404},
		{"a path below", "GET", "/callback/" + right[len("/callback"):], nil, 404},
		{"a path that is encoded", "GET", "/%63allback" + right[len("/callback"):], nil, 404},
		{"a path in capitals", "GET", "/Callback" + right[len("/callback"):], nil, 404},
		{"POST", "POST", right, nil, 405},
		{"HEAD", "HEAD", right, nil, 405},
		{"PUT", "PUT", right, nil, 405},
		{"DNS rebinding", "GET", right, host("evil.example"), 421},
		{"DNS rebinding with the port", "GET", right, host("evil.example:" + base[strings.LastIndexByte(base, ':')+1:]), 421},
		{"another name of loopback", "GET", right, host("localhost"), 421},
	} {
		if status, page := visit(t, tt.method, base+tt.path, tt.change); status != tt.status || strings.Contains(page, callbackState) {
			t.Errorf("%s: %d %q, want %d", tt.name, status, page, tt.status)
		}
	}
	if status, page := visit(t, "GET", base+right, nil); status != 200 || !strings.Contains(page, "close this page") {
		t.Errorf("the right answer: %d %q", status, page)
	}
	if status, _ := visit(t, "GET", base+"/callback?code=c2&state="+callbackState, nil); status != 410 {
		t.Errorf("a second answer: %d", status)
	}
	got, err := c.Wait(t.Context())
	if err != nil || *got != (mcp.Authorization{Code: "c1", State: callbackState, Issuer: "i1"}) {
		t.Errorf("Wait = %+v, %v", got, err)
	}
	if _, err := http.Get(base + right); err == nil {
		t.Error("it listens after the end")
	}
}

// What the authorization server says is an error, without what a terminal obeys; and waiting ends with its context.
func TestCallbackEnds(t *testing.T) {
	c, base := listenCallback(t, "/")
	if status, page := visit(t, "GET", base+"/?error=access_denied%1b%5b2J&state="+callbackState, nil); status != 200 || !strings.Contains(page, "did not agree") {
		t.Errorf("a denial: %d %q", status, page)
	}
	if _, err := c.Wait(t.Context()); !errors.Is(err, mcp.ErrDenied) || !strings.Contains(err.Error(), "access_denied") || strings.Contains(err.Error(), "\x1b") {
		t.Errorf("a denial: %v", err)
	}
	c, base = listenCallback(t, "/callback")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Wait(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Wait = %v", err)
	}
	if _, err := http.Get(base + "/callback"); err == nil {
		t.Error("it listens after its context has ended")
	}
}

// Where nobody may wait, and for what.
func TestListenCallbackRefuses(t *testing.T) {
	taken := httptest.NewServer(http.NotFoundHandler())
	defer taken.Close()
	const address = "https://as.example/?state=s"
	for name, tt := range map[string]struct{ redirect, address string }{
		"https":                {"https://127.0.0.1:1/callback", address},
		"another machine":      {"http://elsewhere.example:1/callback", address},
		"every interface":      {"http://0.0.0.0:1/callback", address},
		"every interface, v6":  {"http://[::]:1/callback", address},
		"no host":              {"http://:1/callback", address},
		"an address inside":    {"http://10.0.0.1:1/callback", address},
		"no port":              {"http://127.0.0.1/callback", address},
		"a query":              {"http://127.0.0.1:1/callback?x", address},
		"a user":               {"http://a@127.0.0.1:1/callback", address},
		"nothing":              {"", address},
		"a port that is taken": {taken.URL, address},
		"no state":             {"http://127.0.0.1:1/callback", "https://as.example/authorize"},
		"an empty state":       {"http://127.0.0.1:1/callback", "https://as.example/authorize?state="},
		"a malformed address":  {"http://127.0.0.1:1/callback", "https://as.example/\x1b"},
	} {
		c, err := mcp.ListenCallback(tt.redirect, tt.address)
		if !errors.Is(err, mcp.ErrCallback) {
			t.Errorf("%s: %v, want ErrCallback", name, err)
		}
		if err == nil {
			c.Close()
		}
	}
}
