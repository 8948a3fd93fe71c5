package schema

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// steps runs a validation and gives what it cost, so that containment can be asserted without a clock.
func steps(t *testing.T, schema string, v any) (used int, ok, over bool) {
	t.Helper()
	s := mustCompile(t, schema)
	e := evaluator{left: MaxSteps}
	if err := e.admit(v, 0); err != nil {
		t.Fatal(err)
	}
	ok = e.check(s.root, v, nil)
	return MaxSteps - e.left, ok, e.over
}

// Each schema is exponential in a plain evaluator: it doubles its work at each level of the data, or of its own
// references. Here the work stays in proportion to schema times data.
func TestExponentialSchemas(t *testing.T) {
	levels := strings.Repeat(`{"c":`, 100) + `1` + strings.Repeat("}", 100)
	chain := func(keyword string) string {
		var b strings.Builder
		for i := range 40 {
			fmt.Fprintf(&b, `"d%d":{%q:[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, keyword, i+1, i+1)
		}
		return `{"$ref":"#/$defs/d0","$defs":{` + b.String() + `"d40":{"type":"string"}}}`
	}
	tests := []struct{ name, schema, value string }{
		{"anyOf over levels", `{"anyOf":[{"properties":{"c":{"$ref":"#"}},"required":["x"]},{"properties":{"c":{"$ref":"#"}},"required":["y"]}]}`, levels},
		{"oneOf over levels", `{"oneOf":[{"properties":{"c":{"$ref":"#"}}},{"properties":{"c":{"$ref":"#"}},"required":["y"]}]}`, levels},
		{"allOf over levels", `{"allOf":[{"properties":{"c":{"$ref":"#"}}},{"properties":{"c":{"$ref":"#"}}}]}`, levels},
		{"if over levels", `{"if":{"properties":{"c":{"$ref":"#"}},"required":["n"]},"then":{"properties":{"c":{"$ref":"#"}}},"else":{"properties":{"c":{"$ref":"#"}}}}`, levels},
		{"not over levels", `{"not":{"properties":{"c":{"$ref":"#"}}},"anyOf":[{"properties":{"c":{"$ref":"#"}}},true]}`, levels},
		{"dependencies over levels", `{"dependentSchemas":{"c":{"properties":{"c":{"$ref":"#"}}}},"properties":{"c":{"$ref":"#"}}}`, levels},
		{"patternProperties over levels", `{"patternProperties":{"c":{"$ref":"#"},"^c":{"$ref":"#"}}}`, levels},
		{"contains over levels", `{"items":{"$ref":"#"},"contains":{"$ref":"#"}}`, strings.Repeat("[", 100) + strings.Repeat("]", 100)},
		{"allOf chain", chain("allOf"), `{}`},
		{"anyOf chain", chain("anyOf"), `{}`},
		{"oneOf chain", chain("oneOf"), `{}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			used, _, over := steps(t, tt.schema, mustDecode(t, tt.value))
			if over || used > 20_000 {
				t.Errorf("%d steps, over %v", used, over)
			}
			checkOutcome(t, mustCompile(t, tt.schema).Validate(mustDecode(t, tt.value)))
		})
	}
}

