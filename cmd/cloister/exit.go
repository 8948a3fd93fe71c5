package main

import (
	"context"
	"errors"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/quickjs"
)

// Exit codes. They are part of the command line's contract: see exitHelp.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitRuntime     = 3
	exitTimeout     = 4
	exitLimit       = 5
	exitInternal    = 6
	exitInterrupted = 130
)

// exitHelp is the part of the help that documents the codes.
const exitHelp = `Exit codes:
  0    the cell completed
  1    the cell failed: it threw, does not compile, or did not catch a failed call
  2    the command line, the configuration or a plugin is wrong
  3    the JavaScript engine is missing or unusable
  4    the cell ran into the time limit
  5    the cell ran into another limit: memory, output, snapshot, open calls
  6    Cloister itself failed
  130  interrupted with Ctrl-C (143: by SIGTERM)`

// exitError is an error that knows the program's exit code. Without an error it
// says that everything has been said already.
type exitError struct {
	code int
	err  error
	// hint says how to mend it, in one line; optional.
	hint string
}

// Error implements error.
func (e *exitError) Error() string {
	if e.err == nil {
		return "failed"
	}
	return e.err.Error()
}

// Unwrap gives the cause.
func (e *exitError) Unwrap() error { return e.err }

// errInterrupted ends a command that a signal stopped.
var errInterrupted error = &exitError{code: exitInterrupted, err: errors.New("interrupted")}

func usageError(err error, hint string) error {
	return &exitError{code: exitUsage, err: err, hint: hint}
}

// silently ends the program with a code when the reason has been shown.
func silently(code int) error {
	if code == exitOK {
		return nil
	}
	return &exitError{code: code}
}

// codeOf gives the exit code for an error of a command. Errors that are not
// typed come from cobra and are about the command line.
func codeOf(err error) int {
	var ee *exitError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &ee):
		return ee.code
	}
	return exitUsage
}

// hostError gives an error of the library its exit code.
func hostError(err error) error {
	var ee *exitError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &ee):
		return err
	case errors.Is(err, quickjs.ErrEngineUnavailable):
		return &exitError{code: exitRuntime, err: err}
	case errors.Is(err, host.ErrConfig), errors.Is(err, host.ErrTool):
		return &exitError{code: exitUsage, err: err}
	case errors.Is(err, context.Canceled), errors.As(err, new(signalError)):
		return errInterrupted
	}
	return &exitError{code: exitInternal, err: err}
}

// reasonCode gives the exit code for a failed run.
func reasonCode(code guestabi.Code, reason guestabi.Reason) int {
	switch reason {
	case guestabi.ReasonInvalidConfig, guestabi.ReasonUnsupportedLanguage:
		return exitUsage
	case guestabi.ReasonRuntimeUnavailable:
		return exitRuntime
	case guestabi.ReasonTimeout:
		return exitTimeout
	case guestabi.ReasonMemoryLimitExceeded, guestabi.ReasonOutputLimitExceeded, guestabi.ReasonSnapshotLimitExceeded,
		guestabi.ReasonSnapshotExpired, guestabi.ReasonTooManyPendingToolCalls:
		return exitLimit
	case guestabi.ReasonAborted:
		return exitInterrupted
	case guestabi.ReasonInternalError, guestabi.ReasonSnapshotRestoreFailed:
		return exitInternal
	case "":
		return coarseCode(code)
	}
	return exitFailed
}

func coarseCode(code guestabi.Code) int {
	switch code {
	case guestabi.CodeRuntimeUnavailable:
		return exitRuntime
	case guestabi.CodeTimeout:
		return exitTimeout
	case guestabi.CodeOutputLimitExceeded, guestabi.CodeSnapshotLimitExceeded:
		return exitLimit
	case guestabi.CodeAborted:
		return exitInterrupted
	case guestabi.CodeInternalError:
		return exitInternal
	}
	return exitFailed
}
