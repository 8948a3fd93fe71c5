package policy

import (
	"context"
	"fmt"

	"github.com/cedar-policy/cedar-go/types"
	"github.com/cedar-policy/cedar-go/x/exp/eval"

	"github.com/cloister-wasm/cloister/host"
)

// state is what can be said of a policy before the arguments and the caller of a call
// are known.
type state int

const (
	never  state = iota // it matches no call
	maybe               // it depends
	always              // it matches every call
	fails               // it cannot be evaluated for any call
)

// Visible says whether any input could let a call pass. It is exact about policies
// that do not look at the arguments, and for others as far as Cedar's partial
// evaluation reaches: when in doubt the tool is visible, since Authorize decides.
func (s *Set) Visible(ctx context.Context, scope host.Scope, tool *host.ToolFacts) (d host.PolicyDecision, err error) {
	if err := ctx.Err(); err != nil {
		return host.PolicyDecision{}, context.Cause(ctx)
	}
	if tool == nil {
		return host.PolicyDecision{}, fmt.Errorf("%w: no tool is given", ErrPolicy)
	}
	defer failClosed(&d, &err)
	return s.visible(s.world(scope, tool, unknownCaller)), nil
}

func (s *Set) visible(w *world) host.PolicyDecision {
	st := s.verdict(w)
	var known []*rule
	var unknown []openRule
	for _, o := range st.openTo(w.principal) {
		if o.looks == looksAtAgent {
			known = append(known, o.rule)
		} else {
			unknown = append(unknown, o)
		}
	}
	forbid, permit, failed := st.sure.with(s.evaluate(known, w, types.Record{})).firsts()
	for _, o := range unknown {
		switch state := o.state(w); {
		case state == fails:
			failed = earlier(failed, o.rule)
		case state == always && o.Effect == "forbid":
			forbid = earlier(forbid, o.rule)
		case state != never && o.Effect == "permit":
			permit = earlier(permit, o.rule)
		}
	}
	switch {
	case forbid != nil:
		return denial(forbid, reasonForbid)
	case failed != nil:
		return host.PolicyDecision{Rule: failed.Name, Reason: reasonFailed}
	case permit == nil:
		return host.PolicyDecision{Rule: NothingPermits, Reason: reasonNothing}
	}
	return host.PolicyDecision{Allow: true, Rule: permit.Name}
}

// unknownContext stands for the whole context: nothing that depends on it is decided.
var unknownContext = eval.Variable("context")

// inAdvance evaluates the policy as far as it does not depend on the call.
func (r *rule) inAdvance(w *world) state {
	env := eval.Env{Entities: w, Principal: w.principal, Action: actionCall, Resource: w.resource, Context: unknownContext}
	rest, keep := eval.PartialPolicy(env, r.ast)
	switch {
	case !keep:
		return never
	case len(rest.Conditions) == 0:
		return always
	}
	// Conditions are evaluated in their order, so that only the first one is sure to be.
	if _, failed := eval.ToPartialError(rest.Conditions[0].Body); failed {
		return fails
	}
	return maybe
}
