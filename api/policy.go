package api

import (
	"context"
	"encoding/json"
)

// Policy decides about tools beyond the globs of Options.Allow and Deny. It is
// asked by the dispatcher, so for every surface alike, once the input has passed
// the tool's schema. Package host/policy has one on Cedar. It must be safe for
// concurrent use.
type Policy interface {
	// Visible says whether any input could let a call pass. A tool for which none
	// could is not in the run's catalog. An error hides the tool.
	Visible(ctx context.Context, scope Scope, tool *ToolFacts) (PolicyDecision, error)
	// Authorize decides about one call. An error denies it.
	Authorize(ctx context.Context, call *PolicyCall) (PolicyDecision, error)
}

// ToolFacts is what the host knows of a tool, whatever its description says.
type ToolFacts struct {
	// ID is the catalog id; Source, Owner and Name are its parts.
	ID, Source, Owner, Name string
	// Annotations are the author's own words about an MCP tool.
	Annotations ToolAnnotations
	// Signer and Publisher vouch for a plugin's tool; both are empty for others.
	Signer, Publisher string
	Unsigned          bool
	// Approval is what manifest, annotations and configuration ask for.
	Approval Approval
}

// PolicyCall is a call on its way to a tool.
type PolicyCall struct {
	Scope Scope
	Tool  *ToolFacts
	// Input has passed the tool's schema.
	Input json.RawMessage
	// Caller is the plugin that makes the call, empty for a cell's own.
	Caller string
}

// PolicyDecision is an answer of a Policy.
type PolicyDecision struct {
	Allow bool
	// Rule names what decided, for the trace and for the operator.
	Rule string
	// Reason is shown to the guest with a denial. It may be empty.
	Reason string
	// Approval replaces what the tool asks for, if it is not empty.
	Approval Approval
}
