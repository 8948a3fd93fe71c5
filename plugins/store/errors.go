package store

import (
	"errors"
	"fmt"

	"github.com/cloister-wasm/cloister/internal/plaintext"
)

// Sentinels, for errors.Is.
var (
	// ErrDir: the folder cannot be used: it is no folder, belongs to another user, or others may write to it.
	ErrDir = errors.New("the plugin store's folder cannot be used")
	// ErrBusy: another process held the store until the context ended. The context's error lies below.
	ErrBusy = errors.New("another process is using the plugin store")
	// ErrDamaged: a file of the store is missing or not as it was written. Always a [*DamageError].
	ErrDamaged = errors.New("the plugin store is damaged")
	// ErrTooNew: the store was written by a newer version.
	ErrTooNew = errors.New("the plugin store is of a newer version")
	// ErrUnverified: what should be installed did not come from trust.Policy.Verify.
	ErrUnverified = errors.New("the plugin was not verified")
	// ErrConflict: another plugin has the id, a tool's name or a global. Always a [*ConflictError].
	ErrConflict = errors.New("another plugin was there first")
	// ErrSame: it is so already; there is no new generation.
	ErrSame = errors.New("nothing to change")
	// ErrMoved: the plugin is not as it was when the change was planned.
	ErrMoved = errors.New("the plugin changed since the change was planned")
	// ErrNotInstalled: the current generation has no such plugin.
	ErrNotInstalled = errors.New("the plugin is not installed")
	// ErrNoGeneration: there is no such generation, or it was collected.
	ErrNoGeneration = errors.New("there is no such generation")
	// ErrFull: a bound of the store would be passed.
	ErrFull = errors.New("the plugin store is full")
	// ErrInvalid: an entry cannot be written, such as a reference with control characters.
	ErrInvalid = errors.New("the entry is not valid")
)

// DamageError says which file of a store is damaged. It is ErrDamaged, and fs.ErrNotExist where the file is missing.
type DamageError struct {
	// File is the file's path inside the store, with slashes.
	File string
	// Plugin is the id of a plugin that needs the file, where that is known.
	Plugin string
	// Detail is one bounded line: what is wrong and how to mend it.
	Detail string

	cause error
}

// Error is one line.
func (e *DamageError) Error() string {
	s := ErrDamaged.Error() + ": " + plaintext.Line(e.File, 200)
	if e.Plugin != "" {
		s += " (of " + plaintext.Line(e.Plugin, 100) + ")"
	}
	return s + " " + e.Detail
}

// Unwrap gives ErrDamaged and what lies below it.
func (e *DamageError) Unwrap() []error {
	if e.cause == nil {
		return []error{ErrDamaged}
	}
	return []error{ErrDamaged, e.cause}
}

const (
	mendBlob    = "install the plugin again with `cloister plugin install`"
	mendCurrent = "go back with `cloister plugin rollback NUMBER`, or have it mended with `cloister plugin repair`"
)

// damage makes a DamageError; how says how to mend it.
func damage(file string, cause error, how, format string, args ...any) *DamageError {
	return &DamageError{File: file, Detail: plaintext.Line(fmt.Sprintf(format, args...), 400) + "; " + how, cause: cause}
}

// ConflictError says what two plugins claim. It is ErrConflict.
type ConflictError struct {
	// Kind is "id", "tool" or "global".
	Kind string
	// Name is what both claim.
	Name string
	// Plugin is the second, which is refused; Owner is the first.
	Plugin, Owner string
}

// Error is one line.
func (e *ConflictError) Error() string {
	if e.Kind == "id" {
		return fmt.Sprintf("%v: %s is installed from publisher %s, this one is from %s; remove it first with `cloister plugin remove %s`",
			ErrConflict, plaintext.Line(e.Name, 100), plaintext.Line(e.Owner, 100), plaintext.Line(e.Plugin, 100), plaintext.Line(e.Name, 100))
	}
	return fmt.Sprintf("%v: the %s %s of %s belongs to %s; remove that first with `cloister plugin remove %s`",
		ErrConflict, e.Kind, plaintext.Line(e.Name, 100), plaintext.Line(e.Plugin, 100), plaintext.Line(e.Owner, 100), plaintext.Line(e.Owner, 100))
}

// Unwrap gives ErrConflict.
func (e *ConflictError) Unwrap() error { return ErrConflict }

// fail wraps a sentinel with what happened.
func fail(kind error, format string, args ...any) error {
	return fmt.Errorf("%w: %s", kind, plaintext.Line(fmt.Sprintf(format, args...), 600))
}
