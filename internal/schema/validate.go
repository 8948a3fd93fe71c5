package schema

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unsafe"
)

// Validate checks a value as [Decode] gives it; float64 and Go's integers stand for numbers too. It returns nil, a
// [*ValidationError] with at most [MaxProblems] problems, [ErrTooCostly], or an error that is [ErrNotJSON].
func (s *Schema) Validate(value any) error {
	return s.ValidateAll(value, MaxProblems)
}

// ValidateAll is [Schema.Validate] with a bound of the caller's on the number of problems.
func (s *Schema) ValidateAll(value any, maxProblems int) error {
	e := evaluator{left: MaxSteps}
	if err := e.admit(value, 0); err != nil {
		return err
	}
	ok := e.check(s.root, value, nil)
	if e.over {
		return fmt.Errorf("%w (more than %d steps); send less data, or simplify the schema's alternatives", ErrTooCostly, MaxSteps)
	}
	if ok {
		return nil
	}
	return explain(s.root, value, maxProblems)
}

// evaluator holds the state of one validation. The boolean answer comes first and allocates little; words are looked
// for only when it is no.
type evaluator struct {
	left  int
	over  bool // the budget is spent: every answer from here on is meaningless
	depth int
	memo  map[memoKey]bool
}

func (e *evaluator) spend(n int) bool {
	e.left -= n
	if e.left < 0 {
		e.over = true
	}
	return !e.over
}

// admit makes sure that the value is JSON within the bounds, whatever made it.
func (e *evaluator) admit(v any, level int) error {
	if !e.spend(1) {
		return fmt.Errorf("%w: it has too many values", ErrTooCostly)
	}
	if level > MaxDepth {
		return fmt.Errorf("%w: it is nested deeper than %d levels", ErrNotJSON, MaxDepth)
	}
	switch v := v.(type) {
	case nil, bool, string:
		return nil
	case []any:
		for _, item := range v {
			if err := e.admit(item, level+1); err != nil {
				return err
			}
		}
		return nil
	case map[string]any:
		for _, item := range v {
			if err := e.admit(item, level+1); err != nil {
				return err
			}
		}
		return nil
	default:
		if validNumber(v) {
			return nil
		}
		return fmt.Errorf("%w: it holds %s", ErrNotJSON, kindFault(v))
	}
}

// memoKey identifies a container by its memory: equal pointer and length mean equal content while a validation runs.
type memoKey struct {
	n   *node
	ptr unsafe.Pointer
	len int
}

func containerKey(n *node, v any) (memoKey, bool) {
	switch v := v.(type) {
	case []any:
		return memoKey{n, unsafe.Pointer(unsafe.SliceData(v)), len(v)}, true
	case map[string]any:
		return memoKey{n, reflect.ValueOf(v).UnsafePointer(), -1}, true
	}
	return memoKey{}, false
}

// check reports whether v matches n. With ev it also collects what was evaluated, for unevaluatedProperties and
// unevaluatedItems further out; what is in ev after a false is meaningless.
func (e *evaluator) check(n *node, v any, ev *evaluated) bool {
	if !e.spend(1) {
		return false
	}
	if n.never {
		return false
	}
	if e.depth++; e.depth > maxEvalDepth {
		e.over = true
	}
	var ok bool
	if n.memo && ev == nil {
		ok = e.remembered(n, v)
	} else {
		ok = e.rules(n, v, ev)
	}
	e.depth--
	return ok
}

// remembered looks at a container with a shared subschema once. Scalars are cheap enough to look at again.
func (e *evaluator) remembered(n *node, v any) bool {
	key, ok := containerKey(n, v)
	if !ok {
		return e.rules(n, v, nil)
	}
	if known, ok := e.memo[key]; ok {
		return known
	}
	res := e.rules(n, v, nil)
	if e.memo == nil {
		e.memo = map[memoKey]bool{}
	}
	if len(e.memo) < maxMemo && !e.over {
		e.memo[key] = res
	}
	return res
}

func (e *evaluator) rules(n *node, v any, outer *evaluated) bool {
	if n.opaque != nil {
		return e.checkOpaque(n, v)
	}
	ev := outer
	if n.tracks {
		ev = new(evaluated)
	}
	ok := e.checkOwn(n, v, ev) && e.checkInPlace(n, v, ev)
	if n.tracks {
		ok = ok && e.checkUnevaluated(n, v, ev)
		outer.merge(ev)
	}
	return ok
}

// checkOpaque leaves a value to a meta-schema of the library. These are known, so that their cost per value is too.
func (e *evaluator) checkOpaque(n *node, v any) (ok bool) {
	if !e.spend(200 * countValues(v)) {
		return false
	}
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	return n.opaque.Validate(v) == nil
}

