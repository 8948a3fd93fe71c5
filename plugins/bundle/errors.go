package bundle

import (
	"errors"
	"fmt"

	"github.com/cloister-wasm/cloister/internal/plaintext"
)

// Steps at which reading a bundle fails, in [Error.Step].
const (
	// StepBounds: something is larger, or there is more of it, than a bundle may have.
	StepBounds = "bounds"
	// StepDigests: bytes are not those that a digest or a size names.
	StepDigests = "digests"
	// StepFormat: the parts are whole, but are no plugin bundle.
	StepFormat = "format"
	// StepFiles: a file could not be read or written. This says nothing about the bundle.
	StepFiles = "files"
	// StepRegistry: the registry, the way there, or the reference.
	StepRegistry = "registry"
)

// Sentinels, for errors.Is.
var (
	// ErrBounds goes with StepBounds.
	ErrBounds = errors.New("the plugin bundle is over a bound")
	// ErrDigest goes with StepDigests.
	ErrDigest = errors.New("the plugin bundle's bytes do not match its digests")
	// ErrFormat goes with StepFormat.
	ErrFormat = errors.New("this is no plugin bundle in the right form")
	// ErrFiles goes with StepFiles. What the system said, such as fs.ErrNotExist, lies below it.
	ErrFiles = errors.New("the plugin bundle's files cannot be used")
	// ErrReference goes with StepRegistry: the text is no reference to a plugin in a registry.
	ErrReference = errors.New("this is no reference to a plugin in a registry")
	// ErrTag goes with StepRegistry: a plugin was to be pushed with a tag that is another version's.
	ErrTag = errors.New("the tag contradicts the plugin's version")
	// ErrNotFound goes with StepRegistry: the registry has no such artifact, or does not show it without a login.
	ErrNotFound = errors.New("the registry does not have it")
	// ErrRegistry goes with StepRegistry: the registry cannot be reached, or answers wrongly. When a context ended, its
	// error lies below.
	ErrRegistry = errors.New("the registry cannot be used")
	// ErrSlow lies below ErrRegistry: the registry kept us waiting for longer than [Remote.IdleTimeout] or [Remote.Timeout].
	ErrSlow = errors.New("the registry is too slow")
	// ErrAuth goes with StepRegistry: the registry refuses the credentials, or there are none to be had.
	ErrAuth = errors.New("the registry refused access")
)

var steps = map[error]string{ErrBounds: StepBounds, ErrDigest: StepDigests, ErrFormat: StepFormat, ErrFiles: StepFiles}

// Error is the type of every error of this package.
type Error struct {
	// Step is where it failed, one of the Step constants.
	Step string
	// Kind is one of the sentinels.
	Kind error
	// Detail is one bounded line: what is wrong and, where there is a way, how to mend it.
	Detail string

	cause error
}

// Error is "kind: detail".
func (e *Error) Error() string {
	if e.Detail == "" {
		return e.Kind.Error()
	}
	return e.Kind.Error() + ": " + e.Detail
}

// Unwrap gives the sentinel and what lies below it.
func (e *Error) Unwrap() []error {
	if e.cause == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.cause}
}

// fail makes an error. An error among args lies below it, where errors.Is and errors.As reach it.
func fail(kind error, format string, args ...any) *Error {
	e := &Error{Step: steps[kind], Kind: kind, Detail: plaintext.Line(fmt.Sprintf(format, args...), maxDetail)}
	if e.Step == "" {
		e.Step = StepRegistry
	}
	for _, a := range args {
		if err, ok := a.(error); ok {
			e.cause = err
		}
	}
	return e
}

// maxDetail bounds an error's text in bytes: enough for a manifest's first mistakes.
const maxDetail = 2000
