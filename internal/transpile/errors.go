package transpile

import (
	"errors"
	"fmt"
)

// Sentinels, all reachable with errors.Is. An error that comes from ctx is not
// among them: it matches context.DeadlineExceeded or context.Canceled.
var (
	// ErrSourceTooLarge: the source is longer than Options.MaxSourceBytes. It
	// was not looked at.
	ErrSourceTooLarge = errors.New("transpile: the source is too large")

	// ErrOutputTooLarge: the JavaScript for this source, with its line map, is
	// longer than Options.MaxOutputBytes.
	ErrOutputTooLarge = errors.New("transpile: the JavaScript for this source is too large")

	// ErrTimeLimit: the source kept a worker busy for Options.Timeout. The
	// context of the caller had not ended.
	ErrTimeLimit = errors.New("transpile: the source is too complex: the transform ran out of time; nest it less deeply or split it")

	// ErrWorkerDied: the worker ended without an answer. errors.As finds the
	// *WorkerDiedError that says why.
	ErrWorkerDied = errors.New("transpile: the worker died")

	// ErrWorkerUnavailable: no worker could be started, or the program that was
	// started is not one. The text can hold paths of the host; it is for the
	// operator, not for the guest.
	ErrWorkerUnavailable = errors.New("transpile: the TypeScript worker cannot be started")

	// ErrInternal: the transform failed in a way that is a fault of its own
	// and not of the source.
	ErrInternal = errors.New("transpile: the TypeScript transform failed on this source by a fault of its own; write the cell in plain JavaScript")

	// ErrClosed: the Worker was closed before or during the call.
	ErrClosed = errors.New("transpile: the worker is closed")
)

// SyntaxError is a fault in the source of the cell.
type SyntaxError struct {
	// Filename is Input.Filename.
	Filename string
	// Message is one line, at most a few hundred bytes long.
	Message string
	// Position is where in the source given.
	Position
	// LineText is the line at fault; of a long line, the part around Column.
	LineText string
}

// Error returns "name:line:column: message".
func (e *SyntaxError) Error() string {
	return at(e.Filename, e.Position) + e.Message
}

// ModuleAccessError says that the source has syntax that only a module may
// have: a value import or export, import.meta, or TypeScript's `export =`. A
// cell has no modules. Type-only imports and exports are erased and are no
// error; import() and require() stay in the output for the engine to refuse.
type ModuleAccessError struct {
	// Filename is Input.Filename.
	Filename string
	// Syntax is "import", "export" or "import.meta".
	Syntax string
	// Position is where in the source given.
	Position
}

// Error returns "name:line:column: message".
func (e *ModuleAccessError) Error() string {
	return at(e.Filename, e.Position) + e.Syntax + " is not available: a cell has no modules; use the tools it is given, and return the value instead of exporting it"
}

func at(file string, p Position) string {
	if file == "" {
		return "line " + p.String() + ": "
	}
	return file + ":" + p.String() + ": "
}

// Cause says why a worker died.
type Cause string

// The causes of a worker's death.
const (
	CauseMemory Cause = "out of memory"
	CauseStack  Cause = "nested too deeply"
	CauseSignal Cause = "ended by a signal from outside"
	CauseCrash  Cause = "crashed"
)

// WorkerDiedError says why a worker ended without an answer. It matches
// ErrWorkerDied.
type WorkerDiedError struct {
	Cause Cause
}

// Error names the cause and how to mend it.
func (e *WorkerDiedError) Error() string {
	if e.Cause == CauseSignal {
		return "transpile: the worker was " + string(e.Cause) + "; run the cell again, and if that repeats, look whether the machine is short of memory"
	}
	return fmt.Sprintf("transpile: the source is too complex for the TypeScript transform (%s); nest it less deeply or split it", e.Cause)
}

// Is reports whether target is ErrWorkerDied.
func (e *WorkerDiedError) Is(target error) bool { return target == ErrWorkerDied }

// named puts the file name of the cell into the errors that carry one.
func named(err error, file string) error {
	switch e := err.(type) {
	case *SyntaxError:
		e.Filename = file
	case *ModuleAccessError:
		e.Filename = file
	}
	return err
}
