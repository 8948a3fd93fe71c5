package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cloister-wasm/cloister/host"
)

// raw sends a request as a client that keeps to no rules.
func raw(t testing.TB, method, url, body string, header ...string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			req.Host = header[i+1]
			continue
		}
		req.Header.Add(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	res.Body = io.NopCloser(bytes.NewReader(text))
	return res
}

func body(t testing.TB, res *http.Response) string {
	t.Helper()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`

// begin makes a session and gives its id.
func begin(t testing.TB, url, token string) string {
	t.Helper()
	res := raw(t, "POST", url+"/mcp", initialize, "Authorization", "Bearer "+token)
	id := res.Header.Get("Mcp-Session-Id")
	if res.StatusCode != 200 || id == "" {
		t.Fatalf("initialize: %s %s", res.Status, body(t, res))
	}
	return id
}

func TestTokens(t *testing.T) {
	srv := newRig(t, true, Options{}).web(t, testHTTP)
	for _, c := range []struct {
		name   string
		header []string
		status int
	}{
		{"none", nil, 401},
		{"wrong", []string{"Authorization", "Bearer wrong-token-0123456789"}, 401},
		{"prefix", []string{"Authorization", "Bearer " + aliceToken[:len(aliceToken)-1]}, 401},
		{"longer", []string{"Authorization", "Bearer " + aliceToken + "0"}, 401},
		{"basic", []string{"Authorization", "Basic " + aliceToken}, 401},
		{"twice", []string{"Authorization", "Bearer " + aliceToken, "Authorization", "Bearer " + bobToken}, 401},
		{"approver's", []string{"Authorization", "Bearer " + decideToken}, 401},
		{"right", []string{"Authorization", "bearer " + aliceToken}, 200},
	} {
		res := raw(t, "POST", srv.URL+"/mcp", initialize, c.header...)
		challenge := res.Header.Get("WWW-Authenticate")
		if res.StatusCode != c.status || (c.status == 401) != strings.HasPrefix(challenge, "Bearer ") {
			t.Errorf("%s: %s with %q", c.name, res.Status, challenge)
		}
	}
	for _, method := range []string{"GET", "DELETE", "PUT", "PATCH"} {
		if res := raw(t, method, srv.URL+"/mcp", ""); res.StatusCode != 401 {
			t.Errorf("%s without a token: %s", method, res.Status)
		}
	}
}

func TestVerify(t *testing.T) {
	srv := newRig(t, true, Options{}).web(t, HTTPOptions{Verify: func(_ context.Context, token string) (string, error) {
		switch token {
		case "good":
			return "carol", nil
		case "empty":
			return "", nil
		case "bad":
			return "mallory", ErrUnauthorized
		}
		return "mallory", errors.New("429 from far away")
	}})
	for token, want := range map[string]int{"good": 200, "empty": 401, "bad": 401, "else": 503} {
		if res := raw(t, "POST", srv.URL+"/mcp", initialize, "Authorization", "Bearer "+token); res.StatusCode != want {
			t.Errorf("%s: %s", token, res.Status)
		}
	}
}

func TestHostAndOrigin(t *testing.T) {
	r := newRig(t, true, Options{})
	o := testHTTP
	o.AllowedOrigins = []string{"https://app.example"}
	srv := r.web(t, o)
	for _, c := range []struct {
		name   string
		header []string
		status int
	}{
		{"plain", nil, 200},
		{"rebinding", []string{"Host", "evil.example"}, 403},
		{"rebinding with a port", []string{"Host", "evil.example:80"}, 403},
		{"a name that begins right", []string{"Host", "localhost.evil.example"}, 403},
		{"localhost", []string{"Host", "LOCALHOST:1"}, 200},
		{"six", []string{"Host", "[::1]:9"}, 200},
		{"foreign origin", []string{"Origin", "https://evil.example"}, 403},
		{"null origin", []string{"Origin", "null"}, 403},
		{"loopback origin", []string{"Origin", "http://localhost"}, 403},
		{"two origins", []string{"Origin", "https://app.example", "Origin", "https://evil.example"}, 403},
		{"allowed origin", []string{"Origin", "https://app.example"}, 200},
	} {
		res := raw(t, "POST", srv.URL+"/mcp", initialize, append([]string{"Authorization", "Bearer " + aliceToken}, c.header...)...)
		if res.StatusCode != c.status {
			t.Errorf("%s: %s", c.name, res.Status)
		}
	}
	for path, origin := range map[string]string{"/approvals": "https://evil.example", "/healthz": "https://evil.example"} {
		if res := raw(t, "GET", srv.URL+path, "", "Origin", origin, "Authorization", "Bearer "+decideToken); res.StatusCode != 403 {
			t.Errorf("%s from a foreign origin: %s", path, res.Status)
		}
	}
	res := raw(t, "OPTIONS", srv.URL+"/mcp", "", "Origin", "https://app.example", "Access-Control-Request-Method", "POST")
	if res.StatusCode != 204 || res.Header.Get("Access-Control-Allow-Origin") != "https://app.example" {
		t.Errorf("preflight: %s %v", res.Status, res.Header)
	}
	if res := raw(t, "GET", srv.URL+"/healthz", ""); res.StatusCode != 200 || body(t, res) != "ok\n" {
		t.Errorf("healthz: %s", res.Status)
	}
}

func TestNoAuthIsForLoopback(t *testing.T) {
	r := newRig(t, true, Options{})
	h, err := r.Handler(HTTPOptions{NoAuth: true, AllowedHosts: []string{"example.com"}})
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder() // says nothing of an address
	h.ServeHTTP(w, httptest.NewRequest("POST", "http://example.com/mcp", strings.NewReader(initialize)))
	if w.Code != 403 {
		t.Errorf("%d", w.Code)
	}
	srv := r.web(t, HTTPOptions{NoAuth: true})
	if res := raw(t, "POST", srv.URL+"/mcp", initialize); res.StatusCode != 200 {
		t.Errorf("%s", res.Status)
	}
	if res := raw(t, "GET", srv.URL+"/approvals", ""); res.StatusCode != 404 {
		t.Errorf("approvals without tokens: %s", res.Status)
	}
}

func TestHTTPOptionsRefused(t *testing.T) {
	r := newRig(t, true, Options{})
	tokens := map[string]string{"a": aliceToken}
	for name, o := range map[string]HTTPOptions{
		"nothing":                {},
		"tokens and no auth":     {Tokens: tokens, NoAuth: true},
		"short":                  {Tokens: map[string]string{"a": "short"}},
		"white space":            {Tokens: map[string]string{"a": aliceToken + "\n"}},
		"same twice":             {Tokens: map[string]string{"a": aliceToken, "b": aliceToken}},
		"client approves itself": {Tokens: tokens, ApprovalTokens: map[string]string{"x": aliceToken}},
		"no origin":              {Tokens: tokens, AllowedOrigins: []string{"app.example"}},
		"origin with a path":     {Tokens: tokens, AllowedOrigins: []string{"https://app.example/"}},
		"origin star":            {Tokens: tokens, AllowedOrigins: []string{"*"}},
	} {
		if _, err := r.Handler(o); !errors.Is(err, ErrOptions) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := New(Options{}); !errors.Is(err, ErrOptions) {
		t.Error("a gateway without a host")
	}
	if _, err := New(Options{Host: r.host, Elicit: true}); !errors.Is(err, ErrOptions) {
		t.Error("elicitation without a queue")
	}
}

func TestForeignSessions(t *testing.T) {
	r := newRig(t, true, Options{})
	srv := r.web(t, testHTTP)
	id := begin(t, srv.URL, aliceToken)
	list := `{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}`
	for _, c := range []struct {
		name, method, token, id string
		status                  int
	}{
		{"own", "POST", aliceToken, id, 200},
		{"of another", "POST", bobToken, id, 404},
		{"stream of another", "GET", bobToken, id, 404},
		{"end of another", "DELETE", bobToken, id, 404},
		{"unknown", "POST", aliceToken, "session_guess", 404},
		{"end", "DELETE", aliceToken, id, 204},
		{"ended", "POST", aliceToken, id, 404},
	} {
		text := list
		if c.method != "POST" {
			text = ""
		}
		res := raw(t, c.method, srv.URL+"/mcp", text, "Authorization", "Bearer "+c.token, "Mcp-Session-Id", c.id)
		if res.StatusCode != c.status {
			t.Errorf("%s: %s %s", c.name, res.Status, body(t, res))
		}
	}
	if res := raw(t, "POST", srv.URL+"/mcp", list, "Authorization", "Bearer "+aliceToken); res.StatusCode != 400 {
		t.Errorf("without a session: %s", res.Status)
	}
	if n := len(r.Sessions()); n != 0 {
		t.Errorf("%d sessions are left", n)
	}
}

// Programs of one principal are out of reach of others, with any protocol.
func TestForeignPrograms(t *testing.T) {
	for _, version := range []string{oldProtocol, newProtocol} {
		r := newRig(t, true, Options{})
		srv := r.web(t, testHTTP)
		alice := dial(t, httpTransport(srv, aliceToken), version, nil)
		bob := dial(t, httpTransport(srv, bobToken), version, nil)
		res := exec(t, alice, `await yield_control(); return 1`)
		if theirs := resultOf(t, callArgs(t, bob, "wait", map[string]any{"runId": res.RunID})); theirs.Status != "failed" {
			t.Fatalf("%s: another principal got %+v", version, theirs)
		}
		again := alice
		if version == newProtocol { // a new connection of the same principal
			again = dial(t, httpTransport(srv, aliceToken), version, nil)
		}
		wantValue(t, resultOf(t, callArgs(t, again, "wait", map[string]any{"runId": res.RunID})), 1)
	}
}

func TestMessagesRefused(t *testing.T) {
	r := newRig(t, true, Options{Limits: Limits{MaxRequestBytes: 64 << 10}})
	srv := r.web(t, testHTTP)
	id := begin(t, srv.URL, aliceToken)
	for name, text := range badMessages {
		res := raw(t, "POST", srv.URL+"/mcp", text, "Authorization", "Bearer "+aliceToken, "Mcp-Session-Id", id)
		if res.StatusCode != 400 {
			t.Errorf("%s: %s", name, res.Status)
		}
	}
	long := `{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"x":"` + strings.Repeat("x", 64<<10) + `"}}`
	if res := raw(t, "POST", srv.URL+"/mcp", long, "Authorization", "Bearer "+aliceToken, "Mcp-Session-Id", id); res.StatusCode != 413 {
		t.Errorf("a long message: %s", res.Status)
	}
	// The session has not suffered.
	if res := raw(t, "POST", srv.URL+"/mcp", `{"jsonrpc":"2.0","id":2,"method":"ping"}`, "Authorization", "Bearer "+aliceToken, "Mcp-Session-Id", id); res.StatusCode != 200 {
		t.Errorf("ping: %s", res.Status)
	}
}

func TestSessionLimits(t *testing.T) {
	r := newRig(t, true, Options{Limits: Limits{MaxSessions: 5}})
	clock := r.stopClock()
	srv := r.web(t, testHTTP)
	for range 3 {
		begin(t, srv.URL, aliceToken)
	}
	full := func(token string) *http.Response {
		return raw(t, "POST", srv.URL+"/mcp", initialize, "Authorization", "Bearer "+token)
	}
	if res := full(aliceToken); res.StatusCode != 429 || res.Header.Get("Retry-After") == "" {
		t.Errorf("one principal's flood: %s", res.Status)
	}
	begin(t, srv.URL, bobToken)
	begin(t, srv.URL, bobToken)
	if res := full(bobToken); res.StatusCode != 503 || res.Header.Get("Retry-After") == "" {
		t.Errorf("all sessions taken: %s", res.Status)
	}
	// What a principal has left behind makes room for it, not for others.
	eventually(t, "all is answered", r.quiet)
	clock.Advance(2 * time.Minute)
	begin(t, srv.URL, aliceToken)
	if n := len(r.Sessions()); n != 5 {
		t.Errorf("%d sessions", n)
	}
}

func TestIdleSessionsEnd(t *testing.T) {
	r := newRig(t, true, Options{})
	clock := r.stopClock()
	srv := r.web(t, testHTTP)
	idle := dial(t, httpTransport(srv, aliceToken), newProtocol, nil)
	busy := dial(t, httpTransport(srv, bobToken), newProtocol, nil)
	exec(t, idle, `return 1`)
	res := exec(t, busy, `await yield_control(); return 1`)
	begin(t, srv.URL, aliceToken)
	if n := len(r.Sessions()); n != 3 {
		t.Fatalf("%d sessions", n)
	}
	eventually(t, "all is answered", r.quiet)
	clock.Advance(r.o.Limits.IdleTimeout)
	r.sweep()
	if n := len(r.Sessions()); n != 1 {
		t.Fatalf("%d sessions are left", n)
	}
	if who := r.Sessions()[0].Principal; who != "bob" {
		t.Fatalf("the session of %s is left", who)
	}
	wantValue(t, resultOf(t, callArgs(t, busy, "wait", map[string]any{"runId": res.RunID})), 1)
	wantValue(t, exec(t, idle, `return 2`), 2) // begins again
}

func TestConcurrentCallsAreBounded(t *testing.T) {
	r := newRig(t, true, Options{Limits: Limits{MaxConcurrentExecs: 2}})
	cs := dial(t, transports["http"](t, r), oldProtocol, nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 2)
	for range 2 {
		go func() {
			_, err := cs.CallTool(ctx, &mcp.CallToolParams{Name: "exec", Arguments: map[string]any{"code": `await tools.stuck({})`}})
			done <- err
		}()
	}
	s := r.all()[0]
	eventually(t, "both run", func() bool { return len(s.slots) == 2 })
	if res := callArgs(t, cs, "exec", map[string]any{"code": "return 1"}); !res.IsError || res.Meta[metaCode] != "too_many_calls" {
		t.Errorf("%+v", res)
	}
	cancel()
	<-done
	<-done
	eventually(t, "both end", func() bool { return len(s.slots) == 0 })
	wantValue(t, exec(t, cs, `return 1`), 1)
}

// A client that is gone in the middle of a call leaves nothing behind.
func TestVanishingClients(t *testing.T) {
	for _, version := range []string{oldProtocol, newProtocol} {
		r := newRig(t, true, Options{Limits: Limits{ResumeTimeout: 50 * time.Millisecond}})
		srv := r.web(t, testHTTP)
		mark := "vanish " + version
		call := fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"exec","arguments":{"code":"await tools.stuck({ mark: '%s' })"}%s}}`, mark,
			map[string]string{oldProtocol: "", newProtocol: `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`}[version])
		header := []string{"Mcp-Protocol-Version", version, "Mcp-Method", "tools/call", "Mcp-Name", "exec"}
		if version == oldProtocol {
			header = append(header, "Mcp-Session-Id", begin(t, srv.URL, aliceToken))
		}
		ctx, cancel := context.WithCancel(t.Context())
		req, err := http.NewRequestWithContext(ctx, "POST", srv.URL+"/mcp", strings.NewReader(call))
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(header); i += 2 {
			req.Header.Set(header[i], header[i+1])
		}
		req.Header.Set("Authorization", "Bearer "+aliceToken)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			if res, err := http.DefaultClient.Do(req); err == nil {
				_, _ = io.Copy(io.Discard, res.Body) // ends with ctx
				res.Body.Close()
			}
		}()
		var s *session
		running := func() bool {
			for _, one := range r.all() {
				one.mu.Lock()
				is := one.run != nil && !one.run.Idle()
				one.mu.Unlock()
				if is {
					s = one
					return true
				}
			}
			return false
		}
		eventually(t, "the program runs", running)
		cancel()
		<-gone
		eventually(t, "the program ends: "+version, func() bool { return !running() })
		eventually(t, "its place is free", func() bool { return len(s.slots) == 0 })
	}
}

