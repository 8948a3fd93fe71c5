package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/internal/plaintext"
)

// asked is what results have in common that may put questions to the user (protocol
// 2026-07-28).
type asked struct {
	ResultType    string              `json:"resultType,omitempty"`
	InputRequests mcp.InputRequestMap `json:"inputRequests,omitempty"`
	RequestState  string              `json:"requestState,omitempty"`
}

// readReply is the result of resources/read. Contents are as their server wrote them:
// the SDK's own type drops what it does not know, and texts that are empty.
type readReply struct {
	mcp.ResultBase
	mcp.Cacheable
	Contents []json.RawMessage `json:"contents,omitzero"`
	asked
}

// promptReply is the result of prompts/get.
type promptReply struct {
	mcp.ResultBase
	Description string          `json:"description,omitempty"`
	Messages    []promptMessage `json:"messages,omitzero"`
	asked
}

type promptMessage struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

func (c *call) listResources(ctx context.Context, n *native, cursor string) (mcp.Result, error) {
	list, err := c.resourceLists(ctx, n, cursor)
	if err != nil {
		return nil, err
	}
	part, next, err := page(list.resources, cursor)
	if err != nil {
		return nil, err
	}
	return &mcp.ListResourcesResult{Resources: part, NextCursor: next, Cacheable: private}, nil
}

func (c *call) listTemplates(ctx context.Context, n *native, cursor string) (mcp.Result, error) {
	list, err := c.resourceLists(ctx, n, cursor)
	if err != nil {
		return nil, err
	}
	part, next, err := page(list.templates, cursor)
	if err != nil {
		return nil, err
	}
	return &mcp.ListResourceTemplatesResult{ResourceTemplates: part, NextCursor: next, Cacheable: private}, nil
}

func (c *call) listPrompts(ctx context.Context, n *native, cursor string) (mcp.Result, error) {
	var list *promptList
	err := c.listing(ctx, func(ctx context.Context) (err error) {
		list, err = c.promptsFrom(ctx, n, ageFor(cursor))
		return err
	})
	if err != nil {
		return nil, err
	}
	part, next, err := page(list.prompts, cursor)
	if err != nil {
		return nil, err
	}
	return &mcp.ListPromptsResult{Prompts: part, NextCursor: next, Cacheable: private}, nil
}

// ageFor is how old a list may be. The pages of one are of one list, where that is
// still there.
func ageFor(cursor string) time.Duration {
	if cursor != "" {
		return listStable
	}
	return listFresh
}

func (c *call) resourceLists(ctx context.Context, n *native, cursor string) (list *resourceList, err error) {
	err = c.listing(ctx, func(ctx context.Context) (err error) {
		list, err = c.resourcesFrom(ctx, n, ageFor(cursor))
		return err
	})
	return list, err
}

// listing does what a list needs. The result of a list cannot put a question to the
// user: where only results can, whatever needs approval waits for another approver.
func (c *call) listing(ctx context.Context, do func(context.Context) error) error {
	if c.rounds {
		c.asks, c.patient = false, false
	}
	_, err := c.direct(ctx, nil, func(ctx context.Context) (*host.CallResult, error) {
		return &host.CallResult{}, do(ctx)
	})
	return failed(err)
}

// resume reads what the client carries from an earlier round. params are what the
// round is good for.
func (c *call) resume(params any) error {
	text, err := json.Marshal(params)
	if err != nil {
		return c.s.broken(c.name, err)
	}
	c.args = text
	if c.answered, err = c.s.openRound(c); err != nil {
		return invalidParams("%v", err)
	}
	return nil
}