// What memory of results does not contain, the budget does: the answer is a refusal, not a long wait.
func TestBudget(t *testing.T) {
	scalarChain := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, i+1, i+1)
		}
		return `{"$ref":"#/$defs/d0","$defs":{` + b.String() + fmt.Sprintf(`"d%d":true}}`, n)
	}
	unevaluated := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, i+1, i+1)
		}
		return `{"unevaluatedProperties":false,"$ref":"#/$defs/d0","$defs":{` + b.String() + fmt.Sprintf(`"d%d":{"properties":{"a":true}}}}`, n)
	}
	objects := make([]any, 3000)
	for i := range objects {
		objects[i] = map[string]any{"k": 1999}
	}
	var enum strings.Builder
	for i := range 1999 {
		fmt.Fprintf(&enum, `{"k":%d},`, i)
	}
	tests := []struct {
		name, schema string
		value        any
	}{
		{"references on a scalar", scalarChain(40), "x"},
		{"references with unevaluated", unevaluated(40), map[string]any{"a": 1}},
		{"objects against an enum of objects", `{"items":{"enum":[` + enum.String() + `{"k":1999}]}}`, objects},
		{"a large pattern on long text", `{"items":{"pattern":"(x+x+)+y|(abcdefg){400}"}}`, []any{strings.Repeat("x", 1<<20)}},
		{"patternProperties on long names", `{"patternProperties":{"(a|b|c){300}x":true,"(b|c|d){300}x":true}}`, map[string]any{strings.Repeat("a", 1<<20): 1}},
		{"many alternatives on many items", `{"items":{"anyOf":[` + strings.Repeat(`{"required":["x"]},`, 2000) + `true]}}`, objects},
	}
	day := int(time.Now().Unix() / (24 * 60 * 60))
	for i, tt := range tests {
		if testing.Short() && (i+day)%3 != 0 {
			continue // another day
		}
		t.Run(tt.name, func(t *testing.T) {
			if err := mustCompile(t, tt.schema).Validate(tt.value); !errors.Is(err, ErrTooCostly) {
				t.Errorf("Validate = %v, want ErrTooCostly", err)
			}
		})
	}
}

// Data that is large but harmless is not refused.
func TestLargeDataPasses(t *testing.T) {
	objects := make([]any, 20_000)
	for i := range objects {
		objects[i] = map[string]any{"id": float64(i), "name": fmt.Sprint("n", i), "tags": []any{"a", "b"}}
	}
	tests := []struct{ name, schema string }{
		{"uniqueItems", `{"uniqueItems":true}`},
		{"properties", `{"items":{"properties":{"id":{"type":"integer"},"name":{"type":"string","pattern":"^n[0-9]+$"},"tags":{"items":{"enum":["a","b"]}}},"required":["id"],"additionalProperties":false}}`},
		{"unevaluated", `{"items":{"allOf":[{"properties":{"id":true}},{"properties":{"name":true,"tags":true}}],"unevaluatedProperties":false}}`},
	}
	for _, tt := range tests {
		if err := mustCompile(t, tt.schema).Validate(objects); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// The library panics or slows to a crawl on these; they never reach it.
func TestNumbersThatBreakBigArithmetic(t *testing.T) {
	for _, lit := range []string{"1e1000001", "-1e1000001", "1e-1000001", "1" + strings.Repeat("0", 1<<20), "0." + strings.Repeat("1", 1<<20)} {
		if _, err := Decode([]byte(lit)); !errors.Is(err, ErrInvalidJSON) {
			t.Errorf("Decode(%.20s…) = %v, want ErrInvalidJSON", lit, err)
		}
	}
}

// Error texts quote the data. They stay short, on one line, and valid UTF-8.
func TestErrorTextIsBounded(t *testing.T) {
	length := 1 << 16
	if testing.Short() {
		length = 1 << 12 // more than any error may hold
	}
	evil := strings.Repeat("ü\n\x00\u202e", length)
	props := map[string]any{}
	for i := range 300 {
		props[fmt.Sprint(evil, i)] = evil
	}
	deep := any(props)
	for range 100 {
		deep = map[string]any{evil: deep}
	}
	for _, schema := range []string{
		`{"additionalProperties":false}`,
		`{"additionalProperties":{"type":"number"}}`,
		`{"propertyNames":{"maxLength":1}}`,
		`{"additionalProperties":{"enum":["a","b"]}}`,
		`{"additionalProperties":{"$ref":"#"},"type":["object","number"]}`,
	} {
		for _, v := range []any{props, deep} {
			err := mustCompile(t, schema).Validate(v)
			if err == nil {
				t.Fatalf("%s accepted", schema)
			}
			checkOutcome(t, err)
			if strings.ContainsAny(err.Error(), "\n\x00\u202e") || !utf8.ValidString(err.Error()) {
				t.Errorf("%s: control characters in the text: %q", schema, err)
			}
		}
	}
}
