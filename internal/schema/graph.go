package schema

import (
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// node is one subschema, prepared for evaluation. Nodes form a graph: references are edges like any other, and cycles
// always pass through a property or an item (the library refuses the others).
type node struct {
	never  bool               // the schema false
	opaque *jsonschema.Schema // a meta-schema of a draft, left to the library

	types    typeSet
	consts   *valueSet // const
	enum     *valueSet
	format   func(any) bool
	formatIn string

	ref                      *node
	not                      *node
	allOf, anyOf, oneOf      []*node
	ifNode, thenNode, elseNd *node

	object *objectRules
	array  *arrayRules
	text   *textRules
	num    *numberRules

	tracks bool // has unevaluatedProperties or unevaluatedItems
	memo   bool // reachable by several ways: remember results
	edges  int  // number of ways in
}

type objectRules struct {
	minProps, maxProps int // -1 when absent
	required           []string
	props              map[string]property
	propNames          []string // sorted keys of props
	discriminators     []string // properties whose schema is a const or an enum: looked at first
	patterns           []patternProp
	propertyNames      *node
	hasAdditional      bool
	additional         *node // nil with hasAdditional: nothing more is allowed; see anyAdditional
	anyAdditional      bool  // additionalProperties: true
	dependencies       []dependency
	unevaluated        *node
}

// property is a named property. A discriminator is checked before the others.
type property struct {
	node          *node
	discriminator bool
}

type patternProp struct {
	*matcher
	node *node
}

type dependency struct {
	name     string
	required []string
	node     *node
}

type arrayRules struct {
	minItems, maxItems int
	unique             bool
	prefix             []*node
	rest               *node // items after the prefix
	noRest             bool  // none may follow
	anyRest            bool  // additionalItems: true: all count as evaluated
	contains           *node
	minContains        int
	maxContains        int
	containsEvaluates  bool // draft 2020-12: items that match contains are evaluated
	unevaluated        *node
}

type textRules struct {
	minLength, maxLength int
	pattern              *matcher
}

type numberRules struct {
	min, exMin, max, exMax, multipleOf *number
}

// typeSet is a set of JSON types.
type typeSet uint8

const (
	typeNull typeSet = 1 << iota
	typeBoolean
	typeString
	typeArray
	typeObject
	typeNumber
	typeInteger
)

var typeNames = []struct {
	bit  typeSet
	name string
}{
	{typeString, "string"}, {typeNumber, "number"}, {typeInteger, "integer"}, {typeBoolean, "boolean"},
	{typeObject, "object"}, {typeArray, "array"}, {typeNull, "null"},
}

func (t typeSet) String() string {
	var texts []string
	for _, n := range typeNames {
		if t&n.bit != 0 && !(n.bit == typeInteger && t&typeNumber != 0) {
			texts = append(texts, n.name)
		}
	}
	return orList(texts)
}

// metaSchemas are the compiled meta-schemas of the library, by identity: an $id cannot pretend to be one.
var metaSchemas = sync.OnceValue(func() map[*jsonschema.Schema]bool {
	m := map[*jsonschema.Schema]bool{}
	for _, u := range []string{
		"http://json-schema.org/draft-04/schema#", "http://json-schema.org/draft-06/schema#",
		"http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2019-09/schema",
		"https://json-schema.org/draft/2020-12/schema",
	} {
		if s, err := compile([]byte(`{"allOf":[{"$ref":"` + u + `"}]}`)); err == nil && s.AllOf[0].Ref != nil {
			m[s.AllOf[0].Ref] = true
		}
	}
	return m
})

type builder struct {
	nodes     map[*jsonschema.Schema]*node
	branching bool // some subschema looks at one value in several ways
	err       error
}

func buildGraph(s *jsonschema.Schema) (*node, error) {
	b := &builder{nodes: map[*jsonschema.Schema]*node{}}
	root := b.node(s)
	if b.err != nil {
		return nil, b.err
	}
	for _, n := range b.nodes {
		n.memo = b.branching && n.edges > 1
	}
	return root, nil
}

func (b *builder) node(s *jsonschema.Schema) *node {
	if s == nil {
		return nil
	}
	if n, ok := b.nodes[s]; ok {
		n.edges++
		return n
	}
	n := &node{edges: 1}
	b.nodes[s] = n
	switch {
	case metaSchemas()[s]:
		n.opaque = s
		return n
	case s.Always != nil:
		n.never = !*s.Always
		return n
	case s.DynamicRef != nil || s.RecursiveRef != nil:
		b.err = &CompileError{Kind: ErrUnsupported, Path: place(s), Detail: "$dynamicRef and $recursiveRef are not supported; use $ref"}
		return n
	}
	for _, t := range s.Types {
		for _, tn := range typeNames {
			if tn.name == t {
				n.types |= tn.bit
			}
		}
	}
	n.consts, n.enum = newValueSet(s.Constant), newValueSet(s.Enum)
	if assertsFormat(s) {
		n.format, n.formatIn = jsonschema.Formats[s.Format], s.Format
	}
	n.ref, n.not = b.node(s.Ref), b.node(s.Not)
	n.allOf, n.anyOf, n.oneOf = b.all(s.AllOf), b.all(s.AnyOf), b.all(s.OneOf)
	n.ifNode, n.thenNode, n.elseNd = b.node(s.If), b.node(s.Then), b.node(s.Else)
	n.object, n.array = b.objectRules(s), b.arrayRules(s)
	n.text, n.num = textOf(s), numbersOf(s)
	n.tracks = s.UnevaluatedProperties != nil || s.UnevaluatedItems != nil
	b.branching = b.branching || n.not != nil || n.ifNode != nil || len(n.allOf)+len(n.anyOf)+len(n.oneOf) > 1 ||
		(n.object != nil && (len(n.object.dependencies) > 0 || len(n.object.patterns) > 0)) ||
		(n.array != nil && n.array.contains != nil)
	return n
}

func (b *builder) all(ss []*jsonschema.Schema) []*node {
	ns := make([]*node, len(ss))
	for i, s := range ss {
		ns[i] = b.node(s)
	}
	return ns
}

func (b *builder) objectRules(s *jsonschema.Schema) *objectRules {
	if s.MinProperties < 0 && s.MaxProperties < 0 && len(s.Required)+len(s.Properties)+len(s.PatternProperties)+
		len(s.Dependencies)+len(s.DependentRequired)+len(s.DependentSchemas) == 0 &&
		s.PropertyNames == nil && s.AdditionalProperties == nil && s.UnevaluatedProperties == nil {
		return nil
	}
	o := &objectRules{
		minProps: s.MinProperties, maxProps: s.MaxProperties, required: s.Required,
		props: make(map[string]property, len(s.Properties)), propNames: sortedKeys(s.Properties),
		propertyNames: b.node(s.PropertyNames), unevaluated: b.node(s.UnevaluatedProperties),
	}
	for _, name := range o.propNames {
		p := property{node: b.node(s.Properties[name])}
		if p.discriminator = p.node.consts != nil || p.node.enum != nil; p.discriminator {
			o.discriminators = append(o.discriminators, name)
		}
		o.props[name] = p
	}
	for re, sub := range s.PatternProperties {
		o.patterns = append(o.patterns, patternProp{newMatcher(re), b.node(sub)})
	}
	slices.SortFunc(o.patterns, func(x, y patternProp) int { return strings.Compare(x.re.String(), y.re.String()) })
	switch add := s.AdditionalProperties.(type) {
	case bool:
		o.hasAdditional, o.anyAdditional = true, add
	case *jsonschema.Schema:
		o.hasAdditional, o.additional = true, b.node(add)
	}
	b.dependencies(o, s)
	return o
}

func (b *builder) dependencies(o *objectRules, s *jsonschema.Schema) {
	for name, d := range s.Dependencies {
		switch d := d.(type) {
		case []string:
			o.dependencies = append(o.dependencies, dependency{name: name, required: d})
		case *jsonschema.Schema:
			o.dependencies = append(o.dependencies, dependency{name: name, node: b.node(d)})
		}
	}
	for name, req := range s.DependentRequired {
		o.dependencies = append(o.dependencies, dependency{name: name, required: req})
	}
	for name, sub := range s.DependentSchemas {
		o.dependencies = append(o.dependencies, dependency{name: name, node: b.node(sub)})
	}
	slices.SortStableFunc(o.dependencies, func(x, y dependency) int { return strings.Compare(x.name, y.name) })
}

func (b *builder) arrayRules(s *jsonschema.Schema) *arrayRules {
	if s.MinItems < 0 && s.MaxItems < 0 && !s.UniqueItems && s.Items == nil && len(s.PrefixItems) == 0 &&
		s.Items2020 == nil && s.Contains == nil && s.UnevaluatedItems == nil {
		return nil
	}
	a := &arrayRules{
		minItems: s.MinItems, maxItems: s.MaxItems, unique: s.UniqueItems,
		contains: b.node(s.Contains), minContains: s.MinContains, maxContains: s.MaxContains,
		containsEvaluates: s.ContainsEval, unevaluated: b.node(s.UnevaluatedItems),
		prefix: b.all(s.PrefixItems), rest: b.node(s.Items2020),
	}
	switch items := s.Items.(type) {
	case *jsonschema.Schema:
		a.rest = b.node(items)
	case []*jsonschema.Schema:
		a.prefix = b.all(items)
		switch add := s.AdditionalItems.(type) {
		case bool:
			a.noRest, a.anyRest = !add, add
		case *jsonschema.Schema:
			a.rest = b.node(add)
		}
	}
	return a
}

func textOf(s *jsonschema.Schema) *textRules {
	if s.MinLength < 0 && s.MaxLength < 0 && s.Pattern == nil {
		return nil
	}
	return &textRules{minLength: s.MinLength, maxLength: s.MaxLength, pattern: newMatcher(s.Pattern)}
}

func numbersOf(s *jsonschema.Schema) *numberRules {
	r := &numberRules{
		min: ratNumber(s.Minimum), exMin: ratNumber(s.ExclusiveMinimum),
		max: ratNumber(s.Maximum), exMax: ratNumber(s.ExclusiveMaximum), multipleOf: ratNumber(s.MultipleOf),
	}
	if *r == (numberRules{}) {
		return nil
	}
	return r
}

// assertsFormat: up to draft 7 format is an assertion, from 2019-09 on an annotation unless a vocabulary says otherwise,
// and such vocabularies would have to be fetched.
func assertsFormat(s *jsonschema.Schema) bool {
	return s.Format != "" && (s.Draft == jsonschema.Draft4 || s.Draft == jsonschema.Draft6 || s.Draft == jsonschema.Draft7)
}

// place is the JSON pointer of a subschema in its document.
func place(s *jsonschema.Schema) string {
	_, frag, _ := strings.Cut(s.Location, "#")
	return frag
}
