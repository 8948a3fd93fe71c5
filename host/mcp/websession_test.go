package mcp

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A body that comes in drops ends with the call, and the session goes on.
func TestDripFedBody(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"application/json", "text/event-stream"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			f := &fakeHTTP{}
			f.call = func(w http.ResponseWriter, r *http.Request, m raw) {
				if f.calls.Load() > 1 {
					reply(w, m, okResult)
					return
				}
				w.Header().Set("Content-Type", kind)
				for r.Context().Err() == nil {
					if _, err := io.WriteString(w, " "); err != nil {
						return
					}
					w.(http.Flusher).Flush()
					select {
					case <-r.Context().Done():
					case <-time.After(5 * time.Millisecond):
					}
				}
			}
			cfg := remote(serveHTTP(t, f).URL)
			cfg.Limits.CallTimeout = 200 * time.Millisecond
			m := open(t, nil, cfg)
			s := one(t, m)
			if _, err := s.Client.CallTool(testCtx(t), tool(t, s, "t"), nil, nil); code(err) != CodeTimeout {
				t.Errorf("got %v", err)
			}
			if _, err := s.Client.CallTool(testCtx(t), tool(t, s, "t"), nil, nil); err != nil {
				t.Errorf("the next call: %v", err)
			}
			if st := m.Status()[0]; st.Restarts != 0 {
				t.Errorf("status %+v", st)
			}
		})
	}
}

// Credentials and arguments go to the configured origin and nowhere else.
func TestRedirects(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var leaked []string
	thief := serveHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		leaked = append(leaked, r.Method+" "+r.Header.Get("Authorization"))
	}))
	for name, a := range map[string]struct {
		status int
		where  string
		ok     bool
	}{
		"elsewhere": {http.StatusTemporaryRedirect, thief.URL, false}, "elsewhere for good": {http.StatusPermanentRedirect, thief.URL + "/x", false},
		"as GET": {http.StatusSeeOther, "/other", false}, "here": {http.StatusTemporaryRedirect, "/other", true}, "circle": {http.StatusTemporaryRedirect, "/", false},
		"a file": {http.StatusTemporaryRedirect, "file:///etc/passwd", false}, "metadata": {http.StatusTemporaryRedirect, "http://169.254.169.254/latest", false},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fakeHTTP{call: func(w http.ResponseWriter, r *http.Request, m raw) { reply(w, m, okResult) }}
			s := serveHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/other" {
					f.ServeHTTP(w, r)
					return
				}
				http.Redirect(w, r, a.where, a.status)
			}))
			cfg := remote(s.URL)
			cfg.Headers = map[string]Value{"Authorization": {Text: "Bearer secret"}}
			m := open(t, nil, cfg)
			got := load(t, m)["web"]
			if a.ok != (got.Err == nil) || !a.ok && !errors.Is(got.Err, ErrRedirect) && name != "a file" {
				t.Errorf("got %v", got.Err)
			}
		})
	}
	mu.Lock()
	defer mu.Unlock()
	if len(leaked) > 0 {
		t.Errorf("the other server got %q", leaked)
	}
}

// A call that surely did not reach the server is sent again; a session that the server
// ended is begun again.
func TestHTTPSessionEnds(t *testing.T) {
	t.Parallel()
	var sessions atomic.Int32
	ended := atomic.Bool{}
	f := &fakeHTTP{call: func(w http.ResponseWriter, r *http.Request, m raw) { reply(w, m, okResult) }}
	f.other = map[string]func(http.ResponseWriter, *http.Request, raw){"initialize": func(w http.ResponseWriter, r *http.Request, m raw) {
		w.Header().Set("Mcp-Session-Id", fmt.Sprint("s", sessions.Add(1)))
		reply(w, m, `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"fake","version":"0"}}`)
	}}
	s := serveHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if ended.Load() && r.Header.Get("Mcp-Session-Id") == "s1" {
			http.Error(w, "gone", http.StatusNotFound)
			return
		}
		f.ServeHTTP(w, r)
	}))
	m := open(t, nil, remote(s.URL))
	srv := one(t, m)
	ended.Store(true)
	r, err := srv.Client.CallTool(testCtx(t), tool(t, srv, "t"), nil, nil)
	if err != nil || text(t, r) != "ok" || sessions.Load() != 2 || f.calls.Load() != 1 {
		t.Errorf("got %+v, %v, %d sessions, %d calls", r, err, sessions.Load(), f.calls.Load())
	}
}

func TestHTTPServerThatIsNotThere(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(nil)
	s.Close()
	m := open(t, nil, remote(s.URL))
	if err := load(t, m)["web"].Err; !errors.Is(err, ErrUnavailable) {
		t.Errorf("got %v", err)
	}
}

// A server that wants credentials is not asked again and again.
func TestUnauthorized(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	s := serveHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	m := open(t, nil, remote(s.URL))
	if err := load(t, m)["web"].Err; !errors.Is(err, ErrAuthorization) || !strings.Contains(err.Error(), "headers.Authorization") {
		t.Errorf("got %v", err)
	}
	if n := asked.Load(); n > 2 {
		t.Errorf("asked %d times", n)
	}
}
