package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/internal/plaintext"
)

// liveCalls are the requests of a session that want to hear of progress.
type liveCalls struct {
	some atomic.Int32 // so that a session where nobody listens pays nothing
	mu   sync.Mutex
	by   map[string]*listener // by id of the call, and of the program once it is known
}

// listener sends the progress of one request. Messages that come faster than the
// client takes them are dropped: a tool never waits for a client.
type listener struct {
	messages chan string
	ids      []string
}

// Bounds on the progress of one request.
const (
	maxQueuedProgress = 64
	maxProgress       = 1000
	maxProgressText   = 200
)

// start begins to send progress for a request that asks for it. Stop is to be called
// before the request is answered.
func (l *liveCalls) start(ctx context.Context, c *call) (stop func()) {
	token := c.progress
	if token == nil {
		return func() {}
	}
	li := &listener{messages: make(chan string, maxQueuedProgress), ids: []string{c.id}}
	l.mu.Lock()
	if l.by == nil {
		l.by = map[string]*listener{}
	}
	l.by[c.id] = li
	l.mu.Unlock()
	l.some.Add(1)
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		n := 0
		for text := range li.messages {
			if n++; n > maxProgress {
				continue
			}
			// A client that is gone, or does not read, misses progress and nothing else.
			_ = c.ss.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: float64(n), Message: text})
		}
	}()
	return func() {
		l.mu.Lock()
		for _, id := range li.ids {
			if l.by[id] == li {
				delete(l.by, id)
			}
		}
		close(li.messages)
		l.mu.Unlock()
		l.some.Add(-1)
		<-sent
	}
}

// follow makes a request hear of a program.
func (l *liveCalls) follow(callID, runID string) {
	if l.some.Load() == 0 || runID == "" {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if li := l.by[callID]; li != nil && l.by[runID] == nil {
		l.by[runID] = li
		li.ids = append(li.ids, runID)
	}
}

// say sends a message to the request that a call belongs to: by its program, or by
// the direct call that it is or is a part of.
func (l *liveCalls) say(runID, callID, format string, args ...any) {
	id := runID
	if id == "" {
		id, _, _ = strings.Cut(callID, ".")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	li := l.by[id]
	if li == nil {
		return
	}
	select {
	case li.messages <- plaintext.Show(fmt.Sprintf(format, args...), maxProgressText):
	default:
	}
}

// event takes a trace event of one of the session's runs.
func (l *liveCalls) event(e *host.TraceEvent) {
	if l.some.Load() == 0 {
		return
	}
	switch e.Event {
	case host.EventExecStart:
		l.follow(e.CallID, e.CellID)
	case host.EventCallStart:
		l.say(e.CellID, e.CallID, "calling %s", e.Tool)
	case host.EventCallEnd:
		l.say(e.CellID, e.CallID, "%s: %s", e.Tool, e.Status)
	case host.EventCallDenied:
		l.say(e.CellID, e.CallID, "%s: refused", cmp.Or(e.Tool, "a tool that is not there"))
	case host.EventApprovalAsked:
		l.say(e.CellID, e.CallID, "%s waits for approval", e.Tool)
	}
}

// progress takes what a tool reports of itself.
func (l *liveCalls) progress(call *host.ToolCall, p host.Progress) {
	if l.some.Load() == 0 {
		return
	}
	text := p.String()
	if p.Value != nil {
		raw, err := json.Marshal(p.Value)
		if err != nil {
			return
		}
		text = string(raw[:min(len(raw), 4*maxProgressText)])
	}
	l.say(call.CellID, call.ID, "%s: %s", call.Tool, text)
}
