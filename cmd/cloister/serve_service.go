package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/host/debug"
	"github.com/cloister-wasm/cloister/host/gateway"
	"github.com/cloister-wasm/cloister/host/settings"
	"github.com/cloister-wasm/cloister/host/setup"
	"github.com/cloister-wasm/cloister/plugins"
)

// service is a running `cloister serve`.
type service struct {
	*setup.Setup
	app   *app
	flags *serveFlags
	log   *slog.Logger
	trace *serveTrace
	debug *debug.Debug
	root  *os.Root // of --root

	// approvalsURL is where approvals are taken, empty for nowhere.
	approvalsURL string
	servers      []*http.Server
	forget       func() error // of the file that tells where approvals are taken

	mu    sync.Mutex
	noted []string // guarded by mu
}

// startService opens everything. Nothing is served yet.
func (a *app) startService(ctx context.Context, f *serveFlags, cfg *settings.Settings) (s *service, err error) {
	s = &service{app: a, flags: f, log: a.logger(f.verbose)}
	defer func() {
		if err != nil {
			if wrong := s.close(); wrong != nil {
				err = errors.Join(err, wrong)
			}
		}
	}()
	if s.trace, err = openServeTrace(f, a.stderr, s.log); err != nil {
		return s, err
	}
	if s.debug, err = debugging(a.logger(true)); err != nil {
		return s, err
	}
	o, err := s.options(cfg)
	if err != nil {
		return s, err
	}
	if s.Setup, err = setup.New(ctx, o); err != nil {
		return s, setupFault(ctx, err)
	}
	if f.tools.strict {
		if err := strictly(setupNotes(s.Setup)); err != nil {
			return s, err
		}
	}
	s.note(s.Setup)
	return s, nil
}

// options are those of the host and the gateway.
func (s *service) options(cfg *settings.Settings) (*setup.Options, error) {
	f := s.flags
	o, err := f.tools.setup(cfg)
	if err != nil {
		return nil, err
	}
	codeMode := cfg.CodeMode
	codeMode.Enabled = !f.noCodeMode && !cfg.CodeModeOff
	o.CodeMode, o.Follow, o.OnChange, o.Logger = &codeMode, true, s.note, s.log
	o.Plugins = plugins.LoadOptions{Log: func(r plugins.LogRecord) { s.log.Info(r.Text, "plugin", r.Plugin, "level", r.Level) }}
	o.MCP.Stderr = func(server, line string) { s.log.Debug(line, "mcp", server) }
	o.Host.Trace = s.debug.Trace(s.trace)
	o.Gateway = &gateway.Options{Elicit: !f.noElicit, Scope: s.scope, Name: "cloister", Version: readVersion().Version}
	if !f.noApprovals || !f.noElicit && !cfg.Approvals.NoElicit {
		o.Gateway.Approvals = host.NewApprovalQueue()
		o.Host.ApprovalHint = f.approvalHint()
	}
	if codeMode.Enabled {
		if err := engineFor(&o.Host); err != nil {
			return nil, hostError(err)
		}
	}
	s.root, err = f.tools.addTools(&o.Host)
	return o, err
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

// note logs what is not there and why, if that has changed.
func (s *service) note(now *setup.Setup) {
	notes := setupNotes(now)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range notes {
		if !slices.Contains(s.noted, n) {
			s.log.Warn(n)
		}
	}
	s.noted = notes
}

// debugging is what the switches of the environment ask for; see package debug.
func debugging(log *slog.Logger) (*debug.Debug, error) {
	switches, err := debug.FromEnv(os.Getenv)
	if err != nil {
		return nil, usageError(err, "")
	}
	return debug.New(debug.Options{Settings: switches, Logger: log}), nil
}

// follow takes over what changes, also at SIGHUP, until ctx ends.
func (s *service) follow(ctx context.Context) {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	now := make(chan struct{})
	var forward sync.WaitGroup
	forward.Go(func() {
		for {
			select {
			case <-hup:
			case <-ctx.Done():
				return
			}
			select {
			case now <- struct{}{}:
			case <-ctx.Done():
				return
			}
		}
	})
	_ = s.Watch(ctx, now) // it ends with ctx
	forward.Wait()
}

// close ends everything, in the order in which it is used.
func (s *service) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	var errs []error
	if s.forget != nil {
		errs = append(errs, s.forget())
	}
	if s.Setup != nil {
		if err := s.Gateway().Close(ctx); err != nil {
			s.log.Warn("sessions did not end in time", "error", err)
		}
	}
	for _, server := range s.servers {
		_ = server.Close() // sessions have ended; what is left has nothing to wait for
	}
	if s.Setup != nil {
		_ = s.Close(ctx) // what fails to close has done its work
	}
	if s.root != nil {
		_ = s.root.Close() // likewise
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
