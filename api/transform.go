package api

import (
	"context"
)

// Transformer turns TypeScript into JavaScript of the same kind. It must be safe for concurrent use and
// bound its own cost: the source is hostile. ctx carries the deadline.
type Transformer interface {
	Transform(ctx context.Context, in *TransformInput) (*Transformed, error)
}

// TransformInput is source for a Transformer.
type TransformInput struct {
	Source string
	Kind   SourceKind
}

// SourceKind says what kind of program a source is.
type SourceKind string

// SourceCell is the body of an async function.
const SourceCell SourceKind = "cell"

// Transformed is JavaScript with the way back to its source.
type Transformed struct {
	Code string
	// Position gives the place in the source for a place in Code; lines and
	// columns count from 1, and 0 means unknown. Nil means that they are equal.
	Position func(line, column int) (sourceLine, sourceColumn int)
}

// TransformError is a fault in the source that a Transformer found.
type TransformError struct {
	Message      string
	Line, Column int // from 1; 0 if unknown
	// ModuleAccess says that the source imports or exports.
	ModuleAccess bool
}

// Error implements error.
func (e *TransformError) Error() string { return e.Message }
