package schema

import (
	"encoding/json"
	"math/rand/v2"
	"testing"
)

// differ compares this package's evaluator with the library's on one schema and several values.
func differ(t *testing.T, schema []byte, values ...string) {
	t.Helper()
	s, err := Compile(schema)
	if err != nil {
		return
	}
	lib, err := compile(schema)
	if err != nil {
		t.Fatalf("compiles once, not twice: %v", err)
	}
	for _, data := range values {
		v := mustDecode(t, data)
		// The library has no budget: only let it see what this package found cheap.
		e := evaluator{left: 20_000}
		if err := e.admit(v, 0); err != nil {
			t.Fatal(err)
		}
		if e.check(s.root, v, nil); e.over {
			continue
		}
		ours := s.Validate(v)
		checkOutcome(t, ours)
		if theirs := lib.Validate(v); (ours == nil) != (theirs == nil) {
			t.Fatalf("schema %s\nvalue  %s\nours   %v\ntheirs %v", schema, data, ours, theirs)
		}
	}
}

func TestDifferential(t *testing.T) {
	schemas := []string{
		toolSchema,
		`{"$schema":"http://json-schema.org/draft-04/schema#","minimum":1,"exclusiveMinimum":true,"type":["integer","object"]}`,
		`{"$schema":"http://json-schema.org/draft-07/schema#","items":[{"type":"string"},true],"additionalItems":{"type":"null"},"format":"email"}`,
		`{"$schema":"https://json-schema.org/draft/2019-09/schema","items":[true],"unevaluatedItems":false,"contains":{"const":1}}`,
		`{"prefixItems":[true],"contains":{"const":1},"unevaluatedItems":{"type":"string"},"maxContains":2,"minContains":0}`,
		`{"anyOf":[{"properties":{"a":true}},{"properties":{"b":{"type":"string"}},"required":["b"]}],"unevaluatedProperties":false}`,
		`{"oneOf":[{"properties":{"a":{"const":1}},"required":["a"]},{"patternProperties":{"^b":{"type":"integer"}},"additionalProperties":false}]}`,
		`{"if":{"properties":{"a":{"const":1}},"required":["a"]},"then":{"required":["b"]},"else":{"maxProperties":1},"unevaluatedProperties":{"type":"number"}}`,
		`{"$ref":"#/$defs/t","$defs":{"t":{"type":["object","array","string","number","null","boolean"],"properties":{"a":{"$ref":"#/$defs/t"},"c":{"$ref":"#/$defs/t"}},"items":{"$ref":"#/$defs/t"},"uniqueItems":true,"not":{"const":"no"}}}}`,
		`{"dependentSchemas":{"a":{"required":["b"]}},"dependentRequired":{"b":["c"]},"propertyNames":{"maxLength":1},"minProperties":1}`,
		`{"enum":[1,"1",null,[1],{"a":[]}],"const":1}`,
		`{"multipleOf":0.5,"exclusiveMaximum":10,"minLength":2,"pattern":"b$","maxItems":2}`,
		`{"allOf":[{"unevaluatedProperties":true,"properties":{"a":true}}],"unevaluatedProperties":false}`,
	}
	values := []string{
		`null`, `true`, `0`, `1`, `1.0`, `2.5`, `"1"`, `"ab"`, `"no"`, `"a@b.c"`, `[]`, `[1]`, `["x",2,null]`, `["x",2,3]`, `[1,1]`, `[1,"s",1,1]`,
		`{}`, `{"a":1}`, `{"a":1.0,"b":"x"}`, `{"b":"x","c":3}`, `{"a":{"c":[1,"no"]}}`, `{"b1":3}`, `{"a":[]}`, `{"a":2,"b":3}`, `[[1,2],[1,2.0]]`,
		`{"a":1,"b":2,"c":3}`, toolInput, `{"owner":"","repo":"a/b"}`,
	}
	for _, s := range schemas {
		if _, err := Compile([]byte(s)); err != nil {
			t.Errorf("Compile(%s): %v", s, err)
		}
		differ(t, []byte(s), values...)
	}
}

// FuzzValidate looks for a schema and a value on which the two evaluators disagree. Both grow from the fuzzer's bytes,
// so that most of them are meaningful.
func FuzzValidate(f *testing.F) {
	f.Add([]byte("\x03\x01\x04\x01\x05\x09\x02\x06\x05\x03\x05\x08\x09\x07\x09"))
	f.Add([]byte("a longer seed makes a larger schema and a larger value, with alternatives inside"))
	f.Fuzz(func(t *testing.T, seed []byte) { differFrom(t, seed) })
}

func TestDifferentialGenerated(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	seed := make([]byte, 160)
	schemas := 500
	if testing.Short() {
		schemas = 50
	}
	for range schemas {
		for i := range seed {
			seed[i] = byte(r.Uint32())
		}
		differFrom(t, seed)
	}
}

