package policy_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cloister-wasm/cloister/host/policy"
)

// matches says whether a condition holds for an input, and the rule if the call is
// denied for another reason.
func matches(t *testing.T, condition, input string) string {
	t.Helper()
	d := decide(t, `@id("yes") permit(principal, action, resource) when { `+condition+` };`, input)
	switch {
	case d.Allow:
		return "yes"
	case d.Rule == policy.NothingPermits:
		return "no"
	}
	return "denied"
}

// TestInputValues: what JSON becomes in Cedar.
func TestInputValues(t *testing.T) {
	for _, tc := range []struct{ condition, input, want string }{
		{`context.input.s == "a" && context.input.b && context.input.o.x == 1`, `{"s":"a","b":true,"o":{"x":1}}`, "yes"},
		{`context.input["a b"] == 1 && context.input[""] == 2`, `{"a b":1,"":2}`, "yes"},
		{`context.input.path like "/etc/*"`, `{"path":"/etc/passwd"}`, "yes"},

		// Numbers go by their value.
		{`context.input.n == 1`, `{"n":1.0}`, "yes"},
		{`context.input.n == 1000`, `{"n":1e3}`, "yes"},
		{`context.input.n == 0`, `{"n":-0.0}`, "yes"},
		{`context.input.n == -9223372036854775808`, `{"n":-9223372036854775808}`, "yes"},
		{`context.input.n == decimal("0.1")`, `{"n":0.1}`, "yes"},
		{`context.input.n == decimal("-1.5")`, `{"n":-15e-1}`, "yes"},
		{`context.input.n == decimal("0.0001")`, `{"n":1e-4}`, "yes"},
		{`context.input.n.greaterThan(decimal("1.0"))`, `{"n":1.5}`, "yes"},
		{`context.input.n > 1`, `{"n":1.5}`, "denied"},

		// Integers and decimals alike.
		{`context.decimals.n.greaterThan(decimal("1.0"))`, `{"n":2}`, "yes"},
		{`context.decimals.n.greaterThan(decimal("1.0"))`, `{"n":1.5}`, "yes"},
		{`context.decimals.n.greaterThan(decimal("1.0"))`, `{"n":1}`, "no"},
		{`context.decimals.l.contains(decimal("2.0"))`, `{"l":[1,2.0]}`, "yes"},
		{`context.decimals.n.greaterThan(decimal("1.0"))`, `{"n":922337203685478}`, "denied"},

		// What neither a long nor a decimal holds equals only itself and has no size.
		{`context.input.n == Cloister::Number::"0.12345"`, `{"n":0.12345}`, "yes"},
		{`context.input.n == Cloister::Number::"0.12345"`, `{"n":12345e-5}`, "yes"},
		{`context.input.n == Cloister::Number::"1e+300"`, `{"n":1e300}`, "yes"},
		{`context.input.n == Cloister::Number::"1.8446744073709552e+19"`, `{"n":18446744073709551616}`, "yes"},
		{`context.input.n == Cloister::Number::"1.8446744073709552e+19"`, `{"n":18446744073709552000}`, "yes"},
		{`context.input.n == context.input.m`, `{"n":1e300,"m":1.0e300}`, "yes"},
		{`context.input.n != 5`, `{"n":1e300}`, "yes"},
		{`context.input.n > 5`, `{"n":1e300}`, "denied"},
		{`context.input.n like "*"`, `{"n":1e300}`, "denied"},
		{`context.input.n.greaterThan(decimal("0.1"))`, `{"n":0.12345}`, "denied"},

		// null is as absent, but not in an array.
		{`context.input has n`, `{"n":null}`, "no"},
		{`context.input == {}`, `{"n":null}`, "yes"},
		{`["a"].containsAll(context.input.l)`, `{"l":["a",null]}`, "no"},
		{`context.input.l == [Cloister::Null::""]`, `{"l":[null]}`, "yes"},

		// Arrays are sets.
		{`context.input.l == [2, 1]`, `{"l":[1,2,1]}`, "yes"},
		{`context.input.l.contains({a: [1]})`, `{"l":[{"a":[1]}]}`, "yes"},
		{`context.input.l.isEmpty()`, `{"l":[]}`, "yes"},
	} {
		if got := matches(t, tc.condition, tc.input); got != tc.want {
			t.Errorf("%s with %s: got %s, want %s", tc.condition, tc.input, got, tc.want)
		}
	}
}

