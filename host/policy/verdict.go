package policy

import (
	"cmp"
	"slices"

	cedar "github.com/cedar-policy/cedar-go"
	"github.com/cedar-policy/cedar-go/types"
	"github.com/cedar-policy/cedar-go/x/exp/ast"

	"github.com/cloister-wasm/cloister/internal/plaintext"
)

// index finds the policies whose resource can be a tool. Cedar evaluates conditions
// only where the scope holds, so the others can neither match nor fail.
type index struct {
	any []*rule                     // whatever the resource
	of  map[types.EntityUID][]*rule // == or in an entity
}

func newIndex(all []*rule) index {
	x := index{of: map[types.EntityUID][]*rule{}}
	for _, r := range all {
		if uid, ok := scopeEntity(r.ast.Resource); ok {
			x.of[uid] = append(x.of[uid], r)
		} else {
			x.any = append(x.any, r)
		}
	}
	return x
}

// scopeEntity is the entity that a scope compares with, if it does.
func scopeEntity(node ast.IsScopeNode) (types.EntityUID, bool) {
	switch n := node.(type) {
	case ast.ScopeTypeEq:
		return n.Entity, true
	case ast.ScopeTypeIn:
		return n.Entity, true
	case ast.ScopeTypeIsIn:
		return n.Entity, true
	}
	return types.EntityUID{}, false
}

// about gives the policies that can match a tool, in the order of the files.
func (x *index) about(t *toolEntities) []*rule {
	return sorted(slices.Concat(x.any, x.of[t.tool.UID], x.of[t.owner.UID], x.of[t.source.UID]), (*rule).place)
}

func sorted[T any](list []T, at func(T) int) []T {
	slices.SortFunc(list, func(a, b T) int { return cmp.Compare(at(a), at(b)) })
	return list
}

func (r *rule) place() int { return r.at }

// findings are the policies that matched or failed, each list in the order of the files.
type findings struct {
	forbids, permits []*rule
	failed           []failure
}

// with gives all of two findings about different policies. Permits do not count where
// a policy forbids, and may be missing there.
func (f *findings) with(g *findings) *findings {
	return &findings{
		forbids: merged(f.forbids, g.forbids, (*rule).place),
		permits: merged(f.permits, g.permits, (*rule).place),
		failed:  merged(f.failed, g.failed, func(f failure) int { return f.rule.at }),
	}
}

// merged puts two lists together, in the order of the files.
func merged[T any](a, b []T, at func(T) int) []T {
	if len(b) == 0 {
		return a
	}
	return sorted(slices.Concat(a, b), at)
}

// firsts gives the first of each.
func (f *findings) firsts() (forbid, permit, failed *rule) {
	if len(f.forbids) > 0 {
		forbid = f.forbids[0]
	}
	if len(f.permits) > 0 {
		permit = f.permits[0]
	}
	if len(f.failed) > 0 {
		failed = f.failed[0].rule
	}
	return forbid, permit, failed
}

// earlier is the one that stands first in the files; a may be nil.
func earlier(a, b *rule) *rule {
	if a == nil || b.at < a.at {
		return b
	}
	return a
}

// evaluate asks Cedar about policies.
func (s *Set) evaluate(rs []*rule, w *world, context types.Record) *findings {
	f := &findings{}
	if len(rs) == 0 {
		return f
	}
	_, d := cedar.Authorize(rules(rs), w, w.request(context))
	for _, e := range d.Errors {
		f.failed = append(f.failed, failure{s.rule(e.PolicyID), plaintext.Short(e.Message, maxNoteBytes)})
	}
	for _, reason := range d.Reasons {
		if r := s.rule(reason.PolicyID); r.Effect == "forbid" {
			f.forbids = append(f.forbids, r)
		} else {
			f.permits = append(f.permits, r)
		}
	}
	return f
}

// toolVerdict is what the policies say of a tool before anybody calls it, precomputed. It is immutable.
type toolVerdict struct {
	// sure are the findings of policies that look at the tool alone: they hold for
	// every call.
	sure findings
	// open are the other policies that can match it, in the order of the files.
	open []openRule
}

// openRule is a policy that depends on the call. What can be said ahead of the call is
// settled if the policy does not look at the agent.
type openRule struct {
	*rule
	ahead   state
	settled bool
}

// verdict finds out what the policies say of a tool, once for each tool.
func (s *Set) verdict(w *world) *toolVerdict {
	t := w.tools()
	t.once.Do(func() {
		st := &toolVerdict{}
		// Nothing of the call's is in this world.
		nobody := &world{facts: w.facts, tool: t, caller: unknownCaller, resource: w.resource, principal: types.NewEntityUID(typeAgent, "")}
		var alone []*rule
		for _, r := range s.index.about(t) {
			switch {
			case r.looks == 0:
				alone = append(alone, r)
			case r.looks&looksAtAgent == 0:
				st.open = append(st.open, openRule{r, r.inAdvance(nobody), true})
			default:
				st.open = append(st.open, openRule{rule: r})
			}
		}
		st.sure = *s.evaluate(alone, nobody, types.Record{})
		w.cache.spent(len(st.open) + len(st.sure.forbids) + len(st.sure.permits) + len(st.sure.failed))
		t.verdict = st
	})
	return t.verdict
}

// openTo gives the open policies that can match a call by this agent.
func (st *toolVerdict) openTo(agent types.EntityUID) []openRule {
	fits := func(o openRule) bool { return o.agent == nil || *o.agent == agent }
	if !slices.ContainsFunc(st.open, func(o openRule) bool { return !fits(o) }) {
		return st.open
	}
	return slices.DeleteFunc(slices.Clone(st.open), func(o openRule) bool { return !fits(o) })
}

// state gives what can be said of the policy before the call is known.
func (o *openRule) state(w *world) state {
	if o.settled {
		return o.ahead
	}
	return o.inAdvance(w)
}
