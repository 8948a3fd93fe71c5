package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var policyTools = []string{
	"cloister:core:exec", "cloister:core:message", "cloister:acme.csv:parse", "cloister:acme.csv:delete_rows",
	"mcp:github:create_issue", "mcp:github:delete_repo", "mcp:evil:core", "mcp:evil:message", "client:app:files/read",
}

func TestLayerRules(t *testing.T) {
	all := policyTools
	tests := []struct {
		name   string
		policy Policy
		want   []string
	}{
		{"nothing said", Policy{}, all},
		{"empty allow list", Policy{Allow: []string{}}, nil},
		{"empty deny list", Policy{Deny: []string{}}, all},
		{"everything", Policy{Allow: []string{"*"}}, all},
		{"everything by id", Policy{Allow: []string{"*:*:*"}}, all},
		{"one by id", Policy{Allow: []string{"mcp:github:create_issue"}}, []string{"mcp:github:create_issue"}},
		{"id and not a part of it", Policy{Allow: []string{"mcp:github:create", "cloister:core:mess?", "*:create_issu", "issue"}}, nil},
		{"bare name", Policy{Allow: []string{"message"}}, []string{"cloister:core:message", "mcp:evil:message"}},
		{"bare name with an explicit form", Policy{Allow: []string{"*:core:message"}}, []string{"cloister:core:message"}},
		{"glob over names", Policy{Allow: []string{"delete_*"}}, []string{"cloister:acme.csv:delete_rows", "mcp:github:delete_repo"}},
		{"glob over ids", Policy{Allow: []string{"*:*:delete_*"}}, []string{"cloister:acme.csv:delete_rows", "mcp:github:delete_repo"}},
		{"owner group", Policy{Allow: []string{"acme.csv"}}, []string{"cloister:acme.csv:parse", "cloister:acme.csv:delete_rows"}},
		{"owner group by glob", Policy{Allow: []string{"acme.*"}}, []string{"cloister:acme.csv:parse", "cloister:acme.csv:delete_rows"}},
		{"core is the group and no tool's name", Policy{Allow: []string{"core"}}, []string{"cloister:core:exec", "cloister:core:message"}},
		{"source", Policy{Allow: []string{"mcp:*"}}, []string{"mcp:github:create_issue", "mcp:github:delete_repo", "mcp:evil:core", "mcp:evil:message"}},
		{"star crosses slashes", Policy{Allow: []string{"files*"}}, []string{"client:app:files/read"}},
		{"question mark takes no colon", Policy{Allow: []string{"*github?create_issue*:*", "*app[!x]files*:*"}}, nil},
		{"set", Policy{Allow: []string{"[cd]*_*"}}, []string{"cloister:acme.csv:delete_rows", "mcp:github:create_issue", "mcp:github:delete_repo"}},
		{"negated set", Policy{Allow: []string{"*:[!ce]*:[^d]*"}}, []string{"cloister:acme.csv:parse", "mcp:github:create_issue", "client:app:files/read"}},
		{"case counts", Policy{Allow: []string{"Message", "MCP*"}}, nil},
		{"deny beats allow", Policy{Allow: []string{"*"}, Deny: []string{"mcp:*", "exec"}}, []string{"cloister:core:message", "cloister:acme.csv:parse", "cloister:acme.csv:delete_rows", "client:app:files/read"}},
		{"deny beats the same rule", Policy{Allow: []string{"exec"}, Deny: []string{"exec"}}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			l := mustLayer(t, "host", test.policy)
			var got []string
			for _, e := range tools(policyTools...) {
				if l.Check(&e).Visible {
					got = append(got, e.Source+":"+e.Owner+":"+e.Name)
				}
			}
			slices.Sort(got)
			want := slices.Sorted(slices.Values(test.want))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("visible (-want +got):\n%s", diff)
			}
		})
	}
}

// An absent list and an empty one say opposite things; JSON keeps them apart.
func TestPolicyFromJSON(t *testing.T) {
	for text, want := range map[string]int{`{}`: 1, `{"Allow":null}`: 1, `{"Allow":[]}`: 0} {
		var p Policy
		if err := json.Unmarshal([]byte(text), &p); err != nil {
			t.Fatal(err)
		}
		if got := mustBuild(t, tools("cloister:core:message"), mustLayer(t, "host", p)).Len(); got != want {
			t.Errorf("%s shows %d tools, want %d", text, got, want)
		}
	}
}

