package mcp

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/internal/schema"
	"github.com/google/go-cmp/cmp"
)

// lenientSchemas are input schemas that do not compile. checked is what calls are checked against, empty where the tool is
// refused; note is in the note about it.
var lenientSchemas = map[string]struct{ input, checked, note string }{
	"pattern":         {`{"properties":{"a":{"type":"string","pattern":"^(?!x)"}}}`, `{"properties":{"a":{"type":"string"}}}`, "the pattern at /properties/a cannot be used"},
	"property names":  {`{"properties":{"pattern":{"type":"string","pattern":"(?=x)"}},"propertyNames":{"pattern":"\\p{Emoji}"}}`, `{"properties":{"pattern":{"type":"string"}},"propertyNames":{}}`, "/properties/pattern"},
	"deep":            {`{"allOf":[{"items":[{"additionalProperties":{"pattern":"(?<=a)"}}]}],"then":{"pattern":"(?=)"},"$schema":"http://json-schema.org/draft-07/schema#"}`, `{"$schema":"http://json-schema.org/draft-07/schema#","allOf":[{"items":[{"additionalProperties":{}}]}],"then":{}}`, "/allOf/0/items/0/additionalProperties"},
	"referred to":     {`{"$defs":{"d":{"pattern":"(?=x)"}},"properties":{"a":{"$ref":"#/$defs/d"}}}`, `{"$defs":{"d":{}},"properties":{"a":{"$ref":"#/$defs/d"}}}`, "/$defs/d"},
	"digits":          {`{"maximum":1.0,"pattern":"(?=)"}`, `{"maximum":1}`, "the pattern at the root"},
	"dialect":         {`{"$schema":"https://evil.example/schema","type":"object","prefixItems":[{"type":"string"}]}`, `{"prefixItems":[{"type":"string"}],"type":"object"}`, `"https://evil.example/schema" is not known`},
	"required":        {`{"not":{"required":null},"required":null,"type":"object"}`, `{"not":{},"type":"object"}`, "null as required at the root"},
	"long repetition": {`{"pattern":"^.{1,5000}$"}`, `{}`, "the pattern at the root"},
	"default":         {`{"properties":{"a":{"default":{"required":null},"pattern":"(?=)"}}}`, `{"properties":{"a":{"default":{"required":null}}}}`, "/properties/a"},

	"below not":         {input: `{"not":{"pattern":"(?=x)"}}`},
	"below not, inside": {input: `{"not":{"properties":{"a":{"pattern":"(?=x)"}}}}`},
	"below if":          {input: `{"if":{"pattern":"(?=x)"},"then":false}`},
	"below oneOf":       {input: `{"oneOf":[{"pattern":"(?=x)"},{"type":"string"}]}`},
	"below anyOf":       {input: `{"anyOf":[{"pattern":"(?=x)"}]}`},
	"below contains":    {input: `{"contains":{"pattern":"(?=x)"},"maxContains":1}`},
	"below dependent":   {input: `{"dependentSchemas":{"a":{"pattern":"(?=x)"}}}`},
	"referred from not": {input: `{"$defs":{"d":{"pattern":"(?=x)"},"e":{"$ref":"#/$defs/d"}},"not":{"$ref":"#/$defs/e"}}`},
	"reference in not":  {input: `{"properties":{"a":{"pattern":"(?=x)"}},"not":{"x":[{"$ref":"#/properties/a"}]}}`},
	"unknown place":     {input: `{"x":{"pattern":"(?=x)"}}`},
	"pattern property":  {input: `{"patternProperties":{"(?=x)":{}},"additionalProperties":false}`},
	"pattern too large": {input: `{"pattern":"a{999}b{999}c{999}d{999}e{999}f{999}"}`},
	"pattern too long":  {input: `{"pattern":"(?=` + strings.Repeat("x", schema.MaxPatternBytes) + `)"}`},
	"type":              {input: `{"properties":{"a":{"type":"date"}}}`},
	"draft 4":           {input: `{"properties":{"a":{"minimum":1,"exclusiveMinimum":true}}}`},
	"required of words": {input: `{"required":"a"}`},
	"remote":            {input: `{"$ref":"https://evil.example/","required":null}`},
	"no text":           {input: `{"$schema":7}`},
}

func TestLenientSchemas(t *testing.T) {
	for name, c := range lenientSchemas {
		t.Run(name, func(t *testing.T) {
			if _, err := schema.Compile([]byte(c.input)); err == nil {
				t.Fatal("it compiles: nothing is to be made good")
			}
			l := &toolList{}
			l.add([]json.RawMessage{json.RawMessage(`{"name":"t","inputSchema":` + c.input + `}`)}, nil)
			if c.checked == "" {
				if len(l.Tools) != 0 || len(l.Skipped) != 1 || len(l.Notes) != 0 {
					t.Errorf("it is not refused: %+v", l)
				}
				return
			}
			if len(l.Tools) != 1 || len(l.Notes) != 1 || !strings.HasPrefix(l.Notes[0], "tool t: ") || !strings.Contains(l.Notes[0], c.note) {
				t.Fatalf("got %+v, want the note %q", l, c.note)
			}
			said, err := compact([]byte(c.input))
			if got := l.Tools[0]; err != nil || string(got.Parameters) != string(said) || string(got.Checked) != c.checked {
				t.Errorf("parameters %s, checked %s, want %s, %v", got.Parameters, got.Checked, c.checked, err)
			}
			// The cache tells the same.
			data, err := encodeCache(l, "k")
			if err != nil {
				t.Fatal(err)
			}
			again, err := decodeCache(data, "k", 10)
			if diff := cmp.Diff(l, again); diff != "" || err != nil {
				t.Errorf("%v: %s", err, diff)
			}
		})
	}
	if _, err := schema.Compile([]byte(`{"required":null}`)); err == nil {
		t.Error("internal/schema, which plugins and tools in Go share, is to stay strict")
	}
}

func TestHintsOfOtherTypes(t *testing.T) {
	yes := true
	for text, want := range map[string]struct {
		hints host.ToolAnnotations
		note  string
	}{
		`null`: {},
		`{"readOnlyHint":true,"destructiveHint":null,"title":7}`:             {hints: host.ToolAnnotations{ReadOnly: &yes}},
		`{"readOnlyHint":"true","idempotentHint":1,"openWorldHint":[false]}`: {note: "readOnlyHint is no boolean"},
		`{"destructiveHint":"false"}`:                                        {host.ToolAnnotations{Destructive: &yes}, "destructiveHint is no boolean and taken as true"},
	} {
		l := &toolList{}
		l.add([]json.RawMessage{json.RawMessage(`{"name":"t","inputSchema":{},"annotations":` + text + `}`)}, nil)
		if len(l.Tools) != 1 || (want.note != "") != (len(l.Notes) == 1) || want.note != "" && !strings.Contains(l.Notes[0], want.note) {
			t.Errorf("%s: got %+v", text, l)
			continue
		}
		if diff := cmp.Diff(want.hints, l.Tools[0].Annotations); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
}
