package policy

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/internal/plaintext"
	"github.com/cloister-wasm/cloister/internal/schema"
)

// Case is a line of a table: a call, and what policies should say of it.
type Case struct {
	Name string `json:"name"`
	// Tool is what the host knows of the tool.
	Tool CaseTool `json:"tool"`
	// Scope is whose call it is.
	Scope CaseScope `json:"scope,omitzero"`
	// Caller is the plugin that makes the call; empty for a cell.
	Caller string `json:"caller,omitempty"`
	// Input are the arguments; {} if it is absent.
	Input json.RawMessage `json:"input,omitempty"`
	// Expect is "allow", "deny", or "hidden" for a tool that no input could reach.
	Expect string `json:"expect"`
	// Rule, if it is not empty, is the policy that should decide, or NothingPermits.
	Rule string `json:"rule,omitempty"`
	// Approval, if it is not empty, is what should hold for an allowed call.
	Approval host.Approval `json:"approval,omitempty"`
}

// CaseTool is host.ToolFacts in a table. Source, owner and name are those of the id.
type CaseTool struct {
	ID          string `json:"id"`
	Annotations struct {
		ReadOnly    *bool `json:"readOnly,omitempty"`
		Destructive *bool `json:"destructive,omitempty"`
		Idempotent  *bool `json:"idempotent,omitempty"`
		OpenWorld   *bool `json:"openWorld,omitempty"`
	} `json:"annotations,omitzero"`
	Signer    string        `json:"signer,omitempty"`
	Publisher string        `json:"publisher,omitempty"`
	Unsigned  bool          `json:"unsigned,omitempty"`
	Approval  host.Approval `json:"approval,omitempty"`
}

// CaseScope is host.Scope in a table.
type CaseScope struct {
	Agent      string `json:"agent,omitempty"`
	Session    string `json:"session,omitempty"`
	SessionKey string `json:"sessionKey,omitempty"`
	Sender     string `json:"sender,omitempty"`
	Channel    string `json:"channel,omitempty"`
	Sandboxed  bool   `json:"sandboxed,omitempty"`
}

// Facts gives the tool as the host would. An error says that the id is none.
func (t *CaseTool) Facts() (*host.ToolFacts, error) {
	if badEntity(toolUID(t.ID)) != "" {
		return nil, fmt.Errorf("%q is no id of a tool; ids are source:owner:tool, such as mcp:github:create_issue", plaintext.Clip(t.ID, maxShown))
	}
	if t.Approval != "" && strictness(t.Approval) < 0 {
		return nil, fmt.Errorf(`approval %q must be "never", "ask" or "always"`, plaintext.Clip(string(t.Approval), maxShown))
	}
	parts := strings.SplitN(t.ID, ":", 3)
	a := t.Annotations
	return &host.ToolFacts{
		ID: t.ID, Source: parts[0], Owner: parts[1], Name: parts[2],
		Annotations: host.ToolAnnotations{ReadOnly: a.ReadOnly, Destructive: a.Destructive, Idempotent: a.Idempotent, OpenWorld: a.OpenWorld},
		Signer:      t.Signer, Publisher: t.Publisher, Unsigned: t.Unsigned, Approval: needed(t.Approval),
	}, nil
}

// CaseResult is how a case went.
type CaseResult struct {
	Name string `json:"name"`
	OK   bool   `json:"ok"`
	// Got is "allow", "deny" or "hidden"; Rule and Approval are those of the decision.
	Got      string        `json:"got"`
	Rule     string        `json:"rule"`
	Approval host.Approval `json:"approval,omitempty"`
	// Wrong says what differs from what was expected, if anything.
	Wrong string `json:"wrong,omitempty"`
	// Explanation is the whole decision.
	Explanation *Explanation `json:"explanation"`
}

// TableResult is how a table went.
type TableResult struct {
	Cases []CaseResult `json:"cases"`
	// Failed counts the cases that are not OK.
	Failed int `json:"failed"`
	// Unreached are the policies that decided no case.
	Unreached []Policy `json:"unreached"`
}