func TestLayersTogether(t *testing.T) {
	host := mustLayer(t, "host", Policy{Deny: []string{"delete_*"}})
	agent := mustLayer(t, "agent", Policy{Allow: []string{"core", "github"}})
	sandbox, err := NewSandboxLayer("sandbox", Policy{Allow: []string{"message"}, Deny: []string{"mcp:evil:*"}},
		[]string{"mcp:github:*", "mcp:evil:message", "acme.csv"})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		id   string
		want Verdict
	}{
		{"cloister:core:message", Verdict{true, Allowed, "sandbox", "message"}},
		{"mcp:github:create_issue", Verdict{true, AlsoAllowed, "sandbox", "mcp:github:*"}},
		{"mcp:github:delete_repo", Verdict{false, Denied, "host", "delete_*"}}, // alsoAllow does not lift another layer's denial
		{"cloister:acme.csv:parse", Verdict{false, NotAllowed, "agent", ""}},   // nor widen another layer's allow list
		{"mcp:evil:message", Verdict{false, NotAllowed, "agent", ""}},
		{"cloister:core:exec", Verdict{false, NotAllowed, "sandbox", ""}},
		{"mcp:github:wait", Verdict{Reason: ControlTool}},
	}
	for _, test := range tests {
		e := tool(test.id, "")
		if diff := cmp.Diff(test.want, Check(&e, host, agent, sandbox)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.id, diff)
		}
	}
	if host.Name() != "host" {
		t.Errorf("the layer's name is %q", host.Name())
	}
	evil := tool("mcp:evil:message", "")
	if v := sandbox.Check(&evil); v.Reason != Denied || v.Rule != "mcp:evil:*" {
		t.Errorf("alsoAllow beats deny in its own layer: %v", v)
	}
	if v := Check(&evil); !v.Visible || v.Reason != Unrestricted {
		t.Errorf("without layers: %v", v)
	}
	if v := Check(&evil, Layer{}); v.Visible || v.Reason != NoPolicy {
		t.Errorf("the zero layer lets a tool pass: %v", v)
	}
}

func TestSandboxWithoutAllowList(t *testing.T) {
	open, err := NewSandboxLayer("sandbox", Policy{}, []string{"exec"})
	if err != nil {
		t.Fatal(err)
	}
	closed, err := NewSandboxLayer("sandbox", Policy{Allow: []string{}}, []string{"exec"})
	if err != nil {
		t.Fatal(err)
	}
	entries := tools("cloister:core:exec", "cloister:core:message")
	if got := mustBuild(t, entries, open).Len(); got != 2 {
		t.Errorf("alsoAllow narrows an open layer to %d tools", got)
	}
	if diff := cmp.Diff([]string{"cloister:core:exec"}, ids(mustBuild(t, entries, closed).Entries())); diff != "" {
		t.Errorf("closed layer (-want +got):\n%s", diff)
	}
}

func TestVerdictTexts(t *testing.T) {
	for v, want := range map[Verdict]string{
		{Visible: true, Reason: Unrestricted}:                        "no layer restricts",
		{Visible: true, Reason: Allowed, Layer: "a", Rule: "x*"}:     `allowed by rule "x*" of layer "a"`,
		{Visible: true, Reason: AlsoAllowed, Layer: "a", Rule: "x*"}: `alsoAllow rule "x*" of layer "a"`,
		{Reason: Denied, Layer: "a\n", Rule: "x*"}:                   `denied by rule "x*" of layer "a\n"`,
		{Reason: NotAllowed, Layer: "a"}:                             `not in the allow list of layer "a"`,
		{Reason: ControlTool}:                                        "control tools",
		{}:                                                           "not made by NewLayer",
	} {
		if got := v.String(); !strings.Contains(got, want) {
			t.Errorf("%#v reads %q, want %q in it", v, got, want)
		}
	}
}

