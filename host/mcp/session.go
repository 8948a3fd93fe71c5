package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cloister-wasm/cloister/internal/plaintext"
)

// legacyProtocol is the newest version with the handshake that servers of before
// 2026-07-28 understand.
const legacyProtocol = "2025-11-25"

// relistPause is the least time between two listings of one connection.
const relistPause = time.Second

// hardClose is how long an end of a connection may take that asks the server.
const hardClose = 6 * time.Second

// session is one connection to a server.
type session struct {
	u       *upstream
	ctx     context.Context // ends with the session
	cancel  context.CancelCauseFunc
	started time.Time
	wire    *wire
	proc    *process // nil over HTTP
	web     *web     // nil over stdio
	sdk     *sdk.ClientSession
	secrets *secrets

	protocol string

	ended   chan struct{} // closed when the connection is over
	relist  chan struct{} // one place: the lists changed
	list    atomic.Pointer[toolList]
	listing chan struct{} // one place: who lists
	listed  time.Time     // guarded by listing
	dirty   atomic.Bool

	closing sync.Once
}

// connect makes a connection, shakes hands and lists the tools. What it started is gone
// if it fails.
func connect(ctx context.Context, u *upstream, legacy bool) (_ *session, err error) {
	s := &session{
		u: u, started: time.Now(), secrets: &secrets{},
		ended: make(chan struct{}), relist: make(chan struct{}, 1), listing: make(chan struct{}, 1),
	}
	s.ctx, s.cancel = context.WithCancelCause(u.ctx)
	s.wire = newWire(u.cfg.URL != "", s.changed, func(level, text string) {
		u.m.o.Logger.Debug("MCP server logs", "server", u.cfg.Name, "level", level, "text", s.secrets.redact(text))
	})
	s.wire.unasked = newUnasked(s.ctx, u.limits.MaxUnaskedPerSecond, u.m.overTime, func() {
		u.m.o.Logger.Warn("MCP server says too much unasked; it is slowed down", "server", u.cfg.Name, "most", u.limits.MaxUnaskedPerSecond)
	})
	hello := &call{}
	var transport sdk.Transport
	if u.cfg.URL != "" {
		if s.web, err = newWeb(ctx, s); err == nil {
			transport = s.web.transport()
		}
	} else if s.proc, err = start(ctx, &u.cfg, u.limits.MaxMessageBytes, s.wire, s.secrets, s.stderr, func(err error) { s.cancel(s.secrets.clean(err)) }); err == nil {
		transport = s.proc
	}
	if err != nil {
		s.cancel(err)
		return nil, err
	}
	c := sdk.NewClient(&sdk.Implementation{Name: u.m.o.Name, Version: u.m.o.Version}, clientOptions())
	c.AddReceivingMiddleware(refuse)
	o := &sdk.ClientSessionOptions{}
	if legacy {
		o.ProtocolVersion = legacyProtocol
	}
	s.sdk, err = c.Connect(hello.context(ctx), transport, o)
	if err != nil {
		err = s.explain(err, hello)
		s.cancel(err)
		if s.proc != nil {
			_ = s.proc.Close() // always nil
		} else {
			s.web.close()
		}
		return nil, err
	}
	s.greeted()
	if s.proc != nil {
		s.proc.hurry.Store(false)
	}
	context.AfterFunc(s.ctx, func() { s.close(context.Cause(s.ctx)) })
	go func() {
		err := s.sdk.Wait()
		s.cancel(s.explain(errors.Join(sdk.ErrConnectionClosed, err), nil))
		close(s.ended)
	}()
	if err := s.refresh(ctx); err != nil {
		err = s.explain(err, nil)
		s.close(err)
		return nil, err
	}
	return s, nil
}

