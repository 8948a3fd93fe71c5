package catalog

import (
	"fmt"
	"strings"
)

// Policy is what one layer allows and denies. Rules are patterns, see [NewLayer].
type Policy struct {
	// Allow lists what may pass. nil (absent, or null in JSON) lets everything pass; an empty list that is not nil
	// lets nothing pass.
	Allow []string
	// Deny lists what may not pass, whatever Allow says.
	Deny []string
}

// Layer is one compiled policy with a name: that of the host, of an agent, of a sandbox, of one run. A tool is visible only
// if every layer lets it pass. Make one with [NewLayer] or [NewSandboxLayer]; the zero Layer is an error in [Build] and lets
// nothing pass in [Layer.Check]. A Layer is immutable and safe for concurrent use.
type Layer struct {
	name       string
	allowAll   bool
	allow      []rule
	also       []rule
	deny       []rule
	compiledOK bool
}

// MaxRules bounds each list of one layer.
const MaxRules = 1000

// NewLayer compiles a policy. A rule is one of two forms:
//
//   - With a colon it is matched against the full id "<source>:<owner>:<tool>": "cloister:core:exec", "mcp:github:*",
//     "mcp:*", "*:*:delete_*", "*:acme.csv:*".
//   - Without a colon it is matched against the tool's bare name and against its owner, and either is enough: "exec",
//     "delete_*", the group "acme.csv", the group "core", "*" for everything. "core" without operations is always the group
//     and never the name of a tool. The short form trusts names that owners choose for themselves: where an allow list
//     must hold against a hostile server, write full ids.
//
// The operations are * (any characters, colons included), ? and [...] (one character, never a colon); case counts. A rule
// that is malformed or that could never match any id is a [PatternError] which names it, since a deny rule that matches
// nothing denies nothing.
func NewLayer(name string, p Policy) (Layer, error) {
	return newLayer(name, p, nil)
}

// NewSandboxLayer compiles the policy of a sandboxed run. alsoAllow widens the allow list of this layer and of no other:
// what another layer hides stays hidden, and Deny of this layer still wins. Where p.Allow is nil it has nothing to add.
func NewSandboxLayer(name string, p Policy, alsoAllow []string) (Layer, error) {
	return newLayer(name, p, alsoAllow)
}

func newLayer(name string, p Policy, alsoAllow []string) (Layer, error) {
	if name == "" {
		return Layer{}, fmt.Errorf("%w: a layer needs a name, so that a denial can tell where it comes from", ErrInvalidPolicy)
	}
	l := Layer{name: name, allowAll: p.Allow == nil}
	var err error
	if l.allow, err = compileRules(name, "allow", p.Allow); err != nil {
		return Layer{}, err
	}
	if l.also, err = compileRules(name, "alsoAllow", alsoAllow); err != nil {
		return Layer{}, err
	}
	if l.deny, err = compileRules(name, "deny", p.Deny); err != nil {
		return Layer{}, err
	}
	l.compiledOK = true
	return l, nil
}

// Name returns the layer's name.
func (l Layer) Name() string { return l.name }

// Reason says what decided a [Verdict].
type Reason int

// The reasons of a verdict. The zero Reason is that of a layer which was never made: it hides.
const (
	NoPolicy     Reason = iota // hidden: the layer was not made by NewLayer
	Unrestricted               // visible: no layer has an allow list, and no deny rule matches
	Allowed                    // visible: Rule of the allow list
	AlsoAllowed                // visible: Rule of the alsoAllow list
	Denied                     // hidden: Rule of the deny list
	NotAllowed                 // hidden: the layer has an allow list and nothing in it matches
	ControlTool                // hidden: a control tool of code mode, or its reserved name
)

// Verdict says whether a tool may be seen, and which layer and which rule decided. Show it to operators, not to guests.
type Verdict struct {
	Visible bool
	Reason  Reason
	Layer   string // name of the deciding layer; empty when none decided
	Rule    string // the deciding rule as it was written; empty when none decided
}

// String renders the verdict for a log: `denied by rule "mcp:*" of layer "agent"`.
func (v Verdict) String() string {
	switch v.Reason {
	case Unrestricted:
		return "visible: no layer restricts it"
	case Allowed:
		return fmt.Sprintf("allowed by rule %s of layer %s", quote(v.Rule), quote(v.Layer))
	case AlsoAllowed:
		return fmt.Sprintf("allowed by alsoAllow rule %s of layer %s", quote(v.Rule), quote(v.Layer))
	case Denied:
		return fmt.Sprintf("denied by rule %s of layer %s", quote(v.Rule), quote(v.Layer))
	case NotAllowed:
		return fmt.Sprintf("not in the allow list of layer %s", quote(v.Layer))
	case ControlTool:
		return "left out: the name is kept for the control tools of code mode"
	}
	return "hidden: the layer was not made by NewLayer"
}

