package policy

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/cedar-policy/cedar-go/types"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/internal/plaintext"
)

// Explanation is a decision with all that led to it. It is for operators: it holds
// the arguments of the call.
type Explanation struct {
	Tool string `json:"tool"`
	// Visible says whether the tool is in a catalog at all; Hidden is the rule if not.
	Visible bool   `json:"visible"`
	Hidden  string `json:"hidden,omitempty"`
	// Allow, Rule and Reason are the decision about the call.
	Allow  bool   `json:"allow"`
	Rule   string `json:"rule"`
	Reason string `json:"reason,omitempty"`
	// Approval is what holds for the call if it is allowed; Own is what the tool asks for.
	Approval host.Approval `json:"approval,omitempty"`
	Own      host.Approval `json:"ownApproval"`
	// Determining are the policies that decided: the forbids that match, else those
	// that failed, else the permits that match.
	Determining []Policy `json:"determining"`
	// Failures are the policies that could not be evaluated. They count even if
	// another policy decided.
	Failures []Failure `json:"failures"`
	// Problem says why policies could not look at the arguments.
	Problem string `json:"problem,omitempty"`
	// Principal, Action and Resource are the request as Cedar sees it.
	Principal string `json:"principal"`
	Action    string `json:"action"`
	Resource  string `json:"resource"`
	// Context and Entities are in Cedar's JSON forms, for other tools on Cedar.
	// Context has what the policies that can match look at, and no more.
	Context  json.RawMessage `json:"context"`
	Entities json.RawMessage `json:"entities"`
}

// Failure is a policy that could not be evaluated.
type Failure struct {
	Policy Policy `json:"policy"`
	// Message is Cedar's.
	Message string `json:"message"`
}

// Explain decides about a call as Authorize does, and says how.
func (s *Set) Explain(ctx context.Context, call *host.PolicyCall) (x *Explanation, err error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	if call == nil || call.Tool == nil {
		return nil, fmt.Errorf("%w: a call without a tool", ErrPolicy)
	}
	var d host.PolicyDecision
	defer failClosed(&d, &err)
	o, w, record := s.decide(call)
	visible := s.visible(s.world(call.Scope, call.Tool, unknownCaller))
	d = o.decision
	x = &Explanation{
		Tool: call.Tool.ID, Visible: visible.Allow, Allow: d.Allow, Rule: d.Rule, Reason: d.Reason, Own: needed(call.Tool.Approval),
		Determining: []Policy{}, Failures: []Failure{}, Problem: o.problem,
		Principal: w.principal.String(), Action: actionCall.String(), Resource: w.resource.String(),
	}
	if !visible.Allow {
		x.Hidden = visible.Rule
	}
	if d.Allow {
		if x.Approval = d.Approval; x.Approval == "" {
			x.Approval = x.Own
		}
	}
	for _, r := range o.determining {
		x.Determining = append(x.Determining, r.Policy)
	}
	for _, f := range o.failed {
		x.Failures = append(x.Failures, Failure{f.rule.Policy, f.message})
	}
	return x, x.world(w, record)
}

func (x *Explanation) world(w *world, record types.Record) error {
	var err error
	if x.Context, err = json.Marshal(record); err != nil {
		return fmt.Errorf("%w: the context cannot be shown: %w", ErrPolicy, err)
	}
	if x.Entities, err = json.Marshal(w.all()); err != nil {
		return fmt.Errorf("%w: the entities cannot be shown: %w", ErrPolicy, err)
	}
	return nil
}

// Text renders the explanation for people, without the entities. What came with the
// call cannot break a line or steer a terminal.
func (x *Explanation) Text() string {
	var b strings.Builder
	line := func(what, format string, args ...any) {
		fmt.Fprintf(&b, "%-10s %s\n", what, plaintext.Line(fmt.Sprintf(format, args...), plaintext.Whole))
	}
	line("tool", "%s", x.Tool)
	line("principal", "%s", x.Principal)
	line("context", "%s", plaintext.Clip(string(x.Context), 10*maxShown))
	if !x.Visible {
		line("hidden", "no input could be allowed: %s", x.Hidden)
	}
	if x.Allow {
		line("decision", "allow, by %s", x.Rule)
	} else {
		line("decision", "deny, by %s: %s", x.Rule, x.Reason)
	}
	for _, p := range x.Determining {
		text := fmt.Sprintf("%s %s (%s)", p.Effect, p.Name, p.Place())
		if p.Approval != "" {
			text += ", approval " + string(p.Approval)
		}
		line("policy", "%s", text)
	}
	for _, f := range x.Failures {
		line("failed", "%s (%s): %s", f.Policy.Name, f.Policy.Place(), f.Message)
	}
	if x.Allow && x.Approval != x.Own {
		line("approval", "%s (the tool asks for %s)", x.Approval, x.Own)
	} else if x.Allow {
		line("approval", "%s", x.Approval)
	}
	return b.String()
}
