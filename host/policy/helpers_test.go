package policy_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/host/policy"
)

func mustParse(t testing.TB, text string) *policy.Set {
	t.Helper()
	s, err := policy.Parse("p.cedar", []byte(text))
	if err != nil {
		t.Fatalf("%s\n%v", text, err)
	}
	return s
}

// facts makes the facts of a tool of its id.
func facts(id string) *host.ToolFacts {
	p := strings.SplitN(id, ":", 3)
	return &host.ToolFacts{ID: id, Source: p[0], Owner: p[1], Name: p[2], Approval: host.ApprovalNever}
}

func callOf(id, input string) *host.PolicyCall {
	return &host.PolicyCall{Tool: facts(id), Input: json.RawMessage(input), Scope: host.Scope{AgentID: "main", SessionID: "s1", Sender: "ann", Channel: "mail"}}
}

// decide authorizes a call of mcp:github:create_issue.
func decide(t testing.TB, policies, input string) host.PolicyDecision {
	t.Helper()
	d, err := mustParse(t, policies).Authorize(t.Context(), callOf("mcp:github:create_issue", input))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

const permitAll = `@id("all") permit(principal, action, resource);`
