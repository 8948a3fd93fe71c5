package policy_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/host/hosttest"
	"github.com/cloister-wasm/cloister/host/policy"
)

// manyPolicies makes n policies as people write them: by owner, by hint, by a tool's
// arguments, by sender, and one in ten by the arguments of all tools.
func manyPolicies(b *testing.B, n int) *policy.Set {
	var text strings.Builder
	text.WriteString(permitAll)
	text.WriteString("forbid(principal, action, resource == Cloister::Tool::\"mcp:github:create_issue\") unless { context.input.title like \"*bug*\" };\n")
	for i := 2; i < n; i++ {
		switch i % 10 {
		case 0, 1, 2:
			fmt.Fprintf(&text, "permit(principal, action, resource in Cloister::Owner::\"mcp:server%d\");\n", i)
		case 3, 4:
			fmt.Fprintf(&text, "forbid(principal, action, resource) when { resource.annotations.destructive && resource.name like \"drop%d_*\" };\n", i)
		case 5, 6, 7:
			fmt.Fprintf(&text, "forbid(principal, action, resource == Cloister::Tool::\"mcp:fs%d:write\") unless { context.input.path like \"/tmp/*\" };\n", i)
		case 8:
			fmt.Fprintf(&text, "forbid(principal, action, resource) when { principal.sender == \"stranger%d\" };\n", i)
		case 9:
			fmt.Fprintf(&text, "forbid(principal, action, resource) when { context.input has path && context.input.path == \"/secret%d\" };\n", i)
		}
	}
	return mustParse(b, text.String())
}

func BenchmarkAuthorize(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := manyPolicies(b, n)
			call := callOf("mcp:github:create_issue", `{"title":"a bug","labels":["bug","p1"],"body":"It does not work.","assignee":null,"draft":false}`)
			b.ReportAllocs()
			for b.Loop() {
				if d, err := s.Authorize(b.Context(), call); err != nil || !d.Allow {
					b.Fatal(d, err)
				}
			}
		})
	}
}

func BenchmarkVisible(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := manyPolicies(b, n)
			tool := facts("mcp:github:create_issue")
			b.ReportAllocs()
			for b.Loop() {
				if d, err := s.Visible(b.Context(), host.Scope{}, tool); err != nil || !d.Allow {
					b.Fatal(d, err)
				}
			}
		})
	}
}

// BenchmarkNewRun makes runs that may see all of 2,000 tools: the first of a session's.
func BenchmarkNewRun(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			tools := make([]host.RawTool, 2000)
			for i := range tools {
				tools[i] = hosttest.Echo(fmt.Sprintf("tool_%d", i))
			}
			h, err := host.New(b.Context(), &host.Options{Tools: tools, Policy: manyPolicies(b, n)})
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() {
				if err := h.Close(); err != nil {
					b.Error(err)
				}
			})
			for b.Loop() {
				r, err := h.NewRun(b.Context(), host.RunOptions{AgentID: "main", SessionID: "s1", Sender: "ann"})
				if err != nil {
					b.Fatal(err)
				}
				if n := len(r.Catalog()); n != len(tools) {
					b.Fatalf("%d tools", n)
				}
				r.Close()
			}
		})
	}
}
