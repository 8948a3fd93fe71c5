package gateway

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"
)

// socket opens a connection to a server and sends text as it is.
func socket(t testing.TB, srv *httptest.Server, text string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	// No test waits for this long: it ends one that hangs.
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	return conn
}

// head writes the header of a request.
func head(method, path, token string, header ...string) string {
	text := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n", method, path)
	if token != "" {
		text += "Authorization: Bearer " + token + "\r\n"
	}
	for i := 0; i < len(header); i += 2 {
		text += header[i] + ": " + header[i+1] + "\r\n"
	}
	return text + "\r\n"
}

// A body that nobody reads is refused, whether or not any of it comes, and the connection
// ends: net/http cannot see that a client has left while its body is unread.
func TestBodyWhereNoneBelongs(t *testing.T) {
	r := newRig(t, true, Options{})
	r.patience.rest = 10 * time.Millisecond
	srv := r.web(t, testHTTP)
	id := begin(t, srv.URL, aliceToken)
	for _, method := range []string{"GET", "DELETE", "HEAD"} {
		for _, path := range []string{"/mcp", "/approvals", "/healthz"} {
			for name, length := range map[string][]string{
				"declared": {"Content-Length", "1"}, "declared and closing": {"Content-Length", "1", "Connection", "close"},
				"large": {"Content-Length", "300000"}, "chunked": {"Transfer-Encoding", "chunked"},
			} {
				t.Run(method+path+" "+name, func(t *testing.T) {
					token := map[string]string{"/mcp": aliceToken, "/approvals": decideToken}[path]
					conn := socket(t, srv, head(method, path, token, append(length, "Mcp-Session-Id", id)...))
					in := bufio.NewReader(conn)
					res, err := http.ReadResponse(in, &http.Request{Method: method})
					if err != nil {
						t.Fatal(err)
					}
					if text, err := io.ReadAll(res.Body); res.StatusCode != 400 || err != nil || method != "HEAD" && !strings.Contains(string(text), "body") {
						t.Errorf("%s %q, %v", res.Status, text, err)
					}
					if _, err := in.ReadByte(); err == nil {
						t.Error("the connection goes on")
					}
				})
			}
		}
	}
	if n := len(r.Sessions()); n != 1 {
		t.Errorf("%d sessions: a refused DELETE ends none", n)
	}
}

// Who shows no token is answered without his body, and holds no connection.
func TestNoTokenHoldsNothing(t *testing.T) {
	r := newRig(t, true, Options{})
	r.patience.rest = 10 * time.Millisecond
	srv := r.web(t, testHTTP)
	for name, request := range map[string]string{
		"no token":         head("POST", "/mcp", "", "Content-Length", "100000"),
		"wrong token":      head("POST", "/mcp", "wrong-token-0123456789", "Content-Length", "100000"),
		"half a body":      head("POST", "/mcp", "", "Content-Length", "100000") + strings.Repeat("x", 5000),
		"chunked":          head("POST", "/mcp", "", "Transfer-Encoding", "chunked") + "5\r\nabc",
		"approvals":        head("POST", "/approvals/x", "", "Content-Length", "10"),
		"another host":     strings.Replace(head("POST", "/mcp", aliceToken, "Content-Length", "10"), "localhost", "evil.example", 1),
		"another origin":   head("POST", "/mcp", aliceToken, "Content-Length", "10", "Origin", "https://evil.example"),
		"no such path":     head("POST", "/nothing", aliceToken, "Content-Length", "10"),
		"too long":         head("POST", "/mcp", aliceToken, "Content-Length", "5000000") + strings.Repeat("x", 4<<20+1),
		"another method":   head("PUT", "/mcp", aliceToken, "Content-Length", "10"),
		"expects continue": head("POST", "/mcp", "", "Content-Length", "10", "Expect", "100-continue"),
	} {
		t.Run(name, func(t *testing.T) {
			in := bufio.NewReader(socket(t, srv, request))
			res, err := http.ReadResponse(in, nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadAll(res.Body); res.StatusCode < 400 || err != nil {
				t.Errorf("%s, %v", res.Status, err)
			}
			if _, err := in.ReadByte(); err == nil {
				t.Error("the connection goes on")
			}
		})
	}
}

// A client with a token that sends half of its message is not waited for without end.
func TestHalfMessagesEnd(t *testing.T) {
	r := newRig(t, true, Options{})
	r.patience.body, r.patience.rest = 10*time.Millisecond, 10*time.Millisecond
	srv := r.web(t, testHTTP)
	for path, token := range map[string]string{"/mcp": aliceToken, "/approvals/x": decideToken} {
		in := bufio.NewReader(socket(t, srv, head("POST", path, token, "Content-Length", "400")+"{"))
		res, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, res.Body); res.StatusCode != 400 || err != nil {
			t.Errorf("%s: %s, %v", path, res.Status, err)
		}
		if _, err := in.ReadByte(); err == nil {
			t.Errorf("%s: the connection goes on", path)
		}
	}
}

