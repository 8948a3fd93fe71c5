package spans

import (
	"slices"
)

// Finish makes trees of what was added. It takes time in proportion to the spans,
// sorting aside, and no recursion, whatever they claim about each other.
func (t *Tree) Finish() {
	for _, r := range t.Runs {
		if r.snapshot != nil { // suspended, and the end of the exec is not there
			r.suspend(r.snapshot)
		}
		r.parents()
		cutCycles(r.Spans)
		r.scale()
		r.order()
		r.count()
		r.phases, r.asked, r.byID, r.suspended = nil, nil, nil, nil
	}
	t.byRun = nil
}

// parents finds those that were read after their children.
func (r *Run) parents() {
	for _, s := range r.Spans {
		if s.Parent != nil || s.parentID == "" || s.Kind.phase() {
			continue
		}
		if s.Parent = r.byID[s.parentID]; s.Parent == nil {
			s.Odd |= OddParent
		}
	}
}

// cutCycles makes sure that every way up ends.
func cutCycles(spans []*Span) {
	const onWay, done = 1, 2
	for _, s := range spans {
		for at := s; at.visit == 0; at = at.Parent {
			at.visit = onWay
			if at.Parent == nil {
				break
			}
			if at.Parent.visit == onWay {
				at.Parent = nil
				at.Odd |= OddCycle
				break
			}
		}
		for at := s; at != nil && at.visit == onWay; at = at.Parent {
			at.visit = done
		}
	}
}

// scale finds the ends of the scale of time. What has no end goes on to the last moment
// that is known.
func (r *Run) scale() {
	for i, s := range r.Spans {
		if i == 0 || s.Start.Before(r.First) {
			r.First = s.Start
		}
		if i == 0 || s.End.After(r.Last) {
			r.Last = s.End
		}
	}
	for _, s := range r.Spans {
		if s.Open {
			s.End = r.Last
		}
	}
}

// order brings the spans into the order of the tree: by their starts, children after
// their parents.
func (r *Run) order() {
	for i, s := range r.Spans {
		s.Number = i
	}
	var stack []*Span
	children := make([][]*Span, len(r.Spans))
	for _, s := range r.Spans {
		if s.Parent == nil {
			stack = append(stack, s)
		} else {
			children[s.Parent.Number] = append(children[s.Parent.Number], s)
		}
	}
	latestFirst := func(list []*Span) {
		slices.SortStableFunc(list, func(a, b *Span) int { return a.Start.Compare(b.Start) })
		slices.Reverse(list)
	}
	latestFirst(stack)
	ordered := make([]*Span, 0, len(r.Spans))
	for len(stack) > 0 {
		s := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		below := children[s.Number]
		ordered = append(ordered, s)
		s.Number = len(ordered)
		if s.Parent != nil {
			s.Depth = s.Parent.Depth + 1
		}
		latestFirst(below)
		stack = append(stack, below...)
	}
	r.Spans = ordered
}

// count sums up, and marks what Troubled gives.
func (r *Run) count() {
	for _, s := range slices.Backward(r.Spans) {
		if s.keep = s.keep || s.Bad; s.keep && s.Parent != nil {
			s.Parent.keep = true
		}
		r.Counts.add(s)
	}
}
