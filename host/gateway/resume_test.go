package gateway

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cloister-wasm/cloister/host/hosttest"
)

// carrier is one HTTP response with events, which the test can break.
type carrier struct {
	status int
	sever  context.CancelFunc
	events chan [2]string // id and data; closed at the end
}

// carry sends a request and reads the events of its answer.
func carry(t *testing.T, method, url, text string, header ...string) *carrier {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if method == http.MethodGet {
		req.Header.Set("Accept", "text/event-stream")
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	c := &carrier{status: res.StatusCode, sever: cancel, events: make(chan [2]string, 100)}
	go func() {
		defer close(c.events)
		defer res.Body.Close()
		var e [2]string
		for lines := bufio.NewScanner(res.Body); lines.Scan(); {
			name, value, _ := strings.Cut(lines.Text(), ": ")
			switch name {
			case "id":
				e[0] = value
			case "data":
				e[1] = value
			case "":
				if e[0] != "" {
					c.events <- e
				}
				e = [2]string{}
			}
		}
	}()
	return c
}

const resumable = "2025-11-25"

// stuckCall begins a program that waits for the gate, and gives the headers of its
// session and the first event of its answer.
func stuckCall(t *testing.T, r *rig, url, version, code string) (header []string, c *carrier) {
	t.Helper()
	header = []string{"Mcp-Protocol-Version", version, "Authorization", "Bearer " + aliceToken, "Mcp-Session-Id", begin(t, url, aliceToken)}
	c = carry(t, "POST", url+"/mcp", fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"exec","arguments":{"code":%q}}}`, code), header...)
	if c.status != 200 {
		t.Fatalf("status %d", c.status)
	}
	return header, c
}

func (c *carrier) wait(t *testing.T) [2]string {
	t.Helper()
	select {
	case e, ok := <-c.events:
		if !ok {
			t.Fatal("the response ended")
		}
		return e
	case <-time.After(20 * time.Second):
		t.Fatal("no event")
	}
	return [2]string{}
}

func again(header []string, id string) []string {
	return append(slices.Clone(header), "Last-Event-ID", id)
}

// A connection that breaks, twice, costs no result: who comes back gets the rest of the
// answer, and the tool ran once.
func TestResume(t *testing.T) {
	r := newRig(t, true, Options{})
	srv := r.web(t, testHTTP)
	before := r.gate.Stats().Total
	header, c := stuckCall(t, r, srv.URL, resumable, `return await tools.gate({ mark: 'resume' })`)
	id := c.wait(t)[0]
	<-r.gate.Started()
	for range 2 {
		c.sever()
		for range c.events {
		}
		c = carry(t, "GET", srv.URL+"/mcp", "", again(header, id)...)
		if c.status != 200 {
			t.Fatalf("status %d", c.status)
		}
	}
	r.gate.Release(`"through"`)
	e := c.wait(t)
	if !strings.Contains(e[1], `"id":7`) || !strings.Contains(e[1], "through") {
		t.Fatalf("event %q", e)
	}
	if n := r.gate.Stats().Total - before; n != 1 {
		t.Errorf("the tool ran %d times", n)
	}
	// What was sent can be had again for a while; what never was cannot.
	c = carry(t, "GET", srv.URL+"/mcp", "", again(header, id)...)
	if again := c.wait(t); again != e {
		t.Errorf("again %q, want %q", again, e)
	}
	for range c.events { // one of a stream at a time
	}
	stream, _, _ := strings.Cut(id, "_")
	for _, bad := range []string{stream + "_99", stream + "_9223372036854775807", "unknown_0", "_", "x", strings.Repeat("a", 5000) + "_0"} {
		if c := carry(t, "GET", srv.URL+"/mcp", "", again(header, bad)...); c.status != 400 {
			t.Errorf("Last-Event-ID %.40q: status %d", bad, c.status)
		}
	}
}

// The client has noticed that its connection is dead, and the gateway has not.
func TestResumeTakesOver(t *testing.T) {
	r := newRig(t, true, Options{})
	srv := r.web(t, testHTTP)
	header, old := stuckCall(t, r, srv.URL, resumable, `return await tools.gate({ mark: 'takeover' })`)
	id := old.wait(t)[0]
	<-r.gate.Started()
	c := carry(t, "GET", srv.URL+"/mcp", "", again(header, id)...)
	if c.status != 200 {
		t.Fatalf("status %d", c.status)
	}
	for range old.events { // ends
	}
	r.gate.Release(`"taken"`)
	if e := c.wait(t); !strings.Contains(e[1], "taken") {
		t.Errorf("event %q", e)
	}
}

// What belongs to another session, or to another principal, is not there.
func TestResumeOfOthers(t *testing.T) {
	r := newRig(t, true, Options{})
	srv := r.web(t, testHTTP)
	header, c := stuckCall(t, r, srv.URL, resumable, `return await tools.gate({ mark: 'mine' })`)
	id := c.wait(t)[0]
	<-r.gate.Started()
	for name, other := range map[string][]string{
		"another session":                          {"Authorization", "Bearer " + aliceToken, "Mcp-Session-Id", begin(t, srv.URL, aliceToken)},
		"another principal":                        {"Authorization", "Bearer " + bobToken, "Mcp-Session-Id", begin(t, srv.URL, bobToken)},
		"another principal and this one's session": {"Authorization", "Bearer " + bobToken, "Mcp-Session-Id", header[5]},
	} {
		got := carry(t, "GET", srv.URL+"/mcp", "", append(other, "Mcp-Protocol-Version", resumable, "Last-Event-ID", id)...)
		if got.status != 400 && got.status != 404 {
			t.Errorf("%s: status %d", name, got.status)
		}
	}
	// A wrong place in the right stream does not end the call either.
	if bad := carry(t, "GET", srv.URL+"/mcp", "", again(header, id+"99")...); bad.status != 400 {
		t.Errorf("status %d", bad.status)
	}
	c = carry(t, "GET", srv.URL+"/mcp", "", again(header, id)...)
	r.gate.Release(`"still mine"`)
	if e := c.wait(t); !strings.Contains(e[1], "still mine") {
		t.Errorf("event %q", e)
	}
}

// Who does not come back has the call cancelled: after the time for it, or at once where
// coming back is impossible or switched off.
func TestNobodyResumes(t *testing.T) {
	for _, test := range []struct {
		name, version string
		limit         time.Duration
	}{
		{"after a while", resumable, 50 * time.Millisecond},
		{"switched off", resumable, -1},
		{"no event id yet", "2025-06-18", time.Hour},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRig(t, true, Options{Limits: Limits{ResumeTimeout: test.limit}})
			srv := r.web(t, testHTTP)
			ctx, cancel := context.WithCancel(t.Context())
			header := []string{"Mcp-Protocol-Version", test.version, "Authorization", "Bearer " + aliceToken, "Mcp-Session-Id", begin(t, srv.URL, aliceToken)}
			req, err := http.NewRequestWithContext(ctx, "POST", srv.URL+"/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"exec","arguments":{"code":"await tools.stuck({})"}}}`))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Accept", "application/json, text/event-stream")
			for i := 0; i < len(header); i += 2 {
				req.Header.Set(header[i], header[i+1])
			}
			gone := make(chan struct{})
			go func() {
				defer close(gone)
				if res, err := http.DefaultClient.Do(req); err == nil {
					<-ctx.Done()
					res.Body.Close()
				}
			}()
			s := r.all()[0]
			eventually(t, "the program runs", func() bool { return len(s.slots) == 1 })
			cancel()
			<-gone
			eventually(t, "it is cancelled", func() bool { return len(s.slots) == 0 })
			eventually(t, "nothing is left of it", func() bool {
				s.mu.Lock()
				defer s.mu.Unlock()
				return len(s.posts) == 0
			})
		})
	}
}

