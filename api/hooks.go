package api

import (
	"context"
	"encoding/json"
	"fmt"
)

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

// HookError tells of a callback of the embedding program that panicked. The host goes
// on: a BeforeExec or BeforeToolCall that panics has refused, a Policy or an approver has denied,
// a Transformer, a SnapshotStore and a source of random numbers have failed, of the others nothing
// is expected.
type HookError struct {
	// Callback names it: "BeforeToolCall", "Trace.Emit", "SnapshotStore.Put".
	Callback string
	// Value is what it panicked with; Stack is where.
	Value any
	Stack []byte
}

// Error implements error.
func (e *HookError) Error() string { return fmt.Sprintf("%s panicked: %v", e.Callback, e.Value) }
