package policy

import (
	"fmt"
	"iter"
	"path/filepath"
	"strconv"

	cedar "github.com/cedar-policy/cedar-go"
	"github.com/cedar-policy/cedar-go/types"
	"github.com/cedar-policy/cedar-go/x/exp/ast"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/internal/safefile"
)

// Set is policies that are in force together. It implements host.Policy. It is
// immutable and safe for concurrent use. An empty Set permits nothing.
type Set struct {
	rules []*rule
	index index
	// narrowing keeps approvals from falling below what a tool asks for.
	narrowing bool
	cache     *toolCache
}

var _ host.Policy = (*Set)(nil)

// rule is one policy.
type rule struct {
	Policy
	at    int            // index in the Set
	key   cedar.PolicyID // at as a decimal
	cedar *cedar.Policy
	ast   *ast.Policy
	looks view
	// agent is the one that the scope wants, if it does.
	agent *types.EntityUID
}

// Policy describes one policy of a Set.
type Policy struct {
	// Name is the @id, or the file and line of a policy without one.
	Name string `json:"name"`
	// File is as it was given; Line and Column begin at 1.
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
	// Effect is "permit" or "forbid".
	Effect string `json:"effect"`
	// Approval and Reason are the annotations; both may be empty.
	Approval host.Approval `json:"approval,omitempty"`
	Reason   string        `json:"reason,omitempty"`

	id string
}

// Place is file and line, "policies/base.cedar:12".
func (p Policy) Place() string { return p.File + ":" + strconv.Itoa(p.Line) }

// Load reads policies from files. All of them are in force together, whatever their
// order. What is wrong with any of them is in one *Error.
func Load(files ...string) (*Set, error) {
	var sets []*Set
	failed := &Error{}
	for _, file := range files {
		text, err := safefile.ReadTrusted(file, MaxSourceBytes)
		if err != nil {
			failed.Faults = append(failed.Faults, Fault{File: file, Message: err.Error()})
			failed.cause = err
			continue
		}
		set, faults := parse(file, text)
		failed.Faults = append(failed.Faults, faults...)
		sets = append(sets, set)
	}
	if len(failed.Faults) > 0 {
		return nil, failed
	}
	return Merge(sets...)
}

// Parse reads policies from a text. Name stands for it in messages and in the names
// of policies without @id. An *Error says what is wrong, with its place.
func Parse(name string, text []byte) (*Set, error) {
	set, faults := parse(name, text)
	if len(faults) > 0 {
		return nil, &Error{Faults: faults}
	}
	return Merge(set)
}

func parse(name string, text []byte) (*Set, []Fault) {
	list, fault := parseSource(name, text)
	if fault != nil {
		return nil, []Fault{*fault}
	}
	set := &Set{}
	var faults []Fault
	for _, p := range list {
		r, wrong := newRule(name, p)
		faults = append(faults, wrong...)
		set.rules = append(set.rules, r)
		if len(faults) > maxFaults {
			break
		}
	}
	return set, faults
}

func newRule(name string, p *cedar.Policy) (*rule, []Fault) {
	r := &rule{cedar: p, ast: (*ast.Policy)(p.AST())}
	r.File, r.Line, r.Column = name, p.Position().Line, p.Position().Column
	r.Effect = "permit"
	if p.Effect() == cedar.Forbid {
		r.Effect = "forbid"
	}
	c := &checker{rule: r}
	c.annotations()
	c.scopes()
	c.conditions()
	r.Name = r.id
	if r.id == "" {
		r.Name = filepath.Base(name) + ":" + strconv.Itoa(r.Line)
	}
	return r, c.faults
}

// Merge puts sets together. An @id that two policies have is an *Error. The result is
// narrowing if any of the sets is.
func Merge(sets ...*Set) (*Set, error) {
	all := &Set{cache: &toolCache{}}
	byID := map[string]*rule{}
	failed := &Error{}
	for _, s := range sets {
		all.narrowing = all.narrowing || s.narrowing
		for _, r := range s.rules {
			if first := byID[r.id]; r.id != "" && first != nil {
				failed.Faults = append(failed.Faults, r.fault("@id(%q) is taken: %s has it", r.id, first.Place()))
			}
			byID[r.id] = r
			copied := *r
			copied.at = len(all.rules)
			copied.key = cedar.PolicyID(strconv.Itoa(copied.at))
			all.rules = append(all.rules, &copied)
		}
	}
	if n := len(all.rules); n > MaxPolicies {
		failed.Faults = append(failed.Faults, Fault{File: all.rules[MaxPolicies].File, Line: all.rules[MaxPolicies].Line, Column: 1,
			Message: fmt.Sprintf("%d policies are more than the %d of a set", n, MaxPolicies)})
	}
	if len(failed.Faults) > 0 {
		return nil, failed
	}
	all.index = newIndex(all.rules)
	return all, nil
}

// Narrowing gives a set that never lowers an approval: of what a tool asks for and
// what policies say, the stricter holds. It is for policies whose author is trusted
// less than the tools' configuration.
func (s *Set) Narrowing() *Set {
	c := *s
	c.narrowing = true
	return &c
}

// Policies lists the policies, in the order of the files.
func (s *Set) Policies() []Policy {
	out := make([]Policy, len(s.rules))
	for i, r := range s.rules {
		out[i] = r.Policy
	}
	return out
}

func (r *rule) fault(format string, args ...any) Fault {
	return Fault{File: r.File, Line: r.Line, Column: r.Column, Message: fmt.Sprintf(format, args...)}
}

// rules is what Cedar iterates over, in the order of the files.
type rules []*rule

// All implements cedar.PolicyIterator.
func (rs rules) All() iter.Seq2[cedar.PolicyID, *cedar.Policy] {
	return func(yield func(cedar.PolicyID, *cedar.Policy) bool) {
		for _, r := range rs {
			if !yield(r.key, r.cedar) {
				return
			}
		}
	}
}

// rule gives the policy that Cedar names.
func (s *Set) rule(key cedar.PolicyID) *rule {
	i, err := strconv.Atoi(string(key))
	if err != nil || i < 0 || i >= len(s.rules) {
		return &rule{Policy: Policy{Name: string(key), Effect: "forbid"}} // not ours: Cedar gave back what it was not given
	}
	return s.rules[i]
}
