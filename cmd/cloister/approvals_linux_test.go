package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/host/gateway"
)

// askedGateway is a gateway with a queue of approvals over HTTP, and the flags that
// reach it.
func askedGateway(t *testing.T) (*host.ApprovalQueue, []string) {
	t.Helper()
	h, err := host.New(t.Context(), &host.Options{})
	if err != nil {
		t.Fatal(err)
	}
	queue := host.NewApprovalQueue()
	g, err := gateway.New(gateway.Options{Host: h, Approvals: queue})
	if err != nil {
		t.Fatal(err)
	}
	const token = "the-token-of-the-operator"
	handler, err := g.Handler(gateway.HTTPOptions{
		Tokens: map[string]string{"client": "the-token-of-the-client"}, ApprovalTokens: map[string]string{"operator": token},
	})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(func() {
		server.CloseClientConnections()
		if err := g.Close(context.Background()); err != nil {
			t.Error(err)
		}
		server.Close()
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return queue, []string{"--url", server.URL, "--token-file", file}
}

// screenText is what a terminal shows. Whoever waits for a text is told.
type screenText struct {
	mu   sync.Mutex
	buf  bytes.Buffer
	news chan struct{} // capacity 1
}

func (s *screenText) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.buf.Write(p)
	select {
	case s.news <- struct{}{}:
	default:
	}
	return len(p), nil
}

// until waits until a text was shown a number of times.
func (s *screenText) until(t *testing.T, text string, times int) {
	t.Helper()
	for {
		s.mu.Lock()
		n := strings.Count(s.buf.String(), text)
		s.mu.Unlock()
		if n >= times {
			return
		}
		select {
		case <-s.news:
		case <-t.Context().Done():
			t.Fatalf("%q was not shown", text)
		}
	}
}

// A person at a terminal answers with one letter, and what was typed before a call was
// shown answers nothing.
func TestWatchApprovalsAtATerminal(t *testing.T) {
	queue, flags := askedGateway(t)
	keys, screen := openTerminal(t)
	shown := &screenText{news: make(chan struct{}, 1)}
	var out bytes.Buffer
	a := &app{stdin: screen, stdout: plainStream(&out), stderr: &stream{Writer: shown, tty: true, size: func() int { return 80 }}}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	// Typed ahead: not an answer.
	if _, err := keys.WriteString("y\n"); err != nil {
		t.Fatal(err)
	}
	go func() { ended <- a.main(ctx, append([]string{"approvals", "watch"}, flags...)) }()
	type answer struct {
		host.Decision
		err error
	}
	asked := 0
	for _, test := range []struct {
		keys     string
		approval host.Approval
		want     host.Decision
	}{
		{"y\n", host.ApprovalAsk, host.Decision{Approved: true, Extent: host.ApproveOnce, By: "http:operator"}},
		{"r\n", host.ApprovalAsk, host.Decision{Approved: true, Extent: host.ApproveRun, By: "http:operator"}},
		{"s\n", host.ApprovalAsk, host.Decision{Approved: true, Extent: host.ApproveSession, By: "http:operator"}},
		{"s\nwhat\ny\n", host.ApprovalAlways, host.Decision{Approved: true, Extent: host.ApproveOnce, By: "http:operator"}},
		{"n\n", host.ApprovalAsk, host.Decision{Reason: "the user refused the call", By: "http:operator"}},
	} {
		got := make(chan answer, 1)
		go func() {
			d, err := queue.Approve(t.Context(), &host.ToolCall{
				ID: "call", Tool: "mcp:a:\x1b[2Jdelete", Approval: test.approval, Input: json.RawMessage(`{"x":"\u001b[31m\u202e"}`),
			})
			got <- answer{d, err}
		}()
		asked++
		shown.until(t, "[n] refuse: ", asked)
		if _, err := keys.WriteString(test.keys); err != nil {
			t.Fatal(err)
		}
		if d := <-got; d.err != nil || d.Decision != test.want {
			t.Errorf("%q: %+v, %v, want %+v", test.keys, d.Decision, d.err, test.want)
		}
		if test.approval == host.ApprovalAlways { // it asked again, twice
			shown.until(t, "[y] once  [n] refuse: ", 3)
			asked += 2
		}
	}
	cancel()
	if code := <-ended; code != exitInterrupted {
		t.Errorf("exit code %d", code)
	}
	if text := shown.buf.String(); strings.Contains(text, "\x1b[2J") || strings.Contains(text, "\u202e") {
		t.Errorf("the terminal is shown what it obeys:\n%q", text)
	}
}

// What is answered elsewhere is not asked for any longer.
func TestWatchSeesAnswersFromElsewhere(t *testing.T) {
	queue, flags := askedGateway(t)
	_, screen := openTerminal(t)
	shown := &screenText{news: make(chan struct{}, 1)}
	a := &app{stdin: screen, stdout: plainStream(&bytes.Buffer{}), stderr: &stream{Writer: shown, tty: true}}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	go func() { ended <- a.main(ctx, append([]string{"approvals"}, flags...)) }()
	gone, leave := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() {
		_, err := queue.Approve(gone, &host.ToolCall{Tool: "cloister:core:x", Input: json.RawMessage(`{}`)})
		left <- err
	}()
	shown.until(t, "[n] refuse: ", 1)
	leave()
	if err := <-left; err == nil {
		t.Error("the call did not end")
	}
	shown.until(t, "it does not wait any more", 1)
	cancel()
	<-ended
}
