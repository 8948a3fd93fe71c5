package gateway

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cloister-wasm/cloister/host"
)

// Options configures New.
type Options struct {
	// Host runs the cells. It stays the caller's. Required.
	Host *host.Host
	// Approvals is the queue behind the host's Options.Approve. Without it nobody is
	// asked by elicitation and there is no approvals endpoint.
	Approvals *host.ApprovalQueue
	// Scope gives the options of a session's runs. Nil means agent "mcp" with ids of the
	// session. ClientTools, OnEvent and OnProgress are the gateway's: what is set there
	// is called as well, ClientTools are added to. Empty AgentRunID and SessionID are
	// filled in, since wait needs them. It is called again when tools have changed.
	Scope func(Client) host.RunOptions
	// Elicit puts calls that need approval to the client's user, where the client can.
	Elicit bool
	// Instructions are shown to clients, Name and Version identify the server to them.
	// Name defaults to "cloister".
	Instructions, Name, Version string
	Limits                      Limits
	// Logger receives what an operator should know. Nil discards.
	Logger *slog.Logger
}

// Transports of a Client.
const (
	TransportStdio = "stdio"
	TransportHTTP  = "http"
	// TransportStateless is HTTP with protocol 2026-07-28, which has no sessions: all
	// requests of a principal belong together.
	TransportStateless = "http-stateless"
)

// Client is who is at the other end of a session.
type Client struct {
	// Name and Version are what the client says of itself. Anybody can say anything.
	Name, Version string
	// Principal is the name of the token that authenticated it; empty over stdio and
	// where no token is asked for.
	Principal string
	// SessionID is unguessable and unique.
	SessionID string
	// Transport is TransportStdio, TransportHTTP or TransportStateless.
	Transport string
}

// SessionInfo describes an open session.
type SessionInfo struct {
	Client
	Since, LastUsed time.Time
	// Requests is how many of its requests are being answered now.
	Requests int
}

// Gateway serves a Host to MCP clients. It is safe for concurrent use.
type Gateway struct {
	o        Options
	log      *slog.Logger
	key      []byte           // of the HMAC over request states
	now      func() time.Time // for idle times
	patience patience
	done     chan struct{} // closed by Close

	events    *eventStore   // of sessions over HTTP
	running   *places       // of programs
	placeTime time.Duration // how long a call waits for one
	// httpRequests bounds HTTP requests that are open at once, maxHTTPRequests but for tests.
	httpRequests int

	mu        sync.Mutex
	closed    bool
	sessions  map[string]*session // by id
	stateless map[string]*session // by principal; also in sessions
	sweeper   *time.Timer
	ended     sync.WaitGroup // sessions that are not yet gone
}

// New makes a gateway. It starts nothing by itself.
func New(o Options) (*Gateway, error) {
	if o.Host == nil {
		return nil, fmt.Errorf("%w: Host is missing", ErrOptions)
	}
	if o.Elicit && o.Approvals == nil {
		return nil, fmt.Errorf("%w: Elicit needs Approvals, the queue behind the host's Options.Approve", ErrOptions)
	}
	o.Limits = o.Limits.withDefaults()
	o.Name = cmp.Or(o.Name, "cloister")
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	key := make([]byte, 32)
	if _, err := rand.Read(key); err != nil {
		return nil, fmt.Errorf("reading random bytes: %w", err)
	}
	g := &Gateway{o: o, log: o.Logger, key: key, now: time.Now, patience: newPatience(&o.Limits), httpRequests: maxHTTPRequests, done: make(chan struct{}), sessions: map[string]*session{}, stateless: map[string]*session{}}
	cfg := o.Host.CodeMode()
	g.running, g.placeTime = newRunning(&g.o.Limits, cfg), time.Duration(cfg.TimeoutMs)*time.Millisecond/2
	g.events = newEventStore(func() time.Time { return g.now() })
	return g, nil
}

// Changed says that the host's tools, or what a policy allows of them, have changed:
// clients are told (notifications/tools/list_changed), and the next call of each
// session sees the new ones. Cells that are suspended can still be waited for.
func (g *Gateway) Changed() {
	for _, s := range g.all() {
		s.renew()
	}
}

// Sessions lists the open sessions, oldest first.
func (g *Gateway) Sessions() []SessionInfo {
	infos := []SessionInfo{}
	for _, s := range g.all() {
		infos = append(infos, s.info())
	}
	slices.SortFunc(infos, func(a, b SessionInfo) int {
		return cmp.Or(a.Since.Compare(b.Since), strings.Compare(a.SessionID, b.SessionID))
	})
	return infos
}

func (g *Gateway) all() []*session {
	g.mu.Lock()
	defer g.mu.Unlock()
	list := make([]*session, 0, len(g.sessions))
	for _, s := range g.sessions {
		list = append(list, s)
	}
	return list
}

// Close ends all sessions: their cells are aborted and their calls cancelled. It
// waits until they are gone, or for ctx.
func (g *Gateway) Close(ctx context.Context) error {
	g.mu.Lock()
	if !g.closed {
		g.closed = true
		close(g.done)
	}
	if g.sweeper != nil {
		g.sweeper.Stop()
	}
	g.mu.Unlock()
	for _, s := range g.all() {
		s.end()
	}
	gone := make(chan struct{})
	go func() {
		g.ended.Wait()
		close(gone)
	}()
	select {
	case <-gone:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("closing sessions: %w", ctx.Err())
	}
}

// open makes a session. Shared is for principals without one of their own: the
// session that exists is given.
func (g *Gateway) open(c Client, shared, many bool) (*session, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, ErrClosed
	}
	if s := g.stateless[c.Principal]; shared && s != nil {
		return s, nil
	}
	if err := g.roomLocked(c.Principal, many); err != nil {
		return nil, err
	}
	c.SessionID = "session_" + strings.ToLower(rand.Text())
	s := newSession(g, c)
	g.sessions[c.SessionID] = s
	if shared {
		g.stateless[c.Principal] = s
	}
	g.ended.Add(1)
	g.scheduleLocked()
	return s, nil
}

func (g *Gateway) forget(s *session) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.forgetLocked(s)
}

func (g *Gateway) forgetLocked(s *session) {
	if g.sessions[s.client.SessionID] == s {
		delete(g.sessions, s.client.SessionID)
	}
	if g.stateless[s.client.Principal] == s {
		delete(g.stateless, s.client.Principal)
	}
}

// scheduleLocked sets the alarm for idle sessions. There is none without sessions.
func (g *Gateway) scheduleLocked() {
	if g.sweeper == nil && !g.closed && len(g.sessions) > 0 {
		g.sweeper = time.AfterFunc(max(g.o.Limits.IdleTimeout/4, time.Second), g.sweep)
	}
}

// sweep ends the sessions that were idle for too long.
func (g *Gateway) sweep() {
	now := g.now()
	// A client that may still come back for an answer has not left.
	idle := max(g.o.Limits.IdleTimeout, g.o.Limits.ResumeTimeout)
	for _, s := range g.all() {
		s.prune()
		used, busy := s.use()
		if s.client.Transport != TransportStdio && !busy && now.Sub(used) >= idle {
			g.log.Info("session ended: idle", "session", s.client.SessionID, "principal", s.client.Principal)
			s.end()
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.sweeper = nil
	g.scheduleLocked()
}