func TestApprovalsEndpoint(t *testing.T) {
	by := make(chan string, 1)
	r := newRig(t, false, Options{Scope: func(c Client) host.RunOptions {
		return host.RunOptions{Sender: c.Principal, OnEvent: func(e host.TraceEvent) {
			if e.Event == "approval.decided" {
				by <- e.By
			}
		}}
	}})
	srv := r.web(t, testHTTP)
	operator := []string{"Authorization", "Bearer " + decideToken}
	cs := dial(t, httpTransport(srv, aliceToken), oldProtocol, nil)
	done := make(chan *mcp.CallToolResult, 1)
	go func() {
		res, err := cs.CallTool(context.Background(), &mcp.CallToolParams{Name: "danger", Arguments: map[string]any{"mark": "endpoint"}})
		if err != nil {
			t.Error(err)
		}
		done <- res
	}()
	var open Approval
	tag := ""
	for open.ID == "" {
		header := operator
		if tag != "" {
			header = append(slices.Clone(operator), "If-None-Match", tag)
		}
		res := raw(t, "GET", srv.URL+"/approvals?wait=20", "", header...)
		if res.StatusCode != 200 {
			t.Fatalf("%s %s", res.Status, body(t, res))
		}
		tag = res.Header.Get("ETag")
		var list ApprovalList
		if err := json.Unmarshal([]byte(body(t, res)), &list); err != nil {
			t.Fatal(err)
		}
		for _, a := range list.Approvals {
			if string(a.Input) == `{"mark":"endpoint"}` {
				open = a
			}
		}
	}
	if open.Tool != "cloister:core:danger" || open.Sender != "alice" || open.SessionID == "" || open.Approval != host.ApprovalAsk {
		t.Errorf("%+v", open)
	}
	at := srv.URL + "/approvals/" + open.ID
	for _, c := range []struct {
		name, token, text string
		status            int
	}{
		{"no token", "", `{"approved":true}`, 401},
		{"the client's own token", aliceToken, `{"approved":true}`, 403},
		{"unknown token", "unknown-token-0123456789", `{"approved":true}`, 401},
		{"nothing said", decideToken, `{}`, 400},
		{"twice", decideToken, `{"approved":false,"approved":true}`, 400},
		{"other case", decideToken, `{"Approved":true}`, 400},
		{"unknown member", decideToken, `{"approved":true,"all":true}`, 400},
		{"unknown extent", decideToken, `{"approved":true,"extent":"forever"}`, 400},
		{"wide envelope", decideToken, `{"approved":true,"envelope":{"calls":1000000}}`, 400},
	} {
		if res := raw(t, "POST", at, c.text, "Authorization", "Bearer "+c.token); res.StatusCode != c.status {
			t.Errorf("%s: %s", c.name, res.Status)
		}
	}
	if res := raw(t, "GET", srv.URL+"/approvals", "", "Authorization", "Bearer "+aliceToken); res.StatusCode != 403 {
		t.Errorf("the list with a client's token: %s", res.Status)
	}
	if res := raw(t, "POST", at, `{"approved":true,"by":"somebody else"}`, operator...); res.StatusCode != 204 {
		t.Errorf("%s %s", res.Status, body(t, res))
	}
	if res := <-done; res.IsError {
		t.Errorf("%+v", res)
	}
	if who := <-by; who != "http:operator" {
		t.Errorf("decided by %q", who)
	}
	if res := raw(t, "POST", at, `{"approved":true}`, operator...); res.StatusCode != 404 {
		t.Errorf("answered twice: %s", res.Status)
	}
	for wait, want := range map[string]int{"x": 400, "-1": 400, "301": 400, "0": 200} {
		if res := raw(t, "GET", srv.URL+"/approvals?wait="+wait, "", operator...); res.StatusCode != want {
			t.Errorf("wait=%s: %s", wait, res.Status)
		}
	}
}
