package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/internal/plaintext"
	"github.com/cloister-wasm/cloister/internal/schema"
)

// ClientToolsCapability is the experimental capability by which a client lends tools
// to its session; see the package documentation.
const ClientToolsCapability = "io.cloister/clientTools"

// Methods by which a client settles the calls of its tools.
const (
	MethodResolve = "cloister/resolve"
	MethodReject  = "cloister/reject"
)

// Bounds on the tools that one client lends.
const (
	MaxClientTools     = 128
	MaxClientToolBytes = 1 << 20 // all of them as JSON
)

type lentTools struct {
	App   string     `json:"app"`
	Tools []lentTool `json:"tools"`
}

type lentTool struct {
	Name         string          `json:"name"`
	Title        string          `json:"title"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema"`
}

// lend takes the tools that a client lends, the first time it says so. A list that
// cannot be used fails the request: a program would look for the tools in vain.
func (s *session) lend(p *mcp.InitializeParams) error {
	s.introduce(p.ClientInfo)
	if p.Capabilities == nil || p.Capabilities.Experimental[ClientToolsCapability] == nil {
		return nil
	}
	s.mu.Lock()
	taken := s.lent != nil || s.run != nil
	s.mu.Unlock()
	if taken {
		return nil
	}
	tools, err := readClientTools(p.Capabilities.Experimental[ClientToolsCapability])
	if err != nil {
		return invalidParams("capability %s: %v", ClientToolsCapability, err)
	}
	// Only a run knows whether ids are free and schemas compile.
	o := s.runOptions()
	o.ClientTools = append(o.ClientTools, tools...)
	run, err := s.g.o.Host.NewRun(s.ctx, o)
	if errors.Is(err, host.ErrTool) {
		return invalidParams("capability %s: %s", ClientToolsCapability, plaintext.Line(err.Error(), 500))
	}
	if err != nil {
		return s.broken("taking client tools", err)
	}
	run.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lent == nil {
		s.lent = tools
	}
	return nil
}

func readClientTools(v any) ([]host.ClientTool, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("reading: %w", err)
	}
	if len(raw) > MaxClientToolBytes {
		return nil, fmt.Errorf("%d bytes are more than the %d that are taken", len(raw), MaxClientToolBytes)
	}
	var lent lentTools
	if err := schema.DecodeInto(raw, &lent, nil); err != nil {
		return nil, err
	}
	if len(lent.Tools) > MaxClientTools {
		return nil, fmt.Errorf("%d tools are more than the %d that are taken", len(lent.Tools), MaxClientTools)
	}
	tools := make([]host.ClientTool, 0, len(lent.Tools))
	for _, t := range lent.Tools {
		tools = append(tools, host.ClientTool{App: lent.App, Name: t.Name, Label: t.Title, Description: t.Description, Parameters: t.InputSchema, Returns: t.OutputSchema})
	}
	return tools, nil
}

// resolveParams are those of MethodResolve.
type resolveParams struct {
	mcp.ParamsBase
	CallID string          `json:"callId"`
	Value  json.RawMessage `json:"value"`
}

// rejectParams are those of MethodReject.
type rejectParams struct {
	mcp.ParamsBase
	CallID string       `json:"callId"`
	Error  rejectReason `json:"error"`
}

type rejectReason struct {
	Name    string `json:"name"`
	Message string `json:"message"`
	Code    string `json:"code"`
}

// settled is the result of both.
type settled struct{ mcp.ResultBase }

func (s *session) addClientToolMethods(srv *mcp.Server) {
	err := errors.Join(
		mcp.AddReceivingCustomMethod(srv, MethodResolve, func(_ context.Context, _ *mcp.ServerSession, p *resolveParams) (*settled, error) {
			if p == nil || p.CallID == "" {
				return nil, invalidParams("callId is missing")
			}
			return s.settled(s.settle(func(r *host.Run) error { return r.Resolve(p.CallID, p.Value) }))
		}),
		mcp.AddReceivingCustomMethod(srv, MethodReject, func(_ context.Context, _ *mcp.ServerSession, p *rejectParams) (*settled, error) {
			if p == nil || p.CallID == "" {
				return nil, invalidParams("callId is missing")
			}
			te := &host.ToolError{Name: p.Error.Name, Message: p.Error.Message, Code: host.ToolErrorCode(p.Error.Code)}
			if te.Message == "" {
				te.Message = "the client's tool failed"
			}
			return s.settled(s.settle(func(r *host.Run) error { return r.Reject(p.CallID, te) }))
		}),
	)
	if err != nil { // only for the name of a standard method
		panic(err)
	}
}

func (s *session) settled(err error) (*settled, error) {
	var te *host.ToolError
	switch {
	case err == nil:
		return &settled{}, nil
	case errors.Is(err, host.ErrUnknownCall):
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "no such open call in this session"}
	case errors.As(err, &te):
		return nil, invalidParams("%s", plaintext.Line(te.Error(), 1000))
	}
	return nil, s.broken("settling a call", err)
}
