package dispatch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/cloister-wasm/cloister/api"
	"github.com/cloister-wasm/cloister/internal/schema"
)

// Grants are earlier answers that hold for more than one call: those of one cell,
// or those of one session.
type Grants struct {
	mu        sync.Mutex
	tools     map[string]bool // keys of tools that are approved
	envelopes []*envelope
	waiting   map[int]*asking
	next      int
}

// envelope is an Envelope that is counted down.
type envelope struct {
	key   string
	fixed map[string][]byte // canonical JSON; nil: whole is compared
	whole []byte
	left  int
}

// asking is a call that waits for its answer while another one may bring it.
type asking struct {
	key    string
	input  json.RawMessage
	cancel context.CancelCauseFunc
}

// Bounds on what is kept of answers.
const (
	maxGrantedTools = 1000 // of one cell or session
	maxEnvelopes    = 100
	maxSessions     = 4096
)

// covers takes a call out of what was approved ahead, and says by what.
func (g *Grants) covers(key string, input json.RawMessage) (by string, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.coversLocked(key, input)
}

func (g *Grants) coversLocked(key string, input json.RawMessage) (string, bool) {
	if g.tools[key] {
		return "grant", true
	}
	for i, e := range g.envelopes {
		if e.key != key || !e.fits(input) {
			continue
		}
		if e.left--; e.left == 0 {
			g.envelopes = append(g.envelopes[:i:i], g.envelopes[i+1:]...)
		}
		return "envelope", true
	}
	return "", false
}

// watch has cancel called when a later answer covers the call.
func (g *Grants) watch(key string, input json.RawMessage, cancel context.CancelCauseFunc) (stop func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.waiting == nil {
		g.waiting = map[int]*asking{}
	}
	id := g.next
	g.next++
	g.waiting[id] = &asking{key, input, cancel}
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.waiting, id)
	}
}

// allow keeps an answer for all calls of a tool. Over the bound it holds for its own
// call alone.
func (g *Grants) allow(key string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.tools == nil {
		g.tools = map[string]bool{}
	}
	if len(g.tools) < maxGrantedTools {
		g.tools[key] = true
	}
	g.tellLocked()
}

func (g *Grants) put(e *envelope) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if e.left > 0 && len(g.envelopes) < maxEnvelopes {
		g.envelopes = append(g.envelopes, e)
	}
	g.tellLocked()
}

// tellLocked ends the questions that are answered now.
func (g *Grants) tellLocked() {
	for id, a := range g.waiting {
		if _, ok := g.coversLocked(a.key, a.input); ok {
			delete(g.waiting, id)
			a.cancel(errGranted)
		}
	}
}

// newEnvelope checks an Envelope against the call that it was given for.
func newEnvelope(key string, v *api.Envelope, input json.RawMessage) (*envelope, error) {
	if v.Calls < 1 || v.Calls > api.MaxEnvelopeCalls {
		return nil, fmt.Errorf("an envelope is for 1 to %d calls, not %d", api.MaxEnvelopeCalls, v.Calls)
	}
	e := &envelope{key: key, left: v.Calls}
	var err error
	if v.Fixed == nil {
		if e.whole, err = schema.Canonical(input); err != nil {
			return nil, fmt.Errorf("the input has no canonical form: %w", err)
		}
	} else if e.fixed, err = canonicalMembers(v.Fixed); err != nil {
		return nil, fmt.Errorf("the envelope's fixed arguments: %w", err)
	}
	if !e.fits(input) {
		return nil, errors.New("the envelope's fixed arguments are not those of the call")
	}
	e.left--
	return e, nil
}

func canonicalMembers(object json.RawMessage) (map[string][]byte, error) {
	var members map[string]json.RawMessage
	if err := schema.DecodeInto(object, &members, nil); err != nil {
		return nil, err
	}
	if members == nil {
		return nil, errors.New("must be an object")
	}
	out := make(map[string][]byte, len(members))
	for k, v := range members {
		text, err := schema.Canonical(v)
		if err != nil {
			return nil, err
		}
		out[k] = text
	}
	return out, nil
}

func (e *envelope) fits(input json.RawMessage) bool {
	if e.fixed == nil {
		text, err := schema.Canonical(input)
		return err == nil && bytes.Equal(text, e.whole)
	}
	members, err := canonicalMembers(input)
	if err != nil {
		return false
	}
	for k, want := range e.fixed {
		if got, ok := members[k]; !ok || !bytes.Equal(got, want) {
			return false
		}
	}
	return true
}

// grantSets are the sets of earlier answers that may cover a call: those of its cell and of
// its session. A call without one, or a scope without the other, has nil there.
type grantSets struct{ cell, session *Grants }

// grantSets gives the sets for the call.
func (c *Call) grantSets() grantSets {
	a := grantSets{session: c.run.d.sessions.of(c.run.o.Scope)}
	a.cell = c.root.grants
	return a
}

func (a grantSets) all() []*Grants {
	return slices.DeleteFunc([]*Grants{a.cell, a.session}, func(g *Grants) bool { return g == nil })
}

// remember keeps an approval that holds for more than its call. One that cannot be
// understood approves nothing.
func (a grantSets) remember(tc *api.ToolCall, key string, d api.Decision) error {
	var e *envelope
	var to *Grants
	var err error
	if d.Envelope != nil {
		if e, err = newEnvelope(key, d.Envelope, tc.Input); err != nil {
			return err
		}
	}
	switch d.Extent {
	case "", api.ApproveOnce:
	case api.ApproveRun:
		to = a.cell
	case api.ApproveSession:
		to = a.session
	default:
		return fmt.Errorf("%q is no extent of an approval", d.Extent)
	}
	if tc.Approval != api.ApprovalAsk { // it is asked for every time
		return nil
	}
	if e != nil && a.cell != nil {
		a.cell.put(e)
	}
	if to != nil {
		to.allow(key)
	}
	return nil
}

// sessionKey is whose answers they are. All of it has to agree.
type sessionKey struct{ agent, session, sender, channel string }

// sessionGrants are the answers that hold for sessions. The oldest session makes
// room for a new one: then its calls are asked for again.
type sessionGrants struct {
	mu    sync.Mutex
	byKey map[sessionKey]*Grants
	order []sessionKey
}

// of gives the grants of a session; nil for a scope without one.
func (s *sessionGrants) of(sc api.Scope) *Grants {
	if sc.SessionID == "" {
		return nil
	}
	key := sessionKey{sc.AgentID, sc.SessionID, sc.Sender, sc.Channel}
	s.mu.Lock()
	defer s.mu.Unlock()
	if g := s.byKey[key]; g != nil {
		return g
	}
	if s.byKey == nil {
		s.byKey = map[sessionKey]*Grants{}
	}
	if len(s.order) >= maxSessions {
		delete(s.byKey, s.order[0])
		s.order = s.order[1:]
	}
	g := &Grants{}
	s.byKey[key] = g
	s.order = append(s.order, key)
	return g
}

// EndSession forgets the approvals that were given for a session of an agent.
func (d *Dispatcher) EndSession(agentID, sessionID string) {
	s := &d.sessions
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := s.order[:0:0]
	for _, key := range s.order {
		if key.agent == agentID && key.session == sessionID {
			delete(s.byKey, key)
			continue
		}
		kept = append(kept, key)
	}
	s.order = kept
}
