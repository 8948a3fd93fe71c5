package schema

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// CheckCase refuses members of objects that the schema does not declare and that differ from a declared
// one only in case, at every place for which it declares any. Many tools read JSON without regard to case, as
// encoding/json does (CVE-2026-27896 is one that did): a policy that allows {"to": "boss"} would let
// {"to": "boss", "To": "thief"} pass. Case is Unicode's simple folding, which is what encoding/json uses. The
// value is as [Decode] gives it and has passed Validate. The error is a [*ValidationError] or ErrTooCostly.
func (s *Schema) CheckCase(value any) error {
	c := caseChecker{left: MaxSteps}
	if c.plain(s.root, value) {
		return nil
	}
	c.value([]*node{s.root}, value, "")
	switch {
	case c.left < 0:
		return fmt.Errorf("%w (more than %d steps)", ErrTooCostly, MaxSteps)
	case c.problem != nil:
		return &ValidationError{Problems: []Problem{*c.problem}}
	}
	return nil
}

type caseChecker struct {
	left    int
	problem *Problem
}

// plain says whether an object, of a schema without parts that speak about the same value, has declared members
// only, none of which holds others. That is what most inputs are, and costs no allocation.
func (c *caseChecker) plain(n *node, value any) bool {
	v, ok := value.(map[string]any)
	if !ok || n.object == nil || n.ref != nil || n.ifNode != nil || len(n.allOf)+len(n.anyOf)+len(n.oneOf)+len(n.object.dependencies) > 0 {
		return false
	}
	for name, member := range v {
		if _, declared := n.object.props[name]; !declared {
			return false
		}
		switch member.(type) {
		case map[string]any, []any:
			return false
		}
	}
	return true
}

// value checks a value for which all of nodes may speak.
func (c *caseChecker) value(nodes []*node, v any, path string) {
	if c.left -= 1 + len(nodes); c.left < 0 || c.problem != nil {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		c.object(c.inPlace(nodes), v, path)
	case []any:
		var rest []*node
		all := c.inPlace(nodes)
		for i, item := range v {
			items := rest[:0:0]
			for _, n := range all {
				if n.array == nil {
					continue
				}
				switch {
				case i < len(n.array.prefix):
					items = append(items, n.array.prefix[i])
				case n.array.rest != nil:
					items = append(items, n.array.rest)
				}
			}
			if len(items) > 0 {
				c.value(items, item, fmt.Sprintf("%s/%d", path, i))
			}
		}
	}
}

func (c *caseChecker) object(nodes []*node, v map[string]any, path string) {
	declared := map[string][]*node{}
	for _, n := range nodes {
		if n.object == nil {
			continue
		}
		for name, p := range n.object.props {
			c.left--
			declared[name] = append(declared[name], p.node)
		}
	}
	if len(declared) == 0 {
		return
	}
	folded := make(map[string]string, len(declared))
	for name := range declared {
		folded[foldCase(name)] = name
	}
	names := make([]string, 0, len(v))
	for name := range v {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if c.left--; c.left < 0 || c.problem != nil {
			return
		}
		if inner, ok := declared[name]; ok {
			c.value(inner, v[name], path+"/"+name)
		} else if twin, ok := folded[foldCase(name)]; ok {
			c.problem = &Problem{Path: path, Keyword: "properties", Message: fmt.Sprintf("unknown property %s differs from %s only in case", quoteName(name), quoteName(twin))}
		}
	}
}

// inPlace adds the nodes that speak about the same value.
func (c *caseChecker) inPlace(nodes []*node) []*node {
	seen := map[*node]bool{}
	var out []*node
	var add func(n *node)
	add = func(n *node) {
		if n == nil || seen[n] || c.left < 0 {
			return
		}
		c.left--
		seen[n] = true
		out = append(out, n)
		for _, one := range []*node{n.ref, n.ifNode, n.thenNode, n.elseNd} {
			add(one)
		}
		for _, list := range [][]*node{n.allOf, n.anyOf, n.oneOf} {
			for _, one := range list {
				add(one)
			}
		}
		if n.object != nil {
			for _, d := range n.object.dependencies {
				add(d.node)
			}
		}
	}
	for _, n := range nodes {
		add(n)
	}
	return out
}

// foldCase is the same for names that differ only in case.
func foldCase(name string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			least = min(least, f)
		}
		return least
	}, name)
}
