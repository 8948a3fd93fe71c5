package gateway

import (
	"fmt"
	"slices"
	"sync"

	"github.com/cloister-wasm/cloister/host"
)

// sessionRun is a run with the number of those who are about to use it: a run that
// is idle may get a cell in the next moment.
type sessionRun struct {
	*host.Run
	users   int
	stale   bool // Gateway.Changed was called
	surface func() (*surface, error)
	listed  listings
}

func (s *session) runsLocked() []*sessionRun {
	runs := slices.Clone(s.old)
	if s.run != nil {
		runs = append(runs, s.run)
	}
	return runs
}

// acquire gives the session's run, a new one if tools have changed.
func (s *session) acquire() (*sessionRun, error) {
	s.making.Lock()
	defer s.making.Unlock()
	s.mu.Lock()
	r, ended := s.run, s.ended
	if !ended && r != nil && !r.stale && !r.Stale() {
		r.users++
		s.mu.Unlock()
		return r, nil
	}
	s.mu.Unlock()
	if ended {
		return nil, ErrClosed
	}
	o := s.runOptions()
	run, err := s.g.o.Host.NewRun(s.ctx, o)
	if err != nil {
		return nil, fmt.Errorf("making a run: %w", err)
	}
	next := &sessionRun{Run: run, users: 1}
	next.surface = sync.OnceValues(func() (*surface, error) { return newSurface(run) })
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		run.Close()
		return nil, ErrClosed
	}
	if s.run != nil {
		s.old = append(s.old, s.run)
	}
	s.run = next
	s.scope = host.Scope{AgentID: o.AgentID, AgentRunID: o.AgentRunID, SessionID: o.SessionID}
	s.pruneLocked()
	return next, nil
}

// keep uses a run once more.
func (s *session) keep(r *sessionRun) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.users++
}

// release gives a run back.
func (s *session) release(r *sessionRun) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.users--
	s.pruneLocked()
}

// prune closes runs that were replaced and have nothing left to do.
func (s *session) prune() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pruneLocked()
}

func (s *session) pruneLocked() {
	s.old = slices.DeleteFunc(s.old, func(r *sessionRun) bool {
		if r.users > 0 || !r.Idle() {
			return false
		}
		r.Close()
		return true
	})
}

// runOptions puts the embedder's options and the session's own together.
func (s *session) runOptions() host.RunOptions {
	who := s.who()
	o := host.RunOptions{AgentID: "mcp", SessionKey: who.Principal, Sender: who.Principal, Channel: "mcp-" + who.Transport}
	if f := s.g.o.Scope; f != nil {
		o = f(who)
	}
	if o.AgentRunID == "" {
		o.AgentRunID = who.SessionID
	}
	if o.SessionID == "" {
		o.SessionID = who.SessionID
	}
	s.mu.Lock()
	o.ClientTools = append(slices.Clone(o.ClientTools), s.lent...)
	s.mu.Unlock()
	event, progress := o.OnEvent, o.OnProgress
	o.OnEvent = func(e host.TraceEvent) {
		s.live.event(&e)
		if e.Event == host.EventApprovalAsked && s.g.o.Approvals != nil {
			s.g.log.Info(s.g.o.Host.ApprovalMessage(e.Tool), "tool", e.Tool, "session", s.client.SessionID)
		}
		if event != nil {
			event(e)
		}
	}
	o.OnProgress = func(call *host.ToolCall, p host.Progress) {
		s.live.progress(call, p)
		if progress != nil {
			progress(call, p)
		}
	}
	return o
}
