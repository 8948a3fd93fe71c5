package json5

import (
	"errors"
	"fmt"
)

// The reasons beside plain faults of grammar for which [Parse] refuses a document. Each is reached with errors.Is through
// the *[SyntaxError] that Parse returns.
var (
	// ErrTooLarge: the document is longer than [MaxBytes]. Nothing of it was read.
	ErrTooLarge = errors.New("document too large")
	// ErrTooDeep: objects and arrays are nested deeper than [MaxDepth].
	ErrTooDeep = errors.New("nesting too deep")
	// ErrInvalidUTF8: the document holds bytes that are not UTF-8.
	ErrInvalidUTF8 = errors.New("invalid UTF-8")
	// ErrNumberRange: a finite number is beyond the range of a float64.
	ErrNumberRange = errors.New("number out of range")
)

// ErrNoNode is what [Node.JSON] returns for a nil node, as [Node.Lookup] gives it for a path that does not exist.
var ErrNoNode = errors.New("json5: no value at this path")

// SyntaxError says where and why [Parse] refused a document. Every error of Parse is one.
type SyntaxError struct {
	// File is the name that Parse was given.
	File string
	// Line and Column are where the fault stands, counted from 1; a document that is too large is at 1:1.
	Line, Column int
	// Message says what is wrong and how to mend it. It is one line; what it quotes of the document is short and escaped.
	Message string
	// Err is the kind of the fault: one of the sentinels of this package, a *[DuplicateKeyError], or nil for plain
	// faults of grammar.
	Err error
}

// Error reads file:line:column: message.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Message)
}

// Unwrap gives Err.
func (e *SyntaxError) Unwrap() error { return e.Err }

// DuplicateKeyError is the kind of a [SyntaxError] for a key that its object already has.
type DuplicateKeyError struct {
	// Key is the key, its escapes resolved.
	Key string
	// First and Second are the positions of the two keys.
	First, Second Pos
}

// Error names the key and both positions.
func (e *DuplicateKeyError) Error() string {
	return fmt.Sprintf("key %s at %s is already set at %s; keep one of them", quote(e.Key), e.Second, e.First)
}

// NotJSONError is what [Node.JSON] returns for a tree that holds NaN or an infinity, for which JSON has no form.
type NotJSONError struct {
	// File is the name that Parse was given.
	File string
	// Pos is where the number stands.
	Pos Pos
	// Literal is the number as written, for example "-Infinity".
	Literal string
}

// Error reads file:line:column: message.
func (e *NotJSONError) Error() string {
	return fmt.Sprintf("%s:%s: %s has no JSON form; write a finite number", e.File, e.Pos, e.Literal)
}
