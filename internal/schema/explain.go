package schema

import (
	"fmt"
	"strconv"

	"github.com/cloister-wasm/cloister/internal/plaintext"
)

// explain finds words for a value that check refused. It has a budget of its own; where that ends, the list ends.
func explain(root *node, v any, maxProblems int) error {
	x := explainer{eval: evaluator{left: explainSteps}, left: max(maxProblems, 1)}
	x.explain(root, v, "")
	if len(x.problems) == 0 {
		x.more = false
		x.problems = []Problem{{Message: "the value does not match the schema", Keyword: "schema"}}
	}
	sortProblems(x.problems)
	return &ValidationError{Problems: x.problems, More: x.more}
}

type explainer struct {
	eval     evaluator
	left     int // problems that may still be added
	problems []Problem
	more     bool
	nesting  int // alternatives being explained
}

func (x *explainer) add(path, keyword, format string, args ...any) {
	if x.left <= 0 {
		x.more = true
		return
	}
	x.left--
	x.problems = append(x.problems, Problem{Path: path, Keyword: keyword, Message: fmt.Sprintf(format, args...)})
}

// done reports that nothing more can be added.
func (x *explainer) done() bool {
	if x.left <= 0 || x.eval.over {
		x.more = true
		return true
	}
	return false
}

// explain adds the problems of v under n, none if there are none. Alternatives are decided by check, which remembers:
// a walk through them would be exponential.
func (x *explainer) explain(n *node, v any, path string) {
	if x.done() || !x.eval.spend(1) || x.eval.depth > maxEvalDepth {
		return
	}
	x.eval.depth++
	defer func() { x.eval.depth-- }()

	before := len(x.problems)
	switch {
	case n.never:
		x.add(path, "false schema", "no value is allowed here")
		return
	case n.opaque != nil:
		if !x.eval.checkOpaque(n, v) {
			x.add(path, "$ref", "not a valid JSON Schema")
		}
		return
	case n.types != 0 && !n.types.has(v):
		x.add(path, "type", "expected %s, got %s", n.types, x.got(n, v))
		return
	}
	x.own(n, v, path)
	x.inPlace(n, v, path)
	if n.tracks && len(x.problems) == before {
		x.unevaluated(n, v, path)
	}
}

// got names the value's type, and the value itself where an integer was wanted and a fraction came.
func (x *explainer) got(n *node, v any) string {
	if n.types&typeInteger != 0 && isNumber(v) {
		return literal(v)
	}
	return typeOf(v)
}

func (x *explainer) own(n *node, v any, path string) {
	if n.consts != nil && !n.consts.has(&x.eval, v) {
		x.add(path, "const", "expected %s", literals(n.consts.values))
	}
	if n.enum != nil && !n.enum.has(&x.eval, v) {
		x.enum(n.enum, v, path)
	}
	switch v := v.(type) {
	case map[string]any:
		if n.object != nil {
			x.object(n.object, v, path)
		}
	case []any:
		if n.array != nil {
			x.array(n.array, v, path)
		}
	case string:
		if n.text != nil {
			x.text(n.text, v, path)
		}
	case nil, bool:
	default:
		if n.num != nil {
			x.number(n.num, toNumber(v), path)
		}
	}
	if n.format != nil && !n.format(v) {
		x.add(path, "format", "not a valid %s", plaintext.Clip(n.formatIn, maxNameText))
	}
}

func (x *explainer) enum(set *valueSet, v any, path string) {
	hint := ""
	if s, ok := v.(string); ok {
		var options []string
		for _, o := range set.values {
			if o, ok := o.(string); ok {
				options = append(options, o)
			}
		}
		if near := Suggest(s, options); near != "" {
			hint = ", did you mean " + quoteName(near) + "?"
		}
	}
	word := "one of "
	if len(set.values) == 1 {
		word = ""
	}
	x.add(path, "enum", "expected %s%s%s", word, literals(set.values), hint)
}

