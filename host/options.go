package host

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"github.com/cloister-wasm/cloister/plugins"
	"github.com/cloister-wasm/cloister/plugins/lock"
	"github.com/cloister-wasm/cloister/quickjs"
)

// Options configures New. The zero value has code mode off.
type Options struct {
	// CodeMode is `tools.codeMode`.
	CodeMode CodeModeConfig
	// Tools are the embedding program's own tools.
	Tools []RawTool
	// Plugins are loaded plugins. They stay the caller's; see Host.SetPlugins.
	Plugins []*plugins.Plugin
	// Allow and Deny are globs over tool ids, tool names and owners. A nil Allow
	// allows all, an empty one none. Deny wins.
	Allow, Deny []string
	// Sandbox is the further policy of sandboxed runs.
	Sandbox SandboxPolicy
	// Hooks see and may stop nested calls and cells.
	Hooks Hooks
	// Approve decides about calls of tools that need approval. Without it such
	// calls are refused. It may block as long as it takes: meanwhile the call
	// shows as pending with reason "approval".
	Approve func(ctx context.Context, call *ToolCall) (Decision, error)
	// ApprovalHint is one sentence for people on where approvals are answered, such as
	// "answer with: cloister approvals". It is in the Message of results that wait for
	// approval, which a model passes on to its user.
	ApprovalHint string
	// OnInterrupt resolves what a plugin asks by an interrupt. Without it the call
	// shows as pending with method "interrupt", and Run.Resolve or Run.Reject
	// answers. It may block as long as it takes.
	OnInterrupt func(ctx context.Context, call *ToolCall, payload json.RawMessage) (json.RawMessage, error)
	// MCP are the MCP servers; see Host.SetMCP.
	MCP []MCPServer
	// Policy decides about tools and calls after the globs. Nil allows what they allow.
	Policy Policy
	// ApprovalTTL is how long a run that waits for approval is kept, in place of
	// snapshotTtlSeconds. Default 24 hours.
	ApprovalTTL time.Duration
	// MaxSuspendedPerSender bounds the suspended cells of one sender of one agent, so that
	// none takes all of tools.codeMode.maxSuspendedRuns. Zero bounds nothing.
	MaxSuspendedPerSender int
	// Lock is what was accepted of the tools of plugins and MCP servers. A tool that differs from it is
	// left out until it is accepted; Host.Drift names it. Nil accepts all.
	Lock *lock.File
	// Trace receives the events of all runs. See NewJSONLTrace.
	Trace TraceSink
	// Transformer turns TypeScript into JavaScript. Nil means a worker process of
	// this binary, started at the first TypeScript cell.
	Transformer Transformer
	// Snapshots stores suspended cells, each as soon as it is suspended. Nil keeps them in memory: as they
	// are for a while, then as snapshots.
	Snapshots SnapshotStore
	// Engine is a loaded engine, which several hosts may share. It stays the caller's: Close does not
	// close it. Nil loads one of its own at the first cell.
	Engine *quickjs.Engine
	// EngineWasm is the stock engine's bytes, for a host that loads its own; nil looks them up.
	EngineWasm []byte
	// CacheDir holds compiled code: empty for the user's cache folder, "off" for none.
	CacheDir string
	// Now is the clock, also of guests. Nil means time.Now. It is called from many goroutines at once.
	Now func() time.Time
	// Random is the source of ids and of guests' seeds. Nil means crypto/rand. It is read from many
	// goroutines at once.
	Random io.Reader
	// OnHookError is told of callbacks that panicked, from the goroutine in which they did.
	OnHookError func(e *HookError)
	// MaxHeldBytes bounds what the host keeps for all cells together: inputs of open calls and queued
	// approvals, results on their way, snapshots in memory, attachments. Over it calls fail with
	// too_many_pending_tool_calls, and suspensions with snapshot_limit_exceeded. A quarter of as much again
	// may be the memory of suspended cells that were not saved yet. Default 512 MiB.
	MaxHeldBytes int64
	// MaxRunningCells bounds the cells that have been started and have neither ended nor been suspended. One
	// more waits for its place within its timeout. Default 128.
	MaxRunningCells int
	// MaxCalls bounds the calls, searches and descriptions that one cell asks for. More fail with
	// too_many_pending_tool_calls, and twice as many end it. Default 10,000.
	MaxCalls int
	// MaxToolOutputBytes bounds one nested result. Default 4 MiB.
	MaxToolOutputBytes int
	// PlainMemory copies templates instead of mapping them, as on systems without
	// copy-on-write mappings.
	PlainMemory bool
}

