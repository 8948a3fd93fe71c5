package policy_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/cloister-wasm/cloister/host/policy"
)

// FuzzParse: any text is policies or an *Error with places in the text, and policies
// that load decide without an error of the program.
func FuzzParse(f *testing.F) {
	f.Add(permitAll)
	f.Add(`@id("a") @approval("ask") permit(principal, action, resource) when { context.input has x.y && context.input.x.y like "a*" };`)
	f.Add("forbid(principal, action, resource) unless { [1, {a: 2}].contains(context.input.n) };")
	f.Add("permit(principal, action, resource) when { ((((1)))) };")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := policy.Parse("f.cedar", []byte(text))
		if err != nil {
			var pe *policy.Error
			if !errors.As(err, &pe) || len(pe.Faults) == 0 {
				t.Fatalf("%v is no *Error", err)
			}
			for _, fault := range pe.Faults {
				if lines := strings.Count(text, "\n") + 1; fault.Line < 0 || fault.Line > lines {
					t.Fatalf("line %d of %d", fault.Line, lines)
				}
			}
			return
		}
		call := callOf("mcp:github:create_issue", `{"n":1,"x":{"y":"ab"}}`)
		d, err := s.Authorize(t.Context(), call)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		v, err := s.Visible(t.Context(), call.Scope, call.Tool)
		if err != nil || d.Allow && !v.Allow {
			t.Fatalf("%s: allowed by %s and hidden by %s, %v", text, d.Rule, v.Rule, err)
		}
	})
}

// FuzzInput: an input that cannot be read never passes a policy that looks at it; one
// that can is decided the same each time, and the same by the two views.
func FuzzInput(f *testing.F) {
	for _, input := range hostileInputs {
		if len(input) < 1000 {
			f.Add(input)
		}
	}
	f.Add(`{"a":[1,2.5,null,{"b":1e300}],"n":-0.0001}`)
	f.Add(`{"n":9223372036854775807}`)
	forbid := func(condition string) *policy.Set {
		s, err := policy.Parse("f", []byte(permitAll+`@id("no") forbid(principal, action, resource) when { `+condition+` };`))
		if err != nil {
			f.Fatal(err)
		}
		return s
	}
	has, decimals, seven := forbid(`context.input has n`), forbid(`context.decimals has n`), forbid(`context.input has n && context.input.n == 7`)
	f.Fuzz(func(t *testing.T, input string) {
		allowed := func(s *policy.Set) bool {
			d, err := s.Authorize(t.Context(), callOf("mcp:a:b", input))
			if err != nil {
				t.Fatal(err)
			}
			return d.Allow
		}
		if allowed(has) != allowed(decimals) {
			t.Fatalf("%q: the views differ", input)
		}
		var object map[string]json.RawMessage
		if json.Unmarshal([]byte(input), &object) != nil || object == nil {
			if allowed(has) || allowed(seven) {
				t.Fatalf("%q is no object and passes", input)
			}
			return
		}
		n := object["n"]
		if present := n != nil && string(n) != "null"; present && allowed(has) {
			t.Fatalf("%q: n is there and passes", input)
		}
		var number float64
		if json.Unmarshal(n, &number) == nil && number == 7 && allowed(seven) {
			t.Fatalf("%q: n is 7 and passes", input)
		}
	})
}
