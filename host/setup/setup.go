package setup

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/host/gateway"
	"github.com/cloister-wasm/cloister/host/mcp"
	"github.com/cloister-wasm/cloister/host/settings"
	"github.com/cloister-wasm/cloister/plugins/lock"
	"github.com/cloister-wasm/cloister/plugins/trust"
)

// Setup is a host with all that it was made of. It is safe for concurrent use.
type Setup struct {
	o       *Options // with defaults; Settings are those of the start
	host    *host.Host
	manager *mcp.Manager
	policy  livePolicy
	// queue and gateway are nil where nothing is served.
	queue   *host.ApprovalQueue
	gateway *gateway.Gateway

	reloading sync.Mutex // held by Reload; before changing
	changing  sync.Mutex // held while tools change and OnChange runs
	closed    bool       // under changing
	// While Reload changes the servers, what they change waits: else the host would get
	// servers of settings that are not taken over yet. Under changing.
	swapping, missed bool
	drifted          map[string]bool // what was said of tools that are left out; under changing
	now              atomic.Pointer[parts]
}

// parts is what a host's tools are made of now. It does not change; another takes its
// place.
type parts struct {
	settings *settings.Settings
	plugins  *Plugins
	lock     *Lock
}

// New reads the configuration, if Options.Settings is nil, and makes a host of it: its
// policies, the installed plugins that the trust policy and the lock file let in,
// development plugins, the MCP servers, and with Options.Gateway what serves the host to
// MCP clients. Nil options are the zero value.
//
// It waits for MCP servers no longer than Options.StartTimeout, and not for the engine,
// which is loaded with the first cell. What is refused or cannot be had takes nothing
// else down: see Refused, Servers and Host().Drift. After an error, an *Error that names
// the step, nothing stays open.
func New(ctx context.Context, o *Options) (s *Setup, err error) {
	c, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := c.Validate(); err != nil {
		return nil, at(StepOptions, err)
	}
	s = &Setup{o: c}
	s.now.Store(&parts{settings: c.Settings, plugins: &Plugins{}})
	defer func() {
		if err != nil {
			_ = s.Close(context.WithoutCancel(ctx)) // the first error says what is wrong
			s = nil
		}
	}()
	s.changing.Lock() // what servers change from now on waits
	defer s.changing.Unlock()
	if err := s.makeHost(ctx); err != nil {
		return s, err
	}
	return s, s.makeGateway()
}

func (s *Setup) makeHost(ctx context.Context) error {
	h := s.hostOptions()
	if err := s.setPolicy(&h); err != nil {
		return err
	}
	now, err := s.o.loadParts(ctx)
	if err != nil {
		return err
	}
	s.now.Store(now)
	var onChange func(*mcp.Manager)
	if s.o.Follow {
		onChange = s.serversChanged
	}
	if s.manager, err = s.o.newManager(onChange); err != nil {
		return err
	}
	servers := s.o.loadServers(ctx, s.manager)
	h.Plugins, h.MCP = now.plugins.Loaded, servers
	if h.Lock, err = now.agreed(servers); err != nil {
		return err
	}
	if s.host, err = host.New(ctx, &h); err != nil {
		return at(StepHost, err)
	}
	_, s.drifted = newDrift(s.host.Drift(), nil) // who asked for the host looks at it
	return nil
}

// loadParts checks the files of secrets, and loads the lock file and the plugins.
func (o *Options) loadParts(ctx context.Context) (*parts, error) {
	if err := o.Settings.CheckSecrets(); err != nil {
		return nil, at(StepSettings, err)
	}
	l, err := LoadLock(o.Settings)
	if err != nil {
		return nil, at(StepLock, err)
	}
	p, err := o.loadPlugins(ctx, l.File)
	return &parts{o.Settings, p, l}, err
}

func (p *parts) agreed(servers []host.MCPServer) (*lock.File, error) {
	file, err := p.lock.agreed(p.plugins.Loaded, servers, p.settings)
	return file, at(StepLock, err)
}

