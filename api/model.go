package api

import (
	"encoding/json"
)

// ToolDefinition is a tool as a model sees it.
type ToolDefinition struct {
	// Name is unique, and of a form that all providers take: letters, digits, '_' and '-', at
	// most 64. Without code mode it depends on ID alone, whatever other tools are there:
	// "<server>__<tool>" for a tool of an MCP server, "<publisher>--<plugin>__<tool>" for one
	// of a plugin, "<tool>" for one of the host's own, where each of these is free of characters
	// that would need an escape.
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	// ID is the catalog id, for CallTool; empty for exec and wait.
	ID string `json:"-"`
	// Label is a short title; Returns is the schema of the result. Both may be empty.
	Label   string          `json:"-"`
	Returns json.RawMessage `json:"-"`
	// Annotations are the author's own words about an MCP tool.
	Annotations ToolAnnotations `json:"-"`
}

// ModelCall is a call of a tool as a model made it, by the name that Surface gave.
type ModelCall struct {
	// ID is the provider's id of the call, for trace and approvals. It may be empty.
	ID, Name string
	// Arguments is a JSON object: OpenAI's arguments, Anthropic's input, Gemini's args.
	// Empty stands for {}.
	Arguments json.RawMessage
}

// ModelAnswer is what the model gets to read of a call.
type ModelAnswer struct {
	// JSON is the result of exec or wait, or a tool's value. A call of a tool that fails
	// gives {"error":{"name","message","code"}}.
	JSON json.RawMessage
	// IsError is set for a failed result, and for a call that failed.
	IsError bool
	// Attachments are the binaries whose handles stand in JSON.
	Attachments []Attachment
}

// CatalogEntry is a tool as a run sees it.
type CatalogEntry struct {
	ID          string          `json:"id"`
	Name        string          `json:"name"`
	Label       string          `json:"label,omitempty"`
	Description string          `json:"description"`
	Source      string          `json:"source"`
	SourceName  string          `json:"sourceName,omitempty"`
	Unsigned    bool            `json:"unsigned,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
	Returns     json.RawMessage `json:"returns,omitempty"`
}
