package policy

import (
	"context"
	"fmt"

	"github.com/cedar-policy/cedar-go/types"

	"github.com/cloister-wasm/cloister/host"
)

// NothingPermits is the Rule of a denial that no policy names.
const NothingPermits = "no policy permits"

// Texts that a guest sees with a denial whose policy has no @reason.
const (
	reasonNothing = "no policy permits this call"
	reasonForbid  = "a policy forbids this call"
	reasonFailed  = "a policy could not be evaluated for this call"
)

// outcome is a decision with all that led to it.
type outcome struct {
	decision host.PolicyDecision
	// determining are the policies that decided.
	determining []*rule
	failed      []failure
	problem     string
}

type failure struct {
	rule    *rule
	message string
}

// Authorize decides about one call. A policy that matches and forbids wins; else a
// policy that could not be evaluated denies; else one that matches and permits is
// needed. The approval is the strictest of those that the matching permits carry; if
// none does it is empty and the tool's own holds. The error is for a call that is
// incomplete, or whose ctx has ended.
func (s *Set) Authorize(ctx context.Context, call *host.PolicyCall) (d host.PolicyDecision, err error) {
	if err := ctx.Err(); err != nil {
		return host.PolicyDecision{}, context.Cause(ctx)
	}
	if call == nil || call.Tool == nil {
		return host.PolicyDecision{}, fmt.Errorf("%w: a call without a tool", ErrPolicy)
	}
	defer failClosed(&d, &err)
	o, _, _ := s.decide(call)
	return o.decision, nil
}

// failClosed turns a panic into an error: what Cedar did not foresee denies.
func failClosed(d *host.PolicyDecision, err *error) {
	if p := recover(); p != nil {
		*d = host.PolicyDecision{}
		*err = fmt.Errorf("%w: evaluation failed inside", ErrPolicy)
	}
}

// decide also gives what the decision was made about.
func (s *Set) decide(call *host.PolicyCall) (*outcome, *world, types.Record) {
	w := s.world(call.Scope, call.Tool, types.String(call.Caller))
	st := s.verdict(w)
	open := st.openTo(w.principal)
	record, problem := contextOf(call, open)
	if problem != "" {
		if r := needsArguments(open, w); r != nil {
			o := &outcome{problem: problem, determining: []*rule{r}}
			o.decision = host.PolicyDecision{Rule: r.Name, Reason: "policies look at the arguments of this call and cannot: " + problem}
			return o, w, record
		}
	}
	rs := make(rules, len(open))
	for i := range open {
		rs[i] = open[i].rule
	}
	o := s.outcome(st.sure.with(s.evaluate(rs, w, record)), call.Tool)
	o.problem = problem
	return o, w, record
}

// contextOf makes the record of what the policies look at, and no more.
func contextOf(call *host.PolicyCall, open []openRule) (types.Record, string) {
	var looks view
	for _, o := range open {
		looks |= o.looks
	}
	if looks&looksAtContext == 0 {
		return types.Record{}, ""
	}
	m := types.RecordMap{"caller": types.String(call.Caller)}
	problem := ""
	if looks&looksAtArguments != 0 {
		var input, decimals types.Record
		input, decimals, problem = convertInput(call.Input, looks)
		if problem != "" {
			input, decimals = types.Record{}, types.Record{}
		}
		m["input"], m["decimals"] = input, decimals
	}
	return types.NewRecord(m), problem
}

// needsArguments finds a policy that needs the arguments to decide about this call, whatever
// it would decide. Nil means that the call can do without them.
func needsArguments(open []openRule, w *world) *rule {
	for _, o := range open {
		if o.looks&looksAtArguments == 0 {
			continue
		}
		if state := o.state(w); state == maybe || state == fails {
			return o.rule
		}
	}
	return nil
}

func (s *Set) outcome(f *findings, tool *host.ToolFacts) *outcome {
	o := &outcome{failed: f.failed}
	switch {
	case len(f.forbids) > 0:
		o.determining = f.forbids
		o.decision = denial(f.forbids[0], reasonForbid)
	case len(f.failed) > 0:
		for _, failure := range f.failed {
			o.determining = append(o.determining, failure.rule)
		}
		o.decision = host.PolicyDecision{Rule: f.failed[0].rule.Name, Reason: reasonFailed}
	case len(f.permits) > 0:
		o.determining = f.permits
		o.decision = s.permission(f.permits, tool)
	default:
		o.decision = host.PolicyDecision{Rule: NothingPermits, Reason: reasonNothing}
	}
	return o
}

func denial(r *rule, otherwise string) host.PolicyDecision {
	d := host.PolicyDecision{Rule: r.Name, Reason: r.Reason}
	if d.Reason == "" {
		d.Reason = otherwise
	}
	return d
}

// permission has the strictest approval of those that the permits carry, and names the
// permit that it is from as the rule.
func (s *Set) permission(permits []*rule, tool *host.ToolFacts) host.PolicyDecision {
	d := host.PolicyDecision{Allow: true, Rule: permits[0].Name}
	for _, r := range permits {
		if a := stricter(d.Approval, r.Approval); a != d.Approval {
			d.Approval, d.Rule = a, r.Name
		}
	}
	if d.Approval != "" && s.narrowing {
		d.Approval = stricter(needed(tool.Approval), d.Approval)
	}
	return d
}
