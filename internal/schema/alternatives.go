package schema

import "math"

// alternatives explains a value that matches none of several subschemas by the one it comes closest to.
func (x *explainer) alternatives(subs []*node, v any, path, keyword string) {
	if x.done() {
		return
	}
	var wanted typeSet
	var fitting []*node // alternatives that accept values of this type at all
	for _, sub := range subs {
		if t := sub.acceptedTypes(maxAltNesting); t != 0 && !t.has(v) {
			wanted |= t
		} else {
			fitting = append(fitting, sub)
		}
	}
	if len(fitting) == 0 {
		x.add(path, "type", "expected %s, got %s", wanted, typeOf(v))
		return
	}
	if x.nesting >= maxAltNesting {
		x.add(path, keyword, "matches none of the %d alternatives", len(subs))
		return
	}
	best := x.closest(fitting, v, path)
	if len(fitting) > 1 {
		x.add(path, keyword, "matches none of the %d alternatives; the closest one is described by the problems beside this one", len(subs))
	}
	for _, p := range best {
		x.add(p.Path, p.Keyword, "%s", p.Message)
	}
}

// acceptedTypes is the set of types a subschema says it takes, 0 for any.
func (n *node) acceptedTypes(depth int) typeSet {
	switch {
	case n.types != 0:
		return n.types
	case n.ref != nil && depth > 0:
		return n.ref.acceptedTypes(depth - 1)
	default:
		return 0
	}
}

// closest gives the problems of the alternative that is nearest. One whose const or enum does not fit is far: it is
// another kind of thing.
func (x *explainer) closest(subs []*node, v any, path string) []Problem {
	var best []Problem
	bestScore := math.MaxInt
	for _, sub := range subs {
		if x.done() {
			break
		}
		try := explainer{eval: x.eval, left: maxListedNames, nesting: x.nesting + 1}
		try.explain(sub, v, path)
		x.eval.left, x.eval.over = try.eval.left, try.eval.over
		score := 0
		for _, p := range try.problems {
			score++
			if p.Keyword == "const" || p.Keyword == "enum" {
				score += 100
			}
		}
		if len(try.problems) > 0 && score < bestScore {
			best, bestScore = try.problems, score
		}
	}
	return best
}