// cuttable is a way to a server that can be cut.
type cuttable struct {
	net.Listener
	mu    sync.Mutex
	conns []net.Conn
}

func (l *cuttable) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		l.mu.Lock()
		l.conns = append(l.conns, c)
		l.mu.Unlock()
	}
	return c, err
}

func (l *cuttable) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.conns {
		_ = c.Close() // some are closed already
	}
	l.conns = nil
}

// The official client comes back by itself: its caller sees a result and no error.
func TestClientSurvivesCuts(t *testing.T) {
	r := newRig(t, true, Options{})
	web := r.web(t, testHTTP)
	srv := httptest.NewUnstartedServer(web.Config.Handler)
	line := &cuttable{Listener: srv.Listener}
	srv.Listener = line
	srv.Start()
	t.Cleanup(srv.Close) // after the client's end: it waits for open streams
	cs := dial(t, &mcp.StreamableClientTransport{Endpoint: srv.URL + "/mcp", HTTPClient: &http.Client{Transport: bearerTransport{aliceToken}}}, resumable, nil)
	done := make(chan error, 1)
	go func() {
		res, err := cs.CallTool(context.Background(), &mcp.CallToolParams{Name: "exec", Arguments: map[string]any{"code": `return await tools.gate({ mark: 'cut' })`}})
		if err == nil && (res.IsError || !strings.Contains(fmt.Sprint(res.StructuredContent), "came back")) {
			err = fmt.Errorf("result %+v", res)
		}
		done <- err
	}()
	<-r.gate.Started()
	line.cut()
	r.gate.Release(`"came back"`)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// TestEventStore: bounds hold, and nothing is left out in silence.
func TestEventStore(t *testing.T) {
	clock := hosttest.NewClock(time.Now())
	e := newEventStore(clock.Now)
	ctx := t.Context()
	open := func(session, stream string) *post {
		t.Helper()
		p := &post{}
		if err := e.Open(context.WithValue(ctx, postKey{}, p), session, stream); err != nil {
			t.Fatal(err)
		}
		return p
	}
	add := func(session, stream, data string) {
		t.Helper()
		if err := e.Append(ctx, session, stream, []byte(data)); err != nil {
			t.Fatal(err)
		}
	}
	after := func(session, stream string, index int) (got []string, err error) {
		for data, err := range e.After(ctx, session, stream, index) {
			if err != nil {
				return nil, err
			}
			got = append(got, string(data))
		}
		return got, nil
	}
	p := open("s", "a")
	for i := range 3 {
		add("s", "a", fmt.Sprint(i))
	}
	for index, want := range map[int]string{-1: "[0 1 2]", 0: "[1 2]", 2: "[]"} {
		if got, err := after("s", "a", index); err != nil || fmt.Sprint(got) != want {
			t.Errorf("after %d: %v, %v", index, got, err)
		}
	}
	for _, bad := range []struct {
		session, stream string
		index           int
	}{{"s", "a", 3}, {"s", "a", -2}, {"s", "b", -1}, {"t", "a", -1}} {
		if got, err := after(bad.session, bad.stream, bad.index); !errors.Is(err, mcp.ErrEventsPurged) {
			t.Errorf("%+v: %v, %v", bad, got, err)
		}
	}
	// A session's bytes: the oldest go, and whoever wants them hears it.
	big := strings.Repeat("x", maxSessionEvents/2)
	for range 5 {
		add("s", "a", big)
	}
	if _, err := after("s", "a", 0); !errors.Is(err, mcp.ErrEventsPurged) {
		t.Errorf("given up: %v", err)
	}
	if got, err := after("s", "a", 6); err != nil || len(got) != 1 {
		t.Errorf("the last: %d events, %v", len(got), err)
	}
	if e.bytes > maxSessionEvents || e.bytes != e.sessions["s"].bytes {
		t.Errorf("%d bytes, of the session %d", e.bytes, e.sessions["s"].bytes)
	}
	// One event over the bound is not kept, and what follows has its own number.
	add("s", "a", strings.Repeat("x", maxSessionEvents+1))
	add("s", "a", "small")
	if got, err := after("s", "a", 8); err != nil || fmt.Sprint(got) != "[small]" {
		t.Errorf("behind the big one: %v, %v", got, err)
	}
	// Streams that go on are kept however long they are quiet; others are not.
	p2 := open("s", "ended")
	add("s", "ended", "x")
	p2.over.Store(true)
	clock.Advance(eventTime)
	open("s", "other")
	if _, err := after("s", "ended", -1); !errors.Is(err, mcp.ErrEventsPurged) {
		t.Errorf("an old stream that has ended: %v", err)
	}
	if _, err := after("s", "a", 8); err != nil {
		t.Errorf("an old stream that goes on: %v", err)
	}
	p.over.Store(true)
	// All sessions together.
	for i := range 20 {
		open(fmt.Sprint("many", i), "a")
		for range 2 {
			add(fmt.Sprint("many", i), "a", big[:maxSessionEvents/2-eventCost])
		}
	}
	if e.bytes > maxAllEvents {
		t.Errorf("%d bytes in all", e.bytes)
	}
	// Many streams of a session.
	for i := range 3 * maxSessionStreams {
		open("streams", fmt.Sprint(i)).over.Store(true)
	}
	if n := len(e.sessions["streams"].streams); n > maxSessionStreams {
		t.Errorf("%d streams", n)
	}
	for session := range e.sessions {
		if err := e.SessionClosed(ctx, session); err != nil {
			t.Fatal(err)
		}
	}
	if e.bytes != 0 || e.oldest.Len() != 0 || len(e.sessions) != 0 {
		t.Errorf("left: %d bytes, %d streams, %d sessions", e.bytes, e.oldest.Len(), len(e.sessions))
	}
}
