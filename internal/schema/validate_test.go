package schema

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestValidateWords(t *testing.T) {
	tests := []struct{ name, schema, value, want string }{
		{"type", `{"type":"string"}`, `3`, `expected string, got number`},
		{"types", `{"type":["string","null"]}`, `3`, `expected string or null, got number`},
		{"nested type", `{"properties":{"path":{"type":"string"}}}`, `{"path":3}`, `/path: expected string, got number`},
		{"integer", `{"type":"integer"}`, `1.5`, `expected integer, got 1.5`},
		{"integer from string", `{"type":"integer"}`, `"3"`, `expected integer, got string`},
		{"missing", `{"required":["a"],"properties":{"a":{"type":"integer"}}}`, `{}`, `missing required property "a" (integer)`},
		{"unknown near", `{"properties":{"maxItems":{}},"additionalProperties":false}`, `{"max_items":1}`,
			`/max_items: unknown property "max_items", did you mean "maxItems"?`},
		{"unknown far", `{"properties":{"a":{},"b":{}},"additionalProperties":false}`, `{"zzz":1}`, `/zzz: unknown property "zzz"; known are "a", "b"`},
		{"unknown, none known", `{"additionalProperties":false}`, `{"x":1}`, `/x: unknown property "x"`},
		{"unevaluated", `{"allOf":[{"properties":{"a":{}}}],"properties":{"bcd":{}},"unevaluatedProperties":false}`, `{"a":1,"bce":1}`,
			`/bce: unknown property "bce", did you mean "bcd"?`},
		{"enum", `{"enum":["asc","desc"]}`, `"up"`, `expected one of "asc" or "desc"`},
		{"enum near", `{"enum":["ascending","descending"]}`, `"Ascendng"`, `expected one of "ascending" or "descending", did you mean "ascending"?`},
		{"enum of one", `{"enum":[3]}`, `4`, `expected 3`},
		{"long enum", `{"enum":[1,2,3,4,5,6,7,8,9,10]}`, `0`, `expected one of 1, 2, 3, 4, 5, 6, 7, 8 or 2 more`},
		{"const", `{"const":{"a":1}}`, `1`, `expected an object`},
		{"minimum", `{"minimum":3}`, `2`, `must be at least 3, got 2`},
		{"exclusiveMinimum", `{"exclusiveMinimum":0.5}`, `0.5`, `must be more than 0.5, got 0.5`},
		{"maximum", `{"maximum":3}`, `1e3`, `must be at most 3, got 1e3`},
		{"exclusiveMaximum", `{"exclusiveMaximum":3}`, `3`, `must be less than 3, got 3`},
		{"multipleOf", `{"multipleOf":0.1}`, `0.25`, `must be a multiple of 0.1, got 0.25`},
		{"minLength", `{"minLength":1}`, `""`, `must be at least 1 character long, has 0`},
		{"maxLength in characters", `{"maxLength":2}`, `"äöü"`, `must be at most 2 characters long, has 3`},
		{"pattern", `{"pattern":"^[a-z]+$"}`, `"A"`, `must match the regular expression ^[a-z]+$`},
		{"format", `{"$schema":"http://json-schema.org/draft-07/schema#","format":"date-time"}`, `"x"`, `not a valid date-time`},
		{"minItems", `{"minItems":2}`, `[1]`, `needs at least 2 items, has 1`},
		{"maxItems", `{"maxItems":1}`, `[1,2]`, `may have at most 1 item, has 2`},
		{"items", `{"items":{"type":"string"}}`, `["a",2]`, `/1: expected string, got number`},
		{"no more items", `{"prefixItems":[{}],"items":false}`, `[1,2]`, `may have at most 1 item, has 2`},
		{"uniqueItems", `{"uniqueItems":true}`, `[{"a":1},2,{"a":1.0}]`, `items 0 and 2 are equal, all must differ`},
		{"contains", `{"contains":{"type":"string"}}`, `[1]`, `needs at least 1 item of the kind the schema asks for, has 0`},
		{"minProperties", `{"minProperties":1}`, `{}`, `needs at least 1 property, has 0`},
		{"propertyNames", `{"propertyNames":{"pattern":"^[a-z]*$"}}`, `{"A":1}`, `/A: "A" is not allowed as a property name`},
		{"dependentRequired", `{"dependentRequired":{"a":["b"]}}`, `{"a":1}`, `property "a" needs property "b" beside it`},
		{"not", `{"not":{"type":"string"}}`, `"a"`, `matches what the schema excludes`},
		{"false", `{"properties":{"a":false}}`, `{"a":1}`, `/a: no value is allowed here`},
		{"anyOf by type", `{"anyOf":[{"type":"string"},{"type":"array"}]}`, `3`, `expected string or array, got number`},
		{"anyOf one fits", `{"anyOf":[{"type":"null"},{"type":"object","required":["a"]}]}`, `{}`, `missing required property "a"`},
		{"oneOf by kind", `{"oneOf":[
			{"properties":{"kind":{"const":"a"},"x":{"type":"string"}},"required":["kind","x"]},
			{"properties":{"kind":{"const":"b"},"y":{"type":"string"}},"required":["kind","y"]}]}`, `{"kind":"b","y":3}`,
			`matches none of the 2 alternatives; the closest one is described by the problems beside this one; /y: expected string, got number`},
		{"oneOf several", `{"oneOf":[{"type":"integer"},{"minimum":0}]}`, `3`, `matches several of the 2 alternatives, must match exactly one`},
		{"then", `{"if":{"required":["a"]},"then":{"required":["b"]}}`, `{"a":1}`, `missing required property "b"`},
		{"not a schema", `{"$ref":"https://json-schema.org/draft/2020-12/schema"}`, `{"type":1}`, `not a valid JSON Schema`},
		{"pointer escapes", `{"additionalProperties":{"type":"string"}}`, `{"a/b~c":1}`, `/a~1b~0c: expected string, got number`},
		{"several, in order of path", `{"properties":{"a":{"type":"string"},"b":{"minimum":1}},"required":["c"]}`, `{"b":0,"a":0}`,
			`missing required property "c"; /a: expected string, got number; /b: must be at least 1, got 0`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := mustCompile(t, tt.schema)
			err := s.Validate(mustDecode(t, tt.value))
			if err == nil {
				t.Fatal("accepted")
			}
			if !errors.Is(err, ErrInvalid) {
				t.Errorf("not ErrInvalid: %v", err)
			}
			if diff := cmp.Diff(tt.want, err.Error()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Map order must not show: one value, one text.
func TestValidateDeterministic(t *testing.T) {
	s := mustCompile(t, `{"additionalProperties":{"type":"string"},"patternProperties":{"^a":{"minimum":3},"b":{"maximum":1}}}`)
	v := mustDecode(t, `{"ab":2,"ac":2,"x":1,"y":2,"z":3,"w":4,"v":5,"u":6,"t":7,"s":8,"r":9,"q":10}`)
	want := s.Validate(v).Error()
	for range 50 {
		if got := s.Validate(v).Error(); got != want {
			t.Fatalf("%s\nthen\n%s", want, got)
		}
	}
	if !strings.HasSuffix(want, moreText) {
		t.Errorf("no sign of a longer list in %s", want)
	}
}

func TestValidateNumbers(t *testing.T) {
	tests := []struct {
		schema string
		value  any
		ok     bool
	}{
		{`{"type":"integer"}`, json.Number("123456789012345678901234567890"), true},
		{`{"type":"integer"}`, json.Number("1.0"), true},
		{`{"type":"integer"}`, json.Number("1e2"), true},
		{`{"type":"integer"}`, json.Number("1e-2"), false},
		{`{"type":"integer"}`, json.Number("9007199254740993.5"), false},
		{`{"maximum":9007199254740992}`, json.Number("9007199254740993"), false}, // equal as doubles
		{`{"maximum":9223372036854775807}`, json.Number("9223372036854775808"), false},
		{`{"minimum":-9223372036854775808}`, json.Number("-9223372036854775809"), false},
		{`{"exclusiveMaximum":0.1}`, json.Number("0.1"), false},
		{`{"exclusiveMaximum":0.1}`, json.Number("0.09999999999999999999999999999999"), true}, // rounds to 0.1
		{`{"multipleOf":0.01}`, json.Number("0.07"), true},                                    // not in doubles
		{`{"multipleOf":3}`, json.Number("123456789012345678901234567890"), true},
		{`{"const":1}`, json.Number("1.00"), true},
		{`{"enum":[1e2]}`, json.Number("100"), true},
		{`{"type":"number"}`, float64(1.5), true},
		{`{"type":"integer"}`, float64(3), true},
		{`{"type":"integer"}`, float64(1e300), true},
		{`{"maximum":3}`, int64(4), false},
		{`{"maximum":3}`, uint64(math.MaxUint64), false},
		{`{"multipleOf":0.1}`, float64(0.3), true},
		{`{"maximum":1e-300}`, json.Number("1e-400"), true},
		{`{"maximum":1}`, json.Number("1e400"), false},
	}
	for _, tt := range tests {
		err := mustCompile(t, tt.schema).Validate(tt.value)
		if (err == nil) != tt.ok {
			t.Errorf("%s on %v (%T) = %v, want ok %v", tt.schema, tt.value, tt.value, err, tt.ok)
		}
	}
}

// Values that did not come through Decode are held to the same bounds.
func TestValidateRefusesNonJSON(t *testing.T) {
	s := mustCompile(t, `true`)
	deep := any("x")
	for range MaxDepth + 1 {
		deep = []any{deep}
	}
	cycle := []any{nil}
	cycle[0] = cycle
	for name, v := range map[string]any{
		"NaN":          math.NaN(),
		"infinity":     []any{math.Inf(1)},
		"struct":       map[string]any{"a": struct{}{}},
		"typed map":    map[string]string{"a": "b"},
		"func":         func() {},
		"bad number":   json.Number("12x"),
		"empty number": json.Number(""),
		"hex number":   json.Number("0x10"),
		"number bomb":  json.Number("1e1000001"),
		"long number":  json.Number(strings.Repeat("9", MaxNumberBytes+1)),
		"too deep":     deep,
		"cycle":        cycle,
	} {
		if err := s.Validate(v); !errors.Is(err, ErrNotJSON) {
			t.Errorf("%s: Validate = %v, want ErrNotJSON", name, err)
		}
	}
}

func TestValidateConcurrently(t *testing.T) {
	s := mustCompile(t, toolSchema)
	good, bad := mustDecode(t, toolInput), mustDecode(t, `{"owner":1}`)
	want := s.Validate(bad).Error()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				if err := s.Validate(good); err != nil {
					t.Error(err)
				}
				if err := s.Validate(bad); err == nil || err.Error() != want {
					t.Errorf("got %v, want %s", err, want)
				}
			}
		})
	}
	wg.Wait()
}

func TestValidateAllBound(t *testing.T) {
	s := mustCompile(t, `{"items":{"type":"string"}}`)
	v := mustDecode(t, `[`+strings.Repeat("1,", 99)+`1]`)
	for _, n := range []int{1, 7, 100, 1000} {
		var ve *ValidationError
		if err := s.ValidateAll(v, n); !errors.As(err, &ve) {
			t.Fatal(err)
		}
		if got, want := len(ve.Problems), min(n, 100); got != want {
			t.Errorf("ValidateAll(%d) lists %d problems, want %d", n, got, want)
		}
		if ve.More != (n < 100) {
			t.Errorf("ValidateAll(%d).More = %v", n, ve.More)
		}
	}
}

func TestSuggest(t *testing.T) {
	options := []string{"maxItems", "owner", "repository", "id", "ids"}
	for name, want := range map[string]string{
		"max_items": "maxItems", "MAXITEMS": "maxItems", "onwer": "owner", "repositroy": "repository", "repo": "",
		"ix": "id", "zz": "", "": "", strings.Repeat("a", 1<<20): "",
	} {
		if got := Suggest(name, options); got != want {
			t.Errorf("Suggest(%.20q) = %q, want %q", name, got, want)
		}
	}
}
