package api

import (
	"errors"
	"fmt"

	"github.com/cloister-wasm/cloister/guestabi"
)

var (
	// ErrConfig reports a configuration that cannot be used. See ConfigError.
	ErrConfig = errors.New("invalid_config")
	// ErrClosed reports use of a Host or Run after Close.
	ErrClosed = errors.New("host is closed")
	// ErrTool reports a tool that cannot be registered: a bad name, a schema that
	// does not compile, an id that is taken.
	ErrTool = errors.New("tool refused")
	// ErrUnknownCall reports a client call that is not open: never made, settled
	// already, or dropped with its run.
	ErrUnknownCall = errors.New("no such open call")
	// ErrSurface reports a provider payload whose tools are not exactly exec and
	// wait while code mode is active.
	ErrSurface = errors.New("model surface is not exactly exec and wait")
	// ErrNotActive reports Exec or Wait on a run without code mode.
	ErrNotActive = errors.New("code mode is not active for this run")
	// ErrUnknownRun reports a runId of no cell that is running or suspended in the
	// caller's scope.
	ErrUnknownRun = errors.New("no such code mode run")
	// ErrUnknownApproval reports an answer to a question that is not open.
	ErrUnknownApproval = errors.New("no such pending approval")
	// ErrSnapshotNotFound is what a SnapshotStore gives for a name it does not hold.
	ErrSnapshotNotFound = errors.New("snapshot not found")
)

// Fault is one thing wrong with a configuration.
type Fault struct {
	// Key is the path of the setting, such as "tools.codeMode.timeoutMs".
	Key string
	// Message says what is wrong and what is expected.
	Message string
}

// ConfigError lists every fault of a configuration. It unwraps to ErrConfig.
type ConfigError struct{ Faults []Fault }

// Error implements error.
func (e *ConfigError) Error() string {
	s := ErrConfig.Error()
	for i, f := range e.Faults {
		sep := "; "
		if i == 0 {
			sep = ": "
		}
		s += sep + f.Key + ": " + f.Message
	}
	return s
}

// Unwrap makes errors.Is(err, ErrConfig) true.
func (e *ConfigError) Unwrap() error { return ErrConfig }

// ToolError is a tool's failure as data: what guest code catches. A tool returns
// one to choose name and code; any other error becomes name "Error" with code
// "tool_failed" and a message without paths or Go details.
type ToolError struct {
	Name    string // JavaScript error name; "Error" if empty
	Message string
	Code    ToolErrorCode // for programs
	Reason  guestabi.Reason
}

// Error implements error.
func (e *ToolError) Error() string {
	if e.Code != "" {
		return fmt.Sprintf("%s (%s)", e.Message, e.Code)
	}
	return e.Message
}
