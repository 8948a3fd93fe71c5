package policy_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/host/policy"
)

func TestDecisions(t *testing.T) {
	const id = "mcp:github:create_issue"
	for _, tc := range []struct {
		name, policies, input string
		want                  host.PolicyDecision
	}{
		{"no policies", ``, `{}`, host.PolicyDecision{Rule: policy.NothingPermits, Reason: "no policy permits this call"}},
		{"nothing permits", `@id("x") permit(principal, action, resource == Cloister::Tool::"mcp:github:other");`, `{}`,
			host.PolicyDecision{Rule: policy.NothingPermits, Reason: "no policy permits this call"}},
		{"permit", permitAll, `{}`, host.PolicyDecision{Allow: true, Rule: "all"}},
		{"without an id", "\n permit(principal, action, resource);", `{}`, host.PolicyDecision{Allow: true, Rule: "p.cedar:2"}},
		{"forbid wins", permitAll + `@id("no") @reason("not here") forbid(principal, action, resource in Cloister::Owner::"mcp:github");`, `{}`,
			host.PolicyDecision{Rule: "no", Reason: "not here"}},
		{"forbid without a reason", `@id("no") forbid(principal, action, resource);` + permitAll, `{}`,
			host.PolicyDecision{Rule: "no", Reason: "a policy forbids this call"}},
		{"an error denies", permitAll + `@id("bad") permit(principal, action, resource) when { context.input.n > 1 };`, `{}`,
			host.PolicyDecision{Rule: "bad", Reason: "a policy could not be evaluated for this call"}},
		{"an error in a forbid denies", permitAll + `@id("bad") forbid(principal, action, resource) when { context.input.n > 1 };`, `{"n":"2"}`,
			host.PolicyDecision{Rule: "bad", Reason: "a policy could not be evaluated for this call"}},
		{"a forbid that matches goes before an error", permitAll + `@id("bad") permit(principal, action, resource) when { context.input.n > 1 };` + `@id("no") forbid(principal, action, resource);`, `{}`,
			host.PolicyDecision{Rule: "no", Reason: "a policy forbids this call"}},
		{"approval", `@id("x") @approval("ask") permit(principal, action, resource);`, `{}`, host.PolicyDecision{Allow: true, Rule: "x", Approval: host.ApprovalAsk}},
		{"the strictest approval", permitAll + `@id("a") @approval("never") permit(principal, action, resource); @id("b") @approval("always") permit(principal, action, resource); @id("c") @approval("ask") permit(principal, action, resource);`, `{}`,
			host.PolicyDecision{Allow: true, Rule: "b", Approval: host.ApprovalAlways}},
		{"approvals of permits that do not match", permitAll + `@id("b") @approval("always") permit(principal, action, resource) when { context.input has x };`, `{}`,
			host.PolicyDecision{Allow: true, Rule: "all"}},
		{"source", `@id("x") permit(principal, action, resource in Cloister::Source::"mcp");`, `{}`, host.PolicyDecision{Allow: true, Rule: "x"}},
		{"other owner", `@id("x") permit(principal, action, resource in Cloister::Owner::"mcp:gitlab");`, `{}`, host.PolicyDecision{Rule: policy.NothingPermits, Reason: "no policy permits this call"}},
		{"agent", `@id("x") permit(principal == Cloister::Agent::"main", action == Cloister::Action::"call", resource is Cloister::Tool);`, `{}`, host.PolicyDecision{Allow: true, Rule: "x"}},
		{"scope", `@id("x") permit(principal, action, resource) when { principal.agent == "main" && principal.session == "s1" && principal.sender == "ann" && principal.channel == "mail" && !principal.sandboxed && principal.caller == "" && context.caller == "" && principal.sessionKey == "" };`, `{}`,
			host.PolicyDecision{Allow: true, Rule: "x"}},
		{"tool", `@id("x") permit(principal, action, resource) when { resource.id == "mcp:github:create_issue" && resource.name like "create_*" && resource.owner == "github" && resource.source == "mcp" && resource.signer == "" && resource.publisher == "" && !resource.unsigned && resource.approval == "never" };`, `{}`,
			host.PolicyDecision{Allow: true, Rule: "x"}},
		{"hints that nobody stated assume the worst", `@id("x") permit(principal, action, resource) when { !resource.annotations.readOnly && resource.annotations.destructive && !resource.annotations.idempotent && resource.annotations.openWorld && resource.annotations.stated.isEmpty() };`, `{}`,
			host.PolicyDecision{Allow: true, Rule: "x"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d, err := mustParse(t, tc.policies).Authorize(t.Context(), callOf(id, tc.input))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, d); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestHintsThatAreStated(t *testing.T) {
	yes := true
	call := callOf("mcp:fs:read", `{}`)
	call.Tool.Annotations.ReadOnly = &yes
	d, err := mustParse(t, `permit(principal, action, resource) when { resource.annotations.readOnly && !resource.annotations.destructive && resource.annotations.idempotent && resource.annotations.stated == ["readOnly"] };`).Authorize(t.Context(), call)
	if err != nil || !d.Allow {
		t.Errorf("got %+v, %v", d, err)
	}
}

func TestCallerIsKnownToPolicies(t *testing.T) {
	call := callOf("mcp:fs:read", `{}`)
	call.Caller = "acme.csv"
	s := mustParse(t, permitAll+`@id("no") forbid(principal, action, resource) when { context.caller == "acme.csv" && principal.caller == "acme.csv" };`)
	if d, err := s.Authorize(t.Context(), call); err != nil || d.Rule != "no" {
		t.Errorf("got %+v, %v", d, err)
	}
}

// TestNarrowing: a set whose author is trusted less cannot lower an approval.
func TestNarrowing(t *testing.T) {
	for _, tc := range []struct{ own, says, plain, narrow host.Approval }{
		{"", "ask", "ask", "ask"},
		{"ask", "never", "never", "ask"},
		{"always", "ask", "ask", "always"},
		{"ask", "always", "always", "always"},
		{"always", "", "", ""},
		{"whenever", "ask", "ask", "always"}, // the dispatcher takes what is no known word for always
	} {
		text := permitAll
		if tc.says != "" {
			text = `@approval("` + string(tc.says) + `") permit(principal, action, resource);`
		}
		s := mustParse(t, text)
		call := callOf("mcp:a:b", `{}`)
		call.Tool.Approval = tc.own
		plain, err1 := s.Authorize(t.Context(), call)
		narrow, err2 := s.Narrowing().Authorize(t.Context(), call)
		if err1 != nil || err2 != nil || plain.Approval != tc.plain || narrow.Approval != tc.narrow {
			t.Errorf("own %q, policy %q: got %q, narrowing %q", tc.own, tc.says, plain.Approval, narrow.Approval)
		}
	}
}

func TestWhatIsNoCallIsAnError(t *testing.T) {
	s := mustParse(t, permitAll)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, try := range map[string]func() (host.PolicyDecision, error){
		"nil":     func() (host.PolicyDecision, error) { return s.Authorize(t.Context(), nil) },
		"no tool": func() (host.PolicyDecision, error) { return s.Authorize(t.Context(), &host.PolicyCall{}) },
		"ended":   func() (host.PolicyDecision, error) { return s.Authorize(ended, callOf("mcp:a:b", `{}`)) },
		"visible": func() (host.PolicyDecision, error) { return s.Visible(t.Context(), host.Scope{}, nil) },
		"visible, ended": func() (host.PolicyDecision, error) {
			return s.Visible(ended, host.Scope{}, facts("mcp:a:b"))
		},
		"explain": func() (host.PolicyDecision, error) {
			x, err := s.Explain(t.Context(), nil)
			return host.PolicyDecision{Allow: x != nil}, err
		},
	} {
		if d, err := try(); err == nil || d.Allow {
			t.Errorf("%s: got %+v, %v", name, d, err)
		}
	}
	if _, err := s.Authorize(ended, callOf("mcp:a:b", `{}`)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestEmptySetPermitsNothing: neither the zero Set nor one without policies.
func TestEmptySetPermitsNothing(t *testing.T) {
	merged, err := policy.Merge()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*policy.Set{{}, merged, mustParse(t, "// nothing")} {
		d, err1 := s.Authorize(t.Context(), callOf("mcp:a:b", `{}`))
		v, err2 := s.Visible(t.Context(), host.Scope{}, facts("mcp:a:b"))
		if err1 != nil || err2 != nil || d.Allow || v.Allow || d.Rule != policy.NothingPermits {
			t.Errorf("got %+v, %+v, %v, %v", d, v, err1, err2)
		}
	}
	var none *policy.Set
	if d, err := none.Authorize(t.Context(), callOf("mcp:a:b", `{}`)); err == nil || d.Allow {
		t.Errorf("a nil Set: %+v, %v", d, err)
	}
}

// TestFactsMayChange: what is remembered of a tool is remembered by its facts.
func TestFactsMayChange(t *testing.T) {
	s := mustParse(t, `permit(principal, action, resource) when { resource.annotations.readOnly && resource.signer == "acme" };`)
	call := callOf("mcp:a:b", `{}`)
	yes := true
	for i, tc := range []struct {
		change func()
		want   bool
	}{
		{func() {}, false},
		{func() { call.Tool.Signer = "acme" }, false},
		{func() { call.Tool.Annotations.ReadOnly = &yes }, true},
		{func() { yes = false }, false},
		{func() { yes = true }, true},
		{func() { call.Tool.Signer = "" }, false},
	} {
		tc.change()
		if d, err := s.Authorize(t.Context(), call); err != nil || d.Allow != tc.want {
			t.Errorf("%d: got %+v, %v", i, d, err)
		}
	}
}

// TestConcurrentCalls is for the race detector.
func TestConcurrentCalls(t *testing.T) {
	s := mustParse(t, permitAll+`@id("n") forbid(principal, action, resource) when { context.input.n == 1 && resource.name like "x*" };`)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 50 {
				id := fmt.Sprintf("mcp:s%d:x%d", j%7, i%3)
				d, err := s.Authorize(t.Context(), callOf(id, fmt.Sprintf(`{"n":%d}`, j%2)))
				if want := j%2 == 0; err != nil || d.Allow != want {
					t.Errorf("%s: got %+v, %v", id, d, err)
				}
				if v, err := s.Visible(t.Context(), host.Scope{}, facts(id)); err != nil || !v.Allow {
					t.Errorf("%s: got %+v, %v", id, v, err)
				}
			}
		})
	}
	wg.Wait()
}

// TestExplain checks what a decision is explained by, and that hostile text in a call
// stays on its line.
func TestExplain(t *testing.T) {
	s := mustParse(t, `@id("all") @approval("ask") permit(principal, action, resource);
@id("big") @reason("too much") forbid(principal, action, resource) when { context.input has n && context.input.n > 10 };`)
	x, err := s.Explain(t.Context(), callOf("mcp:github:create_issue", `{"n":5,"t":"\u001b[2J\n\u202e"}`))
	if err != nil {
		t.Fatal(err)
	}
	text := x.Text()
	for _, want := range []string{
		"decision   allow, by all\n", "policy     permit all (p.cedar:1), approval ask\n", "approval   ask (the tool asks for never)\n", `principal  Cloister::Agent::"main"` + "\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the text lacks %q:\n%s", want, text)
		}
	}
	if strings.ContainsAny(text, "\x1b\u202e") || strings.Contains(text, "\n\u202e") {
		t.Errorf("the text steers a terminal: %q", text)
	}
	if !strings.Contains(string(x.Entities), `"Cloister::Owner"`) || !strings.Contains(string(x.Context), `"n":5`) {
		t.Errorf("entities %s\ncontext %s", x.Entities, x.Context)
	}
	x, err = s.Explain(t.Context(), callOf("mcp:github:create_issue", `{"n":"5"}`))
	if err != nil {
		t.Fatal(err)
	}
	if x.Allow || len(x.Failures) != 1 || x.Failures[0].Policy.Name != "big" || !strings.Contains(x.Text(), "failed     big (p.cedar:2): ") {
		t.Errorf("got %+v\n%s", x, x.Text())
	}
}
