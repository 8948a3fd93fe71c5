package api

import (
	"context"
	"encoding/json"
)

// MCPTool is a tool of an MCP server.
type MCPTool struct {
	// Name is the tool's own name, of any form. One that has no place in a catalog id
	// gets another there.
	Name, Title, Description string
	// Parameters and Returns are inputSchema and outputSchema.
	Parameters, Returns json.RawMessage
	// Checked, if set, is what calls are checked against in place of Parameters, which may hold what this host cannot use.
	Checked     json.RawMessage
	Annotations ToolAnnotations
	// Approval says when a call needs approval.
	Approval Approval
}

// ToolAnnotations are hints of a tool's author about what it does (MCP
// specification, ToolAnnotations). Nil means that the author did not say.
type ToolAnnotations struct {
	ReadOnly    *bool `json:"readOnlyHint,omitempty"`
	Destructive *bool `json:"destructiveHint,omitempty"`
	Idempotent  *bool `json:"idempotentHint,omitempty"`
	OpenWorld   *bool `json:"openWorldHint,omitempty"`
}

// MCPClient makes calls to one MCP server. Errors that are no *ToolError reach a
// guest without their text. Cursors and lists are bounded by the client.
type MCPClient interface {
	// CallTool calls a tool by its own name. tool is what the caller saw of it: a client whose server
	// now says something else of the tool refuses the call. progress may be nil.
	CallTool(ctx context.Context, tool *MCPTool, input json.RawMessage, progress func(MCPProgress)) (*MCPResult, error)
	// ListResources gives resources and templates, all pages: {"resources":[…],"resourceTemplates":[…]}.
	ListResources(ctx context.Context) (json.RawMessage, error)
	// ReadResource gives the contents of a resource as content items (type resource).
	ReadResource(ctx context.Context, uri string) ([]MCPContent, error)
	// ListPrompts gives {"prompts":[…]}, all pages.
	ListPrompts(ctx context.Context) (json.RawMessage, error)
	// GetPrompt gives the description and the messages of a prompt.
	GetPrompt(ctx context.Context, name string, arguments map[string]string) (*MCPPrompt, error)
}

// MCPProgress is a progress notification of a server.
type MCPProgress struct {
	Progress float64 `json:"progress"`
	Total    float64 `json:"total,omitempty"`
	Message  string  `json:"message,omitempty"`
}

// MCPResult is the result of an MCP tool.
type MCPResult struct {
	Content []MCPContent
	// Structured is structuredContent, nil if there is none.
	Structured json.RawMessage
	IsError    bool
}

// MCPContent is one content item. What is binary stays in Data: a guest gets a
// handle for it.
type MCPContent struct {
	// JSON is the item as the guest sees it, without data or blob: {"type":"text","text":…},
	// {"type":"image","mimeType":…}, {"type":"resource","resource":{"uri":…}}.
	JSON json.RawMessage
	// Data is the decoded binary of an image, of audio or of a blob; nil for others.
	Data []byte
	// Kind is "image", "audio" or "blob" if Data is set.
	Kind string
	// MIMEType and URI are as the server gave them.
	MIMEType, URI string
}

// MCPPrompt is a prompt with its arguments filled in.
type MCPPrompt struct {
	Description string
	Messages    []MCPMessage
}

// MCPMessage is one message of a prompt.
type MCPMessage struct {
	Role    string
	Content MCPContent
}

// MCPStatus says how a server of Options.MCP or SetMCP stands.
type MCPStatus struct {
	Name string
	// Tools counts those that are registered, whatever the policy says.
	Tools int
	// Err says why the server is not available.
	Err error
	// Faults are the tools that were left out, each an ErrTool.
	Faults []error
}
