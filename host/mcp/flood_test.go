package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloister-wasm/cloister/internal/waittest"
)

// flooding is a server that shakes hands, lists its tool, and then writes without end.
func flooding(write func(s *scripted, n int)) func() {
	return func() {
		s := newScripted()
		s.on["tools/list"] = func(m raw) {
			s.result(m, `{"tools":[`+s.tools+`]}`)
			for n := 0; ; n++ {
				write(s, n)
			}
		}
		s.run(nil)
	}
}

// floods are what a stdio server says without an end.
var floods = map[string]func(){
	"log": flooding(func(s *scripted, _ int) {
		s.line(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}`)
	}),
	"list-changed": flooding(func(s *scripted, _ int) { s.line(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`) }),
	"progress": flooding(func(s *scripted, n int) {
		s.line(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":%d}}`, n))
	}),
	"unknown": flooding(func(s *scripted, _ int) { s.line(`{"jsonrpc":"2.0","method":"notifications/made/up"}`) }),
	"large": flooding(func(s *scripted, _ int) {
		s.line(`{"jsonrpc":"2.0","method":"notifications/made/up","params":{"x":"` + strings.Repeat("x", 100_000) + `"}}`)
	}),
	"noise": flooding(func(s *scripted, n int) {
		if s.line("debug"); n%500 == 0 { // what is no message between messages never comes to its own bound
			s.line(`{"jsonrpc":"2.0","method":"notifications/made/up"}`)
		}
	}),
	"stderr":      flooding(func(*scripted, int) { fmt.Fprintln(os.Stderr, "debug") }),
	"stderr-line": flooding(func(*scripted, int) { fmt.Fprint(os.Stderr, strings.Repeat("x", 4096)) }),
}

func init() {
	floods["stderr-before"] = func() { // before it has said who it is
		for {
			fmt.Fprintln(os.Stderr, "starting")
		}
	}
	// 10,000 steps of a call are many, and no flood.
	servers["steps"] = func() {
		script(func(s *scripted, m raw) {
			for n := range 10_000 {
				s.line(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":%d}}`, n))
			}
			s.result(m, okResult)
		})
	}
	// burst tells of 1000 changes at once.
	servers["burst"] = func() {
		s := newScripted()
		s.run(func(s *scripted, m raw) {
			if strings.Contains(string(m.Params), `"lists":true`) {
				s.result(m, fmt.Sprintf(`{"content":[{"type":"text","text":"%d"}]}`, s.lists))
				return
			}
			s.result(m, okResult)
			for range 1000 {
				s.line(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
			}
		})
	}
}

// logged keeps what is logged.
type logged struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// flooded opens a server with a small budget and little patience, and checks how it ends.
func flooded(t *testing.T, cfg Server) {
	t.Helper()
	cfg.Limits.MaxUnaskedPerSecond = 50
	log := &logged{}
	o := &Options{Cache: t.TempDir(), Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelWarn}))}
	m := open(t, o, cfg)
	m.overTime = 50 * time.Millisecond
	m.Load(testCtx(t))
	waitStatus(t, m, func(s Status) bool { return s.State == StateFailed && errors.Is(s.Err, ErrFlood) })
	u := m.all()[0]
	u.mu.Lock()
	failures := u.failures
	u.mu.Unlock()
	if failures < floodFailures {
		t.Errorf("%d failures: it is back at once", failures)
	}
	for _, want := range []string{"it is slowed down", "MCP server failed", "(limits.maxUnaskedPerSecond)"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("%q is not in the log: %s", want, log)
		}
	}
	var ended *Ended
	waittest.Until(t, "it is noted", func() bool { // after the state
		var err error
		if ended, err = LastEnded(o.Cache, &cfg); err != nil {
			t.Fatal(err)
		}
		return ended != nil
	})
	if !strings.Contains(ended.Reason, "more than 50 messages a second") || time.Since(ended.At) > time.Hour {
		t.Errorf("got %+v", ended)
	}
}