func differFrom(t *testing.T, seed []byte) {
	g := &generator{seed: seed, draft: 2020}
	if g.pick(3) == 0 {
		g.draft = 7
	}
	root := g.schema(3)
	m, ok := root.(map[string]any)
	if !ok {
		return
	}
	if g.draft == 7 {
		m["$schema"] = "http://json-schema.org/draft-07/schema#"
	}
	m["definitions"] = map[string]any{"d": g.schema(2), "e": g.schema(1)}
	schema, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	values := make([]string, 8)
	for i := range values {
		value, err := json.Marshal(g.value(3))
		if err != nil {
			t.Fatal(err)
		}
		values[i] = string(value)
	}
	differ(t, schema, values...)
}

// generator grows schemas and values from bytes. Names and values come from small sets, so that they meet.
type generator struct {
	seed  []byte
	draft int
}

func (g *generator) pick(n int) int {
	if len(g.seed) == 0 {
		return 0
	}
	b := g.seed[0]
	g.seed = g.seed[1:]
	return int(b) % n
}

func (g *generator) name() string { return []string{"a", "b", "ab", "c"}[g.pick(4)] }

func (g *generator) scalar() any {
	return []any{nil, true, false, "", "a", "ab", "b", 0, 1, 1.0, 2, 2.5, -1}[g.pick(13)]
}

func (g *generator) value(depth int) any {
	if depth == 0 || g.pick(3) == 0 {
		return g.scalar()
	}
	if g.pick(2) == 0 {
		a := make([]any, g.pick(4))
		for i := range a {
			a[i] = g.value(depth - 1)
		}
		return a
	}
	m := map[string]any{}
	for range g.pick(4) {
		m[g.name()] = g.value(depth - 1)
	}
	return m
}

func (g *generator) schema(depth int) any {
	if depth == 0 {
		return []any{true, false, map[string]any{"type": g.types()}, map[string]any{"const": g.scalar()}}[g.pick(4)]
	}
	m := map[string]any{}
	for range 1 + g.pick(4) {
		g.keyword(m, depth-1)
	}
	return m
}

func (g *generator) types() any {
	names := []string{"null", "boolean", "string", "number", "integer", "array", "object"}
	if g.pick(2) == 0 {
		return names[g.pick(7)]
	}
	i := g.pick(6)
	return []string{names[i], names[i+1]}
}

func (g *generator) schemas(depth int) []any {
	s := make([]any, 1+g.pick(3))
	for i := range s {
		s[i] = g.schema(depth)
	}
	return s
}

func (g *generator) named(depth int) map[string]any {
	m := map[string]any{}
	for range 1 + g.pick(3) {
		m[g.name()] = g.schema(depth)
	}
	return m
}

func (g *generator) keyword(m map[string]any, depth int) {
	common := []func(){
		func() { m["type"] = g.types() },
		func() { m["const"] = g.value(1) },
		func() { m["enum"] = []any{g.value(1), "x", 7} },
		func() { m["properties"] = g.named(depth) },
		func() { m["patternProperties"] = map[string]any{"^a": g.schema(depth), "b$": g.schema(depth)} },
		func() { m["additionalProperties"] = g.schema(depth) },
		func() { m["required"] = []string{g.name()} },
		func() { m["propertyNames"] = map[string]any{"maxLength": g.pick(3)} },
		func() { m["minProperties"], m["maxProperties"] = g.pick(3), g.pick(4) },
		func() { m["items"] = g.schema(depth) },
		func() { m["contains"] = g.schema(depth) },
		func() { m["uniqueItems"] = true },
		func() { m["minItems"], m["maxItems"] = g.pick(3), g.pick(5) },
		func() { m["minimum"], m["exclusiveMaximum"] = g.pick(3)-1, g.pick(4) },
		func() { m["multipleOf"] = []float64{1, 0.5, 2}[g.pick(3)] },
		func() { m["minLength"], m["pattern"] = g.pick(3), []string{"^a", "b", "^$"}[g.pick(3)] },
		func() { m["not"] = g.schema(depth) },
		func() { m["allOf"] = g.schemas(depth) },
		func() { m["anyOf"] = g.schemas(depth) },
		func() { m["oneOf"] = g.schemas(depth) },
		func() { m["if"], m["then"], m["else"] = g.schema(depth), g.schema(depth), g.schema(depth) },
		func() { m["properties"] = map[string]any{"a": map[string]any{"$ref": "#"}, "b": g.schema(depth)} },
		func() { m["$ref"] = []string{"#/definitions/d", "#/definitions/e"}[g.pick(2)] },
	}
	newer := []func(){
		func() { m["prefixItems"] = g.schemas(depth) },
		func() { m["unevaluatedProperties"] = g.schema(depth) },
		func() { m["unevaluatedItems"] = g.schema(depth) },
		func() { m["minContains"], m["maxContains"], m["contains"] = g.pick(2), 1+g.pick(2), g.schema(depth) },
		func() { m["dependentSchemas"] = g.named(depth) },
		func() { m["dependentRequired"] = map[string]any{g.name(): []string{g.name()}} },
	}
	older := []func(){
		func() { m["items"], m["additionalItems"] = g.schemas(depth), g.schema(depth) },
		func() { m["dependencies"] = g.named(depth) },
		func() { m["dependencies"] = map[string]any{g.name(): []string{g.name()}} },
	}
	all := append(common, newer...)
	if g.draft == 7 {
		all = append(common, older...)
	}
	all[g.pick(len(all))]()
}
