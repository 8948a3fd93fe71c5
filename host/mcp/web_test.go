package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

func remote(url string) Server {
	return Server{Name: "web", URL: url, Limits: Limits{ConnectTimeout: 20 * time.Second, CallTimeout: 20 * time.Second, MaxMessageBytes: 512 << 10}}
}

func serveHTTP(t testing.TB, h http.Handler) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

func TestHTTPServer(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]*sdk.StreamableHTTPOptions{
		"sessions, events": {}, "stateless": {Stateless: true}, "json": {JSONResponse: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var bad atomic.Value
			server := goodServer(nil)
			inner := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, o)
			s := serveHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Authorization") != "Bearer s3cret-token" {
					bad.Store(r.Method)
				}
				inner.ServeHTTP(w, r)
			}))
			cfg := remote(s.URL)
			cfg.Headers = map[string]Value{"Authorization": {Text: "s3cret-token", Prefix: "Bearer "}}
			m := open(t, nil, cfg)
			srv := one(t, m)
			ctx := testCtx(t)
			r, err := srv.Client.CallTool(ctx, tool(t, srv, "add"), json.RawMessage(`{"a":1,"b":2}`), nil)
			if err != nil || string(r.Structured) != `{"sum":3}` {
				t.Fatalf("got %+v, %v", r, err)
			}
			list, err := srv.Client.ListResources(ctx)
			if err != nil || !strings.Contains(string(list), "mem:note") {
				t.Errorf("resources: %s, %v", list, err)
			}
			if b := bad.Load(); b != nil {
				t.Errorf("a %s without the header", b)
			}
			st := m.Status()[0]
			if st.State != StateReady || st.Tools != 6 {
				t.Errorf("status %+v", st)
			}
			t.Log(st.Protocol)
		})
	}
}

func TestHTTPProgressAndCancel(t *testing.T) {
	t.Parallel()
	server := goodServer(nil)
	s := serveHTTP(t, sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil))
	m := open(t, nil, remote(s.URL))
	srv := one(t, m)
	var steps []float64
	r, err := srv.Client.CallTool(testCtx(t), tool(t, srv, "steps"), nil, func(p hostProgress) { steps = append(steps, p.Progress) })
	if err != nil || text(t, r) != "done" || len(steps) != 3 {
		t.Errorf("got %+v, %v, %v", r, steps, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	if _, err := srv.Client.CallTool(ctx, tool(t, srv, "slow"), nil, func(hostProgress) { cancel() }); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if _, err := srv.Client.CallTool(testCtx(t), tool(t, srv, "add"), json.RawMessage(`{"a":1,"b":2}`), nil); err != nil {
		t.Errorf("after it: %v", err)
	}
}

// firstWrite says when a response begins.
type firstWrite struct {
	http.ResponseWriter
	once sync.Once
	done func()
}

func (w *firstWrite) Write(p []byte) (int, error) {
	w.once.Do(w.done)
	return w.ResponseWriter.Write(p)
}

// Unwrap is for http.ResponseController.
func (w *firstWrite) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func TestHTTPListChanged(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2026-07-28", legacyProtocol} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			server := goodServer(nil)
			inner := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil)
			listens := make(chan struct{}, 1)
			s := serveHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if version == legacyProtocol && r.Header.Get("Mcp-Method") == "server/discover" {
					http.Error(w, "no", http.StatusBadRequest)
					return
				}
				if r.Method == http.MethodGet || r.Header.Get("Mcp-Method") == methodListen {
					w = &firstWrite{ResponseWriter: w, done: func() {
						select {
						case listens <- struct{}{}:
						default: // it is opened again
						}
					}}
				}
				inner.ServeHTTP(w, r)
			}))
			changed := make(chan struct{}, 100)
			m := open(t, &Options{OnChange: func(*Manager) { changed <- struct{}{} }}, remote(s.URL))
			srv := one(t, m)
			ctx := testCtx(t)
			select {
			case <-listens: // what changes before nobody is told of
			case <-ctx.Done():
				t.Fatal("there is no stream for changes")
			}
			if _, err := srv.Client.CallTool(ctx, tool(t, srv, "grow"), nil, nil); err != nil {
				t.Fatal(err)
			}
			for len(m.Servers()[0].Tools) != 7 {
				select {
				case <-changed:
				case <-ctx.Done():
					t.Fatalf("it has %d tools", len(m.Servers()[0].Tools))
				}
			}
		})
	}
}

