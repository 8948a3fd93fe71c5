package debug_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/host/debug"
	"github.com/cloister-wasm/cloister/host/hosttest"
)

const secret = "provider-key-value-0001"

// logLines keeps the lines of a logger.
type logLines struct {
	mu sync.Mutex
	bytes.Buffer
}

// Write implements io.Writer.
func (l *logLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Buffer.Write(p)
}

// lines gives the lines with a message, without times and durations.
func (l *logLines) lines(t *testing.T, message string) []map[string]any {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []map[string]any
	dec := json.NewDecoder(bytes.NewReader(l.Bytes()))
	for dec.More() {
		m := map[string]any{}
		if err := dec.Decode(&m); err != nil {
			t.Fatal(err)
		}
		if m["msg"] != message {
			continue
		}
		for _, k := range []string{"time", "level", "msg", "durationMs", "sinceMs", "url"} {
			delete(m, k)
		}
		out = append(out, m)
	}
	return out
}

func newDebug(s debug.Settings) (*debug.Debug, *logLines) {
	l := &logLines{}
	return debug.New(debug.Options{Settings: s, Secrets: []string{secret}, Logger: slog.New(slog.NewJSONHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))}), l
}

func TestFromEnv(t *testing.T) {
	for _, tt := range []struct {
		env  map[string]string
		want debug.Settings
		err  string
	}{
		{nil, debug.Settings{}, ""},
		{map[string]string{debug.EnvCodeMode: "1", debug.EnvTransport: "1", debug.EnvPayload: "tools", debug.EnvSSE: "events"}, debug.Settings{CodeMode: true, Transport: true, Payload: debug.PayloadTools, SSE: debug.SSEEvents}, ""},
		{map[string]string{debug.EnvCodeMode: "0", debug.EnvPayload: "full-redacted", debug.EnvSSE: "peek"}, debug.Settings{Payload: debug.PayloadFullRedacted, SSE: debug.SSEPeek}, ""},
		{map[string]string{debug.EnvCodeMode: "yes"}, debug.Settings{}, `CLOISTER_DEBUG_CODE_MODE is "yes": give 1, or 0 for off`},
		{map[string]string{debug.EnvPayload: "full", debug.EnvTransport: "1"}, debug.Settings{Transport: true}, `CLOISTER_DEBUG_MODEL_PAYLOAD is "full": give tools or full-redacted, or 0 for off`},
		{map[string]string{debug.EnvSSE: "Peek\x1b[31m", debug.EnvTransport: "x"}, debug.Settings{}, `CLOISTER_DEBUG_SSE is "Peek\x1b[31m": give events or peek, or 0 for off`},
	} {
		got, err := debug.FromEnv(func(k string) string { return tt.env[k] })
		if got != tt.want {
			t.Errorf("%v: %+v", tt.env, got)
		}
		if (err != nil) != (tt.err != "") || err != nil && (!errors.Is(err, debug.ErrSetting) || !strings.Contains(err.Error(), tt.err)) {
			t.Errorf("%v: %v", tt.env, err)
		}
	}
	t.Setenv(debug.EnvSSE, "peek")
	if s, err := debug.FromEnv(nil); err != nil || s.SSE != debug.SSEPeek {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestOff makes sure that what is off costs and changes nothing.
func TestOff(t *testing.T) {
	sink := &hosttest.Trace{}
	body := io.NopCloser(strings.NewReader(""))
	for _, d := range []*debug.Debug{nil, debug.New(debug.Options{})} {
		if d.Transport(nil) != http.DefaultTransport || d.Trace(sink) != sink || d.Reader("x", body) != body {
			t.Error("something is wrapped")
		}
	}
	d, _ := newDebug(debug.Settings{CodeMode: true})
	if d.Transport(nil) != http.DefaultTransport || d.Reader("x", body) != body || d.Trace(nil) == nil {
		t.Error("not only the trace is wrapped")
	}
}

// model is a server that checks that it got the request as it was sent.
func model(t *testing.T, want, contentType, answer string) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got, err := io.ReadAll(r.Body)
		if err != nil || string(got) != want {
			t.Errorf("the server got %q, %v", got, err)
		}
		w.Header().Set("Content-Type", contentType)
		w.Header().Set("X-Request-Id", "req_1")
		for _, part := range strings.SplitAfter(answer, "|") {
			if _, err := io.WriteString(w, strings.TrimSuffix(part, "|")); err != nil {
				return
			}
			w.(http.Flusher).Flush()
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func post(t *testing.T, d *debug.Debug, url string, body io.Reader) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+secret)
	resp, err := (&http.Client{Transport: d.Transport(nil)}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(got)
}

const payload = `{"model":"m-1","stream":true,"api_key":"hunter22","tools":[{"type":"function","function":{"name":"exec","parameters":{}}},{"name":"wait","input_schema":{}},{"type":"web_search"},` +
	`{"functionDeclarations":[{"name":"gemini_tool"}]},7],"messages":[{"role":"user","content":"the key is ` + secret + `"}]}`

func TestTransport(t *testing.T) {
	// A body without GetBody is seen as it is sent, one with it before.
	for name, wrap := range map[string]func(io.Reader) io.Reader{
		"copy": func(r io.Reader) io.Reader { return r },
		"tee":  func(r io.Reader) io.Reader { return struct{ io.Reader }{r} },
	} {
		t.Run(name, func(t *testing.T) {
			srv := model(t, payload, "application/json", `{"ok":true}`)
			d, l := newDebug(debug.Settings{Transport: true, Payload: debug.PayloadTools})
			if got := post(t, d, srv.URL+"/v1/messages?key="+secret, wrap(strings.NewReader(payload))); got != `{"ok":true}` {
				t.Errorf("got %s", got)
			}
			want := []map[string]any{{"method": "POST", "bytes": float64(len(payload)), "model": "m-1", "stream": true, "messages": 1.0, "toolCount": 5.0,
				"tools": []any{"exec", "wait", "(web_search)", "gemini_tool", "(no object)"}, "members": []any{"api_key", "messages", "model", "stream", "tools"}}}
			if diff := cmp.Diff(want, l.lines(t, "model payload")); diff != "" {
				t.Error(diff)
			}
			want = []map[string]any{{"method": "POST", "status": 200.0, "sentBytes": float64(len(payload)), "contentType": "application/json", "requestId": "req_1"}}
			if diff := cmp.Diff(want, l.lines(t, "model response")); diff != "" {
				t.Error(diff)
			}
			want = []map[string]any{{"method": "POST", "status": 200.0, "receivedBytes": 11.0, "end": "complete"}}
			if diff := cmp.Diff(want, l.lines(t, "model response ended")); diff != "" {
				t.Error(diff)
			}
			if s := l.String(); strings.Contains(s, secret) || strings.Contains(s, "hunter22") || !strings.Contains(s, "/v1/messages?…") {
				t.Error(s)
			}
		})
	}
}

func TestFullRedacted(t *testing.T) {
	srv := model(t, payload, "application/json", `{}`)
	d, l := newDebug(debug.Settings{Payload: debug.PayloadFullRedacted})
	post(t, d, srv.URL, strings.NewReader(payload))
	lines := l.lines(t, "model payload")
	text, _ := lines[0]["payload"].(string)
	for _, want := range []string{`"api_key":"[redacted]"`, `"content":"the key is ***"`, `"name":"exec"`} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is not in %s", want, text)
		}
	}
	if s := l.String(); strings.Contains(s, secret) || strings.Contains(s, "hunter22") || len(l.lines(t, "model response")) > 0 {
		t.Error(s)
	}
	large := `{"password":"hunter22","a":"` + strings.Repeat("é", 5<<20) + `"}`
	srv = model(t, large, "application/json", `{}`)
	d, l = newDebug(debug.Settings{Payload: debug.PayloadFullRedacted})
	post(t, d, srv.URL, strings.NewReader(large))
	if s := l.String(); len(s) > 80_000 || strings.Contains(s, "hunter22") {
		t.Errorf("%d bytes: %.200s", len(s), s)
	}
}