func (x *explainer) text(r *textRules, s, path string) {
	n := runeCount(s)
	if r.minLength >= 0 && n < r.minLength {
		x.add(path, "minLength", "must be at least %s long, has %d", plural(r.minLength, "character", "characters"), n)
	}
	if r.maxLength >= 0 && n > r.maxLength {
		x.add(path, "maxLength", "must be at most %s long, has %d", plural(r.maxLength, "character", "characters"), n)
	}
	if r.pattern != nil && !x.eval.match(r.pattern, s) {
		x.add(path, "pattern", "must match the regular expression %s", plaintext.Clip(r.pattern.re.String(), maxRefusedText))
	}
}

func (x *explainer) number(r *numberRules, n number, path string) {
	switch keyword := r.fault(n); keyword {
	case "":
	case "minimum":
		x.add(path, keyword, "must be at least %s, got %s", r.min.text(), n.text())
	case "exclusiveMinimum":
		x.add(path, keyword, "must be more than %s, got %s", r.exMin.text(), n.text())
	case "maximum":
		x.add(path, keyword, "must be at most %s, got %s", r.max.text(), n.text())
	case "exclusiveMaximum":
		x.add(path, keyword, "must be less than %s, got %s", r.exMax.text(), n.text())
	default:
		x.add(path, keyword, "must be a multiple of %s, got %s", r.multipleOf.text(), n.text())
	}
}

func (x *explainer) object(o *objectRules, v map[string]any, path string) {
	if o.minProps >= 0 && len(v) < o.minProps {
		x.add(path, "minProperties", "needs at least %s, has %d", plural(o.minProps, "property", "properties"), len(v))
	}
	if o.maxProps >= 0 && len(v) > o.maxProps {
		x.add(path, "maxProperties", "may have at most %s, has %d", plural(o.maxProps, "property", "properties"), len(v))
	}
	for _, name := range missing(v, o.required) {
		if x.done() {
			return
		}
		x.add(path, "required", "missing required property %s%s", quoteName(name), o.typeHint(name))
	}
	for _, name := range sortedNames(v) {
		if x.done() {
			return
		}
		x.property(o, name, v, path)
	}
	for _, d := range o.dependencies {
		if _, ok := v[d.name]; !ok {
			continue
		}
		for _, name := range missing(v, d.required) {
			x.add(path, "dependencies", "property %s needs property %s beside it", quoteName(d.name), quoteName(name))
		}
		if d.node != nil {
			x.explain(d.node, v, path)
		}
	}
}

// typeHint tells what a missing property should hold.
func (o *objectRules) typeHint(name string) string {
	p, ok := o.props[name]
	if !ok || p.node.types == 0 {
		return ""
	}
	return " (" + p.node.types.String() + ")"
}

func (x *explainer) property(o *objectRules, name string, v map[string]any, path string) {
	item, at := v[name], pointer(path, name)
	if o.propertyNames != nil && !x.eval.check(o.propertyNames, name, nil) {
		x.add(at, "propertyNames", "%s is not allowed as a property name", quoteName(name))
	}
	known := false
	if p, ok := o.props[name]; ok {
		known = true
		x.explain(p.node, item, at)
	}
	for _, p := range o.patterns {
		if x.eval.match(p.matcher, name) {
			known = true
			x.explain(p.node, item, at)
		}
	}
	if known || !o.hasAdditional || o.anyAdditional {
		return
	}
	if o.additional != nil && !o.additional.never {
		x.explain(o.additional, item, at)
		return
	}
	x.unknown(o, name, v, at)
}

func (x *explainer) unknown(o *objectRules, name string, v map[string]any, at string) {
	var free []string // names that are not taken already
	for _, n := range o.propNames {
		if _, taken := v[n]; !taken {
			free = append(free, n)
		}
	}
	near := ""
	if x.eval.spend(len(free) * (8 + min(len(name), maxNameText))) {
		near = Suggest(name, free)
	}
	switch {
	case near != "":
		x.add(at, "additionalProperties", "unknown property %s, did you mean %s?", quoteName(name), quoteName(near))
	case len(o.propNames) > 0:
		x.add(at, "additionalProperties", "unknown property %s; known are %s", quoteName(name), names(o.propNames))
	default:
		x.add(at, "additionalProperties", "unknown property %s", quoteName(name))
	}
}

