package mcp

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// listAttacks are servers whose list is not to be taken: want is in the error, left is
// what is left out, tools how many are offered.
var listAttacks = map[string]struct {
	run         func()
	want        string
	left        []string
	tools       int
	maxTools    int
	wantProtErr bool
}{
	"circle": {run: paged(func(n int) (string, string) { return "", `"same"` }), want: "circles", wantProtErr: true},
	"endless": {run: paged(func(n int) (string, string) {
		return fmt.Sprintf(`{"name":"t%d","inputSchema":{"type":"object"}}`, n), fmt.Sprintf("%q", fmt.Sprint(n))
	}),
		want: "pages", wantProtErr: true},
	"many": {run: paged(func(n int) (string, string) {
		var b strings.Builder
		for i := range 50 {
			fmt.Fprintf(&b, `,{"name":"t%d-%d","inputSchema":{"type":"object"}}`, n, i)
		}
		return b.String()[1:], fmt.Sprintf("%q", fmt.Sprint(n))
	}), want: "limits.maxTools", maxTools: 500, wantProtErr: true},
	"long-cursor":    {run: paged(func(n int) (string, string) { return "", `"` + strings.Repeat("c", 5000) + `"` }), want: "cursor", wantProtErr: true},
	"cursor-number":  {run: paged(func(n int) (string, string) { return "", `7` }), want: "cursor", wantProtErr: true},
	"no-array":       {run: answering(`{"tools":{}}`), want: "array", wantProtErr: true},
	"folded":         {run: answering(`{"tools":[],"Tools":[` + oneTool + `]}`), want: "letter case", wantProtErr: true},
	"last-page-null": {run: answering(`{"tools":[` + oneTool + `],"nextCursor":null}`), tools: 1},
	"bad-tools": {run: answering(`{"tools":[` + strings.Join([]string{
		oneTool,
		`{"name":"remote","inputSchema":{"$ref":"https://evil.example/x.json"}}`,
		`{"name":"file","inputSchema":{"type":"object","properties":{"a":{"$ref":"file:///etc/passwd"}}}}`,
		`{"name":"broken","inputSchema":{"type":17}}`,
		`{"name":"nothing","inputSchema":7}`,
		`{"name":"bomb","inputSchema":` + strings.Repeat(`{"properties":{"a":`, 40) + `{}` + strings.Repeat(`}}`, 40) + `}`,
		`{"name":"big","inputSchema":{"type":"object","description":"` + strings.Repeat("x", 300<<10) + `"}}`,
		`{"name":"returns","inputSchema":{"type":"object"},"outputSchema":{"$ref":"http://evil.example/"}}`,
		`{"name":"wordy","description":"` + strings.Repeat("x", 40<<10) + `","inputSchema":{"type":"object"}}`,
		`{"name":"` + strings.Repeat("n", 300) + `","inputSchema":{"type":"object"}}`,
		`{"name":"","inputSchema":{"type":"object"}}`,
		`{"name":"hints","inputSchema":{"type":"object"},"annotations":["destructiveHint"]}`,
		`{"name":"folded","Name":"t","inputSchema":{"type":"object"}}`,
		`{"name":"same","inputSchema":{"type":"object"}}`,
		`{"name":"same","description":"other","inputSchema":{"type":"object"}}`,
		`17`, `null`,
	}, ",") + `]}`), tools: 1, left: []string{
		"remote", "file", "broken", "nothing", "bomb", "big", "returns", "wordy", "#10", "#11", "hints", "#13", "#16", "#17", "same", "same",
	}},
}

func answering(result string) func() {
	return func() {
		s := newScripted()
		s.on["tools/list"] = func(m raw) { s.result(m, result) }
		s.run(func(s *scripted, m raw) {})
	}
}

func paged(page func(n int) (tools, cursor string)) func() {
	return func() {
		s := newScripted()
		s.on["tools/list"] = func(m raw) {
			s.lists++
			tools, cursor := page(s.lists)
			s.result(m, `{"tools":[`+tools+`],"nextCursor":`+cursor+`}`)
		}
		s.run(func(s *scripted, m raw) {})
	}
}

func TestHostileLists(t *testing.T) {
	t.Parallel()
	for name, a := range listAttacks {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := program(t, "list-"+name)
			cfg.Limits.MaxTools = a.maxTools
			m := open(t, nil, cfg)
			s := load(t, m)[cfg.Name]
			if a.want != "" {
				if s.Err == nil || !strings.Contains(s.Err.Error(), a.want) || errors.Is(s.Err, ErrProtocol) != a.wantProtErr {
					t.Fatalf("got %v, want it to say %q", s.Err, a.want)
				}
				if len(s.Tools) > 0 {
					t.Errorf("it has tools")
				}
				return
			}
			if s.Err != nil || len(s.Tools) != a.tools {
				t.Fatalf("got %d tools, %v", len(s.Tools), s.Err)
			}
			var left []string
			for _, l := range m.Status()[0].Skipped {
				left = append(left, l.Tool)
				if l.Reason == "" || len(l.Reason) > 400 {
					t.Errorf("%s: reason %q", l.Tool, l.Reason)
				}
			}
			if strings.Join(left, " ") != strings.Join(a.left, " ") {
				t.Errorf("left out %q\nwant     %q", left, a.left)
			}
		})
	}
}

// TestSchemaKeepsItsOrder: what a server's author puts first stands first in declarations.
func TestSchemaKeepsItsOrder(t *testing.T) {
	t.Parallel()
	got, err := decodeTool([]byte(`{"name":"t","inputSchema":{ "type":"object", "properties":{"thought":{},"again":{},"b":{}} }}`), func(string) {})
	if err != nil || string(got.Parameters) != `{"type":"object","properties":{"thought":{},"again":{},"b":{}}}` {
		t.Fatalf("%s, %v", got.Parameters, err)
	}
	sorted, err := decodeTool([]byte(`{"name":"t","inputSchema":{"properties":{"again":{},"b":{},"thought":{}},"type":"object"}}`), func(string) {})
	if err != nil || !sameTool(got, sorted) {
		t.Errorf("another order is another tool: %v", err)
	}
}
