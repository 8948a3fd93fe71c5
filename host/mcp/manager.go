package mcp

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/internal/plaintext"
)

// maxStarts bounds servers that start at the same time.
const maxStarts = 32

// changeDelay is how long OnChange waits for further changes.
const changeDelay = 50 * time.Millisecond

// Manager holds the connections to the MCP servers of one configuration. It is safe for
// concurrent use.
type Manager struct {
	o      Options
	ctx    context.Context // ends with Close
	cancel context.CancelCauseFunc
	cache  *cache // nil without
	starts chan struct{}
	brief  time.Duration // briefWait, but for tests

	overTime time.Duration // overTime, but for tests

	wg sync.WaitGroup // goroutines that end with ctx

	mu      sync.Mutex
	servers map[string]*upstream
	closed  bool

	changeMu sync.Mutex
	timer    *time.Timer // pending OnChange
	running  bool        // OnChange runs
	again    bool        // something changed while it ran
}

// New checks the configuration and keeps it. It starts nothing, opens nothing and reads
// no secret. The error is a *ConfigError with every fault.
func New(servers []Server, o *Options) (*Manager, error) {
	if err := check(servers); err != nil {
		return nil, err
	}
	m := &Manager{servers: map[string]*upstream{}, starts: make(chan struct{}, maxStarts), brief: briefWait, overTime: overTime}
	if o != nil {
		m.o = *o
	}
	if m.o.Logger == nil {
		m.o.Logger = slog.New(slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelError + 1}))
	}
	if m.o.Tokens == nil {
		m.o.Tokens = &memoryTokens{}
	}
	fill(&m.o.Name, "cloister")
	fill(&m.o.Version, "0")
	if m.o.Cache != "" {
		m.cache = &cache{dir: m.o.Cache}
	}
	m.ctx, m.cancel = context.WithCancelCause(context.Background())
	for _, s := range servers {
		m.servers[s.Name] = newUpstream(m, s)
	}
	return m, nil
}

// Load gives all servers that are in use, in the order of their names. Those whose tool
// list is in the cache are not started; the others are, at the same time. One that
// fails, or is not done when ctx ends, has Err and no tools, is named in Status, and is
// tried again later: OnChange tells when it works. With Options.Cache a server that cost a
// second or more and was not ready is waited for no longer than a second for the next 10
// minutes, or until it worked or has another configuration.
func (m *Manager) Load(ctx context.Context) []host.MCPServer {
	var wg sync.WaitGroup
	for _, u := range m.all() {
		wg.Go(func() { u.load(ctx) })
	}
	wg.Wait()
	return m.Servers()
}

// Servers gives all servers that are in use with what is known of them now, in the order
// of their names.
func (m *Manager) Servers() []host.MCPServer {
	var out []host.MCPServer
	for _, u := range m.all() {
		if !u.cfg.Disabled {
			out = append(out, u.server())
		}
	}
	return out
}

// Status gives what is known of each configured server, in the order of their names.
func (m *Manager) Status() []Status {
	var out []Status
	for _, u := range m.all() {
		out = append(out, u.status())
	}
	return out
}

// Test connects to a server now, whatever its state, and lists everything. A server that
// is disabled is connected to for as long as the test takes.
func (m *Manager) Test(ctx context.Context, name string) (*Report, error) {
	m.mu.Lock()
	u, ok := m.servers[name]
	closed := m.closed
	m.mu.Unlock()
	switch {
	case closed:
		return nil, ErrClosed
	case !ok:
		return nil, fmt.Errorf("%w: %q", ErrUnknownServer, plaintext.Short(name, 64))
	}
	return u.test(ctx)
}

// SetServers takes over a new configuration. Connections of servers whose configuration
// is the same stay; the others are closed, and calls that use them fail. After an error,
// which is as of New, nothing has changed. New servers start with Load or with their
// first call.
func (m *Manager) SetServers(servers []Server) error {
	if err := check(servers); err != nil {
		return err
	}
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return ErrClosed
	}
	next := map[string]*upstream{}
	var gone []*upstream
	for _, s := range servers {
		if u, ok := m.servers[s.Name]; ok && reflect.DeepEqual(u.cfg, s) {
			next[s.Name] = u
			continue
		}
		next[s.Name] = newUpstream(m, s)
	}
	for name, u := range m.servers {
		if next[name] != u {
			gone = append(gone, u)
		}
	}
	m.servers = next
	m.mu.Unlock()
	closeAll(gone)
	m.changed()
	return nil
}

// Close ends all connections and the processes behind them, and waits for both. It may be
// called again.
func (m *Manager) Close() error {
	m.mu.Lock()
	first := !m.closed
	m.closed = true
	m.mu.Unlock()
	if first {
		m.changeMu.Lock()
		if m.timer != nil {
			m.timer.Stop()
		}
		m.changeMu.Unlock()
		m.cancel(ErrClosed)
		closeAll(m.all())
	}
	m.wg.Wait()
	return nil
}

func closeAll(list []*upstream) {
	var wg sync.WaitGroup
	for _, u := range list {
		wg.Go(u.close)
	}
	wg.Wait()
}

// all gives the servers in the order of their names.
func (m *Manager) all() []*upstream {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := make([]*upstream, 0, len(m.servers))
	for _, name := range slices.Sorted(maps.Keys(m.servers)) {
		list = append(list, m.servers[name])
	}
	return list
}

// goroutine runs f unless the manager is closed; Close waits for it.
func (m *Manager) goroutine(f func()) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return false
	}
	m.wg.Go(f)
	return true
}

// changed tells OnChange soon, once for all changes until then.
func (m *Manager) changed() {
	if m.o.OnChange == nil || m.ctx.Err() != nil {
		return
	}
	m.changeMu.Lock()
	defer m.changeMu.Unlock()
	switch {
	case m.running:
		m.again = true
	case m.timer == nil:
		m.timer = time.AfterFunc(changeDelay, func() { m.goroutine(m.tell) })
	default:
		m.timer.Reset(changeDelay)
	}
}

func (m *Manager) tell() {
	m.changeMu.Lock()
	if m.running { // a timer that fired twice
		m.again = true
		m.changeMu.Unlock()
		return
	}
	m.running = true
	m.changeMu.Unlock()

	m.o.OnChange(m)

	m.changeMu.Lock()
	m.running = false
	again := m.again
	m.again = false
	m.changeMu.Unlock()
	if again {
		m.changed()
	}
}
