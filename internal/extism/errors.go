package extism

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/cloister-wasm/cloister/internal/plaintext"
)

// Sentinels, for errors.Is. Types with details are below.
var (
	// ErrModule: the bytes are not a WebAssembly module that can be used. Always a [*ModuleError].
	ErrModule = errors.New("unusable WebAssembly module")
	// ErrComponent: the bytes are a WebAssembly component. Always a [*ModuleError].
	ErrComponent = errors.New("a WebAssembly component, not a core module")
	// ErrImport: the module imports what is not offered. Always an [*ImportError].
	ErrImport = errors.New("the plugin imports what is not offered")
	// ErrExport: the module has no such export, or one of another signature. Always an [*ExportError].
	ErrExport = errors.New("no such export")
	// ErrCacheDir: the directory for compiled code cannot be trusted.
	ErrCacheDir = errors.New("the directory for compiled code cannot be trusted")
	// ErrLimit: something is larger than its bound. Always a [*LimitError].
	ErrLimit = errors.New("over the limit")
	// ErrTrap: the plugin broke during a call. Always a [*TrapError].
	ErrTrap = errors.New("the plugin broke")
	// ErrMemory: the plugin broke after it was refused more memory. A [*TrapError].
	ErrMemory = errors.New("the plugin ran out of memory")
	// ErrStopped: the call was ended from outside. Always a [*StoppedError].
	ErrStopped = errors.New("the plugin call was stopped")
	// ErrDead: an earlier call cost the instance; make a new one.
	ErrDead = errors.New("the plugin instance is finished: an earlier call broke or was stopped; make a new instance")
	// ErrBusy: a host function called the instance that it was called from.
	ErrBusy = errors.New("the plugin instance is in the middle of the call that this one is made from; use another instance")
	// ErrFunctions: [Config.Functions] cannot be offered.
	ErrFunctions = errors.New("unusable host functions")
	// ErrClosed: the instance or its module was closed.
	ErrClosed = errors.New("the plugin is closed")
	// ErrEnvironment: the process's environment would unseal plugins.
	ErrEnvironment = errors.New("the environment variable EXTISM_ENABLE_WASI_OUTPUT would let plugins write to this process's standard output; unset it")
)

// ModuleError says why a module was refused. It is ErrModule or ErrComponent.
type ModuleError struct {
	Kind   error
	Detail string
}

// Error is one bounded line.
func (e *ModuleError) Error() string { return e.Kind.Error() + ": " + e.Detail }

// Unwrap gives the sentinel.
func (e *ModuleError) Unwrap() error { return e.Kind }

// ImportError lists all imports that were refused.
type ImportError struct {
	Refused []RefusedImport
}

// RefusedImport is one import that is not offered.
type RefusedImport struct {
	Module, Name string
	// Why says what to do instead.
	Why string
}

// Error is one bounded line.
func (e *ImportError) Error() string {
	var b strings.Builder
	b.WriteString(ErrImport.Error())
	for i, r := range e.Refused {
		if i == maxListed {
			fmt.Fprintf(&b, "; and %d more", len(e.Refused)-i)
			break
		}
		sep := ": "
		if i > 0 {
			sep = "; "
		}
		fmt.Fprintf(&b, "%s%q from %q (%s)", sep, plaintext.Clip(r.Name, maxName), plaintext.Clip(r.Module, maxName), r.Why)
	}
	return b.String()
}

// Unwrap gives the sentinel.
func (e *ImportError) Unwrap() error { return ErrImport }

// ExportError names an export that cannot be called.
type ExportError struct {
	Name, Detail string
}

// Error is one bounded line.
func (e *ExportError) Error() string {
	return fmt.Sprintf("%v: %q %s", ErrExport, plaintext.Clip(e.Name, maxName), e.Detail)
}

// Unwrap gives the sentinel.
func (e *ExportError) Unwrap() error { return ErrExport }

// LimitError says what is too large.
type LimitError struct {
	// What is "input", "output", "module" or "memory".
	What string
	// Limit and Got are bytes; Got is 0 where it is not known.
	Limit, Got int64
}

// Error is one bounded line.
func (e *LimitError) Error() string {
	if e.Got == 0 {
		return fmt.Sprintf("the plugin's %s is over the limit of %d bytes", e.What, e.Limit)
	}
	return fmt.Sprintf("the plugin's %s of %d bytes is over the limit of %d bytes", e.What, e.Got, e.Limit)
}

// Unwrap gives the sentinel.
func (e *LimitError) Unwrap() error { return ErrLimit }

// GuestError is what the plugin itself reported: a return code other than 0, or an error message. It is data, not a
// fault: the instance goes on.
type GuestError struct {
	// Code is the export's return code; it may be 0 with a message.
	Code uint32
	// Message is the plugin's text, valid UTF-8, bounded by [MaxMessageBytes]; "" when it gave none.
	Message string
}

// Error is one bounded line.
func (e *GuestError) Error() string {
	if e.Message == "" {
		return fmt.Sprintf("the plugin returned code %d", e.Code)
	}
	return "the plugin reported: " + plaintext.Short(e.Message, maxDetail)
}

// TrapError is a call that broke. The instance is finished.
type TrapError struct {
	// OutOfMemory: more memory was refused during the call.
	OutOfMemory bool
	// Reason is one bounded line.
	Reason string
	// Trace is the stack, for logs of the host: not for guests.
	Trace string
	// Output is the beginning and the end of what the plugin wrote to stderr in this call, a few KiB; its panic is there.
	// For logs of the host.
	Output string
}

// Error is one bounded line.
func (e *TrapError) Error() string { return e.sentinel().Error() + ": " + e.Reason }

func (e *TrapError) sentinel() error {
	if e.OutOfMemory {
		return ErrMemory
	}
	return ErrTrap
}

// Is matches ErrTrap always and ErrMemory when memory was the cause.
func (e *TrapError) Is(target error) bool {
	return target == ErrTrap || (e.OutOfMemory && target == ErrMemory)
}

// StoppedError is a call that its context, or Close, ended. The instance is finished if the call had begun.
type StoppedError struct {
	// Cause is the context's cause, or ErrClosed.
	Cause error
	// Began reports whether the plugin was running.
	Began bool

	err error // of the context
}

// stopped takes the reason from ctx. When the call's clock ran out, that is the cause, and the context's own error says
// only that it was cancelled.
func stopped(ctx context.Context, began bool) error {
	e := &StoppedError{Cause: context.Cause(ctx), Began: began, err: ctx.Err()}
	if e.Cause == context.DeadlineExceeded {
		e.err = context.DeadlineExceeded
	}
	return e
}

// Error is one bounded line.
func (e *StoppedError) Error() string {
	if errors.Is(e.err, context.DeadlineExceeded) {
		return "the plugin call took longer than it may"
	}
	return fmt.Sprintf("%v: %v", ErrStopped, e.Cause)
}

// Unwrap gives ErrStopped, the cause, and context.DeadlineExceeded or context.Canceled.
func (e *StoppedError) Unwrap() []error { return []error{ErrStopped, e.Cause, e.err} }

const (
	maxListed = 8   // refused imports listed in a text
	maxName   = 80  // bytes of a name in a text
	maxDetail = 400 // bytes of a foreign text in a text
)