// hostileInputs have no form that policies could decide about, or are read differently
// by different programs.
var hostileInputs = map[string]string{
	"integer that no double holds":  `{"n":9007199254740993}`,
	"integer that a double rounds":  `{"n":1234567890123456789}`,
	"integer as JavaScript writes":  `{"n":1152921504606847000}`,
	"fraction that a double rounds": `{"n":1.00000000000000000001}`,
	"no double is that large":       `{"n":1e400}`,
	"nor that small":                `{"n":1e-400}`,
	"exponent":                      `{"n":1e999999999}`,
	"duplicate key":                 `{"n":1,"n":2}`,
	"escaped duplicate key":         `{"n":1,"\u006e":2}`,
	"lone surrogate":                `{"n":"\ud800"}`,
	"not UTF-8":                     "{\"n\":\"\xff\"}",
	"trailing":                      `{"n":1} {}`,
	"no object":                     `[1]`,
	"nothing":                       ``,
	"null":                          `null`,
	"deep":                          `{"n":` + strings.Repeat("[", policy.MaxInputDepth+1) + strings.Repeat("]", policy.MaxInputDepth+1) + `}`,
	"deeper than the decoder":       `{"n":` + strings.Repeat(`{"a":`, 100_000),
	"many values":                   `{"n":` + strings.Repeat(`[1,`, 2) + strings.Repeat("["+strings.Repeat("1,", 900)+"1],", 30) + `1]]}`,
	"bytes":                         `{"n":"` + strings.Repeat("x", policy.MaxInputBytes) + `"}`,
}

// TestNothingPassesUnseen: no input without a form in Cedar passes a forbid, nor gets a
// permit, if either looks at the arguments.
func TestNothingPassesUnseen(t *testing.T) {
	for name, input := range hostileInputs {
		for _, policies := range []string{
			permitAll + `@id("n") forbid(principal, action, resource) when { context.input has n && context.input.n == 7 };`,
			permitAll + `@id("n") forbid(principal, action, resource in Cloister::Owner::"mcp:github") when { context.decimals has n };`,
			permitAll + `@id("n") forbid(principal, action, resource) when { (if true then context else context).input == {} };`,
			`@id("n") permit(principal, action, resource) unless { context.input has n && context.input.n == 7 };`,
		} {
			if d := decide(t, policies, input); d.Allow || d.Rule != "n" {
				t.Errorf("%s: got %+v for %s", name, d, policies)
			}
		}
		// Policies that cannot match this call do not stand in its way.
		for _, policies := range []string{
			permitAll,
			permitAll + `forbid(principal, action, resource in Cloister::Owner::"mcp:other") when { context.input has n };`,
			permitAll + `forbid(principal, action, resource) when { resource.owner == "other" && context.input has n };`,
			permitAll + `forbid(principal, action, resource) when { context.caller == "x" };`,
		} {
			if d := decide(t, policies, input); !d.Allow {
				t.Errorf("%s: denied by %+v for %s", name, d, policies)
			}
		}
	}
}

// TestLargeArrays: an array that is too large for a set is an entity, which has none of
// a set's operations and equals nothing else.
func TestLargeArrays(t *testing.T) {
	numbers := func(n int) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(strconv.Itoa(i) + ",")
		}
		return "[" + strings.TrimSuffix(b.String(), ",") + "]"
	}
	same := "[" + strings.Repeat("1,", 5*policy.MaxElements) + "1]"
	for _, tc := range []struct{ condition, input, want string }{
		{`context.input.l.contains(999)`, `{"l":` + numbers(policy.MaxElements) + `}`, "yes"},
		{`context.input.l.contains(999)`, `{"l":` + numbers(policy.MaxElements+1) + `}`, "denied"},
		{`context.input.l is Cloister::Large && context.input.t == "x"`, `{"t":"x","l":` + numbers(5*policy.MaxElements) + `}`, "yes"},
		{`context.input.a == context.input.b`, `{"a":` + numbers(policy.MaxElements+1) + `,"b":` + numbers(policy.MaxElements+2) + `}`, "no"},
		{`context.input.l == [1]`, `{"l":` + same + `}`, "yes"},
	} {
		if got := matches(t, tc.condition, tc.input); got != tc.want {
			t.Errorf("%s: got %s, want %s", tc.condition, got, tc.want)
		}
	}
}

// TestCollidingSets: elements whose hashes Cedar gives the same value cost the square
// of their number; the bounds on elements and values keep that small.
func TestCollidingSets(t *testing.T) {
	var pairs, mixed []string
	for i := range policy.MaxElements {
		pairs = append(pairs, fmt.Sprintf("[%d,%d]", i, 1_000_000-i)) // a set's hash is the sum of its elements'
		if i < policy.MaxElements/2 {
			mixed = append(mixed, strconv.Itoa(i+1), fmt.Sprintf("%d.%04d", (i+1)/10000, (i+1)%10000))
		}
	}
	input := `{"a":[` + strings.Join(pairs, ",") + `],"b":[` + strings.Join(mixed, ",") + `]}`
	if got := matches(t, `context.input.a.contains([1, 999999]) && context.input.b.contains(decimal("0.0001"))`, input); got != "yes" {
		t.Errorf("got %s", got)
	}
}
