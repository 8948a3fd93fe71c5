package api

import (
	"encoding/json"
)

// Scope is the context that a nested call preserves.
type Scope struct {
	AgentID, AgentRunID, SessionID, SessionKey, Sender, Channel string
	Sandboxed                                                   bool
}

// ToolCall is one nested call on its way through the dispatcher.
type ToolCall struct {
	// ID is the call's own id, ParentID that of the exec that started the cell.
	ID, ParentID string
	// CellID identifies the code mode run.
	CellID string
	// Caller is the plugin whose tool made the call; empty for one that a cell made.
	// ParentID is then that tool's own call.
	Caller string
	// Namespace is the function that a cell called, such as "Issues.update"; empty for
	// a call by id or name.
	Namespace string
	// Tool is the catalog id; Name and Owner are its parts.
	Tool, Name, Owner string
	// Unsigned says that the tool comes from a plugin without a signature.
	Unsigned bool
	// Approval is what the tool asks for, or what the policy put in its place.
	Approval Approval
	Input    json.RawMessage
	Scope    Scope
}

// CallInput is a direct call of a tool.
type CallInput struct {
	// ID is the tool's catalog id.
	ID string
	// Input is the JSON object of its arguments.
	Input json.RawMessage
	// CallID identifies the call in trace and approvals: the model's tool call id. One is
	// made if it is empty.
	CallID string
}

// CallResult is what a tool gave.
type CallResult struct {
	// Value is the result as a cell would see it. That of an MCP tool is an object with
	// structuredContent and content.
	Value json.RawMessage
	// Structured and Content are those of an MCP tool's result, with its binaries.
	Structured json.RawMessage
	Content    []MCPContent
	// Attachments are the binaries that Value names.
	Attachments []Attachment
}

// Attachment is a binary that a tool gave. It never enters a guest: a cell sees its
// handle, and puts it where the binary is to be.
type Attachment struct {
	// Handle is "cloister-attachment:" and 32 hexadecimal digits.
	Handle string
	// Kind is "image", "audio" or "blob".
	Kind string
	// MIMEType and URI are as the server gave them; both may be empty.
	MIMEType, URI string
	Data          []byte
}

// Bounds on the attachments that one cell, or one direct call, keeps.
const (
	MaxAttachments     = 64
	MaxAttachmentBytes = 32 << 20 // together
)

// MaxCallDepth bounds how deep tools may call tools: a plugin that calls a tool
// of another plugin that calls a third has depth 3.
const MaxCallDepth = 8

// MaxCallsInCall bounds the tools that a plugin may call during one call of its own.
const MaxCallsInCall = 1000