// A server that does not stop is slowed down, then ended, and tried again after a pause
// of seconds; it says so in the log, and whoever asks later is told.
func TestFloodsOfProcesses(t *testing.T) {
	t.Parallel()
	for name := range floods {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := program(t, "flood-"+name)
			flooded(t, cfg)
		})
	}
}

// floodOf answers a request with a stream of events without an end.
func floodOf(event string) func(w http.ResponseWriter, r *http.Request) {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, event); err != nil {
				return
			}
		}
	}
}

func TestFloodsOverHTTP(t *testing.T) {
	t.Parallel()
	for name, event := range map[string]string{
		"notification": `data: {"jsonrpc":"2.0","method":"notifications/made/up"}` + "\n\n",
		"list changed": `data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` + "\n\n",
		"comment":      ": alive\n\n", "empty line": "\n", "other event": "event: ping\ndata: {{{\n\n", "unknown field": "dataset: x\n",
		"empty event": "data:\n\n", "id": "id: 1\n\n", "retry": "retry: 1\n\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fakeHTTP{call: func(w http.ResponseWriter, r *http.Request, _ raw) { floodOf(event)(w, r) }}
			t.Run("standing", func(t *testing.T) {
				t.Parallel()
				s := serveHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.Method == http.MethodGet {
						floodOf(event)(w, r)
						return
					}
					f.ServeHTTP(w, r)
				}))
				flooded(t, remote(s.URL))
			})
			t.Run("answer", func(t *testing.T) {
				t.Parallel()
				s := serveHTTP(t, f)
				cfg := remote(s.URL)
				cfg.Limits.MaxUnaskedPerSecond = 50
				m := open(t, nil, cfg)
				m.overTime = 50 * time.Millisecond
				srv := one(t, m)
				_, err := srv.Client.CallTool(testCtx(t), tool(t, srv, "t"), nil, nil)
				if !errors.Is(err, ErrFlood) || code(err) != CodeLost {
					t.Errorf("got %v", err)
				}
			})
		})
	}
}

// What a server may say is much, and no other server has to do with it.
func TestChattyServersWork(t *testing.T) {
	t.Parallel()
	m := open(t, nil, program(t, "steps"), program(t, "flood-log"), program(t, "good"))
	servers := load(t, m)
	steps := atomic.Int32{}
	s := servers["steps"]
	if _, err := s.Client.CallTool(testCtx(t), tool(t, s, "t"), nil, func(hostProgress) { steps.Add(1) }); err != nil {
		t.Error(err)
	}
	if steps.Load() == 0 {
		t.Error("no progress")
	}
	g := servers["good"]
	if _, err := g.Client.CallTool(testCtx(t), tool(t, g, "add"), []byte(`{"a":1,"b":2}`), nil); err != nil {
		t.Error(err)
	}
}

// A storm of changes has the lists read once, and clients hear nothing of one that
// changed nothing.
func TestStormsAreReadOnce(t *testing.T) {
	t.Parallel()
	changes := atomic.Int32{}
	m := open(t, &Options{OnChange: func(*Manager) { changes.Add(1) }}, program(t, "burst"))
	s := one(t, m)
	if _, err := s.Client.CallTool(testCtx(t), tool(t, s, "t"), nil, nil); err != nil {
		t.Fatal(err)
	}
	u := m.all()[0]
	lists := func() string {
		t.Helper()
		r, err := s.Client.CallTool(testCtx(t), tool(t, s, "t"), []byte(`{"lists":true}`), nil)
		if err != nil {
			t.Fatal(err)
		}
		return string(r.Content[0].JSON)
	}
	lists()
	u.mu.Lock()
	sess := u.sess
	u.mu.Unlock()
	waittest.Until(t, "the changes are read", func() bool { return !sess.dirty.Load() && len(sess.relist) == 0 })
	if got := lists(); got != `{"text":"2","type":"text"}` && got != `{"text":"3","type":"text"}` {
		t.Errorf("after 1000 changes the lists were read %s times", got)
	}
	if n := changes.Load(); n > 1 { // that of the connection
		t.Errorf("OnChange was called %d times", n)
	}
}

