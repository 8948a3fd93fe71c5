package policy_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/host/policy"
)

// TestMistakesAreFound: Cedar takes a name that does not exist for one that matches
// nothing, and a forbid that matches nothing lets everything pass.
func TestMistakesAreFound(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"syntax", "permit(principal, action,\n  resouce);", `p.cedar:2:10: not Cedar: `},
		{"string", "permit(principal, action, resource) when { \"a\n\" == \"\" };", `the string is not closed on its line`},
		{"not text", "permit(principal, action, resource);\xff", `is not UTF-8 text`},
		{"annotation", `@aproval("ask") permit(principal, action, resource);`, `@aproval means nothing here; did you mean approval?`},
		{"approval value", `@approval("sometimes") permit(principal, action, resource);`, `p.cedar:1:1: @approval("sometimes") must be "never", "ask" or "always"`},
		{"approval empty", `@approval permit(principal, action, resource);`, `@approval("") must be`},
		{"approval of a forbid", `@approval("ask") forbid(principal, action, resource);`, `@approval stands on a forbid`},
		{"approval twice", `@approval("ask") @approval("never") permit(principal, action, resource);`, `duplicate annotation`},
		{"id twice", "@id(\"a\") permit(principal, action, resource);\n@id(\"a\") forbid(principal, action, resource);", `p.cedar:2:1: @id("a") is taken: p.cedar:1 has it`},
		{"id empty", `@id permit(principal, action, resource);`, `@id("") must be`},
		{"id steers a terminal", "@id(\"a\\u{1b}[2J\") permit(principal, action, resource);", `@id("a\x1b[2J") must be`},
		{"reason steers a terminal", "@reason(\"a\\u{202e}b\") forbid(principal, action, resource);", `@reason must be one line`},
		{"namespace", `forbid(principal, action, resource == Tool::"mcp:github:create_issue");`, `write Cloister::Tool`},
		{"type", `forbid(principal, action, resource is Cloister::Tol);`, `did you mean Cloister::Tool?`},
		{"kind", `forbid(principal, action, resource is Cloister::Agent);`, `resource is Cloister::Agent matches nothing`},
		{"tool without source", `forbid(principal, action, resource == Cloister::Tool::"create_issue");`, `the ids of tools are source:owner:tool`},
		{"tool that no catalog has", `forbid(principal, action, resource == Cloister::Tool::"mcp:github:create issue");`, `matches nothing`},
		{"owner without source", `forbid(principal, action, resource in Cloister::Owner::"github");`, `owners are source:owner`},
		{"owner as tool", `forbid(principal, action, resource == Cloister::Owner::"mcp:github");`, `it is no Cloister::Tool`},
		{"source", `forbid(principal, action, resource) when { resource in Cloister::Source::"MCP" };`, `sources are cloister, mcp, client`},
		{"action", `forbid(principal, action == Cloister::Action::"Call", resource);`, `the one action is Cloister::Action::"call"`},
		{"actions", `forbid(principal, action in [], resource);`, `matches nothing`},
		{"principal", `forbid(principal == Cloister::Tool::"mcp:a:b", action, resource);`, `it is no Cloister::Agent`},
		{"attribute", `forbid(principal, action, resource) when { resource.annotation.readOnly };`, `resource has no attribute annotation; did you mean annotations?`},
		{"hint", `forbid(principal, action, resource) when { resource.annotations.readonly };`, `did you mean readOnly?`},
		{"has", `forbid(principal, action, resource) when { context has inputs };`, `did you mean input?`},
		{"bracket attribute", `forbid(principal, action, resource) when { context["inputs"] == {} };`, `did you mean input?`},
		{"principal attribute", `forbid(principal, action, resource) when { principal.name == "x" };`, `principal has no attribute name`},
		{"tags", `forbid(principal, action, resource) when { resource.hasTag("x") };`, `nothing here has tags`},
		{"extension", `forbid(principal, action, resource) when { context.input.ip == ip("1.2.3") };`, `ip cannot be evaluated`},
		{"number that is a long", `forbid(principal, action, resource) when { context.input.n == Cloister::Number::"1e3" };`, `matches nothing; a number that a long`},
		{"number of another form", `forbid(principal, action, resource) when { context.input.n == Cloister::Number::"1e300" };`, `as JavaScript does`},
		{"large", `forbid(principal, action, resource) when { context.input.n == Cloister::Large::"/n" };`, `is Cloister::Large`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := policy.Parse("p.cedar", []byte(tc.text))
			var pe *policy.Error
			if !errors.As(err, &pe) || !errors.Is(err, policy.ErrPolicy) {
				t.Fatalf("got %v, want a *policy.Error", err)
			}
			if !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got  %s\nwant %s", err, tc.want)
			}
			if strings.ContainsAny(err.Error(), "\x1b\u202e") || !utf8.ValidString(err.Error()) {
				t.Errorf("the message steers a terminal: %q", err)
			}
		})
	}
}

func TestAllFaultsAreReported(t *testing.T) {
	_, err := policy.Parse("p.cedar", []byte("@approval(\"x\")\npermit(principal, action, resource);\n\nforbid(principal, action, resource is Tool);"))
	var pe *policy.Error
	if !errors.As(err, &pe) {
		t.Fatal(err)
	}
	var places [][2]int
	for _, f := range pe.Faults {
		places = append(places, [2]int{f.Line, f.Column})
	}
	if diff := cmp.Diff([][2]int{{1, 1}, {4, 1}}, places); diff != "" {
		t.Error(diff)
	}
}

