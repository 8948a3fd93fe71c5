package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/internal/plaintext"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// endingGrace is how long a failed call waits to see whether its connection ended.
const endingGrace = 250 * time.Millisecond

// client is a server for the host. It is safe for concurrent use.
type client struct{ u *upstream }

var _ host.MCPClient = (*client)(nil)

// CallTool implements host.MCPClient.
func (c *client) CallTool(ctx context.Context, tool *host.MCPTool, input json.RawMessage, progress func(host.MCPProgress)) (*host.MCPResult, error) {
	if tool == nil {
		return nil, errors.New("host/mcp: CallTool without a tool")
	}
	// The schema was checked by the host; the protocol wants an object.
	if len(input) == 0 {
		input = json.RawMessage(`{}`)
	}
	var answering *session // the one that was checked last
	raw, err := c.call(ctx, &request{
		again: matchesAny(c.u.cfg.Idempotent, tool.Name), progress: progress,
		check: func(s *session) error {
			answering = s
			return c.unchanged(ctx, s, tool)
		},
		ask: func(ctx context.Context, s *session, token any) error {
			p := &sdk.CallToolParams{Name: tool.Name, Arguments: input}
			if token != nil {
				p.Meta = sdk.Meta{"progressToken": token}
			}
			_, err := s.sdk.CallTool(ctx, p)
			return err
		},
	})
	if err != nil {
		return nil, err
	}
	return decodeCallResult(c.u.cfg.Name, raw, answering.secrets.redact)
}

// unchanged refuses a tool that the server now says something else of: what was shown to
// a model, a person or a policy is what is called. A change that the server has told of
// and that was not read yet is read first.
func (c *client) unchanged(ctx context.Context, s *session, tool *host.MCPTool) error {
	if s.dirty.Load() {
		if err := s.refresh(ctx); err != nil {
			return err
		}
	}
	switch now := s.list.Load().find(tool.Name); {
	case now == nil:
		return failed(CodeChanged, nil, "the MCP server %s no longer has this tool", c.u.cfg.Name)
	case !sameTool(now, tool):
		return failed(CodeChanged, nil, "the MCP server %s changed the definition of this tool; look at it again before calling it", c.u.cfg.Name)
	}
	return nil
}

// request is one thing to ask of a server.
type request struct {
	// again says that the server may get it twice.
	again    bool
	progress func(host.MCPProgress)
	// check, if set, may refuse the connection.
	check func(*session) error
	ask   func(ctx context.Context, s *session, token any) error
}

// errCallTimeout is the cause of the end of a call by Limits.CallTimeout.
var errCallTimeout = errors.New("no answer within limits.callTimeout")

// call gets a turn and a connection, and sends a request. It is sent a second time only
// if the first was surely not seen by the server, or r.again says that twice is fine.
func (c *client) call(ctx context.Context, r *request) (json.RawMessage, error) {
	limited, cancel := context.WithTimeoutCause(ctx, c.u.limits.CallTimeout, errCallTimeout)
	defer cancel()
	release, err := c.turn(ctx, limited)
	if err != nil {
		return nil, err
	}
	defer release()
	for first := true; ; first = false {
		s, err := c.u.session(limited)
		if err == nil && r.check != nil {
			err = r.check(s)
		}
		if err != nil {
			return nil, c.failure(ctx, limited, nil, err)
		}
		x := &call{}
		raw, err := s.send(limited, x, r)
		if err == nil {
			return raw, nil
		}
		again := first && (x.unsent() || r.again) && limited.Err() == nil
		if !s.over(again) || !again {
			return nil, c.failure(ctx, limited, x, err)
		}
	}
}

// turn waits for one of the places of Limits.MaxConcurrent.
func (c *client) turn(ctx, limited context.Context) (release func(), err error) {
	select {
	case c.u.turns <- struct{}{}:
		return func() { <-c.u.turns }, nil
	case <-limited.Done():
		return nil, c.failure(ctx, limited, nil, context.Cause(limited))
	}
}

