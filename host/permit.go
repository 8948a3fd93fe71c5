package host

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cloister-wasm/cloister/internal/catalog"
	"github.com/cloister-wasm/cloister/internal/plaintext"
)

// visible leaves out the tools for which the policy lets no call pass.
func (h *Host) visible(ctx context.Context, scope Scope, entries []catalog.Entry) ([]catalog.Entry, map[string]string) {
	if h.o.Policy == nil {
		return entries, nil
	}
	hidden := map[string]string{}
	seen := make([]catalog.Entry, 0, len(entries))
	for i := range entries {
		f := entries[i].Ref.(*toolRef).facts
		d, err := h.askPolicy(func() (PolicyDecision, error) { return h.o.Policy.Visible(ctx, scope, f) })
		switch {
		case err != nil:
			hidden[f.ID] = "the policy failed: " + plaintext.Clip(err.Error(), 300)
		case !d.Allow:
			hidden[f.ID] = ruleOr(d.Rule)
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
func (h *Host) askPolicy(ask func() (PolicyDecision, error)) (d PolicyDecision, err error) {
	defer func() {
		if p := recover(); p != nil {
			d, err = PolicyDecision{}, fmt.Errorf("the policy panicked: %v", p)
		}
	}()
	return ask()
}

// permit is what stands between a call and its tool: the input's schema, the
// policy, and approval.
func (r *Run) permit(ctx context.Context, tc *ToolCall, e *catalog.Entry, ref *toolRef, waiting func(bool)) error {
	if err := r.authorize(ctx, tc, e, ref); err != nil {
		return err
	}
	return r.approve(ctx, tc, ref, waiting)
}

// authorize checks the input and asks the policy, which may change whether the call
// needs approval.
func (r *Run) authorize(ctx context.Context, tc *ToolCall, e *catalog.Entry, ref *toolRef) error {
	if err := checkInput(ref, e, tc.Input); err != nil {
		return err
	}
	// Hooks had the call in their hands: what decides is taken from the tool and the run.
	tc.Approval = ref.approval
	if r.h.o.Policy != nil {
		d, err := r.h.askPolicy(func() (PolicyDecision, error) {
			return r.h.o.Policy.Authorize(ctx, &PolicyCall{Scope: r.scope, Tool: ref.facts, Input: tc.Input, Caller: tc.Caller})
		})
		if err != nil {
			tc.rule = "the policy failed: " + plaintext.Clip(err.Error(), 300)
			return refusal("the policy could not decide about "+tc.Tool+", so the call is refused", "policy_failed")
		}
		if !d.Allow {
			tc.rule = ruleOr(d.Rule)
			message := "the policy does not allow this call of " + tc.Tool
			if d.Reason != "" {
				message += ": " + d.Reason
			}
			return refusal(message, "policy_denied")
		}
		if d.Approval != "" {
			tc.Approval = d.Approval
		}
	}
	return nil
}

// needsApproval says whether a call has to be asked for.
func (tc *ToolCall) needsApproval() bool { return tc.Approval != "" && tc.Approval != ApprovalNever }

// approve asks for approval where the call needs it. Without an approver a call
// that needs one is refused: it never passes unasked.
func (r *Run) approve(ctx context.Context, tc *ToolCall, ref *toolRef, waiting func(bool)) error {
	if !tc.needsApproval() {
		return nil
	}
	earlier := r.earlier(ctx)
	key := tc.Caller + "\x00" + ref.facts.ID + "\x00" + ref.definition()
	if tc.Approval == ApprovalAsk {
		for _, g := range earlier.all() {
			if by, ok := g.covers(key, tc.Input); ok {
				r.emit(tc, TraceEvent{Event: "approval.decided", Status: "approved", By: by})
				return nil
			}
		}
	} else {
		tc.Approval = ApprovalAlways // also what is no known word
	}
	if r.h.o.Approve == nil {
		return refusal("the tool "+tc.Tool+" needs approval and this host has no approver (Options.Approve)", "approval_unavailable")
	}
	r.emit(tc, TraceEvent{Event: "approval.asked"})
	start := time.Now()
	d, err := r.ask(ctx, tc, key, earlier, waiting)
	if err == nil && d.Approved {
		err = earlier.remember(tc, key, d)
	}
	decided := TraceEvent{Event: "approval.decided", Status: "approved", By: plaintext.Clip(d.By, 200), Extent: d.Extent, DurationMs: ms(time.Since(start))}
	defer func() { r.emit(tc, decided) }()
	switch {
	case errors.Is(err, errGranted):
		decided.By = "grant"
		return nil
	case err != nil:
		decided.Status = "failed"
		return refusal("approval of "+tc.Tool+" could not be asked for", "approval_failed")
	case !d.Approved:
		decided.Status, decided.Extent = "denied", ""
		message := "the call of " + tc.Tool + " was not approved"
		if d.Reason != "" {
			message += ": " + d.Reason
		}
		return refusal(message, "approval_denied")
	}
	return nil
}

// ask waits for the approver's answer, or for one to another call that covers this
// one as well.
func (r *Run) ask(ctx context.Context, tc *ToolCall, key string, earlier answers, waiting func(bool)) (d Decision, err error) {
	if waiting != nil {
		waiting(true)
		defer waiting(false)
	}
	defer func() {
		if p := recover(); p != nil {
			d, err = Decision{}, fmt.Errorf("the approver panicked: %v", p)
		}
	}()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if tc.Approval == ApprovalAsk {
		for _, g := range earlier.all() {
			defer g.watch(key, tc.Input, cancel)()
		}
	}
	d, err = r.h.o.Approve(ctx, tc)
	if err != nil && errors.Is(context.Cause(ctx), errGranted) {
		return Decision{}, errGranted
	}
	return d, err
}
