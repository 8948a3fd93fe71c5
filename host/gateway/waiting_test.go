package gateway

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cloister-wasm/cloister/host"
)

// logged is a log that a test reads.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) lines(part string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), part)
}

// marked are the open questions with a text in their input, and ran the calls.
func (r *rig) marked(mark string) (open []host.PendingApproval, ran int) {
	for _, p := range r.queue.Pending() {
		if strings.Contains(string(p.Call.Input), mark) {
			open = append(open, p)
		}
	}
	for _, c := range r.calls.Calls() {
		if strings.Contains(string(c.Input), mark) {
			ran++
		}
	}
	return open, ran
}

func textOf(t testing.TB, res *mcp.CallToolResult) string {
	t.Helper()
	text, err := json.Marshal(res.Content)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestWaitingCallIsAnswered: where the user cannot be asked, a call that waits for approval
// is answered in time, and the same call of the same session goes on with it.
func TestWaitingCallIsAnswered(t *testing.T) {
	for _, version := range []string{oldProtocol, newProtocol} {
		t.Run(version, func(t *testing.T) {
			log, mark := &logged{}, "waits "+rand.Text()
			r := newRig(t, false, Options{Elicit: true, Limits: Limits{ApprovalWait: 10 * time.Millisecond}, Logger: slog.New(slog.NewTextHandler(log, nil))})
			srv := r.web(t, testHTTP)
			alice, bob := dial(t, httpTransport(srv, aliceToken), version, nil), dial(t, httpTransport(srv, bobToken), version, nil)
			args := map[string]any{"mark": mark, "n": 1}
			pending := func(cs *mcp.ClientSession, args map[string]any) {
				t.Helper()
				res := callArgs(t, cs, "danger", args)
				if text := textOf(t, res); !res.IsError || !strings.Contains(text, "The call of cloister:core:danger waits for approval by a person. It runs once") || !strings.Contains(text, "make the same call again") {
					t.Fatalf("got %s", text)
				}
			}
			wantOpen := func(want int) []host.PendingApproval {
				t.Helper()
				open, _ := r.marked(mark)
				if len(open) != want {
					t.Fatalf("%d open questions, want %d", len(open), want)
				}
				return open
			}
			pending(alice, args)
			pending(alice, args) // goes on with the first
			first := wantOpen(1)[0]
			pending(bob, args)
			pending(alice, map[string]any{"mark": mark, "n": 2})
			wantOpen(3)
			if n := log.lines("cloister:core:danger waits for approval"); n != 3 {
				t.Errorf("%d lines in the log", n)
			}
			if n := log.lines(mark); n != 0 {
				t.Error("arguments are in the log")
			}
			if err := r.queue.Decide(first.ID, host.Decision{Approved: true}); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the tool runs", func() bool { _, ran := r.marked(mark); return ran == 1 })
			pending(bob, args) // an answer is of one principal
			if res := callArgs(t, alice, "danger", args); res.IsError || !strings.Contains(textOf(t, res), mark) {
				t.Errorf("got %s", textOf(t, res))
			}
			if _, ran := r.marked(mark); ran != 1 {
				t.Errorf("the tool ran %d times", ran)
			}
			pending(alice, args) // an answer is given once
			for _, p := range wantOpen(3) {
				if err := r.queue.Decide(p.ID, host.Decision{Reason: "not today"}); err != nil {
					t.Fatal(err)
				}
			}
			if res := callArgs(t, bob, "danger", args); !res.IsError || !strings.Contains(textOf(t, res), "not today") {
				t.Errorf("got %s", textOf(t, res))
			}
			if _, ran := r.marked(mark); ran != 1 {
				t.Errorf("the tool ran %d times", ran)
			}
		})
	}
}

// TestWaitingCallEnds: calls that wait by themselves are bounded, and end with their session.
func TestWaitingCallEnds(t *testing.T) {
	const mark = "waits in vain"
	r := newRig(t, false, Options{Limits: Limits{ApprovalWait: time.Millisecond}})
	cs := dial(t, transports["memory"](t, r), oldProtocol, nil)
	if res := callArgs(t, cs, "danger", map[string]any{"mark": mark}); !res.IsError {
		t.Fatal(textOf(t, res))
	}
	s := r.all()[0]
	s.mu.Lock()
	for _, d := range s.detached {
		for len(s.detached) < maxDetached {
			s.detached[strings.Repeat("x", len(s.detached))] = &directCall{expiry: d.expiry}
		}
		break
	}
	s.mu.Unlock()
	res := callArgs(t, cs, "danger", map[string]any{"mark": mark, "too": "many"})
	if !res.IsError || !strings.Contains(textOf(t, res), "was not approved: nobody answered in time") {
		t.Error(textOf(t, res))
	}
	if open, _ := r.marked(mark); len(open) != 1 {
		t.Errorf("%d open questions", len(open))
	}
	s.end()
	eventually(t, "the questions are closed", func() bool { open, _ := r.marked(mark); return len(open) == 0 })
	if _, ran := r.marked(mark); ran != 0 {
		t.Errorf("the tool ran %d times", ran)
	}
}
