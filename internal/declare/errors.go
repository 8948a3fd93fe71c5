package declare

import (
	"errors"
	"fmt"
)

// Sentinels of [Parse]. Each of its errors matches one of them with [errors.Is].
var (
	// ErrSyntax: the text is no strict JSON.
	ErrSyntax = errors.New("is not strict JSON")
	// ErrBounds: the text is over a bound on its size, its depth or its number of values.
	ErrBounds = errors.New("is over a bound")
)

// parseError says what is wrong with a JSON text, in words that follow its name.
type parseError struct {
	text string
	kind error // ErrSyntax or ErrBounds
}

func (e *parseError) Error() string { return e.text }

func (e *parseError) Unwrap() error { return e.kind }

func overBound(format string, bound int) error {
	return &parseError{fmt.Sprintf(format, bound), ErrBounds}
}

var (
	errUTF8  = &parseError{"is not valid UTF-8", ErrSyntax}
	errSize  = overBound("has more than %d bytes", MaxBytes)
	errDepth = overBound("is nested deeper than %d levels", maxDepth)
	errNodes = overBound("has more than %d values", maxNodes)
)
