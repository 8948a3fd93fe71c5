package wasmbin

import (
	"errors"
	"fmt"
)

var (
	// ErrMalformed reports bytes that are no WebAssembly 1.0/2.0 binary module.
	ErrMalformed = errors.New("malformed wasm module")
	// ErrUnsupported reports a well-formed construct that this package does not
	// rewrite: threads, exceptions, garbage-collected types, several memories.
	ErrUnsupported = errors.New("unsupported wasm construct")
	// ErrBound reports a declaration that is larger than [Bounds] allow.
	ErrBound = errors.New("wasm module over its bounds")
	// ErrEdit reports an edit that does not fit the module, such as an export
	// that is there already or an address outside the first page.
	ErrEdit = errors.New("wasm edit refused")
)

// FormatError says where in the input decoding stopped. It unwraps to
// ErrMalformed, ErrUnsupported or ErrBound.
type FormatError struct {
	Offset int    // bytes from the start of the module
	Detail string // what was read there
	Kind   error
}

// Error implements error.
func (e *FormatError) Error() string {
	return fmt.Sprintf("%v at byte %d: %s", e.Kind, e.Offset, e.Detail)
}

// Unwrap returns the kind of the fault, for errors.Is.
func (e *FormatError) Unwrap() error { return e.Kind }