func countValues(v any) int {
	n := 1
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			n += countValues(item)
		}
	case map[string]any:
		for _, item := range v {
			n += countValues(item)
		}
	}
	return n
}

func (e *evaluator) checkOwn(n *node, v any, ev *evaluated) bool {
	if n.types != 0 && !n.types.has(v) {
		return false
	}
	if n.consts != nil && !n.consts.has(e, v) {
		return false
	}
	if n.enum != nil && !n.enum.has(e, v) {
		return false
	}
	switch v := v.(type) {
	case map[string]any:
		if n.object != nil && !e.checkObject(n.object, v, ev) {
			return false
		}
	case []any:
		if n.array != nil && !e.checkArray(n.array, v, ev) {
			return false
		}
	case string:
		if !e.spend(len(v) / 64) {
			return false
		}
		if n.text != nil && !e.checkText(n.text, v) {
			return false
		}
	case nil, bool:
	default:
		if n.num != nil && n.num.fault(toNumber(v)) != "" {
			return false
		}
	}
	return n.format == nil || n.format(v)
}

func (t typeSet) has(v any) bool {
	switch v := v.(type) {
	case nil:
		return t&typeNull != 0
	case bool:
		return t&typeBoolean != 0
	case string:
		return t&typeString != 0
	case []any:
		return t&typeArray != 0
	case map[string]any:
		return t&typeObject != 0
	default:
		return t&typeNumber != 0 || (t&typeInteger != 0 && toNumber(v).isInt())
	}
}

func (e *evaluator) checkText(r *textRules, s string) bool {
	if r.minLength >= 0 || r.maxLength >= 0 {
		n := runeCount(s)
		if (r.minLength >= 0 && n < r.minLength) || (r.maxLength >= 0 && n > r.maxLength) {
			return false
		}
	}
	return r.pattern == nil || e.match(r.pattern, s)
}

func (e *evaluator) match(m *matcher, s string) bool {
	return e.spend(m.steps(s)) && m.re.MatchString(s)
}

// fault names the keyword that a number breaks, or "".
func (r *numberRules) fault(n number) string {
	switch {
	case r.min != nil && n.cmp(*r.min) < 0:
		return "minimum"
	case r.exMin != nil && n.cmp(*r.exMin) <= 0:
		return "exclusiveMinimum"
	case r.max != nil && n.cmp(*r.max) > 0:
		return "maximum"
	case r.exMax != nil && n.cmp(*r.exMax) >= 0:
		return "exclusiveMaximum"
	case r.multipleOf != nil && !n.multipleOf(*r.multipleOf):
		return "multipleOf"
	}
	return ""
}

// checkInPlace runs the subschemas that look at the same value.
func (e *evaluator) checkInPlace(n *node, v any, ev *evaluated) bool {
	if n.ref != nil && !e.inPlace(n.ref, v, ev) {
		return false
	}
	if n.not != nil && (e.check(n.not, v, nil) || e.over) {
		return false
	}
	for _, sub := range n.allOf {
		if !e.inPlace(sub, v, ev) {
			return false
		}
	}
	if len(n.anyOf) > 0 && !e.checkAnyOf(n.anyOf, v, ev) {
		return false
	}
	if len(n.oneOf) > 0 && e.countOneOf(n.oneOf, v, ev) != 1 {
		return false
	}
	if n.ifNode != nil {
		branch := n.elseNd
		if e.inPlace(n.ifNode, v, ev) {
			branch = n.thenNode
		}
		if e.over || (branch != nil && !e.inPlace(branch, v, ev)) {
			return false
		}
	}
	return true
}

// inPlace checks a subschema of the same value and keeps what it evaluated if it matches.
func (e *evaluator) inPlace(n *node, v any, ev *evaluated) bool {
	if ev == nil {
		return e.check(n, v, nil)
	}
	var sub evaluated
	if !e.check(n, v, &sub) {
		return false
	}
	ev.merge(&sub)
	return true
}

func (e *evaluator) checkAnyOf(subs []*node, v any, ev *evaluated) bool {
	matched := false
	for _, sub := range subs {
		if e.inPlace(sub, v, ev) {
			matched = true
			if ev == nil {
				return true
			}
		}
		if e.over {
			return false
		}
	}
	return matched
}

// countOneOf counts matches, up to two.
func (e *evaluator) countOneOf(subs []*node, v any, ev *evaluated) int {
	matched := 0
	for _, sub := range subs {
		if e.inPlace(sub, v, ev) {
			matched++
		}
		if matched > 1 || e.over {
			break
		}
	}
	return matched
}

// sortProblems puts problems in the order of their paths, so that one value always gives one text.
func sortProblems(ps []Problem) {
	slices.SortStableFunc(ps, func(a, b Problem) int { return strings.Compare(a.Path, b.Path) })
}
