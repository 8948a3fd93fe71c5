package mcp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/internal/plaintext"
)

// How a server that fails is tried again.
const (
	firstPause = 250 * time.Millisecond
	mostPause  = 30 * time.Second
	// steadyAfter is how long a connection has to last for the pauses to start over. A
	// server that dies now and then is back at once; one that dies at its start is not
	// started in a loop. With 30 seconds here a server that lived a few seconds at a time
	// could not be reached for most of it (bench/load).
	steadyAfter = 2 * time.Second
	// floodFailures is what the first flood counts as: the server lived, and would be back
	// at once. The pause after it is one of seconds, and grows with each further one.
	floodFailures = 4
	// maxBackground is the number of failures in a row after which a server is tried again
	// by calls only.
	maxBackground = 10
	// patience is the longest rest of a pause that a call waits for.
	patience = 2 * time.Second
)

// upstream is one server of the configuration, across its connections.
type upstream struct {
	m      *Manager
	cfg    Server
	limits Limits
	ctx    context.Context // ends with close
	cancel context.CancelCauseFunc
	turns  chan struct{} // one place per running call

	mu       sync.Mutex
	state    State
	since    time.Time
	err      error
	sess     *session // nil if there is none
	attempt  *attempt // nil if none is under way
	starts   int
	failures int
	next     time.Time // not before
	legacy   bool      // the next handshake is the one of before 2026-07-28
	list     *toolList // nil: not known
	cached   bool
}

// attempt is one connection in the making, which all who need it wait for.
type attempt struct {
	done chan struct{}
	sess *session
	err  error
}

func newUpstream(m *Manager, cfg Server) *upstream {
	u := &upstream{m: m, cfg: cfg, limits: cfg.Limits.withDefaults(), state: StateIdle, since: time.Now()}
	if cfg.Disabled {
		u.state = StateDisabled
	}
	u.turns = make(chan struct{}, u.limits.MaxConcurrent)
	u.ctx, u.cancel = context.WithCancelCause(m.ctx)
	return u
}

// load makes the list known: from the cache, or by starting the server. One that was
// waited for in vain lately is waited for only briefly.
func (u *upstream) load(ctx context.Context) {
	if u.cfg.Disabled || u.known() {
		return
	}
	if list := u.m.cache.load(u); list != nil {
		u.mu.Lock()
		if u.list == nil {
			u.list, u.cached = list, true
		}
		u.mu.Unlock()
		return
	}
	start, wait, brief := time.Now(), ctx, u.m.cache.failedLately(u)
	if brief { // it goes on in the background: who cannot wait for it is told of it by OnChange
		var cancel context.CancelFunc
		wait, cancel = context.WithTimeout(ctx, u.m.brief)
		defer cancel()
	}
	_, err := u.session(wait)
	if err == nil {
		return
	}
	if wait.Err() != nil {
		u.mu.Lock()
		if u.err == nil {
			u.err = notReady(err, time.Since(start), brief && ctx.Err() == nil)
		}
		u.mu.Unlock()
	}
	// A caller that went away says nothing of the server, and a failure that took no time costs none.
	if !brief && !errors.Is(ctx.Err(), context.Canceled) && u.ctx.Err() == nil && time.Since(start) >= u.m.brief {
		u.m.cache.noteFailure(u)
	}
}

// notReady is the error of a server that was not ready when Load ended.
func notReady(err error, waited time.Duration, brief bool) error {
	switch {
	case !errors.Is(err, context.DeadlineExceeded):
		return because("it was not ready in time", err)
	case brief:
		return because(fmt.Sprintf("it was not ready within %s, and not at a start of the last %d minutes, so it is not waited for longer", waited.Round(100*time.Millisecond), int(failureLasts.Minutes())), nil)
	}
	return because(fmt.Sprintf("it was not ready within %s", waited.Round(100*time.Millisecond)), nil)
}

