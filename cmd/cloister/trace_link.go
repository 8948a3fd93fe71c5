package main

import (
	"cmp"
	"slices"
)

// finish makes trees of what was read. It takes time in proportion to the spans,
// sorting aside, and no recursion, whatever they claim about each other.
func (t *trace) finish() {
	for _, r := range t.runs {
		if r.snapshot != nil { // suspended, and the end of the exec is not there
			t.suspend(r, r.snapshot.Time.UnixMicro())
		}
		t.parents(r)
		cutCycles(r.spans)
		r.scale()
		r.order()
		r.count()
	}
	t.byRun, t.byID = nil, nil
}

// parents finds those that were read after their children.
func (t *trace) parents(r *traceRun) {
	for _, s := range r.spans {
		if s.parent != nil || s.parentID == "" || s.kind == spanExec || s.kind == spanWait {
			continue
		}
		if s.parent = t.byID[spanKey{r, s.parentID}]; s.parent == nil {
			s.odd |= oddParent
		}
	}
}

// cutCycles makes sure that every way up ends.
func cutCycles(spans []*traceSpan) {
	const onWay, done = 1, 2
	for _, s := range spans {
		for at := s; at.visit == 0; at = at.parent {
			at.visit = onWay
			if at.parent == nil {
				break
			}
			if at.parent.visit == onWay {
				at.parent = nil
				at.odd |= oddCycle
				break
			}
		}
		for at := s; at != nil && at.visit == onWay; at = at.parent {
			at.visit = done
		}
	}
}

// scale finds the ends of the scale of time. What has no end goes on to the last
// moment that is known.
func (r *traceRun) scale() {
	for i, s := range r.spans {
		if i == 0 {
			r.first, r.last = s.start, s.end
		}
		r.first, r.last = min(r.first, s.start), max(r.last, s.end)
	}
	for _, s := range r.spans {
		if s.open {
			s.end = r.last
		}
	}
}

// order brings the spans into the order of the tree: by their starts, children
// after their parents.
func (r *traceRun) order() {
	byStart := func(a, b *traceSpan) int { return cmp.Compare(a.start, b.start) }
	var stack []*traceSpan
	for _, s := range r.spans {
		if s.parent == nil {
			stack = append(stack, s)
		} else {
			s.parent.children = append(s.parent.children, s)
		}
	}
	push := func(list []*traceSpan) {
		slices.SortStableFunc(list, byStart)
		slices.Reverse(list)
	}
	push(stack)
	ordered := make([]*traceSpan, 0, len(r.spans))
	for len(stack) > 0 {
		s := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		ordered = append(ordered, s)
		s.number = len(ordered)
		if s.parent != nil {
			s.depth = s.parent.depth + 1
		}
		push(s.children)
		stack = append(stack, s.children...)
		s.children = nil
	}
	r.spans = ordered
}

// count sums up, and marks what --denied keeps: what is bad and all above it.
func (r *traceRun) count() {
	for _, s := range slices.Backward(r.spans) {
		if s.keep = s.keep || s.bad; s.keep && s.parent != nil {
			s.parent.keep = true
		}
		if s.kind == spanCall {
			r.counts.calls++
			if s.unsigned {
				r.counts.unsigned++
			}
		}
		switch {
		case s.denied:
			r.counts.denied++
		case s.bad && s.kind == spanCall:
			r.counts.failed++
		}
	}
}

// shown gives the spans to show.
func (r *traceRun) shown(denied bool) []*traceSpan {
	if !denied {
		return r.spans
	}
	return slices.DeleteFunc(slices.Clone(r.spans), func(s *traceSpan) bool { return !s.keep })
}
