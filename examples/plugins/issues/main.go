// Command issues is the plugin examples.issues: the issues of a repository on GitHub, or on a server with the same
// interface.
package main

import (
	"encoding/json"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/sdk"
)

func init() {
	sdk.Tool("issues_list", "", list)
	sdk.Tool("issues_get", "", get)
	sdk.Tool("issues_create", "", create)
	sdk.Tool("issues_update", "", update)
	sdk.Tool("issues_comment", "", comment)
	sdk.Tool("issues_comments", "", comments)
	sdk.Scope("issues", scope)
	sdk.MapInput("issues", mapInput)
}

// scope is what cells find as Issues. It is computed, since the repository is the operator's choice.
func scope(c guestabi.ScopeContext) (any, error) {
	repository := c.Config["repository"]
	if repository == nil {
		repository = json.RawMessage("null")
	}
	return map[string]any{
		"repository": repository,
		"states":     []string{"open", "closed", "all"},
		"list":       sdk.Marker{Tool: "issues_list", MapInput: true},
		"get":        sdk.Marker{Tool: "issues_get", Args: []string{"number"}},
		"create":     sdk.Marker{Tool: "issues_create"},
		"update":     sdk.Marker{Tool: "issues_update", Args: []string{"number", "patch"}},
		"comment":    sdk.Marker{Tool: "issues_comment", Args: []string{"number", "body"}},
		"comments":   sdk.Marker{Tool: "issues_comments", Args: []string{"number"}},
	}, nil
}

// mapInput lets cells write Issues.list("closed", {labels: ["bug"]}) as well as Issues.list({state: "closed"}).
func mapInput(_ []string, args []json.RawMessage) (any, error) {
	input := map[string]any{}
	rest := 0
	if len(args) > 0 && len(args[0]) > 0 && args[0][0] == '"' {
		var state string
		if _, err := sdk.Arg(args, 0, "state", &state); err != nil {
			return nil, err
		}
		input["state"], rest = state, 1
	}
	var more map[string]any
	if _, err := sdk.Arg(args, rest, "filter", &more); err != nil {
		return nil, err
	}
	for name, v := range more {
		if _, twice := input[name]; twice {
			return nil, sdk.Fail("invalid_input", "%s is given twice; leave it out of the second argument", name)
		}
		input[name] = v
	}
	if len(args) > rest+1 {
		return nil, sdk.Fail("invalid_input", "Issues.list takes a state and a filter, both optional")
	}
	return input, nil
}

func main() {}
