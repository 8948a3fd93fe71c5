package policy_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cloister-wasm/cloister/host/policy"
)

// TestExamples holds the example policies to their table.
func TestExamples(t *testing.T) {
	dir := filepath.Join("..", "..", "examples", "policies")
	files, err := filepath.Glob(filepath.Join(dir, "*.cedar"))
	if err != nil || len(files) != 3 {
		t.Fatalf("found %v, %v", files, err)
	}
	s, err := policy.Load(files...)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "cases.json"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.RunTable(t.Context(), data)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range r.Cases {
		if !c.OK {
			t.Errorf("%s: %s\n%s", c.Name, c.Wrong, c.Explanation.Text())
		}
	}
	if len(r.Unreached) > 0 {
		t.Errorf("no case reaches %v", r.Unreached)
	}
}

// TestTablesFail: each case expects something that is not so.
func TestTablesFail(t *testing.T) {
	s := mustParse(t, `@id("mcp") @approval("ask") permit(principal, action, resource in Cloister::Source::"mcp"); @id("n") forbid(principal, action, resource) when { context.input has n };`)
	const tool = `"tool":{"id":"mcp:a:b"}`
	for _, tc := range []struct{ line, want string }{
		{`{"name":"x",` + tool + `,"expect":"deny"}`, "expected deny, got allow by mcp"},
		{`{"name":"x",` + tool + `,"expect":"hidden"}`, "expected hidden, got allow by mcp"},
		{`{"name":"x",` + tool + `,"input":{"n":1},"expect":"allow"}`, "expected allow, got deny by n"},
		{`{"name":"x",` + tool + `,"input":{"n":1},"expect":"hidden"}`, "expected hidden, got deny by n"},
		{`{"name":"x",` + tool + `,"input":{"n":1},"expect":"deny","rule":"mcp"}`, "expected the rule mcp, got n"},
		{`{"name":"x",` + tool + `,"expect":"allow","approval":"never"}`, "expected approval never, got ask"},
		{`{"name":"x","tool":{"id":"client:a:b"},"expect":"hidden","rule":"n"}`, "expected the rule n, got no policy permits"},
	} {
		r, err := s.RunTable(t.Context(), []byte(`{"cases":[`+tc.line+`]}`))
		if err != nil {
			t.Errorf("%s: %v", tc.line, err)
			continue
		}
		if r.Failed != 1 || r.Cases[0].OK || r.Cases[0].Wrong != tc.want {
			t.Errorf("%s: got %q, want %q", tc.line, r.Cases[0].Wrong, tc.want)
		}
	}
	r, err := s.RunTable(t.Context(), []byte(`{"cases":[{"name":"x",`+tool+`,"expect":"allow"}]}`))
	if err != nil || r.Failed != 0 || len(r.Unreached) != 1 || r.Unreached[0].Name != "n" {
		t.Errorf("got %+v, %v", r, err)
	}
}

func TestTablesThatAreNone(t *testing.T) {
	s := mustParse(t, permitAll)
	const good = `{"name":"x","tool":{"id":"mcp:a:b"},"expect":"allow"}`
	for _, tc := range []struct{ table, want string }{
		{``, "ends before"},
		{`[]`, "expected"},
		{`{}`, "0 cases"},
		{`{"cases":[]}`, "0 cases"},
		{`{"cases":[` + good + `,` + good + `]}`, `another case is named "x"`},
		{`{"cases":[` + strings.Replace(good, "expect", "expects", 1) + `]}`, `unknown property`},
		{`{"cases":[` + strings.Replace(good, "expect", "Expect", 1) + `]}`, `unknown property`},
		{`{"cases":[` + strings.Replace(good, "mcp:a:b", "a:b", 1) + `]}`, "no id of a tool"},
		{`{"cases":[` + strings.Replace(good, `"allow"`, `"yes"`, 1) + `]}`, `must be "allow", "deny" or "hidden"`},
		{`{"cases":[` + strings.Replace(good, `"x"`, `""`, 1) + `]}`, "needs a name"},
		{`{"cases":[` + strings.Replace(good, `"expect"`, `"approval":"sometimes","expect"`, 1) + `]}`, `"never", "ask" or "always"`},
		{`{"cases":[` + strings.Replace(good, `"allow"`, `"deny","approval":"ask"`, 1) + `]}`, "not allowed"},
		{`{"cases":[` + strings.Replace(good, `"expect"`, `"input":[],"expect"`, 1) + `]}`, "input must be an object"},
		{`{"cases":[` + strings.Replace(good, `"expect"`, `"input":{"a":1,"a":2},"expect"`, 1) + `]}`, "appears twice"},
		{strings.Repeat(" ", policy.MaxTableBytes+1), "more than"},
	} {
		if _, err := s.RunTable(t.Context(), []byte(tc.table)); !errors.Is(err, policy.ErrTable) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%.100s: got %v, want %s", tc.table, err, tc.want)
		}
	}
}

// ExampleSet_RunTable tries policies on a table of cases.
func ExampleSet_RunTable() {
	s, err := policy.Parse("mail.cedar", []byte(`
@id("mail-inside") permit (principal, action, resource == Cloister::Tool::"mcp:mail:send")
when { context.input.to like "*@example.com" };`))
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := s.RunTable(context.Background(), []byte(`{"cases": [
	  {"name": "inside", "tool": {"id": "mcp:mail:send"}, "input": {"to": "ann@example.com"}, "expect": "allow"},
	  {"name": "outside", "tool": {"id": "mcp:mail:send"}, "input": {"to": "eve@example.org"}, "expect": "allow"}
	]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range r.Cases {
		if !c.OK {
			fmt.Println(c.Name+":", c.Wrong)
		}
	}
	fmt.Println(r.Failed, "of", len(r.Cases), "failed")
	// Output:
	// outside: expected allow, got deny by no policy permits
	// 1 of 2 failed
}

func TestExplanationOfACaseIsWhole(t *testing.T) {
	s := mustParse(t, permitAll)
	r, err := s.RunTable(t.Context(), []byte(`{"cases":[{"name":"x","tool":{"id":"mcp:a:b"},"scope":{"agent":"g"},"expect":"allow"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(`Cloister::Agent::"g"`, r.Cases[0].Explanation.Principal); diff != "" {
		t.Error(diff)
	}
}