// clientOptions ask for nothing that a server could use to reach a person, a model or
// the file system: no sampling, no elicitation, no roots. The handlers make the SDK
// subscribe to changes where the protocol has subscriptions; the wire gets them.
func clientOptions() *sdk.ClientOptions {
	return &sdk.ClientOptions{
		Logger:                     slog.New(slog.DiscardHandler),
		Capabilities:               &sdk.ClientCapabilities{},
		MultiRoundTrip:             &sdk.MultiRoundTripOptions{Disabled: true},
		ToolListChangedHandler:     func(context.Context, *sdk.ToolListChangedRequest) {},
		PromptListChangedHandler:   func(context.Context, *sdk.PromptListChangedRequest) {},
		ResourceListChangedHandler: func(context.Context, *sdk.ResourceListChangedRequest) {},
	}
}

// refuse answers what a server asks of its client.
func refuse(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		if method == "ping" {
			return next(ctx, method, req)
		}
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: fmt.Sprintf("this client does not offer %q", plaintext.Short(method, 80))}
	}
}

func (s *session) greeted() {
	r := s.sdk.InitializeResult()
	s.protocol = plaintext.Short(r.ProtocolVersion, 40)
}

// stderr hands on what a server writes beside messages.
func (s *session) stderr(line string) {
	line = plaintext.Clip(s.secrets.redact(strings.TrimSpace(plaintext.Line(line, plaintext.Whole))), maxLine)
	if f := s.u.m.o.Stderr; f != nil {
		f(s.u.cfg.Name, line)
	}
	s.u.m.o.Logger.Debug("MCP server writes", "server", s.u.cfg.Name, "line", line)
}

// changed is told by the wire that a list of the server changed. It does not block.
func (s *session) changed() {
	s.dirty.Store(true)
	select {
	case s.relist <- struct{}{}:
	default:
	}
}

// refresh reads the lists, unless that was done since the last change. It does so at most
// once a second, whatever the server says.
func (s *session) refresh(ctx context.Context) error {
	select {
	case s.listing <- struct{}{}:
		defer func() { <-s.listing }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if s.list.Load() != nil {
		if !s.dirty.Load() {
			return nil
		}
		select {
		case <-time.After(time.Until(s.listed.Add(relistPause))):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	s.dirty.Store(false)
	list, err := s.listTools(ctx)
	s.listed = time.Now()
	if err != nil {
		s.dirty.Store(true)
		return err
	}
	s.list.Store(list)
	s.u.publish(s, list)
	return nil
}

// explain makes the error that people read: what the server broke, how its process
// ended, or what HTTP said, before the SDK's words. It holds no secret.
func (s *session) explain(err error, c *call) error {
	switch {
	case s.u.ctx.Err() != nil:
		return ErrClosed
	case s.web != nil && s.web.violation() != nil:
		return s.web.violation()
	case errors.Is(err, ErrProtocol), errors.Is(err, ErrFlood), errors.Is(err, ErrUnavailable), errors.Is(err, ErrAuthorization), errors.Is(err, ErrRedirect):
		return err
	}
	if c != nil {
		if _, status, retry, fault := c.outcome(); fault != nil {
			return s.secrets.clean(fault)
		} else if status != 0 {
			return statusError(status, retry)
		}
	}
	if s.proc != nil && (errors.Is(err, sdk.ErrConnectionClosed) || !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)) {
		select {
		case <-s.proc.exited:
			return s.proc.redacted(s.secrets)
		default:
		}
		if fault := s.proc.violation(); fault != nil {
			return fault
		}
	}
	if c != nil {
		if rpc := c.refusal(); rpc != nil {
			return fmt.Errorf("%w: it answered: %s", ErrUnavailable, s.secrets.redact(plaintext.Short(rpc.Message, 300)))
		}
	}
	return s.secrets.clean(fmt.Errorf("%w: %w", ErrUnavailable, err))
}

// cause is why the session ended.
func (s *session) cause() error { return context.Cause(s.ctx) }

// close ends the connection, with a cause for calls that wait.
func (s *session) close(cause error) {
	s.closing.Do(func() {
		s.cancel(cause)
		if s.proc != nil {
			_ = s.proc.Close() // always nil
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = s.sdk.Close() // what is left to do with an error is what comes next
		}()
		if s.web != nil {
			select {
			case <-done:
			case <-time.After(hardClose):
			}
			s.web.close()
		}
		<-done
	})
}
