package namespace

import (
	"errors"

	"github.com/cloister-wasm/cloister/internal/plaintext"
)

// ErrScope: the scope or the name of a namespace breaks a rule. Always a [*ScopeError].
var ErrScope = errors.New("the namespace cannot be used")

// ErrArguments: the arguments of a namespace call do not fit its marker. Always an [*ArgumentsError].
var ErrArguments = errors.New("the arguments do not fit")

// ScopeError is one mistake.
type ScopeError struct {
	// Path is the JSON pointer of the place in the scope, "" for the whole.
	Path string
	// Message says what is wrong. It is one bounded line.
	Message string
	// Suggestion says how to mend it; it may be "".
	Suggestion string
}

// Error is one bounded line.
func (e *ScopeError) Error() string {
	s := e.Message
	if e.Path != "" {
		s = plaintext.Line(e.Path, maxPathText) + ": " + s
	}
	if e.Suggestion != "" {
		s += "; " + e.Suggestion
	}
	return s
}

// Unwrap gives ErrScope.
func (e *ScopeError) Unwrap() error { return ErrScope }

// ArgumentsError says why the arguments of a call cannot become an input. Its text is for the cell that called.
type ArgumentsError struct {
	Message string
}

// Error is the message.
func (e *ArgumentsError) Error() string { return e.Message }

// Unwrap gives ErrArguments.
func (e *ArgumentsError) Unwrap() error { return ErrArguments }

const (
	maxPathText = 200 // bytes of a path in a text
	maxNameText = 64  // bytes of a foreign name in a text
)
