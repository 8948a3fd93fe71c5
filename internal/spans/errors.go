package spans

import (
	"errors"
	"fmt"
)

// ErrTooLarge reports a trace beyond the bounds of Read. The error is a *LimitError.
var ErrTooLarge = errors.New("the trace is too large")

// LimitError says which bound of Read a trace is beyond.
type LimitError struct{ Bound string } // such as "64 MiB"

func (e *LimitError) Error() string { return "the trace has more than " + e.Bound }

// Is reports ErrTooLarge.
func (e *LimitError) Is(target error) bool { return target == ErrTooLarge }

// errLine is why a line that is too long is damaged.
var errLine = fmt.Errorf("the line has more than %d KiB", maxLine>>10)
