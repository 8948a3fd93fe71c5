package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/cloister-wasm/cloister/host"
	cedar "github.com/cloister-wasm/cloister/host/policy"
	"github.com/cloister-wasm/cloister/host/settings"
	"github.com/cloister-wasm/cloister/internal/catalog"
)

// factRecorder is a policy that notes what the host knows of its tools. It hides
// nothing and allows nothing.
type factRecorder struct {
	mu    sync.Mutex
	facts map[string]*host.ToolFacts
}

// Visible implements host.Policy.
func (r *factRecorder) Visible(_ context.Context, _ host.Scope, tool *host.ToolFacts) (host.PolicyDecision, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.facts[tool.ID] = tool
	return host.PolicyDecision{Allow: true}, nil
}

// Authorize implements host.Policy.
func (r *factRecorder) Authorize(context.Context, *host.PolicyCall) (host.PolicyDecision, error) {
	return host.PolicyDecision{Rule: "nothing is called to explain it"}, nil
}

// find gives the tool of an id, or of a name that only one owner has.
func (r *factRecorder) find(id string) (*host.ToolFacts, error) {
	if f := r.facts[id]; f != nil {
		return f, nil
	}
	var named []string
	for _, known := range slices.Sorted(maps.Keys(r.facts)) {
		if r.facts[known].Name == id {
			named = append(named, known)
		}
	}
	if len(named) > 1 {
		return nil, &exitError{code: exitFailed, err: fmt.Errorf("several tools are named %s: %s", id, strings.Join(named, ", "))}
	}
	if len(named) == 1 {
		return r.facts[named[0]], nil
	}
	return nil, nil
}

// factFlags say what there is to know of a tool.
type factFlags struct {
	readOnly, destructive, idempotent, openWorld, unsigned bool
	signer, publisher, approval                            string
	// given says whether a flag was.
	given func(string) bool
}

func (f *factFlags) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.BoolVar(&f.readOnly, "read-only", false, "the tool says that it only reads")
	fs.BoolVar(&f.destructive, "destructive", false, "the tool says that it destroys")
	fs.BoolVar(&f.idempotent, "idempotent", false, "the tool says that a second call changes nothing")
	fs.BoolVar(&f.openWorld, "open-world", false, "the tool says that it reaches the world outside")
	fs.BoolVar(&f.unsigned, "unsigned", false, "the tool's plugin has no signature")
	fs.StringVar(&f.signer, "signer", "", "`NAME` of who signed the tool's plugin")
	fs.StringVar(&f.publisher, "publisher", "", "`NAME` of who published the tool's plugin")
	fs.StringVar(&f.approval, "tool-approval", "", "`WHEN` the tool asks for approval: never, ask or always")
}

// of gives the facts of a tool: those of the catalog, and above them the flags.
func (f *factFlags) of(id string, seen *factRecorder) (facts *host.ToolFacts, known bool, err error) {
	facts, err = seen.find(id)
	if err != nil {
		return nil, false, err
	}
	known = facts != nil
	if known {
		copied := *facts
		facts = &copied
	} else if facts, err = (&cedar.CaseTool{ID: id}).Facts(); err != nil {
		err = fmt.Errorf("no tool is called %q, and it is no full id, such as mcp:github:create_issue", id)
		return nil, false, &exitError{code: exitFailed, err: err, hint: "cloister catalog list shows all tools"}
	}
	for flag, hint := range map[string]struct {
		to    **bool
		value *bool
	}{
		"read-only":   {&facts.Annotations.ReadOnly, &f.readOnly},
		"destructive": {&facts.Annotations.Destructive, &f.destructive},
		"idempotent":  {&facts.Annotations.Idempotent, &f.idempotent},
		"open-world":  {&facts.Annotations.OpenWorld, &f.openWorld},
	} {
		if f.given(flag) {
			*hint.to = hint.value
		}
	}
	if f.given("unsigned") {
		facts.Unsigned = f.unsigned
	}
	if f.given("signer") {
		facts.Signer = f.signer
	}
	if f.given("publisher") {
		facts.Publisher = f.publisher
	}
	if f.given("tool-approval") {
		facts.Approval = host.Approval(f.approval)
		switch facts.Approval {
		case host.ApprovalNever, host.ApprovalAsk, host.ApprovalAlways:
		default:
			return nil, false, usageError(errors.New("--tool-approval must be never, ask or always"), "")
		}
	}
	return facts, known, nil
}

// globs gives the verdict of the allow and deny lists on a tool: those of the
// configuration, of its sandbox with --sandboxed, and of the flags, as the host builds
// its layers.
func (f *toolFlags) globs(cfg *settings.Settings, facts *host.ToolFacts) (catalog.Verdict, error) {
	if err := f.checkRules(); err != nil {
		return catalog.Verdict{}, err
	}
	base, err1 := catalog.NewLayer("tools", catalog.Policy{Allow: cfg.Allow, Deny: cfg.Deny})
	run, err2 := catalog.NewLayer("run", catalog.Policy{Allow: f.allow, Deny: f.deny})
	sandbox := cfg.SandboxPolicy()
	box, err3 := catalog.NewSandboxLayer("tools.sandbox", catalog.Policy{Allow: sandbox.Allow, Deny: sandbox.Deny}, sandbox.AlsoAllow)
	if err := errors.Join(err1, err2, err3); err != nil {
		return catalog.Verdict{}, usageError(err, "")
	}
	layers := []catalog.Layer{base}
	if f.sandboxed {
		layers = append(layers, box)
	}
	return catalog.Check(&catalog.Entry{Source: facts.Source, Owner: facts.Owner, Name: facts.Name}, append(layers, run)...), nil
}
