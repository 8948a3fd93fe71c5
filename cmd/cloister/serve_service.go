package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/host/debug"
	"github.com/cloister-wasm/cloister/host/gateway"
	"github.com/cloister-wasm/cloister/host/mcp"
	"github.com/cloister-wasm/cloister/host/settings"
	"github.com/cloister-wasm/cloister/plugins"
	"github.com/cloister-wasm/cloister/plugins/lock"
)

// service is a running `cloister serve`.
type service struct {
	app   *app
	flags *serveFlags
	log   *slog.Logger
	trace *serveTrace
	// approvals is the queue of open questions; nil if nobody could answer.
	approvals *host.ApprovalQueue
	gateway   *gateway.Gateway
	manager   *mcp.Manager
	policy    livePolicy
	debug     *debug.Debug

	// approvalsURL is where approvals are taken, empty for nowhere.
	approvalsURL string
	servers      []*http.Server
	forget       func() error // of the file that tells where approvals are taken

	mu sync.Mutex // held while tools change
	*session
	noted  []string
	ending bool
}

// startService opens everything. Nothing is served yet.
func (a *app) startService(ctx context.Context, f *serveFlags, cfg *settings.Settings) (s *service, err error) {
	cfg.CodeMode.Enabled = !f.noCodeMode && !cfg.CodeModeOff
	s = &service{app: a, flags: f, log: a.logger(f.verbose), session: &session{cfg: cfg}}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	if s.trace, err = openServeTrace(f, a.stderr, s.log); err != nil {
		return s, err
	}
	if s.debug, err = debugging(a.logger(true)); err != nil {
		return s, err
	}
	policy, err := toolPolicy(cfg)
	if err != nil {
		return s, err
	}
	s.policy.set(policy)
	o := sessionOptions{host: host.Options{Trace: s.debug.Trace(s.trace), ApprovalTTL: cfg.Approvals.TTL, Policy: &s.policy}}
	elicit := !f.noElicit && !cfg.Approvals.NoElicit
	if elicit || !f.noApprovals {
		s.approvals = host.NewApprovalQueue()
		o.host.Approve, o.host.ApprovalHint = s.approvals.Approve, f.approvalHint()
	}
	opts, err := s.options(&f.tools, &o)
	if err != nil {
		return s, err
	}
	if s.set, err = f.tools.loadSet(ctx, cfg, s.pluginOptions()); err != nil {
		return s, err
	}
	servers, err := f.tools.mcp.choose(cfg)
	if err != nil {
		return s, err
	}
	s.mu.Lock() // what servers change from now on waits
	defer s.mu.Unlock()
	if s.manager, err = newManager(servers, &mcp.Options{Logger: s.log, Stderr: s.serverLine, OnChange: s.serversChanged}); err != nil {
		return s, err
	}
	s.mcp = &mcpSet{manager: s.manager, servers: loadServers(ctx, s.manager)}
	if opts.Lock, err = s.agreed(); err != nil {
		return s, err
	}
	opts.Plugins, opts.MCP = s.set.plugins, s.mcp.servers
	if len(cfg.Serve.Tokens) > 1 { // nobody takes all places for programs that wait
		opts.MaxSuspendedPerSender = max(1, cfg.CodeMode.MaxSuspendedRuns/2)
	}
	if s.host, err = host.New(ctx, &opts); err != nil {
		return s, hostError(err)
	}
	if err := s.note(); err != nil {
		return s, err
	}
	s.gateway, err = gateway.New(gateway.Options{
		Host: s.host, Approvals: s.approvals, Elicit: elicit, Scope: s.scope, Instructions: cfg.Serve.Instructions,
		Name: "cloister", Version: readVersion().Version, Limits: cfg.Serve.Limits, Logger: s.log,
	})
	return s, hostError(err)
}

// approvalHint says where calls that wait are answered, for people who read it in their
// client.
func (f *serveFlags) approvalHint() string {
	switch {
	case f.noApprovals:
		return "only a client that can ask its user (elicitation) can answer here"
	case f.http != "":
		return "answer with: cloister approvals (in a terminal of the machine that runs cloister serve, or with --url and --token-file elsewhere)"
	}
	return "answer with: cloister approvals (in a terminal of this machine)"
}

