package policy_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	cedar "github.com/cedar-policy/cedar-go"
	"github.com/cedar-policy/cedar-go/x/exp/ast"
	"github.com/cedar-policy/cedar-go/x/exp/schema"
	"github.com/cedar-policy/cedar-go/x/exp/schema/validate"

	"github.com/cloister-wasm/cloister/host/policy"
)

func validator(t *testing.T, text string) *validate.Validator {
	t.Helper()
	var s schema.Schema
	if err := s.UnmarshalCedar([]byte(text)); err != nil {
		t.Fatal(err)
	}
	r, err := s.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	return validate.New(r)
}

// validateText gives what Cedar's validator says of policies.
func validateText(t *testing.T, v *validate.Validator, text []byte) error {
	t.Helper()
	list, err := cedar.NewPolicyListFromBytes("x", text)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range list {
		if err := v.Policy("p", (*ast.Policy)(p.AST())); err != nil {
			return err
		}
	}
	return nil
}

// TestSchemaFitsTheExamples: with the arguments written into it, as its comment says,
// the schema validates the example policies, and finds mistakes.
func TestSchemaFitsTheExamples(t *testing.T) {
	text := strings.NewReplacer(
		"type Input = {};", "type Input = { path?: String, to?: Set<String> };",
		"type Decimals = {};", "type Decimals = { amount?: decimal };",
	).Replace(policy.CedarSchema())
	v := validator(t, text)
	files, err := filepath.Glob(filepath.Join("..", "..", "examples", "policies", "*.cedar"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := validateText(t, v, data); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
	if err := validateText(t, v, []byte(`permit(principal, action, resource) when { context.input.path > 1 };`)); err == nil {
		t.Error("the validator finds no mistake")
	}
}

// TestSchemaHasWhatPoliciesSee: each attribute that loading knows is in the schema, by
// validating a policy that looks at it.
func TestSchemaHasWhatPoliciesSee(t *testing.T) {
	v := validator(t, policy.CedarSchema())
	for _, text := range []string{
		`permit(principal, action, resource) when { principal.agent == principal.session && principal.sessionKey == principal.sender && principal.channel == principal.caller && principal.sandboxed };`,
		`permit(principal, action, resource) when { resource.id == resource.name && resource.owner == resource.source && resource.signer == resource.publisher && resource.unsigned && resource.approval == "ask" };`,
		`permit(principal, action, resource) when { resource.annotations.readOnly && resource.annotations.destructive && resource.annotations.idempotent && resource.annotations.openWorld && resource.annotations.stated.contains("readOnly") };`,
		`permit(principal, action, resource in Cloister::Owner::"mcp:a") when { resource in Cloister::Source::"mcp" && context.caller == "" };`,
	} {
		mustParse(t, text)
		if err := validateText(t, v, []byte(text)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}
