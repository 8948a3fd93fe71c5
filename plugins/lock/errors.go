package lock

import (
	"errors"
	"fmt"
	"strings"

	"github.com/cloister-wasm/cloister/internal/plaintext"
)

// Sentinels, for errors.Is.
var (
	// ErrInvalid: the file cannot be understood. Always a [*FileError].
	ErrInvalid = errors.New("the lock file is not valid")
	// ErrTooNew: the file's version is newer than this package. Also ErrInvalid.
	ErrTooNew = errors.New("the lock file is of a newer version")
	// ErrDrift: a plugin or a tool is not what the lock file says. Always a [*DriftError].
	ErrDrift = errors.New("not what the lock file says")
)

// maxProblems is the number of mistakes that a FileError lists.
const maxProblems = 20

// Problem is one mistake in a lock file.
type Problem struct {
	// Path is the JSON pointer of the place, "" for the whole file.
	Path string
	// Message says what is wrong, in one bounded line.
	Message string
}

// String is one line.
func (p Problem) String() string {
	if p.Path == "" {
		return plaintext.Line(p.Message, 400)
	}
	return plaintext.Line(p.Path, 200) + ": " + plaintext.Line(p.Message, 400)
}

// FileError lists the mistakes of a lock file, in order of their places. It is ErrInvalid.
type FileError struct {
	// File is the file's name, "" where the text did not come from a file.
	File string
	// Problems has at least one entry.
	Problems []Problem
	// More is set when the list was cut off.
	More bool

	cause error
}

// Error has a line for each mistake and says how to mend the file.
func (e *FileError) Error() string {
	var b strings.Builder
	b.WriteString(ErrInvalid.Error())
	if e.File != "" {
		b.WriteString(" (" + plaintext.Line(e.File, 200) + ")")
	}
	b.WriteString(":")
	for _, p := range e.Problems {
		b.WriteString("\n  " + p.String())
	}
	if e.More {
		b.WriteString("\n  and more")
	}
	b.WriteString("\n  restore the file from version control, or make a new one with `cloister lock accept`")
	return b.String()
}

// Unwrap gives ErrInvalid and what lies below it.
func (e *FileError) Unwrap() []error {
	if e.cause == nil {
		return []error{ErrInvalid}
	}
	return []error{ErrInvalid, e.cause}
}

// DriftError says that a plugin or a tool is not what the lock file says. It is ErrDrift.
type DriftError struct {
	// Difference is the one that matters most: what runs comes before what is said about it.
	Difference
	// More are further differences of the same plugin or tool.
	More []Difference
}

// Error is one line: what drifted, how, and the way to take it.
func (e *DriftError) Error() string {
	s := e.Difference.String()
	if n := len(e.More); n > 0 {
		s += fmt.Sprintf(" (and %d more)", n)
	}
	return s + "; see the difference and take it with `cloister lock accept`"
}

// Unwrap gives ErrDrift.
func (e *DriftError) Unwrap() error { return ErrDrift }
