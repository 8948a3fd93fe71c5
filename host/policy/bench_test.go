package policy_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/host/policy"
)

// manyPolicies makes n policies as people write them: by owner, by hint, by argument.
func manyPolicies(b *testing.B, n int) *policy.Set {
	var text strings.Builder
	text.WriteString(permitAll)
	for i := 1; i < n; i++ {
		switch i % 3 {
		case 0:
			fmt.Fprintf(&text, "permit(principal, action, resource in Cloister::Owner::\"mcp:server%d\");\n", i)
		case 1:
			fmt.Fprintf(&text, "forbid(principal, action, resource) when { resource.annotations.destructive && resource.name like \"drop%d_*\" };\n", i)
		case 2:
			fmt.Fprintf(&text, "forbid(principal, action, resource == Cloister::Tool::\"mcp:fs%d:write\") unless { context.input.path like \"/tmp/*\" };\n", i)
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
	for _, n := range []int{10, 100} {
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