// TestCostlySourcesAreRefused: each of these makes Cedar's parser recurse, or write
// out a square of what it was given.
func TestCostlySourcesAreRefused(t *testing.T) {
	when := func(body string) string { return "permit(principal, action, resource) when { " + body + " };" }
	for name, text := range map[string]string{
		"brackets":        when(strings.Repeat("(", 5000) + "true" + strings.Repeat(")", 5000)),
		"brackets behind": when(`"(" == "\"(" && ` + strings.Repeat("[", 5000)),
		"comment":         when("/* ( \n */" + strings.Repeat("(", 5000)),
		"records":         when(strings.Repeat("{a:", 5000)),
		"if":              when(strings.Repeat("if true then true else ", 1000) + "true"),
		"has":             when("context has a" + strings.Repeat(".b", 1000)),
		"access":          when("context.input" + strings.Repeat(". b", 1000) + " == 1"),
		"long":            when(strings.Repeat("!", policy.MaxPolicyBytes) + "true"),
		"pattern":         when(`context.input.x like "` + strings.Repeat("a", policy.MaxPatternBytes) + `*"`),
		"attributes":      strings.Repeat(when(strings.Repeat("context.input has a"+strings.Repeat(".b", policy.MaxChain-2)+" && ", 800)+"true"), 15),
		"file":            strings.Repeat(" ", policy.MaxSourceBytes+1),
		"many":            strings.Repeat("permit(principal,action,resource);", policy.MaxPolicies+1),
	} {
		_, err := policy.Parse("p.cedar", []byte(text))
		if !errors.Is(err, policy.ErrPolicy) || strings.Contains(err.Error(), "not Cedar") {
			t.Errorf("%s: got %.200v, want a bound", name, err)
		}
	}
	// What is deep in strings and comments costs nothing.
	mustParse(t, "// "+strings.Repeat("(", 500)+"\n/* "+strings.Repeat("[", 500)+" */ "+when(`context.input has x && context.input.x == "`+strings.Repeat("(", 500)+`"`))
}

// TestDeepestSources: what the bounds let pass is parsed, compiled and evaluated.
func TestDeepestSources(t *testing.T) {
	when := func(body string) string { return "permit(principal, action, resource) when { " + body + " };" }
	for name, body := range map[string]string{
		"not":      strings.Repeat("!", policy.MaxPolicyBytes-200) + "true",
		"and":      strings.Repeat("context.caller == \"\" && ", 2000) + "true",
		"access":   "!(context.input has x && context.input.x" + strings.Repeat(`["b"]`, 10_000) + " == 1)",
		"brackets": strings.Repeat("(", policy.MaxNesting-2) + "true" + strings.Repeat(")", policy.MaxNesting-2),
		"if":       strings.Repeat("if context.caller == \"\" then true else ", policy.MaxNesting) + "true",
		"has":      strings.Repeat("!(context.input has a"+strings.Repeat(".b", policy.MaxChain-2)+") && ", 700) + "true",
	} {
		d := decide(t, when(body), `{}`)
		if !d.Allow {
			t.Errorf("%s: got %+v", name, d)
		}
		if v, err := mustParse(t, when(body)).Visible(t.Context(), host.Scope{}, facts("mcp:a:b")); err != nil || !v.Allow {
			t.Errorf("%s: %+v, %v", name, v, err)
		}
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	a := write("a.cedar", "// first\n@id(\"x\") @approval(\"ask\") @reason(\"because\") permit(principal, action, resource);")
	b := write("b.cedar", "\n\nforbid(principal, action, resource == Cloister::Tool::\"mcp:a:b\");")
	s, err := policy.Load(a, b)
	if err != nil {
		t.Fatal(err)
	}
	want := []policy.Policy{
		{Name: "x", File: a, Line: 2, Column: 1, Effect: "permit", Approval: host.ApprovalAsk, Reason: "because"},
		{Name: "b.cedar:3", File: b, Line: 3, Column: 1, Effect: "forbid"},
	}
	if diff := cmp.Diff(want, s.Policies(), cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".id" }, cmp.Ignore())); diff != "" {
		t.Error(diff)
	}
	twice := write("c.cedar", `@id("x") permit(principal, action, resource);`)
	if _, err := policy.Load(a, twice); !errors.Is(err, policy.ErrPolicy) || !strings.Contains(err.Error(), "c.cedar:1:1: @id(\"x\") is taken") {
		t.Errorf("an @id in two files: %v", err)
	}
	_, err = policy.Load(a, filepath.Join(dir, "none.cedar"), write("bad.cedar", "nonsense"))
	if !errors.Is(err, policy.ErrPolicy) || !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "bad.cedar:1:") {
		t.Errorf("a file that is not there, and one that is wrong: %v", err)
	}
	if _, err := policy.Load(dir); !errors.Is(err, policy.ErrPolicy) {
		t.Errorf("a folder: %v", err)
	}
}

func TestMergeDoesNotChangeItsParts(t *testing.T) {
	a := mustParse(t, `@id("a") permit(principal, action, resource);`)
	b := mustParse(t, `@id("b") @reason("no") forbid(principal, action, resource);`)
	both, err := policy.Merge(a, b.Narrowing())
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		set  *policy.Set
		want string
	}{{a, "a"}, {b, "b"}, {both, "b"}} {
		d, err := tc.set.Authorize(t.Context(), callOf("mcp:github:create_issue", `{}`))
		if err != nil || d.Rule != tc.want {
			t.Errorf("got %+v, %v, want the rule %s", d, err, tc.want)
		}
	}
}