// ParseTable reads a table: strict JSON, {"cases":[…]}. An error unwraps to ErrTable.
func ParseTable(data []byte) ([]Case, error) {
	if len(data) > MaxTableBytes {
		return nil, fmt.Errorf("%w: %d bytes are more than %d; split it", ErrTable, len(data), MaxTableBytes)
	}
	var table struct {
		Cases []Case `json:"cases"`
	}
	if err := schema.DecodeInto(data, &table, nil); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrTable, err)
	}
	if n := len(table.Cases); n == 0 || n > MaxCases {
		return nil, fmt.Errorf("%w: %d cases; there must be 1 to %d", ErrTable, n, MaxCases)
	}
	names := map[string]bool{}
	for i, c := range table.Cases {
		if wrong := c.wrong(); wrong != "" {
			return nil, fmt.Errorf("%w: cases[%d] %q: %s", ErrTable, i, plaintext.Clip(c.Name, maxShown), wrong)
		}
		if names[c.Name] {
			return nil, fmt.Errorf("%w: cases[%d]: another case is named %q", ErrTable, i, plaintext.Clip(c.Name, maxShown))
		}
		names[c.Name] = true
	}
	return table.Cases, nil
}

// wrong says what makes a case unusable.
func (c *Case) wrong() string {
	if _, err := c.Tool.Facts(); err != nil {
		return "tool: " + err.Error()
	}
	switch {
	case c.Name == "":
		return "it needs a name"
	case !slices.Contains([]string{"allow", "deny", "hidden"}, c.Expect):
		return fmt.Sprintf(`expect %q must be "allow", "deny" or "hidden"`, plaintext.Clip(c.Expect, maxShown))
	case c.Approval != "" && strictness(c.Approval) < 0:
		return fmt.Sprintf(`approval %q must be "never", "ask" or "always"`, plaintext.Clip(string(c.Approval), maxShown))
	case c.Approval != "" && c.Expect != "allow":
		return "approval is expected of a call that is not allowed"
	case c.Input != nil && !strings.HasPrefix(strings.TrimLeft(string(c.Input), " \t\r\n"), "{"):
		return "input must be an object"
	}
	return ""
}

// RunTable tries the cases of a table, which ParseTable documents. A case that fails
// is a result; an error is about the table.
func (s *Set) RunTable(ctx context.Context, data []byte) (*TableResult, error) {
	cases, err := ParseTable(data)
	if err != nil {
		return nil, err
	}
	out := &TableResult{Cases: make([]CaseResult, 0, len(cases)), Unreached: []Policy{}}
	reached := map[Policy]bool{}
	for i := range cases {
		r, err := s.runCase(ctx, &cases[i])
		if err != nil {
			return nil, err
		}
		if !r.OK {
			out.Failed++
		}
		for _, p := range r.Explanation.Determining {
			reached[p] = true
		}
		out.Cases = append(out.Cases, *r)
	}
	for _, p := range s.Policies() {
		if !reached[p] {
			out.Unreached = append(out.Unreached, p)
		}
	}
	return out, nil
}

func (s *Set) runCase(ctx context.Context, c *Case) (*CaseResult, error) {
	tool, err := c.Tool.Facts()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrTable, err)
	}
	call := &host.PolicyCall{Tool: tool, Input: c.Input, Caller: c.Caller, Scope: host.Scope{
		AgentID: c.Scope.Agent, SessionID: c.Scope.Session, SessionKey: c.Scope.SessionKey,
		Sender: c.Scope.Sender, Channel: c.Scope.Channel, Sandboxed: c.Scope.Sandboxed,
	}}
	if call.Input == nil {
		call.Input = json.RawMessage(`{}`)
	}
	x, err := s.Explain(ctx, call)
	if err != nil {
		return nil, err
	}
	r := &CaseResult{Name: c.Name, Rule: x.Rule, Approval: x.Approval, Explanation: x, Got: "deny"}
	switch {
	case x.Allow:
		r.Got = "allow"
	case !x.Visible && c.Expect == "hidden":
		r.Got, r.Rule = "hidden", x.Hidden
	}
	r.Wrong = c.differs(r)
	r.OK = r.Wrong == ""
	return r, nil
}

func (c *Case) differs(r *CaseResult) string {
	named := r.Rule == c.Rule || slices.ContainsFunc(r.Explanation.Determining, func(p Policy) bool { return p.Name == c.Rule })
	switch {
	case r.Got != c.Expect:
		return fmt.Sprintf("expected %s, got %s by %s", c.Expect, r.Got, r.Rule)
	case c.Rule != "" && !named:
		return fmt.Sprintf("expected the rule %s, got %s", c.Rule, r.Rule)
	case c.Approval != "" && c.Approval != r.Approval:
		return fmt.Sprintf("expected approval %s, got %s", c.Approval, r.Approval)
	}
	return ""
}
