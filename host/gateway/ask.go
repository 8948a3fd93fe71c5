package gateway

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cloister-wasm/cloister/host"
)

// canAsk says whether approvals can be put to the client's user.
func (s *session) canAsk(caps *mcp.ClientCapabilities) bool {
	if !s.g.o.Elicit || s.g.o.Approvals == nil || caps == nil || caps.Elicitation == nil {
		return false
	}
	// A client that names no mode means forms.
	return caps.Elicitation.Form != nil || caps.Elicitation.URL == nil
}

// questions lists the open approvals of a program, or those of a direct call and of
// the calls that its tool makes, whose ids begin with its own.
func (c *call) questions(id string) []host.PendingApproval {
	q := c.s.g.o.Approvals
	if q == nil || id == "" {
		return nil
	}
	c.s.mu.Lock()
	scope := c.s.scope
	c.s.mu.Unlock()
	return slices.DeleteFunc(q.Pending(), func(p host.PendingApproval) bool {
		of := p.Call.Scope
		if of.AgentID != scope.AgentID || of.AgentRunID != scope.AgentRunID || of.SessionID != scope.SessionID {
			return true
		}
		if p.Call.CellID != "" {
			return p.Call.CellID != id
		}
		return p.Call.ID != id && !strings.HasPrefix(p.Call.ID, id+".")
	})
}

// decide answers a question. One that is not open any more was answered elsewhere.
func (c *call) decide(id string, d host.Decision) {
	if err := c.s.g.o.Approvals.Decide(id, d); err != nil && !errors.Is(err, host.ErrUnknownApproval) {
		c.s.g.log.Error("answering an approval", "error", err, "session", c.s.client.SessionID)
	}
}

// askAll puts questions to the user one after the other, by requests of the server's
// own. It gives errCannotAsk if the client failed to; the rest stays open.
func (c *call) askAll(ctx context.Context, open []host.PendingApproval) error {
	// A program that waits for a person takes none of the places for those that run.
	c.freeSlot()
	var err error
	for i := 0; i < len(open) && err == nil; i++ {
		err = c.ask(ctx, &open[i])
	}
	select {
	case c.s.slots <- struct{}{}:
		c.slot = true
	case <-ctx.Done():
		return ctx.Err()
	}
	return err
}

func (c *call) ask(ctx context.Context, p *host.PendingApproval) error {
	asking, cancel := context.WithCancel(ctx)
	defer cancel()
	gone := c.watch(asking, p.ID, cancel)
	if !c.s.claim(p.ID) { // another request asks already
		<-gone
		return ctx.Err()
	}
	defer c.s.unclaim(p.ID)
	res, err := c.ss.Elicit(asking, question(p, c.s.who()))
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case asking.Err() != nil: // answered elsewhere, or its call has ended
		c.withdrawn(ctx)
		return nil
	case err != nil:
		c.s.g.log.Warn("a client did not ask its user", "error", err, "session", c.s.client.SessionID)
		return errCannotAsk
	}
	c.decide(p.ID, c.s.decision(p, res))
	return nil
}

// withdrawGrace is how long a request waits after a question was withdrawn.
const withdrawGrace = 50 * time.Millisecond

// withdrawn lets the word that a question is withdrawn reach the client: the SDK sends
// it beside, and over HTTP on the stream that the result of this request closes. It is
// no more than a courtesy; a user who answers all the same answers nothing.
func (c *call) withdrawn(ctx context.Context) {
	timer := time.NewTimer(withdrawGrace)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// watch calls gone when a question is not open any more. The channel is closed then,
// or when ctx ends.
func (c *call) watch(ctx context.Context, id string, gone func()) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			changed := c.s.g.o.Approvals.Changed()
			if !slices.ContainsFunc(c.s.g.o.Approvals.Pending(), func(p host.PendingApproval) bool { return p.ID == id }) {
				gone()
				return
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return
			}
		}
	}()
	return done
}

// claim takes a question for one request, so that no user is asked twice.
func (s *session) claim(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asking[id] {
		return false
	}
	s.asking[id] = true
	return true
}

func (s *session) unclaim(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.asking, id)
}

// maxRound bounds the questions of one result. More come in the next round.
const maxRound = 8

// askByResult gives what is in the result that has the client ask its user and call
// again.
func (c *call) askByResult(r *round, open []host.PendingApproval) (requests mcp.InputRequestMap, state string, err error) {
	open = open[:min(len(open), maxRound)]
	requests = mcp.InputRequestMap{}
	for i := range open {
		r.Questions = append(r.Questions, open[i].ID)
		requests[open[i].ID] = question(&open[i], c.s.who())
	}
	if state, err = c.sealRound(r); err != nil {
		return nil, "", c.s.broken("asking for approval", err)
	}
	return requests, state, nil
}

// take hands the answers of a round on. Only those to its own questions count; a
// question without an answer stays open.
func (c *call) take(r *round) {
	if c.s.g.o.Approvals == nil || !c.asks {
		return
	}
	open := c.s.g.o.Approvals.Pending()
	for _, id := range r.Questions {
		i := slices.IndexFunc(open, func(p host.PendingApproval) bool { return p.ID == id })
		answer, has := c.responses[id]
		if i < 0 || !has {
			continue
		}
		res, _ := answer.(*mcp.ElicitResult)
		c.decide(id, c.s.decision(&open[i], res))
	}
}
