package clientconfig

import (
	"errors"
	"fmt"
)

// Sentinels of this package. All errors but those of the file system wrap one of them.
var (
	// ErrSyntax: the file is not in its format.
	ErrSyntax = errors.New("the file cannot be read")
	// ErrLayout: the file is well formed, and a program cannot change it without touching something else.
	ErrLayout = errors.New("the file cannot be changed by a program without loss")
	// ErrTooLarge: the file is longer than [MaxBytes].
	ErrTooLarge = errors.New("the file is too large")
	// ErrNoHTTP: the client's file takes no server by its address, or none with a token that is not in the file.
	ErrNoHTTP = errors.New("the client's file takes no address with a token from elsewhere")
	// ErrChanged: what is to be undone was changed by somebody since.
	ErrChanged = errors.New("it was changed since")
)

// SyntaxError is a fault of a file's text. It wraps [ErrSyntax].
type SyntaxError struct {
	// File is the name that [Open] was given.
	File string
	// Line counts from 1; 0 if it is not known.
	Line int
	// Err says what is wrong. It may quote the file.
	Err error
}

// Error implements error.
func (e *SyntaxError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %v", e.File, e.Err)
	}
	return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err)
}

// Unwrap gives [ErrSyntax] and the cause.
func (e *SyntaxError) Unwrap() []error { return []error{ErrSyntax, e.Err} }

// layout says why a text is not changed.
func layout(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrLayout, fmt.Sprintf(format, args...))
}
