package codemode

import (
	"errors"
	"fmt"

	"github.com/cloister-wasm/cloister/guestabi"
)

var (
	// errExpired ends a cell that was suspended longer than it may be.
	errExpired = errors.New("the suspended cell has expired")
	// errAborted ends a cell from outside.
	errAborted = errors.New("the cell was aborted")
	// errNoMachine reports that no machine could be made, which is a broken host.
	errNoMachine = errors.New("no machine for the program")
	// errRunClosed tells a run that ended from other errors.
	errRunClosed = errors.New("the run has ended")
)

// runError is the end of a run as failed, on its way to a Result.
type runError struct {
	reason       guestabi.Reason
	message      string
	line, column int
}

func (e *runError) Error() string { return e.message }

func fail(reason guestabi.Reason, format string, args ...any) *runError {
	return &runError{reason: reason, message: fmt.Sprintf(format, args...)}
}
