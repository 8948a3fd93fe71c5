package host

import "github.com/cloister-wasm/cloister/api"

// The vocabulary of a host is package api, where it is documented whole. These are its names for programs that have a host.

// Tools and calls.
type (
	// RawTool is a tool of the embedding program.
	RawTool = api.RawTool
	// ClientTool is a tool that the caller of Exec executes.
	ClientTool = api.ClientTool
	// Approval says when calls of a tool need approval.
	Approval = api.Approval
	// ToolCall is one nested call on its way through the dispatcher.
	ToolCall = api.ToolCall
	// Scope is the context that a nested call preserves.
	Scope = api.Scope
	// CallInput is a direct call of a tool.
	CallInput = api.CallInput
	// CallResult is what a tool gave.
	CallResult = api.CallResult
	// Attachment is a binary that a tool gave.
	Attachment = api.Attachment
	// Progress is how far a call is, as its tool or its server reports it.
	Progress = api.Progress
	// ToolError is a tool's failure as data.
	ToolError = api.ToolError
	// ToolErrorCode is a short word by which programs tell a tool's failures apart.
	ToolErrorCode = api.ToolErrorCode
)

// Programs.
type (
	// CodeModeConfig is `tools.codeMode`.
	CodeModeConfig = api.CodeModeConfig
	// ExecInput is the input of the exec tool.
	ExecInput = api.ExecInput
	// WaitInput is the input of the wait tool.
	WaitInput = api.WaitInput
	// Result is what exec and wait give.
	Result = api.Result
	// OutputItem is one item of a run's output.
	OutputItem = api.OutputItem
	// PendingToolCall is a call that has not settled.
	PendingToolCall = api.PendingToolCall
	// Telemetry counts what a run did.
	Telemetry = api.Telemetry
	// SnapshotTelemetry describes a snapshot.
	SnapshotTelemetry = api.SnapshotTelemetry
)

// Models.
type (
	// ToolDefinition is a tool as a model sees it.
	ToolDefinition = api.ToolDefinition
	// ModelCall is a call of a tool as a model made it, by the name that Surface gave.
	ModelCall = api.ModelCall
	// ModelAnswer is what the model gets to read of a call.
	ModelAnswer = api.ModelAnswer
	// CatalogEntry is a tool as a run sees it.
	CatalogEntry = api.CatalogEntry
)

// Who decides.
type (
	// Policy decides about tools beyond the globs of Options.Allow and Deny.
	Policy = api.Policy
	// ToolFacts is what the host knows of a tool, whatever its description says.
	ToolFacts = api.ToolFacts
	// PolicyCall is a call on its way to a tool.
	PolicyCall = api.PolicyCall
	// PolicyDecision is an answer of a Policy.
	PolicyDecision = api.PolicyDecision
	// Decision is the answer to a request for approval.
	Decision = api.Decision
	// Extent says for what a Decision holds.
	Extent = api.Extent
	// Envelope approves calls ahead.
	Envelope = api.Envelope
	// PendingApproval is a question that waits for an answer.
	PendingApproval = api.PendingApproval
)

// Seams.
type (
	// Hooks are called around cells and nested calls, each in a goroutine that holds up nobody but its own cell or call; they may be called concurrently.
	Hooks = api.Hooks
	// ExecEvent is a cell on its way to execution.
	ExecEvent = api.ExecEvent
	// HookError tells of a callback of the embedding program that panicked.
	HookError = api.HookError
	// Transformer turns TypeScript into JavaScript of the same kind.
	Transformer = api.Transformer
	// TransformInput is source for a Transformer.
	TransformInput = api.TransformInput
	// SourceKind says what kind of program a source is.
	SourceKind = api.SourceKind
	// Transformed is JavaScript with the way back to its source.
	Transformed = api.Transformed
	// TransformError is a fault in the source that a Transformer found.
	TransformError = api.TransformError
	// SnapshotStore keeps the memory of suspended cells.
	SnapshotStore = api.SnapshotStore
	// Snapshot is the state of a suspended cell.
	Snapshot = api.Snapshot
	// TraceSink receives events, from many goroutines at once.
	TraceSink = api.TraceSink
	// TraceEvent is one thing that happened in a run.
	TraceEvent = api.TraceEvent
	// EventName is the name of what a [TraceEvent] tells.
	EventName = api.EventName
)

