package gateway

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cloister-wasm/cloister/host"
)

// directCall is a call of a tool, a resource or a prompt without a cell. Where the user is asked by results it
// outlives the request that began it.
type directCall struct {
	id     string
	cancel context.CancelFunc
	done   chan struct{}
	res    *host.CallResult // when done is closed
	err    error
	expiry *time.Timer // while no request waits for it
	same   string      // what the same call again has in common with it; empty for a call that cannot be
}

// detachedLifetime is how long a call waits for the client to come back with the
// user's answer.
const detachedLifetime = time.Hour

// answerLifetime is how long the answer of a call that was told to wait is kept for the
// same call: what a tool gave an hour ago is no answer to a question of now.
const answerLifetime = 10 * time.Minute

// maxDetached bounds the calls of a session that wait for the client to come back.
const maxDetached = 64

// directTool answers a call of a tool where code mode is off: a tool's failure is for
// the model, any other is not.
func (c *call) directTool(ctx context.Context, def *host.ToolDefinition) (*mcp.CallToolResult, error) {
	out, err := c.direct(ctx, c.sameAs(def.ID), func(ctx context.Context) (*host.CallResult, error) {
		return c.run.CallTool(ctx, host.CallInput{ID: def.ID, CallID: c.id, Input: c.args})
	})
	var te *host.ToolError
	switch {
	case errors.As(err, &te):
		return errorResult(te.Error(), string(te.Code)), nil
	case err != nil:
		return nil, err
	case out.res == nil:
		return &mcp.CallToolResult{InputRequests: out.requests, RequestState: out.state}, nil
	}
	return toolResult(out.res), nil
}

// directAnswer is what a tool gave, or the questions to put to the user first.
type directAnswer struct {
	res      *host.CallResult // nil: there are questions
	requests mcp.InputRequestMap
	state    string
}

// work is what a direct call does, by calls of c.run with c.id, or ids that begin with
// it and a dot.
type work func(ctx context.Context) (*host.CallResult, error)

// sameAs names what a call asks for: the tool or the method, and the arguments. It is
// worked out when it is wanted, which for most calls is never.
func (c *call) sameAs(what string) func() string {
	return sync.OnceValue(func() string { return what + "\n" + argumentsHash(c.args) })
}