// send sends a request over a connection, and hands on its progress until it is over.
func (s *session) send(ctx context.Context, x *call, r *request) (json.RawMessage, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.ctx, func() { cancel(context.Cause(s.ctx)) })()
	defer s.wire.done(x)
	var token any
	if r.progress != nil {
		x.progress = make(chan host.MCPProgress, progressQueue)
		token = s.wire.watch(x)
		stop := make(chan struct{})
		var told sync.WaitGroup
		told.Go(func() { x.tell(r.progress, stop) })
		defer told.Wait()
		defer close(stop)
	}
	err := r.ask(x.context(ctx), s, token)
	if raw, _, _, _ := x.outcome(); raw != nil {
		return raw, nil // the answer came, whatever happened after it
	}
	if err != nil {
		if rpc := x.refusal(); rpc != nil {
			return nil, &refusal{text: s.secrets.redact(plaintext.Short(rpc.Message, 2000)), err: rpc}
		}
		if _, status, _, fault := x.outcome(); status == 0 && fault == nil && s.ctx.Err() != nil {
			return nil, context.Cause(s.ctx)
		}
		return nil, s.explain(err, x)
	}
	return nil, protocolError("an answer without a result")
}

// tell hands progress on until the call is over.
func (c *call) tell(progress func(host.MCPProgress), stop <-chan struct{}) {
	for {
		select {
		case p := <-c.progress:
			progress(p)
		case <-stop:
			for {
				select {
				case p := <-c.progress:
					progress(p)
				default:
					return
				}
			}
		}
	}
}

// over says whether the connection has ended; with wait, also whether it is about to.
func (s *session) over(wait bool) bool {
	grace := time.Duration(0)
	if wait {
		grace = endingGrace
	}
	if s.ctx.Err() != nil {
		s.u.forget(s)
		return true
	}
	t := time.NewTimer(grace)
	defer t.Stop()
	select {
	case <-s.ctx.Done():
		s.u.forget(s)
		return true
	case <-t.C:
		return false
	}
}

// refusal is a JSON-RPC error of the server.
type refusal struct {
	text string
	err  error
}

func (e *refusal) Error() string { return e.text }
func (e *refusal) Unwrap() error { return e.err }

// failure makes of an error what a guest gets: a *host.ToolError without paths, addresses
// and Go's words, around what happened. The end of the caller's own context stays as it is.
func (c *client) failure(ctx, limited context.Context, x *call, err error) error {
	name := c.u.cfg.Name
	var already *callError
	var refused *refusal
	switch {
	case errors.As(err, &already):
		return err
	case errors.As(err, &refused):
		return failed(CodeRefused, err, "the MCP server %s refused the call: %s", name, refused.text)
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case limited.Err() != nil:
		return failed(CodeTimeout, errCallTimeout, "the MCP server %s did not answer within %s", name, c.u.limits.CallTimeout)
	}
	c.u.m.o.Logger.Warn("MCP call failed", "server", name, "error", err)
	code, text := describe(err)
	if code == CodeUnavailable && x != nil && !x.unsent() {
		return failed(CodeLost, err, "the connection to the MCP server %s was lost before the answer, so that the call may have had effects: %s", name, text)
	}
	return failed(host.ToolErrorCode(code), err, "the MCP server %s is not available: %s", name, text)
}

func describe(err error) (code, text string) {
	var status *httpError
	switch {
	case errors.Is(err, ErrAuthorization):
		return CodeAuthorization, "it refuses the credentials"
	case errors.As(err, &status) && status.status == http.StatusTooManyRequests:
		return CodeBusy, "it says that there are too many requests" + status.when()
	case errors.As(err, &status):
		return CodeUnavailable, fmt.Sprintf("it answered HTTP status %d", status.status)
	case errors.Is(err, ErrProtocol):
		return CodeBadResult, "it broke the protocol"
	case errors.Is(err, ErrFlood):
		return CodeUnavailable, "it said too much that it was not asked for, and was closed"
	case errors.Is(err, ErrClosed):
		return CodeUnavailable, "it was closed"
	case errors.Is(err, ErrSecret):
		return CodeUnavailable, "a secret of its configuration is not there"
	default:
		return CodeUnavailable, "it cannot be reached"
	}
}
