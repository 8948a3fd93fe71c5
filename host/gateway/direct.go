package gateway

import (
	"context"
	"errors"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cloister-wasm/cloister/host"
)

// directCall is a tool call without a cell. Where the user is asked by results it
// outlives the request that began it.
type directCall struct {
	id     string
	cancel context.CancelFunc
	done   chan struct{}
	res    *host.CallResult // when done is closed
	err    error
	expiry *time.Timer // while no request waits for it
}

// detachedLifetime is how long a call waits for the client to come back with the
// user's answer.
const detachedLifetime = time.Hour

// maxDetached bounds the calls of a session that wait for the client to come back.
const maxDetached = 64

// direct answers a call of a tool where code mode is off.
func (c *call) direct(ctx context.Context, def *host.ToolDefinition) (*mcp.CallToolResult, error) {
	var d *directCall
	if c.answered != nil {
		if d = c.s.attachCall(c.answered.Call); d == nil {
			return errorResult("the call that was to be approved has ended; make it again", "approval_expired"), nil
		}
		c.s.live.follow(c.id, d.id)
		c.take(c.answered)
	} else {
		d = c.begin(ctx, def)
	}
	for {
		changed := c.changed()
		if open := c.questions(d.id); c.asks && len(open) > 0 && ctx.Err() == nil {
			if c.rounds {
				return c.detach(d, open)
			}
			if err := c.askAll(ctx, open); errors.Is(err, errCannotAsk) {
				c.asks = false // another approver may answer
			}
			continue
		}
		select {
		case <-d.done:
			d.cancel()
			if d.err != nil {
				return c.toolFailure(d.err)
			}
			return toolResult(d.res), nil
		case <-changed:
		case <-ctx.Done():
			d.cancel()
			<-d.done
			return nil, c.s.broken("calling a tool", ctx.Err())
		}
	}
}

func (c *call) changed() <-chan struct{} {
	if !c.asks {
		return nil
	}
	return c.s.g.o.Approvals.Changed()
}

// begin starts the call. It ends with the request, or with the session's run where it
// may outlive the request.
func (c *call) begin(ctx context.Context, def *host.ToolDefinition) *directCall {
	if c.asks && c.rounds {
		ctx = context.WithoutCancel(ctx)
	}
	ctx, cancel := context.WithCancel(ctx)
	d := &directCall{id: c.id, cancel: cancel, done: make(chan struct{})}
	run := c.run
	c.s.mu.Lock()
	run.users++ // a call keeps the run it was made in
	c.s.mu.Unlock()
	go func() {
		defer close(d.done)
		defer c.s.release(run)
		d.err = errors.New("the tool ended its goroutine")
		d.res, d.err = run.CallTool(ctx, host.CallInput{ID: def.ID, CallID: c.id, Input: c.args})
	}()
	return d
}

// detach leaves a call to wait for the user's answer, which the next request brings.
func (c *call) detach(d *directCall, open []host.PendingApproval) (*mcp.CallToolResult, error) {
	s := c.s
	s.mu.Lock()
	full := len(s.detached) >= maxDetached || s.ended
	if !full {
		s.detached[d.id] = d
		d.expiry = time.AfterFunc(detachedLifetime, func() {
			if s.attachCall(d.id) != nil {
				d.cancel()
			}
		})
	}
	s.mu.Unlock()
	if full {
		d.cancel()
		<-d.done
		return errorResult("too many calls wait for approval in this session", "too_many_calls"), nil
	}
	return c.askByResult(&round{Call: d.id}, open)
}

// attachCall takes a call that waits for the client back; nil if there is none.
func (s *session) attachCall(id string) *directCall {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.detached[id]
	if d != nil {
		d.expiry.Stop()
		delete(s.detached, id)
	}
	return d
}

// toolFailure gives a failed call: a tool's failure is for the model, any other is not.
func (c *call) toolFailure(err error) (*mcp.CallToolResult, error) {
	var te *host.ToolError
	if errors.As(err, &te) {
		return errorResult(te.Error(), te.Code), nil
	}
	return nil, c.s.broken("calling a tool", err)
}
