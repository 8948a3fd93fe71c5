package policy

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	cedar "github.com/cedar-policy/cedar-go"
	"github.com/cedar-policy/cedar-go/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/cloister-wasm/cloister/host"
)

// plainly decides without an index and without anything that is known of the tool:
// Cedar is asked about all policies at each call.
func (s *Set) plainly(call *host.PolicyCall) *outcome {
	w := s.world(call.Scope, call.Tool, types.String(call.Caller))
	var all []openRule
	for _, r := range s.rules {
		all = append(all, openRule{rule: r})
	}
	record, problem := contextOf(call, all)
	if problem != "" {
		if r := needsArguments(all, w); r != nil {
			return &outcome{decision: host.PolicyDecision{Rule: r.Name}, determining: []*rule{r}}
		}
	}
	_, d := cedar.Authorize(rules(s.rules), w, w.request(record))
	f := &findings{}
	for _, e := range d.Errors {
		f.failed = append(f.failed, failure{rule: s.rule(e.PolicyID)})
	}
	for _, reason := range d.Reasons {
		if r := s.rule(reason.PolicyID); r.Effect == "forbid" {
			f.forbids = append(f.forbids, r)
		} else {
			f.permits = append(f.permits, r)
		}
	}
	return s.outcome(f, call.Tool)
}

// plainlyVisible evaluates every policy for every tool.
func (s *Set) plainlyVisible(w *world) (allow bool) {
	var forbid, failed, permit bool
	for _, r := range s.rules {
		if r.looks&^looksAtAgent == 0 {
			_, d := cedar.Authorize(rules{r}, w, w.request(types.Record{}))
			failed = failed || len(d.Errors) > 0
			forbid = forbid || len(d.Reasons) > 0 && r.Effect == "forbid"
			permit = permit || len(d.Reasons) > 0 && r.Effect == "permit"
			continue
		}
		switch state := r.inAdvance(w); {
		case state == fails:
			failed = true
		case state == always && r.Effect == "forbid":
			forbid = true
		case state != never && r.Effect == "permit":
			permit = true
		}
	}
	return !forbid && !failed && permit
}

var (
	agents    = []string{"", "main", "other"}
	toolIDs   = []string{"mcp:a:read", "mcp:a:write", "mcp:b:read", "cloister:acme.x:read", "cloister:core:echo"}
	resources = []string{
		"resource", "resource is Cloister::Tool", `resource == Cloister::Tool::"mcp:a:read"`, `resource in Cloister::Tool::"mcp:a:read"`,
		`resource in Cloister::Owner::"mcp:a"`, `resource in Cloister::Source::"mcp"`, `resource is Cloister::Tool in Cloister::Owner::"mcp:b"`,
		`resource in Cloister::Owner::"cloister:acme.x"`,
	}
	principals = []string{
		"principal", "principal is Cloister::Agent", `principal == Cloister::Agent::"main"`, `principal in Cloister::Agent::"other"`,
		`principal is Cloister::Agent in Cloister::Agent::""`,
	}
	conditions = []string{
		"", "when { true }", "when { false }", "unless { true }",
		`when { resource.name == "read" }`, `when { resource.annotations.readOnly }`, `unless { resource.owner like "a*" }`,
		`when { principal.sender == "ann" }`, `when { principal.agent like "m*" }`, `when { principal.caller == "" }`,
		`when { principal == Cloister::Agent::"main" }`, `when { Cloister::Agent::"main".sender == "ann" }`, `when { Cloister::Agent::"other".caller == "p" }`,
		`when { context.caller == "p" }`, `when { context.input has n && context.input.n == 1 }`, `when { context.input.n == 1 }`,
		`when { context.input.n < 5 }`, `when { context.decimals.n.lessThan(decimal("1.5")) }`, `when { resource in Cloister::Owner::"mcp:a" && context.input.n < 5 }`,
		`when { resource.name < 1 }`, `when { principal.sender < 1 }`, `when { resource.name == "read" } when { resource.name < 1 }`,
		`when { resource.name == "read" } unless { context.input has n }`, `when { context has input }`, `when { resource in principal }`,
		`when { Cloister::Tool::"mcp:b:read".name == "read" }`,
	}
	inputs = []string{`{}`, `{"n":1}`, `{"n":7}`, `{"n":"x"}`, `{"n":1.5}`, `{"n":9007199254740993}`, `{"n":null}`, `[]`}
)

// TestStandingAgrees: what is known of a tool ahead of its calls, and which policies are
// left out, changes no decision and nothing of what led to it.
func TestStandingAgrees(t *testing.T) {
	pick := rand.New(rand.NewPCG(1, 2))
	one := func(list []string) string { return list[pick.IntN(len(list))] }
	seen := map[string]int{}
	sets := 3000
	if testing.Short() {
		sets = 300
	}
	for range sets {
		var text strings.Builder
		for i := range 1 + pick.IntN(7) {
			effect := one([]string{"permit", "permit", "forbid"})
			approval := ""
			if effect == "permit" {
				approval = one([]string{"", "", `@approval("ask") `, `@approval("always") `})
			}
			fmt.Fprintf(&text, "@id(\"p%d\") %s%s(%s, action, %s) %s;\n", i, approval, effect, one(principals), one(resources), one(conditions))
		}
		s, err := Parse("p", []byte(text.String()))
		if err != nil {
			t.Fatalf("%v in\n%s", err, text.String())
		}
		for range 8 {
			id := one(toolIDs)
			p := strings.SplitN(id, ":", 3)
			yes := pick.IntN(2) == 0
			call := &host.PolicyCall{
				Scope:  host.Scope{AgentID: one(agents), Sender: one([]string{"", "ann"})},
				Tool:   &host.ToolFacts{ID: id, Source: p[0], Owner: p[1], Name: p[2], Annotations: host.ToolAnnotations{ReadOnly: &yes}},
				Caller: one([]string{"", "p"}), Input: json.RawMessage(one(inputs)),
			}
			got, w, _ := s.decide(call)
			want := s.plainly(call)
			differ := cmp.Diff(want.names(), got.names()) + cmp.Diff(want.decision, got.decision, cmpopts.IgnoreFields(host.PolicyDecision{}, "Reason"))
			if visible, want := s.visible(s.world(call.Scope, call.Tool, unknownCaller)).Allow, s.plainlyVisible(s.world(call.Scope, call.Tool, unknownCaller)); visible != want {
				differ += fmt.Sprintf("visible %v, want %v\n", visible, want)
			}
			if differ != "" {
				t.Fatalf("%s by %s as %s with %s in\n%s%s", id, call.Caller, w.principal, call.Input, text.String(), differ)
			}
			switch {
			case got.decision.Allow:
				seen["allowed"]++
			case len(got.failed) > 0:
				seen["failed"]++
			case got.decision.Rule == NothingPermits:
				seen["nothing"]++
			case got.problem != "":
				seen["blind"]++
			default:
				seen["forbidden"]++
			}
		}
	}
	for _, what := range []string{"allowed", "failed", "nothing", "blind", "forbidden"} {
		if seen[what] < sets/6 {
			t.Errorf("%d of the decisions are of the kind %q: the cases do not try it", seen[what], what)
		}
	}
}

func (o *outcome) names() (names [2][]string) {
	for _, r := range o.determining {
		names[0] = append(names[0], r.Name)
	}
	for _, f := range o.failed {
		names[1] = append(names[1], f.rule.Name)
	}
	return names
}