// scope gives the options of a client's runs.
func (s *service) scope(c gateway.Client) host.RunOptions {
	f := &s.flags.tools
	return host.RunOptions{
		AgentID: "mcp", SessionKey: c.Principal, Sender: c.Principal, Channel: "mcp-" + c.Transport,
		Sandboxed: f.sandboxed, Allow: f.allow, Deny: f.deny,
	}
}

func (s *service) pluginOptions() plugins.LoadOptions {
	return plugins.LoadOptions{Log: func(r plugins.LogRecord) {
		s.log.Info(r.Text, "plugin", r.Plugin, "level", r.Level)
	}}
}

func (s *service) serverLine(server, line string) { s.log.Debug(line, "mcp", server) }

// agreed is the lock that the host compares tools with: what the lock file that
// applies says, with what it is not about; nil without a lock file.
func (s *service) agreed() (*lock.File, error) {
	now := &pluginSet{lock: s.set.lock, lockPath: s.set.lockPath}
	err := now.agreeMCP(s.mcp.servers, s.cfg)
	return now.lock, err
}

// give hands plugins, servers and lock to the host. The caller holds mu.
func (s *service) give(ctx context.Context) error {
	s.mcp.servers = s.manager.Servers()
	agreed, err := s.agreed()
	if err != nil {
		return err
	}
	return s.host.SetTools(ctx, host.ToolChange{Plugins: s.set.plugins, MCP: s.mcp.servers, Lock: agreed})
}

// note logs what is not there and why, if that has changed. With --strict it is an
// error at the start.
func (s *service) note() error {
	var notes []string
	for _, e := range s.set.refused {
		notes = append(notes, refusalLine(e))
	}
	notes = append(notes, mcpNotes(s.host.MCPStatus(), s.manager, s.cfg)...)
	notes = append(notes, driftNotes(s.host.Drift())...)
	if s.gateway == nil && s.flags.tools.strict && len(notes) > 0 {
		return s.notes(nil, true)
	}
	for _, n := range notes {
		if !slices.Contains(s.noted, n) {
			s.log.Warn(n)
		}
	}
	s.noted = notes
	return nil
}

// serversChanged takes over what MCP servers have now.
func (s *service) serversChanged(*mcp.Manager) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ending || s.host == nil {
		return
	}
	if err := s.give(context.Background()); err != nil {
		s.log.Error("the tools of MCP servers were not taken over", "error", err)
		return
	}
	s.changed()
}

// changed tells clients that tools changed. The caller holds mu.
func (s *service) changed() {
	if s.gateway == nil {
		return
	}
	_ = s.note() // an error only before the gateway is there
	s.gateway.Changed()
}

// close ends everything, in the order in which it is used.
func (s *service) close() error {
	s.mu.Lock()
	s.ending = true
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	var errs []error
	if s.forget != nil {
		errs = append(errs, s.forget())
	}
	if s.gateway != nil {
		if err := s.gateway.Close(ctx); err != nil {
			s.log.Warn("sessions did not end in time", "error", err)
		}
	}
	for _, server := range s.servers {
		_ = server.Close() // sessions have ended; what is left has nothing to wait for
	}
	s.session.close()
	if s.manager != nil {
		errs = append(errs, s.manager.Close())
	}
	if s.trace != nil {
		errs = append(errs, s.trace.close(ctx))
	}
	return errors.Join(errs...)
}

// noClose keeps standard output open.
type noClose struct{ io.Writer }

func (noClose) Close() error { return nil }

// listen serves HTTP on an address until the service ends.
func (s *service) listen(l net.Listener, handler http.Handler) (failed <-chan error) {
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	s.servers = append(s.servers, server)
	done := make(chan error, 1)
	go func() {
		err := server.Serve(l)
		if !errors.Is(err, http.ErrServerClosed) {
			done <- fmt.Errorf("listening on %s: %w", l.Addr(), err)
		}
	}()
	return done
}
