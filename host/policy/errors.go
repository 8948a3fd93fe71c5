package policy

import (
	"errors"
	"fmt"
	"strings"
)

var (
	// ErrPolicy reports policies that cannot be used. See Error.
	ErrPolicy = errors.New("policy refused")
	// ErrTable reports a table of cases that cannot be used.
	ErrTable = errors.New("table of policy cases refused")
)

// Fault is one thing wrong with a policy.
type Fault struct {
	// File is the name that was given to Parse or Load.
	File string
	// Line and Column begin at 1. Line 0 means the file as a whole.
	Line, Column int
	// Message says what is wrong and how to mend it.
	Message string
}

func (f Fault) String() string {
	if f.Line == 0 {
		return f.File + ": " + f.Message
	}
	return fmt.Sprintf("%s:%d:%d: %s", f.File, f.Line, f.Column, f.Message)
}

// Error lists what is wrong with policies, in the order of the files. It unwraps to
// ErrPolicy, and to what kept a file from being read.
type Error struct {
	Faults []Fault
	cause  error
}

// Error gives one line for each fault.
func (e *Error) Error() string {
	lines := make([]string, len(e.Faults))
	for i, f := range e.Faults {
		lines[i] = f.String()
	}
	return strings.Join(lines, "\n")
}

// Unwrap makes errors.Is(err, ErrPolicy) true.
func (e *Error) Unwrap() []error {
	if e.cause != nil {
		return []error{ErrPolicy, e.cause}
	}
	return []error{ErrPolicy}
}