// MCP servers.
type (
	// MCPTool is a tool of an MCP server.
	MCPTool = api.MCPTool
	// ToolAnnotations are hints of a tool's author about what it does (MCP specification, ToolAnnotations).
	ToolAnnotations = api.ToolAnnotations
	// MCPClient makes calls to one MCP server.
	MCPClient = api.MCPClient
	// MCPProgress is a progress notification of a server.
	MCPProgress = api.MCPProgress
	// MCPResult is the result of an MCP tool.
	MCPResult = api.MCPResult
	// MCPContent is one content item.
	MCPContent = api.MCPContent
	// MCPPrompt is a prompt with its arguments filled in.
	MCPPrompt = api.MCPPrompt
	// MCPMessage is one message of a prompt.
	MCPMessage = api.MCPMessage
	// MCPStatus says how a server of Options.MCP or SetMCP stands.
	MCPStatus = api.MCPStatus
)

// Errors.
type (
	// Fault is one thing wrong with a configuration.
	Fault = api.Fault
	// ConfigError lists every fault of a configuration.
	ConfigError = api.ConfigError
)

// Needs of approval, and for what an answer holds.
const (
	ApproveOnce    = api.ApproveOnce
	ApproveRun     = api.ApproveRun
	ApproveSession = api.ApproveSession
	ApprovalNever  = api.ApprovalNever
	ApprovalAsk    = api.ApprovalAsk
	ApprovalAlways = api.ApprovalAlways
)

// Languages of cells, and the kind of their source.
const (
	JavaScript = api.JavaScript
	TypeScript = api.TypeScript
	SourceCell = api.SourceCell
)

// Bounds.
const (
	MaxCallDepth       = api.MaxCallDepth
	MaxCallsInCall     = api.MaxCallsInCall
	MaxEnvelopeCalls   = api.MaxEnvelopeCalls
	MaxAttachments     = api.MaxAttachments
	MaxAttachmentBytes = api.MaxAttachmentBytes
	QueuedPerPending   = api.QueuedPerPending
)

// The codes of failures that the host itself returns to a call.
const (
	CodeInvalidInput        = api.CodeInvalidInput
	CodeToolInputTooLarge   = api.CodeToolInputTooLarge
	CodeInvalidToolResult   = api.CodeInvalidToolResult
	CodeToolOutputTooLarge  = api.CodeToolOutputTooLarge
	CodeToolFailed          = api.CodeToolFailed
	CodeToolTimeout         = api.CodeToolTimeout
	CodeAborted             = api.CodeAborted
	CodeUnknownTool         = api.CodeUnknownTool
	CodeRevoked             = api.CodeRevoked
	CodeCallRefused         = api.CodeCallRefused
	CodePolicyDenied        = api.CodePolicyDenied
	CodePolicyFailed        = api.CodePolicyFailed
	CodeApprovalDenied      = api.CodeApprovalDenied
	CodeApprovalFailed      = api.CodeApprovalFailed
	CodeApprovalUnavailable = api.CodeApprovalUnavailable
	CodeTooManyPending      = api.CodeTooManyPending
	CodeTooManyCalls        = api.CodeTooManyCalls
	CodeTooDeep             = api.CodeTooDeep
	CodeRecursiveCall       = api.CodeRecursiveCall
	CodeClientTool          = api.CodeClientTool
	CodeInterrupted         = api.CodeInterrupted
	CodeUnavailable         = api.CodeUnavailable
	CodeMCPToolError        = api.CodeMCPToolError
	CodeInternalError       = api.CodeInternalError
)

// The events of a trace.
const (
	EventExecStart        = api.EventExecStart
	EventExecEnd          = api.EventExecEnd
	EventWaitStart        = api.EventWaitStart
	EventWaitEnd          = api.EventWaitEnd
	EventCallStart        = api.EventCallStart
	EventCallEnd          = api.EventCallEnd
	EventCallsMore        = api.EventCallsMore
	EventCallDenied       = api.EventCallDenied
	EventApprovalAsked    = api.EventApprovalAsked
	EventApprovalDecided  = api.EventApprovalDecided
	EventSearch           = api.EventSearch
	EventDescribe         = api.EventDescribe
	EventSuspend          = api.EventSuspend
	EventResume           = api.EventResume
	EventExpire           = api.EventExpire
	EventAbort            = api.EventAbort
	EventNamespaceRefused = api.EventNamespaceRefused
)

// Errors that a host returns. Package api says of each what it means.
var (
	ErrConfig           = api.ErrConfig
	ErrClosed           = api.ErrClosed
	ErrTool             = api.ErrTool
	ErrUnknownCall      = api.ErrUnknownCall
	ErrSurface          = api.ErrSurface
	ErrNotActive        = api.ErrNotActive
	ErrUnknownRun       = api.ErrUnknownRun
	ErrUnknownApproval  = api.ErrUnknownApproval
	ErrSnapshotNotFound = api.ErrSnapshotNotFound
)
