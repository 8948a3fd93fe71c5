package schema

import (
	"maps"
	"slices"
	"unicode/utf8"
)

func runeCount(s string) int { return utf8.RuneCountInString(s) }

func (e *evaluator) checkObject(o *objectRules, v map[string]any, ev *evaluated) bool {
	if (o.minProps >= 0 && len(v) < o.minProps) || (o.maxProps >= 0 && len(v) > o.maxProps) {
		return false
	}
	if !e.spend(len(o.required) + len(o.discriminators) + len(v)) {
		return false
	}
	for _, name := range o.required {
		if _, ok := v[name]; !ok {
			return false
		}
	}
	// The property that tells alternatives apart comes first: a wrong branch ends here, before it goes deeper.
	for _, name := range o.discriminators {
		if item, ok := v[name]; ok && !e.check(o.props[name].node, item, nil) {
			return false
		}
	}
	for name, item := range v {
		if !e.checkProperty(o, name, item, ev) {
			return false
		}
	}
	if o.hasAdditional && ev != nil {
		ev.allProps = true
	}
	return e.checkDependencies(o, v, ev)
}

func (e *evaluator) checkProperty(o *objectRules, name string, item any, ev *evaluated) bool {
	if o.propertyNames != nil && !e.check(o.propertyNames, name, nil) {
		return false
	}
	known := false
	if p, ok := o.props[name]; ok {
		known = true
		if !p.discriminator && !e.check(p.node, item, nil) {
			return false
		}
	}
	for _, p := range o.patterns {
		if e.match(p.matcher, name) {
			known = true
			if !e.check(p.node, item, nil) {
				return false
			}
		}
		if e.over {
			return false
		}
	}
	if known {
		ev.addProp(name)
		return true
	}
	switch {
	case !o.hasAdditional || o.anyAdditional:
		return true
	case o.additional == nil:
		return false
	default:
		return e.check(o.additional, item, nil)
	}
}

func (e *evaluator) checkDependencies(o *objectRules, v map[string]any, ev *evaluated) bool {
	for _, d := range o.dependencies {
		if _, ok := v[d.name]; !ok {
			continue
		}
		if len(missing(v, d.required)) > 0 {
			return false
		}
		if d.node != nil && !e.inPlace(d.node, v, ev) {
			return false
		}
	}
	return true
}

func missing(v map[string]any, required []string) []string {
	var names []string
	for _, name := range required {
		if _, ok := v[name]; !ok {
			names = append(names, name)
		}
	}
	return names
}

func (e *evaluator) checkArray(a *arrayRules, v []any, ev *evaluated) bool {
	if (a.minItems >= 0 && len(v) < a.minItems) || (a.maxItems >= 0 && len(v) > a.maxItems) {
		return false
	}
	if a.unique {
		if i, _ := e.duplicate(v); i >= 0 || e.over {
			return false
		}
	}
	if a.noRest && len(v) > len(a.prefix) {
		return false
	}
	for i, item := range v {
		n := a.itemNode(i)
		if n == nil {
			break
		}
		if !e.check(n, item, nil) {
			return false
		}
		if ev != nil && a.rest == nil {
			ev.addItem(i)
		}
	}
	if ev != nil && (a.rest != nil || a.anyRest) {
		ev.allItems = true
	}
	return a.contains == nil || e.checkContains(a, v, ev)
}

// itemNode is the subschema for the item at i, or nil.
func (a *arrayRules) itemNode(i int) *node {
	if i < len(a.prefix) {
		return a.prefix[i]
	}
	return a.rest
}

func (e *evaluator) checkContains(a *arrayRules, v []any, ev *evaluated) bool {
	matched := e.countContains(a, v, ev)
	return !e.over && !(a.minContains >= 0 && matched < a.minContains) && !(a.maxContains >= 0 && matched > a.maxContains)
}

func (e *evaluator) countContains(a *arrayRules, v []any, ev *evaluated) int {
	matched := 0
	for i, item := range v {
		if e.check(a.contains, item, nil) {
			matched++
			if a.containsEvaluates {
				ev.addItem(i)
			}
		}
		if e.over {
			break
		}
	}
	return matched
}

func sortedNames(v map[string]any) []string { return slices.Sorted(maps.Keys(v)) }
