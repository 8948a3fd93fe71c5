package dispatch

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/cloister-wasm/cloister/api"
	"github.com/cloister-wasm/cloister/internal/catalog"
	"github.com/cloister-wasm/cloister/internal/guestloop"
	"github.com/cloister-wasm/cloister/internal/plaintext"
)

// Visible leaves out the tools for which the policy lets no call pass.
func (d *Dispatcher) Visible(ctx context.Context, scope api.Scope, entries []catalog.Entry) ([]catalog.Entry, map[string]string) {
	if d.o.Policy == nil {
		return entries, nil
	}
	hidden := map[string]string{}
	seen := make([]catalog.Entry, 0, len(entries))
	for i := range entries {
		f := entries[i].Ref.(*Tool).Facts
		answer, err := d.askPolicy(func() (api.PolicyDecision, error) { return d.o.Policy.Visible(ctx, scope, f) })
		switch {
		case err != nil:
			hidden[f.ID] = "the policy failed: " + plaintext.Clip(err.Error(), 300)
		case !answer.Allow:
			hidden[f.ID] = ruleOr(answer.Rule)
		default:
			seen = append(seen, entries[i])
		}
	}
	return seen, hidden
}

func ruleOr(rule string) string {
	if rule == "" {
		return "denied by the policy"
	}
	return plaintext.Clip(rule, 500)
}

// askPolicy asks a policy. One that panics has failed, which denies.
func (d *Dispatcher) askPolicy(ask func() (api.PolicyDecision, error)) (answer api.PolicyDecision, err error) {
	if !d.Contain("Policy", func() { answer, err = ask() }) {
		return api.PolicyDecision{}, errors.New("the policy failed inside")
	}
	return answer, err
}

// permit is what stands between a call with a checked input and its tool: the policy and approval.
// The policy is asked again when the call has waited for somebody: hours may have passed.
func (c *Call) permit(ctx context.Context) error {
	if err := c.authorize(ctx); err != nil {
		return err
	}
	waited, err := c.approve(ctx)
	if err != nil || !waited {
		return err
	}
	asked := c.tc.Approval
	defer func() { c.tc.Approval = asked }()
	return c.authorize(ctx)
}

// authorize asks the policy, which may change whether the call needs approval.
func (c *Call) authorize(ctx context.Context) error {
	h, tc := c.run.d, c.tc
	tc.Approval = c.ref.Approval
	if h.o.Policy == nil {
		return nil
	}
	d, err := h.askPolicy(func() (api.PolicyDecision, error) {
		return h.o.Policy.Authorize(ctx, &api.PolicyCall{Scope: c.run.o.Scope, Tool: c.ref.Facts, Input: tc.Input, Caller: tc.Caller})
	})
	switch {
	case err != nil:
		c.rule = "the policy failed: " + plaintext.Clip(err.Error(), 300)
		return refusal("the policy could not decide about "+tc.Tool+", so the call is refused", api.CodePolicyFailed)
	case !d.Allow:
		c.rule = ruleOr(d.Rule)
		message := "the policy does not allow this call of " + tc.Tool
		if d.Reason != "" {
			message += ": " + d.Reason
		}
		return refusal(message, api.CodePolicyDenied)
	case d.Approval != "":
		tc.Approval = d.Approval
	}
	return nil
}

// needsApproval says whether a call has to be asked for.
func needsApproval(tc *api.ToolCall) bool {
	return tc.Approval != "" && tc.Approval != api.ApprovalNever
}

// approve asks for approval where the call needs it, and says whether it was asked for. Without an
// approver a call that needs one is refused: it never passes unasked.
func (c *Call) approve(ctx context.Context) (waited bool, err error) {
	r, tc := c.run, c.tc
	if !needsApproval(tc) {
		return false, nil
	}
	sets := c.grantSets()
	key := tc.Caller + "\x00" + c.ref.Facts.ID + "\x00" + c.ref.Definition()
	if tc.Approval == api.ApprovalAsk {
		for _, g := range sets.all() {
			if by, ok := g.covers(key, tc.Input); ok {
				c.emit(api.TraceEvent{Event: api.EventApprovalDecided, Status: "approved", By: by})
				return false, nil
			}
		}
	} else {
		tc.Approval = api.ApprovalAlways // also what is no known word
	}
	if r.d.o.Approve == nil {
		return false, refusal("the tool "+tc.Tool+" needs approval and this host has no approver (Options.Approve)", api.CodeApprovalUnavailable)
	}
	c.emit(api.TraceEvent{Event: api.EventApprovalAsked})
	start := time.Now()
	d, err := c.askApprover(ctx, key, sets)
	if err == nil && d.Approved {
		err = sets.remember(tc, key, d)
	}
	decided := api.TraceEvent{Event: api.EventApprovalDecided, Status: "approved", By: plaintext.Clip(d.By, 200), Extent: d.Extent, DurationMs: Milliseconds(time.Since(start))}
	defer func() { c.emit(decided) }()
	var te *api.ToolError
	switch {
	case errors.Is(err, errGranted):
		decided.By = "grant"
		return true, nil
	case errors.As(err, &te):
		decided.Status = "failed"
		return true, te
	case err != nil:
		decided.Status = "failed"
		return true, refusal("approval of "+tc.Tool+" could not be asked for", api.CodeApprovalFailed)
	case !d.Approved:
		decided.Status, decided.Extent = "denied", ""
		message := "the call of " + tc.Tool + " was not approved"
		if d.Reason != "" {
			message += ": " + d.Reason
		}
		return true, refusal(message, api.CodeApprovalDenied)
	}
	return true, nil
}

// askApprover waits for the approver's answer, or for one to another call that covers this
// one as well. The approver gets a copy of the call: what it changes there does not run.
func (c *Call) askApprover(ctx context.Context, key string, sets grantSets) (d api.Decision, err error) {
	r, tc := c.run, c.tc
	if !r.d.o.Budget.Take(len(tc.Input)) {
		return api.Decision{}, &api.ToolError{Message: "too many calls wait for approval; answer some first", Code: api.CodeTooManyPending}
	}
	defer r.d.o.Budget.Give(len(tc.Input))
	shown := *tc
	shown.Input = slices.Clone(tc.Input)
	defer c.awaitApproval()()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if tc.Approval == api.ApprovalAsk {
		for _, g := range sets.all() {
			defer g.watch(key, tc.Input, cancel)()
		}
	}
	if !r.d.Contain("Approve", func() { d, err = r.d.o.Approve(ctx, &shown) }) {
		return api.Decision{}, errors.New("the approver failed inside")
	}
	if err != nil && errors.Is(context.Cause(ctx), errGranted) {
		return api.Decision{}, errGranted
	}
	return d, err
}

// awaitApproval shows the cell's call as waiting for approval until the function that it returns is called.
func (c *Call) awaitApproval() (done func()) {
	root := c.root
	if root.req == nil || !root.outside.begin(forApproval, nil, nil) {
		return func() {}
	}
	root.req.Wait(guestloop.Person)
	return func() {
		root.outside.end()
		root.req.Wait(guestloop.Inside)
		root.settled()
	}
}