// SandboxPolicy is the further layer of policy for sandboxed runs: only tools
// that Allow or AlsoAllow name, and none that Deny names. AlsoAllow widens a
// default or inherited Allow without repeating it.
type SandboxPolicy struct{ Allow, AlsoAllow, Deny []string }

// RunOptions describes one agent run.
type RunOptions struct {
	// AgentID, AgentRunID, SessionID, SessionKey, Sender and Channel are the run's scope, with Sandboxed. A wait
	// must come from a run whose scope is the same in all; one without AgentRunID or SessionID never matches.
	AgentID, AgentRunID, SessionID, SessionKey string
	Sender, Channel                            string
	// Sandboxed applies Options.Sandbox.
	Sandboxed bool
	// DisableTools makes a run without tools, for which code mode is not active.
	DisableTools bool
	// Allow and Deny narrow the host's policy for this run. A nil Allow allows
	// all, an empty one none.
	Allow, Deny []string
	// ClientTools are executed by the caller of Exec.
	ClientTools []ClientTool
	// OnClientCall, if set, is told of each client call as it is made. The call
	// is settled with Run.Resolve or Run.Reject, from any goroutine. Without it,
	// exec returns as soon as only client calls are open.
	OnClientCall func(call PendingToolCall)
	// OnEvent is told of this run's trace events, beside Options.Trace, from many
	// goroutines. It must not block for long: it is on the path of every call.
	OnEvent func(e TraceEvent)
	// OnProgress receives what Go tools report with ReportProgress, and what plugins and MCP servers report.
	OnProgress func(call *ToolCall, p Progress)
}

// Hooks are called around cells and nested calls, each in a goroutine that holds up nobody but its own cell or
// call; they may be called concurrently. One that panics is reported to Options.OnHookError: if it could have
// refused, it has.
type Hooks struct {
	// BeforeExec may refuse a cell by returning an error, whose text the model sees.
	BeforeExec func(ctx context.Context, cell *ExecEvent) error
	// BeforeToolCall may refuse a call by returning an error, or replace
	// call.Input, which is then checked against the tool's schema, as the input that it sees was. What else it
	// changes in the call has no effect.
	BeforeToolCall func(ctx context.Context, call *ToolCall) error
	// AfterToolCall is told how each call ended that has a call.start in the trace, refused ones included.
	AfterToolCall func(ctx context.Context, call *ToolCall, result json.RawMessage, err error)
}

// ExecEvent is a cell on its way to execution.
type ExecEvent struct {
	ToolKind      string // "code_mode_exec"
	ToolInputKind string // "javascript" or "typescript"
	CallID        string
	Code          string
	Scope         Scope
}

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

	untrusted bool
	rule      string // of a denial
}

// Decision is the answer to a request for approval.
type Decision struct {
	Approved bool `json:"approved"`
	// Reason is shown to the guest when the call is refused.
	Reason string `json:"reason,omitempty"`
	// Extent says for what an approval holds. A tool whose approval is "always" is
	// asked for every time, whatever was answered before.
	Extent Extent `json:"extent,omitempty"`
	// Envelope approves further calls of the same run, within bounds.
	Envelope *Envelope `json:"envelope,omitempty"`
	// By says who decided, for the trace.
	By string `json:"by,omitempty"`
}

// Transformer turns TypeScript into JavaScript of the same kind. It must be safe for concurrent use and
// bound its own cost: the source is hostile. ctx carries the deadline.
type Transformer interface {
	Transform(ctx context.Context, in *TransformInput) (*Transformed, error)
}

// TransformInput is source for a Transformer.
type TransformInput struct {
	Source string
	Kind   SourceKind
}

// SourceKind says what kind of program a source is.
type SourceKind string

// SourceCell is the body of an async function.
const SourceCell SourceKind = "cell"

// Transformed is JavaScript with the way back to its source.
type Transformed struct {
	Code string
	// Position gives the place in the source for a place in Code; lines and
	// columns count from 1, and 0 means unknown. Nil means that they are equal.
	Position func(line, column int) (sourceLine, sourceColumn int)
}

// TransformError is a fault in the source that a Transformer found.
type TransformError struct {
	Message      string
	Line, Column int // from 1; 0 if unknown
	// ModuleAccess says that the source imports or exports.
	ModuleAccess bool
}

// Error implements error.
func (e *TransformError) Error() string { return e.Message }