func (x *explainer) array(a *arrayRules, v []any, path string) {
	if a.minItems >= 0 && len(v) < a.minItems {
		x.add(path, "minItems", "needs at least %s, has %d", plural(a.minItems, "item", "items"), len(v))
	}
	if a.maxItems >= 0 && len(v) > a.maxItems {
		x.add(path, "maxItems", "may have at most %s, has %d", plural(a.maxItems, "item", "items"), len(v))
	}
	if a.noRest && len(v) > len(a.prefix) {
		x.add(path, "additionalItems", "may have at most %s, has %d", plural(len(a.prefix), "item", "items"), len(v))
	}
	if a.unique {
		if i, j := x.eval.duplicate(v); i >= 0 {
			x.add(path, "uniqueItems", "items %d and %d are equal, all must differ", i, j)
		}
	}
	for i, item := range v {
		n := a.itemNode(i)
		if n == nil || x.done() {
			break
		}
		if n.never {
			x.add(path, "items", "may have at most %s, has %d", plural(i, "item", "items"), len(v))
			break
		}
		x.explain(n, item, path+"/"+strconv.Itoa(i))
	}
	if a.contains == nil {
		return
	}
	switch matched := x.eval.countContains(a, v, nil); {
	case x.eval.over:
	case a.minContains >= 0 && matched < a.minContains:
		x.add(path, "contains", "needs at least %s of the kind the schema asks for, has %d", plural(a.minContains, "item", "items"), matched)
	case a.maxContains >= 0 && matched > a.maxContains:
		x.add(path, "contains", "may have at most %s of the kind the schema names, has %d", plural(a.maxContains, "item", "items"), matched)
	}
}

func (x *explainer) inPlace(n *node, v any, path string) {
	for _, sub := range append(append([]*node(nil), n.allOf...), n.ref) {
		if sub != nil {
			x.explain(sub, v, path)
		}
	}
	if n.not != nil && x.eval.check(n.not, v, nil) {
		x.add(path, "not", "matches what the schema excludes")
	}
	if len(n.anyOf) > 0 && !x.eval.checkAnyOf(n.anyOf, v, nil) {
		x.alternatives(n.anyOf, v, path, "anyOf")
	}
	if len(n.oneOf) > 0 {
		switch x.eval.countOneOf(n.oneOf, v, nil) {
		case 0:
			x.alternatives(n.oneOf, v, path, "oneOf")
		case 1:
		default:
			x.add(path, "oneOf", "matches several of the %d alternatives, must match exactly one", len(n.oneOf))
		}
	}
	if n.ifNode != nil {
		branch := n.elseNd
		if x.eval.check(n.ifNode, v, nil) {
			branch = n.thenNode
		}
		if branch != nil {
			x.explain(branch, v, path)
		}
	}
}

func (x *explainer) unevaluated(n *node, v any, path string) {
	ev := new(evaluated)
	if !x.eval.checkOwn(n, v, ev) || !x.eval.checkInPlace(n, v, ev) {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		if n.object == nil || n.object.unevaluated == nil {
			return
		}
		for _, name := range sortedNames(v) {
			switch {
			case ev.hasProp(name):
			case n.object.unevaluated.never:
				x.unknown(n.object, name, v, pointer(path, name))
			default:
				x.explain(n.object.unevaluated, v[name], pointer(path, name))
			}
		}
	case []any:
		if n.array == nil || n.array.unevaluated == nil {
			return
		}
		for i, item := range v {
			if !ev.hasItem(i) {
				x.explain(n.array.unevaluated, item, path+"/"+strconv.Itoa(i))
			}
		}
	}
}
