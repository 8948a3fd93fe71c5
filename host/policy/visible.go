package policy

import (
	"context"
	"fmt"

	cedar "github.com/cedar-policy/cedar-go"
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
	var permit, forbid, failed *rule
	for _, r := range s.rules {
		state, _ := r.ahead(w)
		switch {
		case state == fails && failed == nil:
			failed = r
		case state == always && r.Effect == "forbid" && forbid == nil:
			forbid = r
		case (state == always || state == maybe) && r.Effect == "permit" && permit == nil:
			permit = r
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

// ahead evaluates the policy as far as it does not depend on the call. The text is
// Cedar's, of a policy that fails.
func (r *rule) ahead(w *world) (state, string) {
	if r.looks == 0 {
		return r.now(w)
	}
	env := eval.Env{Entities: w, Principal: w.principal, Action: actionCall, Resource: w.resource, Context: unknownContext}
	rest, keep := eval.PartialPolicy(env, r.ast)
	switch {
	case !keep:
		return never, ""
	case len(rest.Conditions) == 0:
		return always, ""
	}
	// Conditions are evaluated in their order, so that only the first one is sure to be.
	if err, ok := eval.ToPartialError(rest.Conditions[0].Body); ok {
		return fails, err.Error()
	}
	return maybe, ""
}

// now evaluates a policy that depends on nothing that is unknown.
func (r *rule) now(w *world) (state, string) {
	_, d := cedar.Authorize(rules{r}, w, w.request(types.Record{}))
	switch {
	case len(d.Errors) > 0:
		return fails, d.Errors[0].Message
	case len(d.Reasons) > 0:
		return always, ""
	}
	return never, ""
}