// direct does the work of a call, or goes on with what an earlier round began, and
// puts to the user what needs approval. Where the user cannot be asked, a call that
// waits for approval for too long is left to wait by itself, if same is not nil: the
// next call with the same one goes on with it. A failure is a *host.ToolError, or an
// error for the client.
func (c *call) direct(ctx context.Context, same func() string, do work) (*directAnswer, error) {
	var d *directCall
	if c.answered != nil {
		if d = c.s.attachCall(c.answered.Call); d == nil {
			return nil, &host.ToolError{Message: "the call that was to be approved has ended; make it again", Code: "approval_expired"}
		}
		c.s.live.follow(c.id, d.id)
		c.take(c.answered)
	} else if d = c.s.attachSame(same); d != nil {
		c.s.live.follow(c.id, d.id)
	} else {
		d = c.begin(ctx, same != nil, do)
	}
	wait, since := c.s.g.o.Limits.ApprovalWait, time.Now()
	late := time.NewTimer(max(wait, 0))
	defer late.Stop()
	if wait < 0 || same == nil {
		late.Stop()
	}
	for {
		changed := c.changed()
		if open := c.questions(d.id); c.asks && len(open) > 0 && ctx.Err() == nil {
			if c.rounds {
				return c.detach(d, open)
			}
			if err := c.askAll(ctx, open); errors.Is(err, errCannotAsk) {
				c.asks, since = false, time.Now() // another approver may answer
			}
			continue
		}
		select {
		case <-d.done:
			d.cancel()
			if d.err != nil {
				return nil, c.failure(d.err)
			}
			return &directAnswer{res: d.res}, nil
		case <-changed:
		case <-late.C:
			open := c.questions(d.id)
			switch {
			case c.asks || len(open) == 0:
				late.Reset(wait)
			case since.Before(open[0].Since):
				since = open[0].Since
				fallthrough
			default:
				if left := wait - time.Since(since); left > 0 {
					late.Reset(left)
				} else if c.s.keepCall(d, same()) {
					return nil, c.waits(d, open)
				} else {
					c.withdraw(open)
					late.Reset(wait)
				}
			}
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
func (c *call) begin(ctx context.Context, outlives bool, do work) *directCall {
	if c.asks && c.rounds || outlives {
		ctx = context.WithoutCancel(ctx)
	}
	ctx, cancel := context.WithCancel(ctx)
	d := &directCall{id: c.id, cancel: cancel, done: make(chan struct{})}
	run := c.run
	c.s.keep(run) // a call keeps the run it was made in
	go func() {
		defer close(d.done)
		defer c.s.release(run)
		d.err = errors.New("the tool ended its goroutine")
		d.res, d.err = do(ctx)
	}()
	return d
}

// detach leaves a call to wait for the user's answer, which the next request brings.
func (c *call) detach(d *directCall, open []host.PendingApproval) (*directAnswer, error) {
	if !c.s.keepCall(d, "") { // the client carries what it is known by
		d.cancel()
		<-d.done
		return nil, &host.ToolError{Message: "too many calls wait for approval in this session", Code: "too_many_calls"}
	}
	requests, state, err := c.askByResult(&round{Call: d.id}, open)
	if err != nil {
		return nil, err
	}
	return &directAnswer{requests: requests, state: state}, nil
}

// keepCall lets a call go on without a request, for one that is the same if same is not
// empty. It fails where that are too many.
func (s *session) keepCall(d *directCall, same string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.detached) >= maxDetached || s.ended {
		return false
	}
	d.same = same
	s.detached[d.id] = d
	d.expiry = time.AfterFunc(detachedLifetime, func() {
		if s.attachCall(d.id) != nil {
			d.cancel()
		}
	})
	return true
}

// waits tells the client that its call waits for approval and how it gets the answer,
// which is kept for a while.
func (c *call) waits(d *directCall, open []host.PendingApproval) error {
	go func() {
		<-d.done
		c.s.mu.Lock()
		defer c.s.mu.Unlock()
		if c.s.detached[d.id] == d {
			d.expiry.Reset(answerLifetime)
		}
	}()
	return &host.ToolError{
		Message: c.waiting(open) + ". It runs once that is given; then make the same call again, with the same arguments, for its answer",
		Code:    "approval_pending",
	}
}

func (c *call) waiting(open []host.PendingApproval) string {
	tools := make([]string, len(open))
	for i := range open {
		tools[i] = open[i].Call.Tool
	}
	return c.s.g.o.Host.ApprovalMessage(tools...)
}

// withdraw refuses calls that nobody is left to wait for. One that was answered in this
// moment runs, and its answer is the request's.
func (c *call) withdraw(open []host.PendingApproval) {
	for i := range open {
		c.decide(open[i].ID, host.Decision{
			Reason: "nobody answered in time, and too many calls wait in this session; make it again when there are fewer", By: "the gateway",
		})
	}
}

// attachSame takes a call back that waits by itself, for one that asks for the same; nil
// if there is none.
func (s *session) attachSame(same func() string) *directCall {
	s.mu.Lock()
	none := len(s.detached) == 0
	s.mu.Unlock()
	if none || same == nil {
		return nil
	}
	wanted := same() // arguments may be long
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.detached {
		if d.same == wanted {
			return s.attachLocked(d.id)
		}
	}
	return nil
}

// attachCall takes a call that waits for the client back; nil if there is none.
func (s *session) attachCall(id string) *directCall {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.attachLocked(id)
}

func (s *session) attachLocked(id string) *directCall {
	d := s.detached[id]
	if d != nil {
		d.expiry.Stop()
		delete(s.detached, id)
	}
	return d
}

// failure keeps what a client may know of why a call failed: a tool's own failure, and
// what is an answer of the protocol already.
func (c *call) failure(err error) error {
	var te *host.ToolError
	var answer *jsonrpc.Error
	if errors.As(err, &te) {
		return te
	}
	if errors.As(err, &answer) {
		return answer
	}
	return c.s.broken("calling "+c.name, err)
}
