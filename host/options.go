package host

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"github.com/cloister-wasm/cloister/api"
	"github.com/cloister-wasm/cloister/plugins"
	"github.com/cloister-wasm/cloister/plugins/lock"
	"github.com/cloister-wasm/cloister/quickjs"
)

// Options configures New. The zero value has code mode off.
type Options struct {
	// CodeMode is `tools.codeMode`.
	CodeMode api.CodeModeConfig
	// Tools are the embedding program's own tools.
	Tools []api.RawTool
	// Plugins are loaded plugins. They stay the caller's; see Host.SetPlugins.
	Plugins []*plugins.Plugin
	// Allow and Deny are globs over tool ids, tool names and owners. A nil Allow
	// allows all, an empty one none. Deny wins.
	Allow, Deny []string
	// Sandbox is the further policy of sandboxed runs.
	Sandbox SandboxPolicy
	// Hooks see and may stop nested calls and cells.
	Hooks api.Hooks
	// Approve decides about calls of tools that need approval. Without it such
	// calls are refused. It may block as long as it takes: meanwhile the call
	// shows as pending with reason "approval".
	Approve func(ctx context.Context, call *api.ToolCall) (api.Decision, error)
	// ApprovalHint is one sentence for people on where approvals are answered, such as
	// "answer with: cloister approvals". It is in the Message of results that wait for
	// approval, which a model passes on to its user.
	ApprovalHint string
	// OnInterrupt resolves what a plugin asks by an interrupt. Without it the call
	// shows as pending with method "interrupt", and Run.Resolve or Run.Reject
	// answers. It may block as long as it takes.
	OnInterrupt func(ctx context.Context, call *api.ToolCall, payload json.RawMessage) (json.RawMessage, error)
	// MCP are the MCP servers; see Host.SetMCP.
	MCP []MCPServer
	// Policy decides about tools and calls after the globs. Nil allows what they allow.
	Policy api.Policy
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
	Trace api.TraceSink
	// Transformer turns TypeScript into JavaScript. Nil means a worker process of
	// this binary, started at the first TypeScript cell.
	Transformer api.Transformer
	// Snapshots stores suspended cells, each as soon as it is suspended. Nil keeps them in memory: as they
	// are for a while, then as snapshots.
	Snapshots api.SnapshotStore
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
	OnHookError func(e *api.HookError)
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
	ClientTools []api.ClientTool
	// OnClientCall, if set, is told of each client call as it is made. The call
	// is settled with Run.Resolve or Run.Reject, from any goroutine. Without it,
	// exec returns as soon as only client calls are open.
	OnClientCall func(call api.PendingToolCall)
	// OnEvent is told of this run's trace events, beside Options.Trace, from many
	// goroutines. It must not block for long: it is on the path of every call.
	OnEvent func(e api.TraceEvent)
	// OnProgress receives what Go tools report with ReportProgress, and what plugins and MCP servers report.
	OnProgress func(call *api.ToolCall, p api.Progress)
}