// Who takes too long to show who he is has no answer to wait for.
func TestProofHasADeadline(t *testing.T) {
	asked := make(chan struct{})
	r := newRig(t, true, Options{})
	r.patience.prove = 10 * time.Millisecond
	srv := r.web(t, HTTPOptions{Verify: func(ctx context.Context, _ string) (string, error) {
		close(asked)
		<-ctx.Done() // net/http ends it with the deadline, though the client is there
		return "", ctx.Err()
	}})
	res, err := http.ReadResponse(bufio.NewReader(socket(t, srv, head("GET", "/mcp", aliceToken))), nil)
	if err != nil || res.StatusCode != 503 {
		t.Errorf("%v, %v", res, err)
	}
	<-asked
}

// vanishings are what clients leave behind that go away without a word. id is that of
// the session that was made for it.
var vanishings = map[string]func(id string) string{
	"stream, with a body": func(id string) string {
		return head("GET", "/mcp", aliceToken, "Mcp-Session-Id", id, "Content-Length", "1", "Connection", "close")
	},
	"stream": func(id string) string { return head("GET", "/mcp", aliceToken, "Mcp-Session-Id", id) },
	"stream, closing": func(id string) string {
		return head("GET", "/mcp", aliceToken, "Mcp-Session-Id", id, "Connection", "close")
	},
	"stream, with junk": func(id string) string { return head("GET", "/mcp", aliceToken, "Mcp-Session-Id", id) + "POST /mc" },
	"half a header": func(id string) string {
		return strings.TrimSuffix(head("GET", "/mcp", aliceToken, "Mcp-Session-Id", id), "\r\n")
	},
	"half a message": func(id string) string {
		return head("POST", "/mcp", aliceToken, "Mcp-Session-Id", id, "Content-Length", "400") + "{"
	},
	"program, with junk": func(id string) string { return programOf(id) + "GET /m" },
	"old program, with junk": func(id string) string {
		return strings.Replace(programOf(id), newestHandshake, "2025-06-18", 1) + "GET /m"
	},
}

func programOf(id string) string {
	text := `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"exec","arguments":{"code":"await tools.stuck({ mark: 'vanish' })"}}}`
	return head("POST", "/mcp", aliceToken, "Mcp-Session-Id", id, "Mcp-Protocol-Version", newestHandshake, "Content-Length", strconv.Itoa(len(text))) + text
}

// 256 sessions whose client has vanished in the middle of a request keep nobody out:
// nothing of them is left but what idle rules take.
func TestVanishedClientsLockNobodyOut(t *testing.T) {
	for name, request := range vanishings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, true, Options{Limits: Limits{MaxSessions: 256, ResumeTimeout: 10 * time.Millisecond}})
			r.patience = patience{prove: time.Minute, body: time.Minute, rest: 10 * time.Millisecond, write: time.Minute, comment: 5 * time.Millisecond}
			clock := r.stopClock()
			o := testHTTP
			o.Tokens = map[string]string{"alice": aliceToken}
			srv := r.web(t, o)
			for range 256 {
				conn := socket(t, srv, request(begin(t, srv.URL, aliceToken)))
				if strings.Contains(name, "program") {
					if _, err := conn.Read(make([]byte, 1)); err != nil { // it has begun
						t.Fatal(err)
					}
				}
				conn.Close()
			}
			if res := raw(t, "POST", srv.URL+"/mcp", initialize, "Authorization", "Bearer "+aliceToken); res.StatusCode != 503 {
				t.Fatalf("there is room: %s", res.Status)
			}
			eventually(t, "nothing of them is left", r.quiet)
			for _, s := range r.all() {
				eventually(t, "its program ends", func() bool { _, busy := s.use(); return !busy })
			}
			clock.Advance(2 * unusedTime)
			begin(t, srv.URL, aliceToken)
			clock.Advance(r.o.Limits.IdleTimeout)
			eventually(t, "the new one is answered", r.quiet)
			r.sweep()
			if n := len(r.Sessions()); n != 0 {
				t.Errorf("%d sessions are left", n)
			}
		})
	}
}

