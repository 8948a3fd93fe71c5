package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cloister-wasm/cloister/host"
	cedar "github.com/cloister-wasm/cloister/host/policy"
	"github.com/cloister-wasm/cloister/host/settings"
	"github.com/cloister-wasm/cloister/internal/safefile"
	"github.com/cloister-wasm/cloister/internal/schema"
)

type explainFlags struct {
	tools    toolFlags
	policies []string
	input    string
	scope    cedar.CaseScope
	caller   string
	json     bool
	facts    factFlags
}

func (a *app) policyExplain() *cobra.Command {
	f := &explainFlags{}
	cmd := &cobra.Command{
		Use:   "explain TOOL",
		Short: "Say what rules, policies and approval make of a call",
		Long: `Says what is decided about a call of TOOL, and by what: the rules of --allow, --deny
and the configuration, the policies of the configuration or of --policy, and the
approval that the call then needs. Nothing is called.

TOOL is an id of the catalog, or the name of a tool that only one owner has. For an id
that is not in the catalog, and for trying what would be, flags say what there is to
know of the tool.`,
		Example: `  cloister policy explain mcp:github:create_issue
  cloister policy explain mcp:mail:send --input '{"to": "eve@example.org"}' --agent main
  cloister policy explain mcp:fs:write --input @call.json --destructive --policy new.cedar`,
		Args: exactlyOne("explain", "TOOL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.facts.given = cmd.Flags().Changed
			return a.explainPolicy(cmd.Context(), f, args[0])
		},
		ValidArgsFunction: completeTools(&f.tools),
	}
	f.tools.register(cmd)
	fs := cmd.Flags()
	fs.StringArrayVar(&f.policies, "policy", nil, "Cedar `FILE`, in place of those of the configuration; repeatable")
	fs.StringVar(&f.input, "input", "{}", "the arguments: `JSON`, or @ and the name of a file")
	fs.StringVar(&f.scope.Agent, "agent", cliAgent, "`ID` of the agent that calls")
	fs.StringVar(&f.scope.Session, "session", "", "`ID` of the session")
	fs.StringVar(&f.scope.SessionKey, "session-key", "", "`KEY` of the session")
	fs.StringVar(&f.scope.Sender, "sender", "", "`NAME` of the sender")
	fs.StringVar(&f.scope.Channel, "channel", "", "`NAME` of the channel")
	fs.StringVar(&f.caller, "caller", "", "`ID` of the plugin that makes the call (default: a cell)")
	fs.BoolVar(&f.json, "json", false, "print JSON, with the entities that Cedar sees")
	f.facts.register(cmd)
	mustComplete(cmd.MarkFlagFilename("policy", "cedar"))
	return cmd
}

// explained is what `policy explain` prints.
type explained struct {
	Tool      string `json:"tool"`
	InCatalog bool   `json:"inCatalog"`
	// Globs is what the rules of allow and deny lists say; Visible is their verdict.
	Globs        string `json:"globs"`
	GlobsVisible bool   `json:"globsVisible"`
	// Policy is nil if there are no policies.
	Policy *cedar.Explanation `json:"policy"`
	// Result is "hidden", "deny", or "allow", with Approval.
	Result   string        `json:"result"`
	Approval host.Approval `json:"approval,omitempty"`
}

func (a *app) explainPolicy(ctx context.Context, f *explainFlags, id string) error {
	input, err := f.arguments()
	if err != nil {
		return err
	}
	seen := &factRecorder{facts: map[string]*host.ToolFacts{}}
	open := f.tools
	open.allow, open.deny = nil, nil // they are explained, not applied
	s, err := open.open(ctx, sessionOptions{app: a, host: host.Options{Policy: seen}})
	if err != nil {
		return err
	}
	defer s.close()
	facts, known, err := f.facts.of(id, seen)
	if err != nil {
		return err
	}
	x := &explained{Tool: facts.ID, InCatalog: known}
	verdict, err := f.tools.globs(s.Settings(), facts)
	if err != nil {
		return err
	}
	x.Globs, x.GlobsVisible = verdict.String(), verdict.Visible
	set, err := f.chosen(s.Settings())
	if err != nil {
		return err
	}
	if set != nil {
		call := &host.PolicyCall{Scope: f.hostScope(), Tool: facts, Input: input, Caller: f.caller}
		if x.Policy, err = set.Explain(ctx, call); err != nil {
			return hostError(err)
		}
	}
	x.conclude(facts)
	if f.json {
		return a.printJSON(x)
	}
	return a.write(x.text(a.stdout))
}

// chosen are the policies to explain by; nil if there are none.
func (f *explainFlags) chosen(cfg *settings.Settings) (*cedar.Set, error) {
	if len(f.policies) > 0 {
		return loadPolicyFiles(f.policies)
	}
	return policySet(cfg)
}

func (f *explainFlags) hostScope() host.Scope {
	return host.Scope{
		AgentID: f.scope.Agent, SessionID: f.scope.Session, SessionKey: f.scope.SessionKey,
		Sender: f.scope.Sender, Channel: f.scope.Channel, Sandboxed: f.tools.sandboxed,
	}
}

// arguments reads --input.
func (f *explainFlags) arguments() (json.RawMessage, error) {
	text := []byte(f.input)
	if file, ok := strings.CutPrefix(f.input, "@"); ok {
		var err error
		if text, err = safefile.Read(file, cedar.MaxInputBytes); err != nil {
			return nil, usageError(fmt.Errorf("--input: %w", err), "")
		}
	}
	v, err := schema.Decode(text)
	if _, ok := v.(map[string]any); err == nil && !ok {
		err = errors.New("the arguments must be an object")
	}
	if err != nil {
		return nil, usageError(fmt.Errorf("--input: %w", err), "")
	}
	return text, nil
}

func (x *explained) conclude(facts *host.ToolFacts) {
	x.Result, x.Approval = "allow", facts.Approval
	switch {
	case !x.GlobsVisible, x.Policy != nil && !x.Policy.Visible:
		x.Result, x.Approval = "hidden", ""
	case x.Policy != nil && !x.Policy.Allow:
		x.Result, x.Approval = "deny", ""
	case x.Policy != nil:
		x.Approval = x.Policy.Approval
	}
}

func (x *explained) text(s *stream) string {
	var b strings.Builder
	line := func(what, text string) { fmt.Fprintf(&b, "%s %s\n", pad(what, 10), text) }
	if !x.InCatalog {
		line("note", "the tool is not in the catalog: what is known of it are the flags")
	}
	if x.Policy != nil {
		b.WriteString(escapeText(x.Policy.Text()))
	} else {
		line("tool", escapeLine(x.Tool))
		line("policy", "none: what the rules let pass is allowed")
	}
	line("rules", escapeLine(x.Globs))
	result := map[string]string{
		"hidden": "hidden: no cell can see or call the tool", "deny": "the call is denied",
		"allow": "the call is allowed",
	}[x.Result]
	switch x.Approval {
	case host.ApprovalAsk:
		result += ", once somebody approves it"
	case host.ApprovalAlways:
		result += ", once somebody approves it, each time anew"
	}
	line("result", s.paint(styleBold, result))
	return b.String()
}
