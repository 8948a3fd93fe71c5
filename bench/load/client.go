package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// client is one MCP client with a session of its own.
type client struct {
	*mcp.ClientSession
	wire  *wire
	calls int64 // of exec and wait
	waits int
}

// connect opens a session. Protocol 2026-07-28 has none: there all clients with the same
// token are one to the server, and could only be told apart by their tokens. So this is
// the version before.
func (l *load) connect(ctx context.Context) (*client, error) {
	w := &wire{token: l.srv.token, base: &http.Transport{}, open: map[*body]struct{}{}}
	w.ctx, w.cut = context.WithCancelCause(context.Background())
	c := mcp.NewClient(&mcp.Implementation{Name: "load", Version: "1"}, nil)
	ss, err := c.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: l.srv.url, HTTPClient: &http.Client{Transport: w}}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		w.vanish()
		return nil, fmt.Errorf("opening a session: %w", err)
	}
	return &client{ClientSession: ss, wire: w}, nil
}

// errVanished is why the requests of a client end that is gone.
var errVanished = errors.New("the client vanished")

// errInterrupted is why a connection broke.
var errInterrupted = errors.New("the connection was interrupted")

// wire is a client's HTTP: it shows the token, counts answers, and can be cut.
type wire struct {
	token   string
	base    *http.Transport
	ctx     context.Context
	cut     context.CancelCauseFunc
	answers atomic.Int64 // JSON-RPC answers to calls

	mu     sync.Mutex
	open   map[*body]struct{}
	breaks int // of connections
}

// interrupt breaks the connections that an answer is coming by, as a network does. The
// client comes back for the rest.
func (w *wire) interrupt() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for b := range w.open {
		w.breaks++
		b.end(errInterrupted)
	}
}

// vanish cuts all connections at once. Nothing more reaches the server: no cancellation,
// no end of the session.
func (w *wire) vanish() {
	w.cut(errVanished)
	w.base.CloseIdleConnections()
}

// RoundTrip implements http.RoundTripper.
func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(r.Context())
	stop := context.AfterFunc(w.ctx, func() { cancel(errVanished) })
	end := func(why error) { stop(); cancel(why) }
	calls := r.Method == http.MethodPost && isCall(r) || r.Header.Get("Last-Event-ID") != ""
	r = r.Clone(ctx)
	r.Header.Set("Authorization", "Bearer "+w.token)
	res, err := w.base.RoundTrip(r)
	if err != nil {
		end(nil)
		return nil, err
	}
	b := &body{ReadCloser: res.Body, end: end, wire: w, calls: calls && res.StatusCode == http.StatusOK}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open[b] = struct{}{}
	res.Body = b
	return res, nil
}

// isCall says whether a request calls a tool.
func isCall(r *http.Request) bool {
	if r.GetBody == nil {
		return false
	}
	text, err := r.GetBody()
	if err != nil {
		return false
	}
	defer text.Close()
	var msg struct{ Method string }
	return json.NewDecoder(text).Decode(&msg) == nil && msg.Method == "tools/call"
}

// body is that of an answer to a call. It counts the JSON-RPC answers that pass through
// it before anybody else sees them: two to one call would be seen here and nowhere else.
type body struct {
	io.ReadCloser
	end   func(error)
	wire  *wire
	calls bool // it answers calls
	line  []byte
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.calls {
		b.line = append(b.line, p[:n]...)
		for {
			line, rest, ok := bytes.Cut(b.line, []byte{'\n'})
			if !ok {
				break
			}
			b.count(line)
			b.line = rest
		}
		if err != nil {
			b.count(b.line)
			b.line = nil
		}
	}
	return n, err
}

func (b *body) count(line []byte) {
	var msg struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if json.Unmarshal(bytes.TrimPrefix(bytes.TrimSpace(line), []byte("data: ")), &msg) == nil && msg.ID != nil && msg.Method == "" {
		b.wire.answers.Add(1)
	}
}

// Close implements io.Closer.
func (b *body) Close() error {
	b.wire.mu.Lock()
	delete(b.wire.open, b)
	b.wire.mu.Unlock()
	b.end(nil)
	return b.ReadCloser.Close()
}

// outcome is a result of exec or wait.
type outcome struct {
	Status, RunID, Reason, Error, Code string
	Value                              json.RawMessage

	// asked is from the last result that was no end to this one.
	asked time.Duration
}

// call calls exec or wait. A Go error is a call that had no answer.
func (c *client) call(ctx context.Context, tool string, args map[string]any) (*outcome, error) {
	c.calls++
	res, err := c.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return nil, err
	}
	text := ""
	for _, item := range res.Content {
		if t, ok := item.(*mcp.TextContent); ok {
			text += t.Text
		}
	}
	var out outcome
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		return nil, fmt.Errorf("the answer is no result: %w: %s", err, clip(text))
	}
	return &out, nil
}

// exec runs a cell to its end, with as many waits as that takes.
func (c *client) exec(ctx context.Context, code string) (*outcome, error) {
	out, err := c.call(ctx, "exec", map[string]any{"code": code})
	for err == nil && out.Status == "waiting" {
		c.waits++
		before := time.Now()
		if out, err = c.call(ctx, "wait", map[string]any{"runId": out.RunID}); err == nil {
			out.asked = time.Since(before)
		}
	}
	return out, err
}

func clip(text string) string {
	if len(text) > 300 {
		return strings.ToValidUTF8(text[:300], "") + "…"
	}
	return text
}
