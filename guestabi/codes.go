package guestabi

// Code is the coarse reason of a failed run, the one that models and programs
// branch on.
type Code string

// The codes of failed results.
const (
	CodeInvalidInput          Code = "invalid_input"
	CodeRuntimeUnavailable    Code = "runtime_unavailable"
	CodeTimeout               Code = "timeout"
	CodeOutputLimitExceeded   Code = "output_limit_exceeded"
	CodeSnapshotLimitExceeded Code = "snapshot_limit_exceeded"
	CodeAborted               Code = "aborted"
	CodeInternalError         Code = "internal_error"
)

// Reason is the fine reason of a failed run. Each belongs to one Code.
type Reason string

// The reasons of failed results.
const (
	ReasonRuntimeUnavailable        Reason = "runtime_unavailable"
	ReasonInvalidConfig             Reason = "invalid_config"
	ReasonInvalidInput              Reason = "invalid_input"
	ReasonUnsupportedLanguage       Reason = "unsupported_language"
	ReasonTypeScriptTransformFailed Reason = "typescript_transform_failed"
	ReasonModuleAccessDenied        Reason = "module_access_denied"
	ReasonTimeout                   Reason = "timeout"
	ReasonMemoryLimitExceeded       Reason = "memory_limit_exceeded"
	ReasonOutputLimitExceeded       Reason = "output_limit_exceeded"
	ReasonSnapshotLimitExceeded     Reason = "snapshot_limit_exceeded"
	ReasonSnapshotExpired           Reason = "snapshot_expired"
	ReasonSnapshotRestoreFailed     Reason = "snapshot_restore_failed"
	ReasonTooManyPendingToolCalls   Reason = "too_many_pending_tool_calls"
	ReasonNestedToolFailed          Reason = "nested_tool_failed"
	ReasonGuestError                Reason = "guest_error"
	ReasonAborted                   Reason = "aborted"
	ReasonInternalError             Reason = "internal_error"
)

// Reasons lists every reason, in the order of the contract.
var Reasons = []Reason{
	ReasonRuntimeUnavailable, ReasonInvalidConfig, ReasonInvalidInput, ReasonUnsupportedLanguage,
	ReasonTypeScriptTransformFailed, ReasonModuleAccessDenied, ReasonTimeout, ReasonMemoryLimitExceeded,
	ReasonOutputLimitExceeded, ReasonSnapshotLimitExceeded, ReasonSnapshotExpired, ReasonSnapshotRestoreFailed,
	ReasonTooManyPendingToolCalls, ReasonNestedToolFailed, ReasonGuestError, ReasonAborted, ReasonInternalError,
}

// Code gives the coarse code of a reason. What the guest's program or its caller
// did wrong is invalid_input, and so is a tool's failure or a person's refusal that the program let pass: only what the
// host itself cannot do, and an unknown reason, is internal_error.
func (r Reason) Code() Code {
	switch r {
	case ReasonRuntimeUnavailable:
		return CodeRuntimeUnavailable
	case ReasonTimeout:
		return CodeTimeout
	case ReasonOutputLimitExceeded:
		return CodeOutputLimitExceeded
	case ReasonSnapshotLimitExceeded:
		return CodeSnapshotLimitExceeded
	case ReasonAborted:
		return CodeAborted
	case ReasonInvalidConfig, ReasonInvalidInput, ReasonUnsupportedLanguage, ReasonTypeScriptTransformFailed,
		ReasonModuleAccessDenied, ReasonSnapshotExpired, ReasonTooManyPendingToolCalls, ReasonGuestError, ReasonNestedToolFailed:
		return CodeInvalidInput
	}
	return CodeInternalError
}

// Status is how an exec or wait ended.
type Status string

// The statuses of results.
const (
	StatusCompleted Status = "completed"
	StatusWaiting   Status = "waiting"
	StatusFailed    Status = "failed"
)

// WaitReason says why a run is waiting.
type WaitReason string

// The reasons of waiting results.
const (
	WaitPendingTools WaitReason = "pending_tools"
	WaitYield        WaitReason = "yield"
	WaitApproval     WaitReason = "approval"
)

// State is the state of a run.
type State string

// The states of a run.
const (
	StateRunning   State = "running"
	StateWaiting   State = "waiting"
	StateCompleted State = "completed"
	StateFailed    State = "failed"
	StateExpired   State = "expired"
	StateAborted   State = "aborted"
)