const okResult = `{"content":[{"type":"text","text":"ok"}]}`

func TestHostileHTTP(t *testing.T) {
	t.Parallel()
	good := func(m raw) string { return `{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":` + okResult + `}` }
	status := func(code int) func(http.ResponseWriter, *http.Request, raw) {
		return func(w http.ResponseWriter, r *http.Request, m raw) {
			w.Header().Set("Retry-After", "7")
			http.Error(w, "secret detail of the server", code)
		}
	}
	events := func(f func(m raw) string) func(http.ResponseWriter, *http.Request, raw) {
		return func(w http.ResponseWriter, r *http.Request, m raw) { stream(w, f(m)) }
	}
	body := func(f func(m raw) string) func(http.ResponseWriter, *http.Request, raw) {
		return func(w http.ResponseWriter, r *http.Request, m raw) {
			w.Header().Set("Content-Type", "application/json; charset=utf-8")
			_, _ = io.WriteString(w, f(m)) // as above
		}
	}
	for _, a := range []struct {
		name string
		call func(w http.ResponseWriter, r *http.Request, m raw)
		want string // code, "" for success
		is   error
	}{
		{"json", body(good), "", nil},
		{"event", events(func(m raw) string { return "data: " + good(m) + "\n\n" }), "", nil},
		{"event at the end", events(func(m raw) string { return "data: " + good(m) }), "", nil},
		{"event in parts", events(func(m raw) string {
			g := good(m)
			return ": hello\n\nevent: message\r\nid: 1\r\nretry: 99999999\r\ndata:" + g[:5] + "\r\ndata: " + g[5:] + "\r\n\r\n"
		}), CodeBadResult, ErrProtocol}, // a line break in the middle of "jsonrpc" is no JSON
		{"event with other names", events(func(m raw) string {
			return "event: ping\ndata: {{{{\n\nfoo\ndata: " + good(m) + "\n\n"
		}), "", nil},
		{"notes before the answer", events(func(m raw) string {
			return `data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"hi"}}` + "\n\ndata: " + good(m) + "\n\n"
		}), "", nil},
		{"duplicate key", body(func(m raw) string { return strings.Replace(good(m), `"result"`, `"result":{},"result"`, 1) }), CodeBadResult, ErrProtocol},
		{"duplicate key in event", events(func(m raw) string {
			return "data: " + strings.Replace(good(m), `"result"`, `"result":{},"result"`, 1) + "\n\n"
		}), CodeBadResult, ErrProtocol},
		{"folded key", body(func(m raw) string { return strings.Replace(good(m), `"result"`, `"Result":{},"result"`, 1) }), CodeBadResult, ErrProtocol},
		{"other id", body(func(m raw) string { return `{"jsonrpc":"2.0","id":77,"result":{}}` }), CodeBadResult, ErrProtocol},
		{"other id in event", events(func(m raw) string { return `data: {"jsonrpc":"2.0","id":77,"result":{}}` + "\n\n" }), CodeBadResult, ErrProtocol},
		{"notification as body", body(func(m raw) string { return `{"jsonrpc":"2.0","method":"x"}` }), CodeBadResult, ErrProtocol},
		{"batch", body(func(m raw) string { return "[" + good(m) + "]" }), CodeBadResult, ErrProtocol},
		{"two values", body(func(m raw) string { return good(m) + good(m) }), CodeBadResult, ErrProtocol},
		{"empty", body(func(m raw) string { return "" }), CodeBadResult, ErrProtocol},
		{"nul in event", events(func(m raw) string { return "data: \x00" + good(m) + "\n\n" }), CodeBadResult, ErrProtocol},
		{"lone CR in event", events(func(m raw) string { return "data: {}\rdata: " + good(m) + "\n\n" }), CodeBadResult, ErrProtocol},
		{"event without an answer", events(func(m raw) string { return ": bye\n\n" }), CodeLost, ErrUnavailable},
		{"id with escapes", events(func(m raw) string { return "id: \x1b[2J\ndata: " + good(m) + "\n\n" }), CodeBadResult, ErrProtocol},
		{"large body", body(func(m raw) string { return strings.Replace(good(m), "ok", strings.Repeat("x", 1<<20), 1) }), CodeBadResult, ErrProtocol},
		{"large event", events(func(m raw) string {
			return "data: " + strings.Replace(good(m), "ok", strings.Repeat("x", 1<<20), 1) + "\n\n"
		}), CodeBadResult, ErrProtocol},
		{"endless event", func(w http.ResponseWriter, r *http.Request, m raw) {
			stream(w, "data: ")
			for r.Context().Err() == nil {
				if _, err := io.WriteString(w, "data: "+strings.Repeat("x", 1<<12)+"\n"); err != nil {
					return
				}
			}
		}, CodeBadResult, ErrProtocol},
		{"html", func(w http.ResponseWriter, r *http.Request, m raw) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, "<html>") // as above
		}, CodeBadResult, ErrProtocol},
		{"202", func(w http.ResponseWriter, r *http.Request, m raw) { w.WriteHeader(http.StatusAccepted) }, CodeBadResult, ErrProtocol},
		{"session id", func(w http.ResponseWriter, r *http.Request, m raw) {
			w.Header().Set("Mcp-Session-Id", strings.Repeat("x", 5000))
			reply(w, m, okResult)
		}, CodeBadResult, ErrProtocol},
		{"large headers", func(w http.ResponseWriter, r *http.Request, m raw) {
			for i := range 300 {
				w.Header().Set(fmt.Sprint("X-", i), strings.Repeat("x", 2000))
			}
			reply(w, m, okResult)
		}, CodeLost, ErrUnavailable},
		{"401", status(http.StatusUnauthorized), CodeAuthorization, ErrAuthorization},
		{"403", status(http.StatusForbidden), CodeAuthorization, ErrAuthorization},
		{"429", status(http.StatusTooManyRequests), CodeBusy, ErrUnavailable},
		{"500", status(http.StatusInternalServerError), CodeLost, ErrUnavailable},
		{"503", status(http.StatusServiceUnavailable), CodeLost, ErrUnavailable},
		{"400", status(http.StatusBadRequest), CodeLost, ErrUnavailable},
		{"cut", func(w http.ResponseWriter, r *http.Request, m raw) {
			w.Header().Set("Content-Length", "1000")
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"jsonrpc"`) // as above
		}, CodeLost, ErrUnavailable},
	} {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			m := open(t, nil, remote(serveHTTP(t, &fakeHTTP{call: a.call}).URL))
			s := one(t, m)
			r, err := s.Client.CallTool(testCtx(t), tool(t, s, "t"), nil, nil)
			if a.want == "" {
				if err != nil || text(t, r) != "ok" {
					t.Errorf("got %+v, %v", r, err)
				}
				return
			}
			if code(err) != a.want || !errors.Is(err, a.is) {
				t.Errorf("code %q, want %q: %v", code(err), a.want, err)
			}
			if err != nil && (strings.Contains(err.Error(), "secret detail") || strings.Contains(err.Error(), "\x1b")) {
				t.Errorf("it says too much: %v", err)
			}
		})
	}
}

func TestHeadersAreReserved(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Host", "content-length", "Mcp-Session-Id", "MCP-Protocol-Version", "Transfer-Encoding"} {
		if !reservedHeader(name) {
			t.Errorf("%s is not reserved", name)
		}
	}
	if slices.ContainsFunc([]string{"Authorization", "X-Api-Key"}, reservedHeader) {
		t.Error("too much is reserved")
	}
}