func (u *upstream) known() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.list != nil
}

// server is what the host gets.
func (u *upstream) server() host.MCPServer {
	u.mu.Lock()
	defer u.mu.Unlock()
	s := host.MCPServer{Name: u.cfg.Name, Client: &client{u}}
	switch {
	case u.list != nil:
		s.Tools, s.Resources, s.Prompts, s.Instructions = u.list.offered(&u.cfg), u.list.Resources, u.list.Prompts, u.list.Instructions
	case u.err != nil:
		s.Err = u.err
	case u.state == StateConnecting:
		s.Err = fmt.Errorf("%w: it was not ready in time", ErrUnavailable)
	default:
		s.Err = fmt.Errorf("%w: it was not started yet", ErrUnavailable)
	}
	return s
}

func (u *upstream) status() Status {
	u.mu.Lock()
	defer u.mu.Unlock()
	s := Status{Name: u.cfg.Name, State: u.state, Since: u.since, Err: u.err, Cached: u.cached, Restarts: max(0, u.starts-1)}
	if u.list != nil {
		s.Tools, s.Skipped = len(u.list.offered(&u.cfg)), u.list.Skipped
		s.Protocol, s.ServerName, s.ServerVersion = u.list.Protocol, u.list.ServerName, u.list.ServerVersion
	}
	return s
}

func (u *upstream) setState(s State, err error) {
	if u.state != s {
		u.state, u.since = s, time.Now()
	}
	u.err = err
}

// test is Manager.Test.
func (u *upstream) test(ctx context.Context) (*Report, error) {
	t := u
	if u.cfg.Disabled {
		cfg := u.cfg
		cfg.Disabled = false
		t = newUpstream(u.m, cfg)
		defer t.close()
	}
	t.mu.Lock()
	t.next = time.Time{} // a test does not wait
	t.mu.Unlock()
	start := time.Now()
	s, err := t.session(ctx)
	if err != nil {
		return &Report{Status: t.status()}, err
	}
	list := s.list.Load()
	r := &Report{
		Connected: time.Since(start), Instructions: list.Instructions, Notes: slices.Clone(list.Notes),
		HasResources: list.Resources, HasPrompts: list.Prompts,
	}
	c := &client{t}
	// Many servers say that they have resources or prompts and cannot list them, or not now: their tools work all the same.
	if list.Resources {
		resources, templates, err := c.resources(ctx)
		if ctx.Err() != nil {
			return &Report{Status: t.status()}, fmt.Errorf("listing resources: %w", err)
		}
		r.Resources, r.Templates = len(resources), len(templates)
		r.unlisted("resources", err)
	}
	if list.Prompts {
		prompts, err := c.prompts(ctx)
		if ctx.Err() != nil {
			return &Report{Status: t.status()}, fmt.Errorf("listing prompts: %w", err)
		}
		r.Prompts = len(prompts)
		r.unlisted("prompts", err)
	}
	r.Status, r.List = t.status(), list.offered(&u.cfg)
	return r, nil
}

func (r *Report) unlisted(what string, err error) {
	if err == nil {
		return
	}
	text := err.Error()
	var te *host.ToolError
	if errors.As(err, &te) {
		text = te.Message // without the cause, which it has in it
	}
	r.Notes = append(r.Notes, "listing "+what+": "+plaintext.Short(text, 300))
}

// close ends the connection for good.
func (u *upstream) close() {
	u.cancel(ErrClosed)
	u.mu.Lock()
	s, a := u.sess, u.attempt
	u.mu.Unlock()
	if a != nil {
		<-a.done // connect ends with u.ctx
		u.mu.Lock()
		s = u.sess
		u.mu.Unlock()
	}
	if s != nil {
		s.close(ErrClosed)
	}
	u.mu.Lock()
	if !u.cfg.Disabled {
		u.setState(StateIdle, ErrClosed)
	}
	u.mu.Unlock()
}
