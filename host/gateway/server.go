package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// theTool is the one tool that the SDK's server knows. Lists are the session's own,
// and every call is led to it with the real name in the context: so a catalog of
// thousands costs a session nothing, and no schema of a hostile server reaches the
// SDK's registration, which panics on what it does not like.
const theTool = "call"

type toolNameKey struct{}

// newServer makes the server of a session, or of one request where the protocol has
// no sessions.
func (s *session) newServer() *mcp.Server {
	o := &s.g.o
	srv := mcp.NewServer(&mcp.Implementation{Name: o.Name, Version: o.Version}, &mcp.ServerOptions{
		Instructions: o.Instructions,
		// What a session does not have of these is left out in its answers, see native.go.
		Capabilities: &mcp.ServerCapabilities{
			Tools: &mcp.ToolCapabilities{ListChanged: true}, Resources: &mcp.ResourceCapabilities{ListChanged: true}, Prompts: &mcp.PromptCapabilities{ListChanged: true},
		},
		GetSessionID: func() string { return s.client.SessionID },
	})
	tellChanged(srv, s)
	srv.AddReceivingMiddleware(s.middleware)
	s.addClientToolMethods(srv)
	s.mu.Lock()
	s.servers[srv] = struct{}{}
	s.mu.Unlock()
	return srv
}

func (s *session) dropServer(srv *mcp.Server) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.servers, srv)
}

// tellChanged registers theTool, again: that is what makes the SDK notify clients,
// once for all changes within some milliseconds.
func tellChanged(srv *mcp.Server, s *session) {
	srv.AddTool(&mcp.Tool{Name: theTool, InputSchema: json.RawMessage(`{"type":"object"}`)}, s.callTool)
}

// middleware is where all requests of a session come in.
func (s *session) middleware(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if err := s.enter(); err != nil {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()}
		}
		defer s.leave()
		if ss, ok := req.GetSession().(*mcp.ServerSession); ok && s.client.Transport != TransportStateless {
			s.attach(ss)
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(s.ctx, cancel)()
		switch r := req.(type) {
		case *mcp.ServerRequest[*mcp.InitializeParams]:
			if r.Params != nil {
				if err := s.lend(r.Params); err != nil {
					return nil, err
				}
				if r.Params.ProtocolVersion >= statelessProtocol {
					// The handshake is that of older protocols, whatever version a client asks for in it.
					older := *r.Params
					older.ProtocolVersion = newestHandshake
					req = &mcp.ServerRequest[*mcp.InitializeParams]{Session: r.Session, Params: &older, Extra: r.Extra}
				}
			}
			return s.initialized(ctx, next, method, req)
		case *mcp.ServerRequest[*mcp.DiscoverParams]:
			return s.discovered(ctx, next, method, r)
		case *mcp.SubscriptionsListenRequest:
			return next(ctx, method, s.narrow(r))
		case *mcp.ListToolsRequest:
			if err := s.meet(r); err != nil {
				return nil, err
			}
			return s.listTools(r)
		case *mcp.CallToolRequest:
			if err := s.meet(r); err != nil {
				return nil, err
			}
			to := *r.Params
			to.Name = theTool
			ctx = context.WithValue(ctx, toolNameKey{}, r.Params.Name)
			return next(ctx, method, &mcp.CallToolRequest{Session: r.Session, Params: &to, Extra: r.Extra})
		}
		return s.native(ctx, next, method, req)
	}
}

// introduced is a request that says which client it is from.
type introduced interface {
	ClientInfo() *mcp.Implementation
	ClientCapabilities() *mcp.ClientCapabilities
	ProtocolVersion() string
	GetSession() mcp.Session
}

// meet takes what a client says of itself where there was no initialize: protocol
// 2026-07-28 says it in each request.
func (s *session) meet(r introduced) error {
	s.introduce(r.ClientInfo())
	ss, ok := r.GetSession().(*mcp.ServerSession)
	if !ok || s.client.Transport == TransportStateless {
		return nil
	}
	if p := ss.InitializeParams(); p != nil {
		return s.lend(p)
	}
	return nil
}

// broken is the answer where the host itself failed: nothing of why reaches a client.
func (s *session) broken(step string, err error) error {
	switch {
	case errors.Is(err, ErrClosed), s.ctx.Err() != nil:
		return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the session has ended"}
	case errors.Is(err, context.Canceled):
		return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the request was cancelled"}
	}
	s.g.log.Error(step, "error", err, "session", s.client.SessionID)
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: step + " failed; the server's log says why"}
}

func invalidParams(format string, args ...any) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf(format, args...)}
}
