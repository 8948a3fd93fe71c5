package guest

import (
	"errors"

	"github.com/cloister-wasm/cloister/guestabi"
)

var (
	// ErrTooDeep reports a value that is nested deeper than guestabi.MaxValueDepth.
	ErrTooDeep = errors.New("the value is nested too deeply")
	// ErrNotJSON reports text of the guest's that is no JSON, which the prelude would not write.
	ErrNotJSON = errors.New("the guest wrote what is no JSON")
)

// Thrown is a value that guest code threw.
type Thrown struct{ guestabi.Thrown }

// Error implements error.
func (e *Thrown) Error() string {
	switch {
	case e.Name != "" && e.Message != "":
		return e.Name + ": " + e.Message
	case e.Name != "":
		return e.Name
	}
	return e.Message
}

// SyntaxError is a Thrown from compiling.
type SyntaxError struct{ *Thrown }

// Unwrap returns the Thrown.
func (e *SyntaxError) Unwrap() error { return e.Thrown }