// hostOptions are those of the host, but for the policy and what tools are made of.
func (s *Setup) hostOptions() host.Options {
	cfg, h := s.o.Settings, s.o.Host
	h.CodeMode = cfg.CodeMode
	if s.o.CodeMode != nil {
		h.CodeMode = *s.o.CodeMode
	}
	h.Allow, h.Deny, h.Sandbox = cfg.Allow, cfg.Deny, cfg.SandboxPolicy()
	h.CacheDir = cmp.Or(h.CacheDir, cfg.Places.EngineCache())
	h.ApprovalTTL = cmp.Or(h.ApprovalTTL, cfg.Approvals.TTL)
	g := s.o.Gateway
	if g == nil {
		return h
	}
	if s.queue = g.Approvals; s.queue == nil && g.Elicit && !cfg.Approvals.NoElicit && h.Approve == nil {
		s.queue = host.NewApprovalQueue()
	}
	// The gateway has a bound of its own, which is to decide where somebody raised it.
	h.MaxRunningCells = cmp.Or(h.MaxRunningCells, cmp.Or(g.Limits, cfg.Serve.Limits).MaxRunning)
	if h.Approve == nil && s.queue != nil {
		h.Approve = s.queue.Approve
	}
	if len(cfg.Serve.Tokens) > 1 && h.MaxSuspendedPerSender == 0 { // nobody takes all places for programs that wait
		h.MaxSuspendedPerSender = max(1, h.CodeMode.Clamped().MaxSuspendedRuns/2)
	}
	return h
}

// setPolicy sets the policy of the settings where there is no other.
func (s *Setup) setPolicy(h *host.Options) error {
	if h.Policy != nil {
		return nil
	}
	p, err := s.o.Settings.ToolPolicy()
	if err != nil {
		return at(StepPolicies, err)
	}
	if h.Policy = p; s.o.Follow {
		s.policy.set(p)
		h.Policy = &s.policy
	}
	return nil
}

func (s *Setup) makeGateway() error {
	if s.o.Gateway == nil {
		return nil
	}
	g, cfg := *s.o.Gateway, s.o.Settings
	g.Host, g.Approvals = s.host, s.queue
	g.Elicit = g.Elicit && !cfg.Approvals.NoElicit
	g.Instructions = cmp.Or(g.Instructions, cfg.Serve.Instructions)
	g.Limits = cmp.Or(g.Limits, cfg.Serve.Limits)
	if g.Logger == nil {
		g.Logger = s.o.Logger
	}
	var err error
	s.gateway, err = gateway.New(g)
	return at(StepGateway, err)
}

// Host is the host. It is closed with the Setup.
func (s *Setup) Host() *host.Host { return s.host }

// Gateway is the gateway, or nil without Options.Gateway. Whoever serves HTTP closes it
// before the listeners, so that sessions end in order; Close closes it as well.
func (s *Setup) Gateway() *gateway.Gateway { return s.gateway }

// Approvals is the queue that the gateway asks by, or nil where it asks nobody.
func (s *Setup) Approvals() *host.ApprovalQueue { return s.queue }

// Servers holds the connections to MCP servers.
func (s *Setup) Servers() *mcp.Manager { return s.manager }

// Settings are those that apply now. They are not to be changed.
func (s *Setup) Settings() *settings.Settings { return s.now.Load().settings }

// Plugins are those that new runs get.
func (s *Setup) Plugins() Plugins {
	now := s.now.Load().plugins
	return Plugins{Loaded: append(now.Loaded[:0:0], now.Loaded...), Refused: append([]*trust.Error(nil), now.Refused...)}
}

// Close ends everything, what uses something before what it uses: the gateway's
// sessions, the host with its runs, the connections to MCP servers, the plugins. It
// waits for sessions no longer than ctx. A second Close does nothing.
func (s *Setup) Close(ctx context.Context) error {
	s.changing.Lock()
	closed := s.closed
	s.closed = true
	s.changing.Unlock()
	if closed {
		return nil
	}
	var errs []error
	if s.gateway != nil {
		errs = append(errs, s.gateway.Close(ctx))
	}
	if s.host != nil {
		errs = append(errs, s.host.Close())
	}
	if s.manager != nil {
		errs = append(errs, s.manager.Close())
	}
	errs = append(errs, s.now.Load().plugins.Close())
	return errors.Join(errs...)
}