// Check decides about one tool by this layer alone. Only Source, Owner and Name of e are read.
func (l Layer) Check(e *Entry) Verdict {
	if !l.compiledOK {
		return Verdict{}
	}
	id := e.Source + ":" + e.Owner + ":" + e.Name
	if r := firstMatch(l.deny, id, e); r != nil {
		return Verdict{Reason: Denied, Layer: l.name, Rule: r.text}
	}
	if l.allowAll {
		return Verdict{Visible: true, Reason: Unrestricted}
	}
	if r := firstMatch(l.allow, id, e); r != nil {
		return Verdict{Visible: true, Reason: Allowed, Layer: l.name, Rule: r.text}
	}
	if r := firstMatch(l.also, id, e); r != nil {
		return Verdict{Visible: true, Reason: AlsoAllowed, Layer: l.name, Rule: r.text}
	}
	return Verdict{Reason: NotAllowed, Layer: l.name}
}

// Check decides about one tool by all layers: the verdict of the first layer that hides it, else that of the last layer
// whose list let it pass.
func Check(e *Entry, layers ...Layer) Verdict {
	if e.control() {
		return Verdict{Reason: ControlTool}
	}
	passed := Verdict{Visible: true, Reason: Unrestricted}
	for _, l := range layers {
		v := l.Check(e)
		if !v.Visible {
			return v
		}
		if v.Reason != Unrestricted {
			passed = v
		}
	}
	return passed
}

// rule is one compiled pattern.
type rule struct {
	text   string
	glob   glob
	fullID bool
}

func (r *rule) match(id string, e *Entry) bool {
	if r.fullID {
		return r.glob.match(id)
	}
	return r.glob.match(e.Owner) || r.text != OwnerCore && r.glob.match(e.Name)
}

func firstMatch(rules []rule, id string, e *Entry) *rule {
	for i := range rules {
		if rules[i].match(id, e) {
			return &rules[i]
		}
	}
	return nil
}

func compileRules(layer, list string, patterns []string) ([]rule, error) {
	if len(patterns) > MaxRules {
		return nil, fmt.Errorf("%w: layer %s has %d %s rules, at most %d are allowed; use patterns", ErrInvalidPolicy, quote(layer), len(patterns), list, MaxRules)
	}
	rules := make([]rule, 0, len(patterns))
	for _, p := range patterns {
		g, reason := compileGlob(p)
		if reason == "" {
			reason = neverMatches(p)
		}
		if reason != "" {
			return nil, &PatternError{Layer: layer, List: list, Pattern: p, Reason: reason}
		}
		rules = append(rules, rule{text: p, glob: g, fullID: strings.Contains(p, ":")})
	}
	return rules, nil
}

// neverMatches finds rules that are well formed and yet cannot match any id, or that almost surely mean something else,
// and returns what to write instead, or "".
func neverMatches(pattern string) string {
	switch pattern {
	case SourceCloister, SourceMCP, SourceClient:
		return "names a source; write " + pattern + ":* for all its tools, or *:" + pattern + ":* for an owner of that name"
	}
	first, rest, full := strings.Cut(pattern, ":")
	if !full {
		return ""
	}
	const shape = "ids are source:owner:tool"
	if strings.Count(rest, ":") > 1 {
		return "has more than two colons; " + shape
	}
	if !strings.Contains(rest, ":") && !strings.Contains(pattern, "*") {
		return "has one colon only; " + shape + ", so write " + pattern + ":*"
	}
	if strings.HasPrefix(rest, ":") || rest == "" || strings.HasSuffix(rest, ":") {
		return "has an empty part; " + shape
	}
	if !sourceMayMatch(first) {
		return "begins with " + quote(first) + ", which is none of the sources cloister, mcp and client; " + shape
	}
	return ""
}

// sourceMayMatch reports whether what stands before the first colon can match a source. A star there may reach over colons,
// so that only what comes before it is compared.
func sourceMayMatch(first string) bool {
	head, _, star := strings.Cut(first, "*")
	if star {
		head += "*"
	}
	g, reason := compileGlob(head)
	if reason != "" {
		return false
	}
	for _, source := range []string{SourceCloister, SourceMCP, SourceClient} {
		if g.match(source) {
			return true
		}
	}
	return false
}
