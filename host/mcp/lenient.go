package mcp

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/internal/plaintext"
	"github.com/cloister-wasm/cloister/internal/schema"
)

// knownDialect are the values of $schema that internal/schema reads.
var knownDialect = regexp.MustCompile(`^https?://json-schema\.org/(draft-0[467]|draft/(2019-09|2020-12))/schema#?$`)

// leniency takes out of an input schema what cannot be used here and need not be: the server checks its input itself, and
// our check is there to say early and clearly what is wrong. It only ever lets more through.
type leniency struct {
	patterns bool // patterns may be left out
	note     func(string)
}

// lenient gives, of an input schema that does not compile, the whole and what calls are checked against; checked is nil if
// nothing helps.
func lenient(raw json.RawMessage, note func(string)) (whole, checked json.RawMessage) {
	whole, err := compact(raw)
	if err != nil {
		return nil, nil
	}
	canonical, err := schema.Canonical(raw)
	if err != nil {
		return nil, nil
	}
	v, err := schema.Decode(canonical)
	if err != nil {
		return nil, nil
	}
	root, ok := v.(map[string]any)
	if !ok {
		return nil, nil
	}
	var notes []string
	l := leniency{patterns: !unsureReference(root, false), note: func(s string) { notes = append(notes, s) }}
	if u, ok := root["$schema"].(string); ok && !knownDialect.MatchString(u) {
		delete(root, "$schema")
		l.note(fmt.Sprintf("its $schema %q is not known and taken as 2020-12", plaintext.Short(u, 80)))
	}
	l.schema("", root, true)
	checked, err = marshal(root)
	if err != nil || len(notes) == 0 {
		return nil, nil
	}
	if _, err := schema.Compile(checked); err != nil {
		return nil, nil
	}
	for _, s := range notes {
		note(s)
	}
	return whole, checked
}

// unsure are the keywords below which a schema that lets more through may make the whole let less through, or where that is
// not plain to see.
var unsure = map[string]bool{
	"not": true, "if": true, "oneOf": true, "anyOf": true, "contains": true, "dependentSchemas": true, "dependencies": true,
	"unevaluatedItems": true, "unevaluatedProperties": true,
}

// unsureReference says whether there may be a reference below such a keyword: it may lead to any pattern.
func unsureReference(v any, below bool) bool {
	switch v := v.(type) {
	case []any:
		return slices.ContainsFunc(v, func(item any) bool { return unsureReference(item, below) })
	case map[string]any:
		for key, item := range v {
			if below && (key == "$ref" || key == "$dynamicRef" || key == "$recursiveRef") || unsureReference(item, below || unsure[key]) {
				return true
			}
		}
	}
	return false
}

// schema mends a schema and those in it. sure says that what it lets through, the whole does not refuse for it.
func (l *leniency) schema(path string, v any, sure bool) {
	m, ok := v.(map[string]any)
	if !ok {
		return
	}
	if required, has := m["required"]; has && required == nil {
		delete(m, "required")
		l.note("null as required at " + place(path) + " is taken as absent")
	}
	if p, ok := m["pattern"].(string); ok && sure && l.patterns && foreignPattern(p) {
		delete(m, "pattern")
		l.note("the pattern at " + place(path) + " cannot be used here: the server alone checks it")
	}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		at, sure := path+"/"+key, sure && !unsure[key]
		switch key {
		case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
			members, ok := m[key].(map[string]any)
			if !ok {
				continue
			}
			for _, name := range slices.Sorted(maps.Keys(members)) {
				l.schema(at+"/"+name, members[name], sure)
			}
		case "items", "prefixItems", "allOf", "anyOf", "oneOf":
			list, ok := m[key].([]any)
			if !ok {
				l.schema(at, m[key], sure)
			}
			for i, item := range list {
				l.schema(at+"/"+strconv.Itoa(i), item, sure)
			}
		case "additionalProperties", "additionalItems", "propertyNames", "then", "else", "not", "if", "contains", "unevaluatedItems", "unevaluatedProperties":
			l.schema(at, m[key], sure)
		}
	}
}

// place names a schema in a note.
func place(path string) string {
	if path == "" {
		return "the root"
	}
	return plaintext.Short(path, 100)
}

// foreignPattern reports a regular expression that Go's engine cannot take, such as one with look-around or of more than
// a thousand repetitions. One that it can take and that costs too much stays refused.
func foreignPattern(p string) bool {
	if len(p) > schema.MaxPatternBytes {
		return false
	}
	_, err := syntax.Parse(p, syntax.Perl)
	return err != nil
}

// decodeHints reads a tool's annotations. A hint that is no boolean says nothing; then a tool may be destructive, as the
// protocol has it.
func decodeHints(raw json.RawMessage, note func(string)) (a host.ToolAnnotations, err error) {
	if raw == nil || string(raw) == "null" {
		return a, nil
	}
	members := map[string]json.RawMessage{}
	if err := into(raw, &members); err != nil {
		return a, fmt.Errorf("annotations: %w", err)
	}
	for _, h := range []struct {
		name string
		to   **bool
	}{{"readOnlyHint", &a.ReadOnly}, {"destructiveHint", &a.Destructive}, {"idempotentHint", &a.Idempotent}, {"openWorldHint", &a.OpenWorld}} {
		value := members[h.name]
		if value == nil || into(value, h.to) == nil {
			continue
		}
		*h.to = nil
		if h.to == &a.Destructive {
			yes := true
			a.Destructive = &yes
			note("its destructiveHint is no boolean and taken as true")
			continue
		}
		note("its " + h.name + " is no boolean and taken as absent")
	}
	return a, nil
}
