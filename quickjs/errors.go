package quickjs

import (
	"context"
	"errors"
	"fmt"
)

var (
	// ErrEngineUnavailable reports that the engine's bytes are missing, altered or
	// do not compile. Its text names the command that mends it.
	ErrEngineUnavailable = errors.New("javascript engine unavailable")
	// ErrNoExecutableMemory reports that the system lets this process make no memory
	// executable, as systemd does under MemoryDenyWriteExecute=yes. An error that wraps
	// it wraps ErrEngineUnavailable too.
	ErrNoExecutableMemory = errors.New("this process may make no memory executable, which the compiler needs (systemd: set MemoryDenyWriteExecute=no)")
	// ErrInterrupted reports that a VM was stopped: its deadline passed, its
	// context ended, or Stop was called. The VM is finished. The error is an
	// *InterruptError, which tells the reason.
	ErrInterrupted = errors.New("execution interrupted")
	// ErrStopped is the reason of an InterruptError after VM.Stop.
	ErrStopped = errors.New("stopped by the host")
	// ErrTrapped reports a WebAssembly trap, such as an exhausted native stack.
	// The VM is finished and is never used again.
	ErrTrapped = errors.New("vm trapped")
	// ErrClosed reports use of a VM, template or engine after Close, or of a VM
	// after it trapped or was interrupted.
	ErrClosed = errors.New("vm is closed")
	// ErrSnapshot reports a snapshot that cannot be read: damaged, of another
	// version, or taken from another engine or template.
	ErrSnapshot = errors.New("snapshot refused")
	// ErrSnapshotTooLarge reports a state that takes more bytes than a snapshot may
	// have. The VM is whole.
	ErrSnapshotTooLarge = errors.New("snapshot is too large")
	// ErrTooLarge reports a result over the bound that the caller gave.
	ErrTooLarge = errors.New("value is too large")
	// ErrOutOfMemory reports that the guest's memory does not suffice for what
	// the host must put into it.
	ErrOutOfMemory = errors.New("guest memory exhausted")
)

// EngineProblem says what is wrong with a copy of the engine.
type EngineProblem string

const (
	// EngineMissing means that there is no such file; without a path, that the engine
	// is nowhere.
	EngineMissing EngineProblem = "missing"
	// EngineUnreadable means that the file cannot be read, or is too large to be an engine.
	EngineUnreadable EngineProblem = "unreadable"
	// EngineAltered means that the bytes have another digest than the pinned one.
	EngineAltered EngineProblem = "altered"
)

// EngineError says which copy of the engine cannot be used and why. It unwraps to
// ErrEngineUnavailable. Its text ends in the command that mends it.
type EngineError struct {
	Problem EngineProblem
	// Path is the file, EmbeddedPath, or empty where no copy was found or a caller gave
	// the bytes.
	Path string
	// Named says that the variable CLOISTER_ENGINE names the file: nothing else is looked
	// for then, and installing an engine does not help.
	Named bool
	// SHA256 is the digest of bytes that are altered, in hexadecimal.
	SHA256 string
	// Err is why the file cannot be read; it may be nil.
	Err error
}

// Error implements error.
func (e *EngineError) Error() string {
	const install = "run: cloister engine install"
	what, mend := "", install
	switch {
	case e.Named:
		what, mend = engineVariable+" names "+e.Path+", which ", "unset "+engineVariable+"; "+install
	case e.Path == EmbeddedPath:
		what, mend = "the engine inside this program ", "build it again, or "+install+", and set "+engineVariable+" to what it prints"
	case e.Path != "":
		what = e.Path + " "
	default:
		what = "the bytes "
	}
	switch e.Problem {
	case EngineMissing:
		if e.Path == "" {
			what = fmt.Sprintf("%s %s is not installed", EngineName, EngineVersion)
		} else {
			what += "is not there"
		}
	case EngineUnreadable:
		what += fmt.Sprintf("cannot be read: %v", e.Err)
	case EngineAltered:
		if !e.Named && e.Path == "" {
			what = "the bytes are"
		} else {
			what += "is"
		}
		what += fmt.Sprintf(" not %s %s: SHA-256 is %s, expected %s", EngineName, EngineVersion, e.SHA256, EngineSHA256)
	}
	return fmt.Sprintf("%v: %s; %s", ErrEngineUnavailable, what, mend)
}

// Unwrap gives ErrEngineUnavailable and why a file cannot be read.
func (e *EngineError) Unwrap() []error {
	if e.Err == nil {
		return []error{ErrEngineUnavailable}
	}
	return []error{ErrEngineUnavailable, e.Err}
}

// Exception is a JavaScript exception that reached the host. Value is the
// thrown value and must be freed with VM.Free when it is no longer needed.
type Exception struct{ Value Value }

// Error implements error. The thrown value is guest data and is not read here.
func (e *Exception) Error() string { return "javascript exception" }

// InterruptError says why guest code was stopped. errors.Is finds ErrInterrupted in
// it, and the reason: context.DeadlineExceeded after the VM's deadline, the
// context's error and its cause after the end of a context, ErrStopped after
// VM.Stop.
type InterruptError struct{ Cause error }

// Error implements error.
func (e *InterruptError) Error() string { return fmt.Sprintf("%v: %v", ErrInterrupted, e.Cause) }

// Unwrap gives ErrInterrupted and the cause.
func (e *InterruptError) Unwrap() []error { return []error{ErrInterrupted, e.Cause} }

// contextError is the error of a context that has ended: what errors.Is is asked for
// may be context.Canceled as well as the cause that the context was given.
func contextError(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// TrapError is a trap with the runtime's description of it. It unwraps to
// ErrTrapped.
type TrapError struct{ Cause error }

// Error implements error.
func (e *TrapError) Error() string { return fmt.Sprintf("%v: %v", ErrTrapped, e.Cause) }

// Unwrap makes errors.Is(err, ErrTrapped) true and gives the cause.
func (e *TrapError) Unwrap() []error { return []error{ErrTrapped, e.Cause} }

// SnapshotError says why a snapshot was refused. It unwraps to ErrSnapshot.
type SnapshotError struct{ Reason string }

// Error implements error.
func (e *SnapshotError) Error() string { return fmt.Sprintf("%v: %s", ErrSnapshot, e.Reason) }

// Unwrap makes errors.Is(err, ErrSnapshot) true.
func (e *SnapshotError) Unwrap() error { return ErrSnapshot }

// SnapshotTooLargeError is ErrSnapshotTooLarge with the bound that was passed. How
// much the whole state would take is not known: saving ends at the bound.
type SnapshotTooLargeError struct{ Max int }

// Error implements error.
func (e *SnapshotTooLargeError) Error() string {
	return fmt.Sprintf("%v: more than %d bytes", ErrSnapshotTooLarge, e.Max)
}

// Unwrap makes errors.Is(err, ErrSnapshotTooLarge) true.
func (e *SnapshotTooLargeError) Unwrap() error { return ErrSnapshotTooLarge }