func TestLastEnded(t *testing.T) {
	t.Parallel()
	cfg := program(t, "good")
	dir := t.TempDir()
	if got, err := LastEnded("", &cfg); got != nil || err != nil {
		t.Errorf("without a cache: %v, %v", got, err)
	}
	if got, err := LastEnded(dir+"/none", &cfg); got != nil || err != nil {
		t.Errorf("without the folder: %v, %v", got, err)
	}
	m := open(t, &Options{Cache: dir}, cfg)
	u := m.all()[0]
	u.m.cache.noteEnded(u, ErrUnavailable)
	if got, err := LastEnded(dir, &cfg); got != nil || err != nil {
		t.Errorf("another failure is noted: %v, %v", got, err)
	}
	u.m.cache.noteEnded(u, fmt.Errorf("%w: \x1b[31m", ErrFlood))
	got, err := LastEnded(dir, &cfg)
	if err != nil || got == nil || !strings.HasPrefix(got.Reason, ErrFlood.Error()) || strings.Contains(got.Reason, "\x1b") {
		t.Errorf("got %+v, %v", got, err)
	}
	other := cfg
	other.Args = append(other.Args, "-v")
	if got, err := LastEnded(dir, &other); got != nil || err != nil {
		t.Errorf("of another configuration: %v, %v", got, err)
	}
	path, _ := u.m.cache.endedPath(&cfg)
	for text, bad := range map[string]bool{
		`{"version":1,"key":"x","ended":1,"reason":""}`: true, `{`: true, strings.Repeat(" ", maxEndedBytes+1): true,
		fmt.Sprintf(`{"version":1,"key":%q,"ended":1,"reason":"long ago"}`, cacheKey(&cfg)):                                   false,
		fmt.Sprintf(`{"version":1,"key":%q,"ended":%d,"reason":"to come"}`, cacheKey(&cfg), time.Now().Add(time.Hour).Unix()): false,
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := LastEnded(dir, &cfg); got != nil || (err != nil) != bad {
			t.Errorf("%.60s: %v, %v", text, got, err)
		}
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := LastEnded(dir, &cfg); err == nil {
		t.Error("a folder that anybody writes in is believed")
	}
}

// A flood that comes again is waited for longer each time, though the server lived long.
func TestFloodsBackOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := open(t, nil, program(t, "good"))
		u := m.all()[0]
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(fmt.Errorf("%w: test", ErrFlood))
		u.mu.Lock()
		defer u.mu.Unlock()
		for i, most := range []time.Duration{2, 4, 8, 16, 30, 30} {
			u.endedLocked(&session{u: u, ctx: ctx, started: time.Now().Add(-time.Hour)})
			if pause := time.Until(u.next); pause < most*time.Second/2 || pause > most*time.Second {
				t.Errorf("flood %d has a pause of %s, which is to be at most %d s and at least half of that", i, pause, most)
			}
		}
	})
}

// A storm is over when nothing came for a moment; one that goes on is not waited for
// without end.
func TestCalm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &session{relist: make(chan struct{}, 1), ended: make(chan struct{})}
		storm := func(for_ time.Duration) {
			for start := time.Now(); time.Since(start) < for_; time.Sleep(time.Millisecond) {
				s.changed()
			}
		}
		for _, tt := range []struct {
			storm, took time.Duration
			calm        bool
		}{
			{0, calmTime, true}, {time.Second, time.Second - time.Millisecond + calmTime, true}, {time.Minute, firstStorm, false},
		} {
			start := time.Now()
			go storm(tt.storm)
			calm := s.calm(firstStorm)
			if took := time.Since(start); calm != tt.calm || took != tt.took {
				t.Errorf("a storm of %s: %t after %s, want %t after %s", tt.storm, calm, took, tt.calm, tt.took)
			}
		}
		time.Sleep(time.Minute) // the last storm
		close(s.ended)
		if s.calm(time.Hour) {
			t.Error("a connection that has ended is calm")
		}
	})
}