func TestTransportFailure(t *testing.T) {
	d, l := newDebug(debug.Settings{Transport: true})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://eve:"+secret+"@127.0.0.1/x", nil)
	if err != nil {
		t.Fatal(err)
	}
	broken := roundTrip(func(*http.Request) (*http.Response, error) {
		return nil, fmt.Errorf("sent Authorization: Bearer %s", secret)
	})
	if _, err := d.Transport(broken).RoundTrip(req); err == nil || !strings.Contains(err.Error(), secret) {
		t.Errorf("the error was changed: %v", err)
	}
	want := []map[string]any{{"method": "GET", "error": "sent Authorization: [redacted]"}}
	if diff := cmp.Diff(want, l.lines(t, "model request failed")); diff != "" || strings.Contains(l.String(), secret) {
		t.Errorf("%s\n%s", diff, l.String())
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

const stream = "event: message_start\r|\ndata: {\"type\":\"message_start\",\"token\":\"hunter22\"}\r\n\r\n" +
	": ping\n\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"pass\"}}\n|\n" +
	"data: {\"object\":\"chat.completion.chunk\",\ndata: \"x\":\"" + secret + "\"}\r\r" +
	"data: a\n\ndata: b\n\ndata: c\n\ndata: [DONE]\n\ndata: cut"

func TestSSE(t *testing.T) {
	clean := strings.ReplaceAll(stream, "|", "")
	for _, kind := range []debug.SSE{debug.SSEEvents, debug.SSEPeek} {
		t.Run(string(kind), func(t *testing.T) {
			srv := model(t, "{}", "text/event-stream; charset=utf-8", stream)
			d, l := newDebug(debug.Settings{SSE: kind})
			if got := post(t, d, srv.URL, strings.NewReader("{}")); got != clean {
				t.Errorf("the stream was changed: %q", got)
			}
			want := []map[string]any{
				{"n": 1.0, "event": "message_start", "bytes": 70.0, "data": `{"type":"message_start","token":"[redacted]"}`},
				{"n": 2.0, "event": "content_block_delta", "bytes": 99.0, "data": `{"type":"content_block_delta","delta":{"type":"input_json_delta","partial_json":"[6 bytes]"}}`},
				{"n": 3.0, "event": "chat.completion.chunk", "bytes": 78.0, "data": `{"object":"chat.completion.chunk","x":"***"}`},
				{"n": 4.0, "event": "message", "bytes": 7.0, "data": "a"},
				{"n": 5.0, "event": "message", "bytes": 7.0, "data": "b"},
				{"n": 6.0, "event": "message", "bytes": 7.0},
				{"n": 7.0, "event": "[DONE]", "bytes": 12.0},
			}
			if kind == debug.SSEPeek {
				want = want[:5]
			} else {
				for _, w := range want {
					delete(w, "data")
				}
			}
			got := l.lines(t, "model event")
			for _, m := range append(got, want...) {
				delete(m, "bytes")
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			end := []map[string]any{{"events": 7.0, "unfinished": true, "kinds": []any{"[DONE]×1", "chat.completion.chunk×1", "content_block_delta×1", "message_start×1", "message×3"}}}
			if diff := cmp.Diff(end, l.lines(t, "model stream ended")); diff != "" {
				t.Error(diff)
			}
			if strings.Contains(l.String(), secret) || strings.Contains(l.String(), "hunter22") {
				t.Error(l.String())
			}
		})
	}
}

// TestHostileStream has streams that want to fill memory or the log.
func TestHostileStream(t *testing.T) {
	for name, s := range map[string]string{
		"one line":    "data: " + strings.Repeat("x", 3<<20),
		"one event":   strings.Repeat("data: "+strings.Repeat("y", 1000)+"\n", 2000) + "\n",
		"many events": strings.Repeat("data: {}\n\n", 20_000),
		"many kinds":  func() (s string) { return strings.Repeat("event: "+strings.Repeat("k", 70_000)+"\ndata: {}\n\n", 20) }(),
		"escapes":     "event: \x1b[31m\u202e\ndata: \x1b[2J\x00\xff\n\n",
		"no lines":    strings.Repeat("\x00", 1<<20),
	} {
		t.Run(name, func(t *testing.T) {
			srv := model(t, "{}", "text/event-stream", s)
			d, l := newDebug(debug.Settings{SSE: debug.SSEEvents})
			if got := post(t, d, srv.URL, strings.NewReader("{}")); got != s {
				t.Error("the stream was changed")
			}
			if out := l.String(); len(out) > 300_000 || strings.Contains(out, `\u001b`) || len(l.lines(t, "model event")) > 1000 || len(l.lines(t, "model stream ended")) != 1 {
				t.Errorf("%d bytes: %.300s", len(out), out)
			}
		})
	}
}

type pipe struct {
	io.Reader
	io.Writer
}

// Close implements io.Closer.
func (pipe) Close() error { return nil }

func TestTap(t *testing.T) {
	in := `{"jsonrpc":"2.0","id":1,"method":"tools/list"}` + "\n\n" + `{"jsonrpc":"2.0","id":"a","result":{"tools":[{"name":"exec"},{"name":"wait"}]}}` + "\n" +
		`{"jsonrpc":"2.0","id":2,"error":{"code":-32000,"message":"` + secret + `"}}` + "\nno json " + secret + "\n" + `{"jsonrpc":"2.0","method":"notifications/progress"`
	d, l := newDebug(debug.Settings{Transport: true, Payload: debug.PayloadTools})
	var out bytes.Buffer
	w := d.Writer("everything", pipe{nil, &out})
	r := d.Reader("everything", pipe{iotest{strings.NewReader(in)}, nil})
	got, err := io.ReadAll(r)
	if err != nil || string(got) != in {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := io.WriteString(w, in[:47]); err != nil || out.String() != in[:47] {
		t.Errorf("%q, %v", out.String(), err)
	}
	const peer = "everything"
	want := []map[string]any{
		{"peer": peer, "direction": "received", "bytes": 46.0, "kind": "request", "rpc": "tools/list", "id": "1", "members": []any{"id", "jsonrpc", "method"}, "tools": nil, "toolCount": 0.0},
		{"peer": peer, "direction": "received", "bytes": 80.0, "kind": "result", "id": "a", "members": []any{"tools"}, "tools": []any{"exec", "wait"}, "toolCount": 2.0},
		{"peer": peer, "direction": "received", "bytes": 85.0, "kind": "error", "id": "2", "code": "-32000", "members": []any{"error", "id", "jsonrpc"}, "tools": nil, "toolCount": 0.0},
		{"peer": peer, "direction": "received", "bytes": 31.0, "kind": "no JSON-RPC", "shape": "no JSON object"},
		{"peer": peer, "direction": "sent", "bytes": 46.0, "kind": "request", "rpc": "tools/list", "id": "1", "members": []any{"id", "jsonrpc", "method"}, "tools": nil, "toolCount": 0.0},
	}
	got2 := l.lines(t, "mcp message")
	for _, m := range append(want, got2...) {
		delete(m, "bytes")
	}
	if diff := cmp.Diff(want, got2); diff != "" || strings.Contains(l.String(), secret) {
		t.Error(diff)
	}
	if diff := cmp.Diff([]map[string]any{{"peer": peer, "direction": "received", "end": "EOF", "unfinishedBytes": 50.0}}, l.lines(t, "mcp stream ended")); diff != "" {
		t.Error(diff)
	}
}

// iotest reads little at a time.
type iotest struct{ r io.Reader }

// Read implements io.Reader.
func (r iotest) Read(p []byte) (int, error) { return r.r.Read(p[:min(len(p), 7)]) }

func TestHandler(t *testing.T) {
	d, l := newDebug(debug.Settings{Transport: true, Payload: debug.PayloadFullRedacted, SSE: debug.SSEEvents})
	srv := httptest.NewServer(d.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(http.StatusAccepted)
		if _, err := io.WriteString(w, "data: {\"jsonrpc\":\"2.0\"}\n\n"); err != nil {
			t.Error(err)
		}
		w.(http.Flusher).Flush()
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Error(err)
		}
	})))
	defer srv.Close()
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, srv.URL+"/mcp?token="+secret, strings.NewReader(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"arguments":{"password":"hunter22"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(resp.Body); err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	srv.Close() // waits for the handler
	want := []map[string]any{{"method": "POST", "status": 202.0, "receivedBytes": 93.0, "sentBytes": 25.0}}
	if diff := cmp.Diff(want, l.lines(t, "mcp request")); diff != "" {
		t.Error(diff)
	}
	want = []map[string]any{
		{"peer": "http", "direction": "received", "bytes": 93.0, "kind": "request", "rpc": "tools/call", "id": "7",
			"payload": `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"arguments":{"password":"[redacted]"}}}`},
		{"peer": "http", "direction": "sent", "bytes": 17.0, "kind": "notification", "payload": `{"jsonrpc":"2.0"}`},
	}
	if diff := cmp.Diff(want, l.lines(t, "mcp message")); diff != "" {
		t.Error(diff)
	}
	if len(l.lines(t, "model event")) != 1 || strings.Contains(l.String(), secret) {
		t.Error(l.String())
	}
}

// TestHandlerShowsTools has an answer with the tools that a client gets, as JSON and
// as an event that is longer than what is kept of other streams.
func TestHandlerShowsTools(t *testing.T) {
	tools := `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"exec","description":"` + strings.Repeat("x", 100_000) + `"},{"name":"wait"}]}}`
	for kind, answer := range map[string]string{"application/json": tools, "text/event-stream": "event: message\ndata: " + tools + "\n\n"} {
		d, l := newDebug(debug.Settings{Payload: debug.PayloadTools})
		h := d.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			for rest := answer; rest != ""; {
				n := min(len(rest), 1000)
				if _, err := io.WriteString(w, rest[:n]); err != nil {
					t.Error(err)
				}
				rest = rest[n:]
			}
		}))
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/mcp", nil))
		want := []map[string]any{{"peer": "http", "direction": "sent", "bytes": float64(len(tools)), "kind": "result", "id": "1", "members": []any{"tools"}, "tools": []any{"exec", "wait"}, "toolCount": 2.0}}
		if diff := cmp.Diff(want, l.lines(t, "mcp message")); diff != "" || w.Body.String() != answer {
			t.Error(diff)
		}
	}
}

func TestTrace(t *testing.T) {
	d, l := newDebug(debug.Settings{CodeMode: true})
	sink := &hosttest.Trace{}
	e := host.TraceEvent{Event: "call.denied", CellID: "r", CallID: "c", Tool: "mcp:a:b", Rule: "password=" + secret, Untrusted: true, InputBytes: 3}
	d.Trace(sink).Emit(e)
	d.Trace(nil).Emit(host.TraceEvent{Event: "exec.start"})
	if diff := cmp.Diff([]host.TraceEvent{e}, sink.Events()); diff != "" {
		t.Error(diff)
	}
	want := []map[string]any{
		{"event": "call.denied", "run": "r", "call": "c", "tool": "mcp:a:b", "rule": "password=[redacted]", "untrusted": true, "inputBytes": 3.0},
		{"event": "exec.start"},
	}
	if diff := cmp.Diff(want, l.lines(t, "code mode")); diff != "" {
		t.Error(diff)
	}
}
