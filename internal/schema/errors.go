package schema

import (
	"errors"
	"fmt"
	"strings"

	"github.com/cloister-wasm/cloister/internal/plaintext"
)

// Sentinels. Each error of this package matches exactly one of them through errors.Is.
var (
	// ErrInvalidJSON: the bytes are not JSON in the strict sense of [Decode]. Always a [*DecodeError].
	ErrInvalidJSON = errors.New("not valid JSON")
	// ErrInvalidSchema: the bytes are JSON but no JSON Schema, or one that contradicts itself. A [*CompileError].
	ErrInvalidSchema = errors.New("not a valid JSON Schema")
	// ErrSchemaTooLarge: the schema exceeds a bound. A [*CompileError].
	ErrSchemaTooLarge = errors.New("the JSON Schema is too large")
	// ErrRemoteRef: a reference leaves the schema's own document. A [*CompileError].
	ErrRemoteRef = errors.New("the JSON Schema refers to another document")
	// ErrPattern: a regular expression is invalid, unsupported or too large. A [*CompileError].
	ErrPattern = errors.New("unusable regular expression in the JSON Schema")
	// ErrUnsupported: the schema uses a keyword that this package refuses. A [*CompileError].
	ErrUnsupported = errors.New("unsupported keyword in the JSON Schema")
	// ErrInvalid: the value does not match the schema. A [*ValidationError].
	ErrInvalid = errors.New("the value does not match the schema")
	// ErrTooCostly: checking the value would take more steps than one validation may. The value counts as invalid.
	ErrTooCostly = errors.New("the value is too costly to check against the schema")
	// ErrNotJSON: the Go value handed to Validate holds something that JSON cannot. A programming mistake of the caller,
	// or a number outside the bounds of [Decode].
	ErrNotJSON = errors.New("the value is not JSON data")
)

// CompileError says why a schema was refused.
type CompileError struct {
	// Kind is one of the sentinels: ErrInvalidJSON is reported as a [*DecodeError] instead.
	Kind error
	// Path is the JSON pointer into the schema, "" for its root or where the place is unknown.
	Path string
	// Detail says what is wrong and how to mend it, in one bounded line.
	Detail string
}

// Error is one line: what, where, why.
func (e *CompileError) Error() string {
	where := ""
	if e.Path != "" {
		where = " at " + plaintext.Clip(e.Path, maxPathText)
	}
	return plaintext.Line(e.Kind.Error()+where+": "+e.Detail, plaintext.Whole)
}

// Unwrap gives the sentinel.
func (e *CompileError) Unwrap() error { return e.Kind }

// DecodeError says where JSON text breaks the rules of [Decode].
type DecodeError struct {
	// Offset is the byte at or after which the fault lies, -1 where unknown.
	Offset int64
	// Path is the JSON pointer of the value in which it lies.
	Path string
	// Detail is one bounded line in plain words.
	Detail string
}

// Error is one line: where and why.
func (e *DecodeError) Error() string {
	var b strings.Builder
	b.WriteString(ErrInvalidJSON.Error())
	if e.Path != "" {
		b.WriteString(" at " + plaintext.Clip(e.Path, maxPathText))
	}
	if e.Offset >= 0 {
		fmt.Fprintf(&b, " (byte %d)", e.Offset)
	}
	b.WriteString(": " + e.Detail)
	return plaintext.Line(b.String(), plaintext.Whole)
}

// Unwrap gives [ErrInvalidJSON].
func (e *DecodeError) Unwrap() error { return ErrInvalidJSON }

// Problem is one fault of a value.
type Problem struct {
	// Path is the JSON pointer (RFC 6901) of the value that is wrong; "" is the whole value.
	Path string `json:"path"`
	// Message says what is wrong in plain words, without the path.
	Message string `json:"message"`
	// Keyword is the schema keyword that was not met, such as "type" or "required".
	Keyword string `json:"keyword"`
}

// String is the path and the message.
func (p Problem) String() string {
	if p.Path == "" {
		return plaintext.Line(p.Message, plaintext.Whole)
	}
	return plaintext.Line(plaintext.Clip(p.Path, maxPathText)+": "+p.Message, plaintext.Whole)
}

// ValidationError lists what is wrong with a value, sorted by path.
type ValidationError struct {
	// Problems has at least one entry.
	Problems []Problem
	// More is set when the list was cut off at its bound.
	More bool
}

// Error joins the problems; the text is bounded by [MaxErrorBytes].
func (e *ValidationError) Error() string {
	var b strings.Builder
	for i, p := range e.Problems {
		line := p.String()
		if b.Len()+len(line)+2 > MaxErrorBytes-len(moreText) {
			b.WriteString(moreText)
			return b.String()
		}
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(line)
	}
	if e.More {
		b.WriteString(moreText)
	}
	return b.String()
}

const moreText = "; and more"

// Unwrap gives [ErrInvalid].
func (e *ValidationError) Unwrap() error { return ErrInvalid }
