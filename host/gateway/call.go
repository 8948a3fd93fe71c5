package gateway

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/internal/plainjson"
	"github.com/cloister-wasm/cloister/internal/plaintext"
)

// call is one request for a tool, a resource or a prompt on its way.
type call struct {
	s    *session
	ss   *mcp.ServerSession
	name string // of the tool, as the client gave it; of the method where that is another than tools/call
	run  *sessionRun
	id   string // of the exec, the wait or the tool's call, in traces and approvals
	args []byte // as the client gave them
	// rounds says that the client's user is asked by input requests in the result, as
	// of protocol 2026-07-28; else by a request of the server's own.
	rounds bool
	// asks says that the client's user can be asked at all.
	asks bool
	slot bool // holds one of the session's slots
	// answered is what the client sent back of an earlier round; nil in the first.
	answered  *round
	state     string // requestState and inputResponses of the request
	responses mcp.InputResponseMap
	progress  any  // the token of progress notifications; nil if the client wants none
	patient   bool // asks, as it was in the beginning
}

// callTool answers tools/call. What is wrong with a program or a tool is a result
// with isError, for the model; a Go error is a fault of client or host.
func (s *session) callTool(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	name, _ := ctx.Value(toolNameKey{}).(string)
	ctx, end, err := s.bind(ctx, req.Extra)
	if err != nil {
		return nil, s.broken("calling a tool", err)
	}
	defer end()
	run, err := s.acquire()
	if err != nil {
		return nil, s.broken("calling a tool", err)
	}
	defer s.release(run)
	surface, err := run.surface()
	if err != nil {
		return nil, s.broken("calling a tool", err)
	}
	def := surface.byName[name]
	if def == nil {
		return nil, invalidParams("unknown tool %q", plaintext.Line(name, 100))
	}
	c := s.newCall(req, req.Session, run, name)
	c.args, c.state, c.responses, c.progress = req.Params.Arguments, req.Params.RequestState, req.Params.InputResponses, req.Params.GetProgressToken()
	if len(c.args) == 0 || string(c.args) == "null" {
		c.args = []byte("{}")
	}
	if c.answered, err = s.openRound(c); err != nil {
		return nil, invalidParams("%v", err)
	}
	if err := c.takeSlot(); err != nil {
		return errorResult(err.Message, string(err.Code)), nil
	}
	defer c.freeSlot()
	stop := s.live.start(ctx, c)
	defer stop()
	if run.Active() {
		return c.codeMode(ctx)
	}
	return c.directTool(ctx, def)
}

// newCall makes a call for a request.
func (s *session) newCall(req introduced, ss *mcp.ServerSession, run *sessionRun, name string) *call {
	asks := s.canAsk(req.ClientCapabilities())
	return &call{
		s: s, ss: ss, name: name, run: run, id: "call_" + strings.ToLower(rand.Text()),
		rounds: req.ProtocolVersion() >= statelessProtocol, asks: asks, patient: asks,
	}
}

// takeSlot takes one of the session's places for calls that run.
func (c *call) takeSlot() *host.ToolError {
	select {
	case c.s.slots <- struct{}{}:
		c.slot = true
		return nil
	default:
		return &host.ToolError{Message: fmt.Sprintf("too many calls run at once in this session: %d; wait for one to end", cap(c.s.slots)), Code: "too_many_calls"}
	}
}

// Protocol versions: the first without sessions and without requests of the server's
// own, and the last before it, with a handshake.
const (
	statelessProtocol = "2026-07-28"
	newestHandshake   = "2025-11-25"
)

func (c *call) freeSlot() {
	if c.slot {
		<-c.s.slots
		c.slot = false
	}
}

// codeMode answers exec and wait.
func (c *call) codeMode(ctx context.Context) (*mcp.CallToolResult, error) {
	var res *host.Result
	var err error
	wait := host.WaitInput{CallID: c.id}
	own := c.name == "exec" // the program is this request's own: it ends with it
	switch {
	case c.answered != nil:
		wait.CellID = c.answered.Run
		c.take(c.answered)
	case own:
		in, bad := c.run.ParseExec(c.args)
		if res = bad; bad == nil {
			in.CallID = c.id
			res, err = c.leg(ctx, "", func(time.Duration) (*host.Result, error) { return c.run.Exec(ctx, in) })
		}
	default:
		in, bad := c.run.ParseWait(c.args)
		in.CallID = c.id
		wait, res = in, bad
	}
	polled := false // a wait with nobody to ask went by
	for err == nil {
		if res != nil {
			if res.Status != guestabi.StatusWaiting || res.Waiting != guestabi.WaitApproval || !c.asks {
				return c.result(res)
			}
			wait.CellID = res.CellID
		}
		open := c.questions(wait.CellID)
		switch {
		case !c.asks || len(open) == 0:
			if res != nil && polled {
				return c.result(res) // somebody else is asked
			}
			polled = true
		case c.rounds:
			requests, state, err := c.askByResult(&round{Run: wait.CellID}, open)
			if err != nil {
				return nil, err
			}
			return &mcp.CallToolResult{InputRequests: requests, RequestState: state}, nil
		default:
			err = c.askAll(ctx, open)
			if errors.Is(err, errCannotAsk) && res != nil {
				return c.result(res)
			}
			if errors.Is(err, errCannotAsk) {
				c.asks, err = false, nil
			}
			polled = false
		}
		if err == nil {
			c.s.live.follow(c.id, wait.CellID)
			res, err = c.wait(ctx, wait)
		}
	}
	if own {
		c.abandon(wait.CellID)
	}
	return nil, c.s.broken(c.name, err)
}

// wait waits for a program. What it waited for its place is part of its time.
func (c *call) wait(ctx context.Context, in host.WaitInput) (*host.Result, error) {
	return c.leg(ctx, in.CellID, func(waited time.Duration) (*host.Result, error) {
		if in.TimeoutMs > 0 {
			in.TimeoutMs = max(1, in.TimeoutMs-int(waited.Milliseconds()))
		}
		return c.run.Wait(ctx, in)
	})
}

// abandon is for a program whose request was cancelled: nobody has its runId.
func (c *call) abandon(runID string) {
	for _, q := range c.questions(runID) {
		c.decide(q.ID, host.Decision{Reason: "the request was cancelled", By: "the client"})
	}
	// One that has ended meanwhile needs no end.
	_ = c.run.Abort(runID)
}

// result gives a host's result as MCP has it: as structured content, and the same as
// text for clients that know no other.
func (c *call) result(res *host.Result) (*mcp.CallToolResult, error) {
	text, err := plainjson.Encode(res)
	if err != nil {
		return nil, c.s.broken("writing the result of "+c.name, err)
	}
	out := &mcp.CallToolResult{StructuredContent: json.RawMessage(text), IsError: res.Status == guestabi.StatusFailed}
	out.Content = append([]mcp.Content{&mcp.TextContent{Text: string(text)}}, attached(res.Attachments)...)
	return out, nil
}
