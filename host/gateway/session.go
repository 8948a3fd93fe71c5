package gateway

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/internal/plaintext"
)

// session is what belongs together: one client over stdio or in an HTTP session, or
// all requests of a principal where the protocol has no sessions.
type session struct {
	g      *Gateway
	client Client // SessionID, Principal and Transport do not change
	ctx    context.Context
	cancel context.CancelFunc
	slots  chan struct{} // one for each call that runs
	live   liveCalls

	making sync.Mutex // held while a run is made

	mu       sync.Mutex
	ended    bool
	since    time.Time
	used     time.Time
	open     int // HTTP requests, event streams included
	listens  int // of these, streams on which the client waits for whatever comes
	requests int // MCP requests in flight
	run      *sessionRun
	old      []*sessionRun // replaced, with cells that go on
	scope    host.Scope
	lent     []host.ClientTool
	ss       *mcp.ServerSession // nil where each request has its own
	servers  map[*mcp.Server]struct{}
	posts    map[string]*post // HTTP requests with calls
	detached map[string]*directCall
	asking   map[string]bool // ids of approvals that are before the user now
	shown    offers          // what the client was told that there is
	handlers sync.WaitGroup
}

func newSession(g *Gateway, c Client) *session {
	s := &session{
		g: g, client: c, slots: make(chan struct{}, g.o.Limits.MaxConcurrentExecs), since: g.now(), used: g.now(),
		servers: map[*mcp.Server]struct{}{}, posts: map[string]*post{}, detached: map[string]*directCall{}, asking: map[string]bool{},
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

func (s *session) info() SessionInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	return SessionInfo{Client: s.client, Since: s.since, LastUsed: s.used, Requests: s.requests}
}

// who is the client as Options.Scope sees it.
func (s *session) who() Client {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.client
}

// introduce keeps what the client says of itself, the first time.
func (s *session) introduce(info *mcp.Implementation) {
	if info == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.client.Name == "" {
		s.client.Name, s.client.Version = plaintext.Show(info.Name, 80), plaintext.Show(info.Version, 40)
	}
}

// attach notes the server session, whose end is then the end of this one.
func (s *session) attach(ss *mcp.ServerSession) {
	s.mu.Lock()
	first := s.ss == nil && !s.ended
	if first {
		s.ss = ss
	}
	s.mu.Unlock()
	if first {
		go func() {
			// How a connection ended is no matter: it has.
			_ = ss.Wait()
			s.end()
		}()
	}
}

// enter counts a request in. It fails when the session has ended or has too many.
func (s *session) enter() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ended:
		return ErrClosed
	case s.requests >= maxRequests:
		return fmt.Errorf("more than %d requests are open in this session", maxRequests)
	}
	s.requests++
	s.handlers.Add(1)
	s.used = s.g.now()
	return nil
}

func (s *session) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests--
	s.handlers.Done()
	s.used = s.g.now()
}

// maxRequests bounds the requests of a session that are open at once, those that
// only wait included.
const maxRequests = 256

// hold keeps the session from being idle, for an HTTP request.
func (s *session) hold() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open++
	s.used = s.g.now()
}

func (s *session) letGo() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open--
	s.used = s.g.now()
}

// listen counts a stream on which the client waits for whatever comes.
func (s *session) listen(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listens += n
}

// activity is what goes on in a session.
type activity int

const (
	quiet     activity = iota // nothing
	listening                 // its client listens, and waits for nothing that it asked for
	working
)

// use says when the session was last used and whether something goes on in it.
func (s *session) use() (last time.Time, busy bool) {
	last, now := s.doing()
	return last, now != quiet
}

// doing says when the session was last used and what goes on in it.
func (s *session) doing() (last time.Time, now activity) {
	s.mu.Lock()
	defer s.mu.Unlock()
	works := s.open > s.listens || s.requests > 0 || len(s.detached) > 0
	for _, r := range s.runsLocked() {
		works = works || r.users > 0 || !r.Idle()
	}
	switch {
	case works:
		now = working
	case s.listens > 0:
		now = listening
	}
	return s.used, now
}

// renew makes the next call use a new run, and tells the client.
func (s *session) renew() {
	s.mu.Lock()
	if s.run != nil {
		s.run.stale = true
	}
	servers := make([]*mcp.Server, 0, len(s.servers))
	for srv := range s.servers {
		servers = append(servers, srv)
	}
	s.mu.Unlock()
	for _, srv := range servers {
		tellChanged(srv, s)
		s.tellListsChanged(srv)
	}
}

// settle answers an open client call, or one that is interrupted, in any of the
// session's runs.
func (s *session) settle(answer func(*host.Run) error) error {
	s.mu.Lock()
	runs := s.runsLocked()
	s.mu.Unlock()
	for _, r := range runs {
		if err := answer(r.Run); !errors.Is(err, host.ErrUnknownCall) {
			return err
		}
	}
	return host.ErrUnknownCall
}

// end closes the session: its cells are aborted, its calls cancelled. It does not
// wait for them. It may be called more than once.
func (s *session) end() {
	s.mu.Lock()
	if s.ended {
		s.mu.Unlock()
		return
	}
	s.ended = true
	runs, ss := s.runsLocked(), s.ss
	s.run, s.old = nil, nil
	for _, d := range s.detached {
		d.expiry.Stop()
	}
	clear(s.detached)
	for _, p := range s.posts {
		s.overLocked(p)
	}
	s.mu.Unlock()
	s.g.forget(s)
	s.cancel()
	for _, r := range runs {
		r.Close()
	}
	go func() {
		defer s.g.ended.Done()
		s.handlers.Wait()
		if ss != nil {
			// The connection may have broken already, which is as good.
			_ = ss.Close()
		}
	}()
}