func (c *call) readResource(ctx context.Context, n *native, uri string) (mcp.Result, error) {
	if uri == "" || len(uri) > maxURI {
		return nil, invalidParams("uri is missing, or longer than %d bytes", maxURI)
	}
	params := map[string]any{"uri": uri}
	if err := c.resume(params); err != nil {
		return nil, err
	}
	stop := c.s.live.start(ctx, c)
	defer stop()
	out, err := c.direct(ctx, c.sameAs(c.name), func(ctx context.Context) (*host.CallResult, error) {
		id := ""
		for _, age := range []time.Duration{listFresh, listMissed} {
			list, err := c.resourcesFrom(ctx, n, age)
			if err != nil {
				return nil, err
			}
			if owner := list.ownerOf(ctx, uri); owner != nil {
				id = owner.readResource // what is denied reads as what is not there
				break
			}
		}
		if id == "" {
			return nil, c.notFound(uri)
		}
		return c.toolCall(ctx, id, params)
	})
	if err != nil {
		return nil, failed(err)
	}
	reply := &readReply{Cacheable: private, asked: c.askedFor(out)}
	if out.res != nil {
		if reply.Contents, err = contentsOf(out.res.Content); err != nil {
			return nil, c.s.broken("reading a resource", err)
		}
	}
	return reply, nil
}

// notFound is the answer for a URI that no server has. Until 2025-11-25 it has a code
// of its own.
func (c *call) notFound(uri string) error {
	data, err := json.Marshal(map[string]string{"uri": uri})
	if err != nil {
		data = nil
	}
	e := &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "Resource not found", Data: data}
	if !c.rounds {
		e.Code = -32002
	}
	return e
}

func (c *call) getPrompt(ctx context.Context, n *native, p *mcp.GetPromptParams) (mcp.Result, error) {
	arguments := p.Arguments
	if arguments == nil {
		arguments = map[string]string{}
	}
	if err := c.resume(map[string]any{"name": p.Name, "arguments": arguments}); err != nil {
		return nil, err
	}
	stop := c.s.live.start(ctx, c)
	defer stop()
	out, err := c.direct(ctx, c.sameAs(c.name), func(ctx context.Context) (*host.CallResult, error) {
		var from promptSource
		for _, age := range []time.Duration{listFresh, listMissed} {
			list, err := c.promptsFrom(ctx, n, age)
			if err != nil {
				return nil, err
			}
			if found, ok := list.by[p.Name]; ok {
				from = found
				break
			}
		}
		if from.server == nil || from.server.getPrompt == "" {
			return nil, invalidParams("unknown prompt %q", plaintext.Line(p.Name, 100))
		}
		return c.toolCall(ctx, from.server.getPrompt, map[string]any{"name": from.name, "arguments": arguments})
	})
	if err != nil {
		return nil, failed(err)
	}
	reply := &promptReply{asked: c.askedFor(out)}
	if out.res != nil {
		if err := reply.fill(out.res); err != nil {
			return nil, c.s.broken("reading a prompt", err)
		}
	}
	return reply, nil
}

// toolCall makes the call that the request is for.
func (c *call) toolCall(ctx context.Context, id string, input any) (*host.CallResult, error) {
	text, err := json.Marshal(input)
	if err != nil {
		return nil, err
	}
	return c.run.CallTool(ctx, host.CallInput{ID: id, CallID: c.id, Input: text})
}

// askedFor gives the questions of an answer, and says whether there are any where the
// protocol has a word for it.
func (c *call) askedFor(out *directAnswer) asked {
	a := asked{InputRequests: out.requests, RequestState: out.state}
	switch {
	case out.res == nil:
		a.ResultType = "input_required"
	case c.rounds:
		a.ResultType = "complete"
	}
	return a
}

// codeFailed is the code of a failure in what a server or a tool does. The tool's own
// code is in data.
const codeFailed = jsonrpc.CodeInternalError

// failed gives a failure as an error of the protocol: these methods have no results
// that say so.
func failed(err error) error {
	var te *host.ToolError
	if !errors.As(err, &te) {
		return err
	}
	e := &jsonrpc.Error{Code: codeFailed, Message: plaintext.Line(te.Message, maxListedMessage)}
	if te.Code == "invalid_input" {
		e.Code = jsonrpc.CodeInvalidParams
	}
	if data, err := json.Marshal(map[string]string{"code": string(te.Code)}); err == nil {
		e.Data = data
	}
	return e
}
