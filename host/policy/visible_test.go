package policy_test

import (
	"testing"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/host/policy"
)

// TestVisible: a tool is hidden if no input could let a call of it pass.
func TestVisible(t *testing.T) {
	for _, tc := range []struct {
		name, policies string
		visible        bool
		rule           string
	}{
		{"nothing", ``, false, policy.NothingPermits},
		{"permit", permitAll, true, "all"},
		{"permit of another", `permit(principal, action, resource == Cloister::Tool::"mcp:a:b");`, false, policy.NothingPermits},
		{"permit when the arguments fit", `@id("x") permit(principal, action, resource) when { context.input.n == 1 };`, true, "x"},
		{"permit unless the arguments fit", `@id("x") permit(principal, action, resource) unless { context.input has n };`, true, "x"},
		{"permit of another when the arguments fit", `permit(principal, action, resource in Cloister::Owner::"mcp:a") when { context.input.n == 1 };`, false, policy.NothingPermits},
		{"permit by owner when the arguments fit", `@id("x") permit(principal, action, resource in Cloister::Source::"mcp") when { context.input.n == 1 };`, true, "x"},
		{"permit that is false before the arguments", `permit(principal, action, resource) when { resource.owner == "a" && context.input.n == 1 };`, false, policy.NothingPermits},
		{"permit that is false after the first condition", `permit(principal, action, resource) when { context.input.n == 1 } when { resource.owner == "a" };`, false, policy.NothingPermits},
		{"permit for another session", `permit(principal, action, resource) when { principal.session == "other" };`, false, policy.NothingPermits},
		{"forbid", permitAll + `@id("no") forbid(principal, action, resource in Cloister::Owner::"mcp:github");`, false, "no"},
		{"forbid when the arguments fit", permitAll + `forbid(principal, action, resource) when { context.input has n };`, true, "all"},
		{"forbid unless the arguments fit", permitAll + `forbid(principal, action, resource) unless { context.input has n };`, true, "all"},
		{"forbid whatever the arguments are", permitAll + `@id("no") forbid(principal, action, resource) when { true || context.input has n };`, false, "no"},
		{"forbid of another whatever", permitAll + `forbid(principal, action, resource in Cloister::Owner::"mcp:a") when { true || context.input has n };`, true, "all"},
		{"forbid for a caller", permitAll + `forbid(principal, action, resource) when { context.caller == "" };`, true, "all"},
		{"forbid for a caller, by principal", permitAll + `forbid(principal, action, resource) when { principal.caller == "" };`, true, "all"},
		{"forbid for a caller, hidden from the checker", permitAll + `forbid(principal, action, resource) when { (if true then principal else principal).caller == "" };`, true, "all"},
		{"forbid by the whole context", permitAll + `forbid(principal, action, resource) when { context == {caller: "", input: {}, decimals: {}} };`, true, "all"},
		{"sure error", permitAll + `@id("bad") permit(principal, action, resource) when { resource.name > 1 };`, false, "bad"},
		{"sure error in spite of the arguments", permitAll + `@id("bad") forbid(principal, action, resource) when { context.input.n == 1 + "x" };`, false, "bad"},
		{"error that the arguments may avoid", permitAll + `permit(principal, action, resource) when { context.input has n && resource.name > 1 };`, true, "all"},
		{"error after a condition on the arguments", permitAll + `permit(principal, action, resource) when { context.input has n } when { resource.name > 1 };`, true, "all"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d, err := mustParse(t, tc.policies).Visible(t.Context(), host.Scope{AgentID: "main", SessionID: "s1"}, facts("mcp:github:create_issue"))
			if err != nil {
				t.Fatal(err)
			}
			if d.Allow != tc.visible || d.Rule != tc.rule {
				t.Errorf("got %+v, want visible %v by %s", d, tc.visible, tc.rule)
			}
			if d.Allow == (d.Reason != "") {
				t.Errorf("the reason is %q", d.Reason)
			}
		})
	}
}

// TestHiddenMeansDenied: whatever hides a tool denies every call of it.
func TestHiddenMeansDenied(t *testing.T) {
	conditions := []string{
		`context.input.n == 1`, `context.input has n`, `context.input.n > 1`, `true`, `false`, `resource.name > 1`,
		`context.caller == "p"`, `principal.caller like "*"`, `resource.owner == "github"`, `1 + "x" == context.input.n`,
		`context == {}`, `[context.input.n].contains(1)`, `context.decimals.n == decimal("1.0")`, `{a: context.input} == {a: {}}`,
	}
	inputs := []string{`{}`, `{"n":1}`, `{"n":"x"}`, `{"n":[1]}`, `{"n":null}`, `{"n":1e300}`, `{"n":9007199254740993}`}
	joins := []string{"&&", "||"}
	hidden := 0
	for _, effect := range []string{"permit", "forbid"} {
		for _, a := range conditions {
			for _, b := range conditions {
				for _, join := range joins {
					s := mustParse(t, `permit(principal, action, resource) when { `+a+` };`+effect+`(principal, action, resource) when { `+a+join+b+` };`)
					d, err := s.Visible(t.Context(), host.Scope{}, facts("mcp:github:create_issue"))
					if err != nil {
						t.Fatal(err)
					}
					if d.Allow {
						continue
					}
					hidden++
					for _, input := range inputs {
						for _, caller := range []string{"", "p"} {
							call := callOf("mcp:github:create_issue", input)
							call.Scope = host.Scope{}
							call.Caller = caller
							if got, err := s.Authorize(t.Context(), call); err != nil || got.Allow {
								t.Fatalf("%s(%s %s %s): hidden by %s, and %s is allowed by %s", effect, a, join, b, d.Rule, input, got.Rule)
							}
						}
					}
				}
			}
		}
	}
	if hidden < 50 {
		t.Errorf("only %d sets hide the tool: the test shows little", hidden)
	}
}