// A rule that could never match is refused: as a deny rule it would deny nothing.
func TestPatternErrors(t *testing.T) {
	for _, pattern := range []string{
		"", " exec", "exec ", "ex ec", "exec\n", "créer", "{a,b}", "a,b", `a\*b`, "a|b", "(a)", "exec\x00", "ex\u200bec",
		"[", "[]", "[!]", "[^]", "[a", "[z-a]", "]", "a]", "[a:b]", "[é]", "[ ]", "[*]",
		"mcp", "cloister", "client",
		"github:*", "plugin:acme:*", "Mcp:*", "mcp2*:x:y", ":core:exec", "core:exec", "group:core",
		"mcp:github", "mcp:", "mcp::x", "mcp:x:", ":", "::", "*:", "mcp:a:b:c", "*:*:*:*",
		strings.Repeat("a", 513), strings.Repeat("[", 1<<16),
	} {
		for _, list := range []string{"allow", "deny", "alsoAllow"} {
			p, also := Policy{}, []string(nil)
			switch list {
			case "allow":
				p.Allow = []string{"ok", pattern}
			case "deny":
				p.Deny = []string{pattern}
			default:
				also = []string{pattern}
			}
			_, err := NewSandboxLayer("run", p, also)
			pe, ok := errors.AsType[*PatternError](err)
			if !ok || !errors.Is(err, ErrInvalidPolicy) || pe.Pattern != pattern || pe.List != list || pe.Layer != "run" {
				t.Errorf("%s rule %.40q: error is %v, want a PatternError that names it", list, pattern, err)
			} else if !strings.Contains(err.Error(), quote(pattern)) {
				t.Errorf("%v does not name %.40q", err, pattern)
			}
		}
	}
	if _, err := NewLayer("", Policy{}); !errors.Is(err, ErrInvalidPolicy) {
		t.Errorf("a layer without a name: %v", err)
	}
	if _, err := NewLayer("x", Policy{Deny: make([]string, MaxRules+1)}); !errors.Is(err, ErrInvalidPolicy) {
		t.Errorf("too many rules: %v", err)
	}
}

// globRegexp is an independent reading of the glob language.
func globRegexp(pattern string) *regexp.Regexp {
	var b strings.Builder
	b.WriteString(`^(?s:`)
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; c {
		case '*':
			b.WriteString(`.*`)
		case '?':
			b.WriteString(`[^:]`)
		case '[':
			end := i + strings.IndexByte(pattern[i:], ']')
			inner := pattern[i+1 : end]
			if inner[0] == '!' || inner[0] == '^' {
				b.WriteString(`[^:` + classRegexp(inner[1:]) + `]`)
			} else {
				b.WriteString(`[` + classRegexp(inner) + `]`)
			}
			i = end
		default:
			b.WriteString(regexp.QuoteMeta(string(c)))
		}
	}
	b.WriteString(`)$`)
	return regexp.MustCompile(b.String())
}

// classRegexp spells a set out, so that a range never takes in a colon.
func classRegexp(inner string) string {
	var b strings.Builder
	for i := 0; i < len(inner); i++ {
		low, high := inner[i], inner[i]
		if i+2 < len(inner) && inner[i+1] == '-' {
			high = inner[i+2]
			i += 2
		}
		for c := int(low); c <= int(high); c++ {
			if c != ':' {
				fmt.Fprintf(&b, `\x{%x}`, c)
			}
		}
	}
	return b.String()
}

func FuzzGlob(f *testing.F) {
	for _, seed := range [][2]string{
		{"*", "cloister:core:exec"}, {"mcp:*", "mcp:github:create_issue"}, {"[a-c]?[!x]*", "abcd"}, {"a*b*c*d", "aXbXcXbXcXd"},
		{"[0-z]", "A"}, {"[--/]", "."}, {"**a**", "bab"}, {"[a-]", "-"}, {"*:*:*", "mcp:a:b"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		if len(text) > 1<<10 {
			return
		}
		g, reason := compileGlob(pattern)
		if reason != "" {
			return
		}
		text = strings.Map(func(r rune) rune { // only what can stand in an id is ever matched
			if r < 128 && (toolChars.has(byte(r)) || r == ':') {
				return r
			}
			return -1
		}, text)
		if got, want := g.match(text), globRegexp(pattern).MatchString(text); got != want {
			t.Errorf("%q on %q: match is %v, the regular expression says %v", pattern, text, got, want)
		}
		if !strings.ContainsAny(pattern, "*?[") && !g.match(pattern) {
			t.Errorf("%q does not match itself", pattern)
		}
	})
}

// Many stars against a long text that fails at its end: the time is a product, not a power.
func TestGlobBacktracking(t *testing.T) {
	g, reason := compileGlob(strings.Repeat("a*", 200) + "b")
	if reason != "" {
		t.Fatal(reason)
	}
	if g.match(strings.Repeat("a", 265)) {
		t.Error("it matches")
	}
}