// A stream on which nothing happens says now and then that it lives.
func TestStreamsHaveComments(t *testing.T) {
	r := newRig(t, true, Options{})
	r.patience.comment = time.Millisecond
	srv := r.web(t, testHTTP)
	for _, name := range []string{"stream", "program, with junk", "old program, with junk"} {
		t.Run(name, func(t *testing.T) {
			res, err := http.ReadResponse(bufio.NewReader(socket(t, srv, vanishings[name](begin(t, srv.URL, aliceToken)))), nil)
			if err != nil {
				t.Fatal(err)
			}
			if kind := res.Header.Get("Content-Type"); res.StatusCode != 200 || kind != eventsType {
				t.Errorf("%s %s", res.Status, kind)
			}
			lines, comments := bufio.NewScanner(res.Body), 0
			for comments < 3 && lines.Scan() {
				if lines.Text() == ": " {
					comments++
				}
			}
			if comments < 3 {
				t.Errorf("the stream ends: %v", lines.Err())
			}
		})
	}
}

// A session whose client only listens makes room for another of the same principal, and
// one whose client waits for an answer does not.
func TestListeningSessionsMakeRoom(t *testing.T) {
	r := newRig(t, true, Options{Limits: Limits{MaxSessions: 2}})
	clock := r.stopClock()
	o := testHTTP
	o.Tokens = map[string]string{"alice": aliceToken}
	srv := r.web(t, o)
	works, listens := begin(t, srv.URL, aliceToken), begin(t, srv.URL, aliceToken)
	for _, request := range []string{programOf(works), head("GET", "/mcp", aliceToken, "Mcp-Session-Id", listens)} {
		if _, err := socket(t, srv, request).Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
	}
	if res := raw(t, "POST", srv.URL+"/mcp", initialize, "Authorization", "Bearer "+aliceToken); res.StatusCode != 503 {
		t.Fatalf("%s", res.Status)
	}
	clock.Advance(2 * unusedTime)
	if res := raw(t, "POST", srv.URL+"/mcp", initialize, "Authorization", "Bearer "+aliceToken); res.StatusCode != 503 {
		t.Errorf("a session whose client has just begun to listen makes room: %s", res.Status)
	}
	clock.Advance(2 * unspokenTime)
	begin(t, srv.URL, aliceToken)
	left := map[string]bool{}
	for _, s := range r.Sessions() {
		left[s.SessionID] = true
	}
	if len(left) != 2 || !left[works] || left[listens] {
		t.Errorf("left are %v; %s works, %s listens", left, works, listens)
	}
}

// With HTTP/2 a deadline that passes ends a request, also where nothing is read or
// written: none is left behind.
func TestHoldingOverHTTP2(t *testing.T) {
	t.Parallel()
	r := newRig(t, true, Options{})
	r.patience = patience{prove: time.Second, body: time.Minute, rest: 10 * time.Millisecond, write: 500 * time.Millisecond, comment: 600 * time.Millisecond}
	h, err := r.Handler(testHTTP)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewUnstartedServer(h)
	srv.EnableHTTP2 = true
	srv.StartTLS()
	t.Cleanup(srv.Close)
	ask := func(method, text, id string) *http.Response {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, srv.URL+"/mcp", strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range map[string]string{
			"Authorization": "Bearer " + aliceToken, "Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Session-Id": id,
		} {
			if value != "" {
				req.Header.Set(name, value)
			}
		}
		res, err := srv.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { res.Body.Close() })
		return res
	}
	id := ask("POST", initialize, "").Header.Get("Mcp-Session-Id")
	if res := ask("GET", "x", id); res.StatusCode != 400 || res.ProtoMajor != 2 {
		t.Errorf("a GET with a body: %s %s", res.Proto, res.Status)
	}
	stream := ask("GET", "", id)
	lines, comments := bufio.NewScanner(stream.Body), 0
	for comments < 2 && lines.Scan() { // later than both deadlines
		if lines.Text() == ": " {
			comments++
		}
	}
	if comments < 2 {
		t.Errorf("the stream ends after %d comments: %v", comments, lines.Err())
	}
}
