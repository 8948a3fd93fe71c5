package transpile

import (
	"context"
	"fmt"
	"unicode/utf8"
)

// Transformer turns one TypeScript cell into JavaScript. [Worker] is the one
// this package supplies; an embedder may bring another, which must keep the
// promises made here.
//
// Transform must be safe for concurrent use, must return soon after ctx ends
// (with an error that matches context.DeadlineExceeded or context.Canceled),
// and must treat the source as hostile: whatever it holds, the process of the
// host has to survive it.
type Transformer interface {
	// Transform returns the JavaScript for in. Faults of the source are
	// *SyntaxError or *ModuleAccessError.
	Transform(ctx context.Context, in Input) (*Output, error)
}

// Input is one cell to transform.
type Input struct {
	// Source is the TypeScript text: the body of an async function, in valid
	// UTF-8, without a line `#!`.
	Source string

	// Filename names the cell in error texts ("cell.ts:3:5: ..."). It is never
	// opened, never sent to the worker, and may be empty.
	Filename string
}

// Output is the JavaScript for one cell.
type Output struct {
	// Code is the body of an async function, as the source was. It starts with
	// the directive "use strict", so the function that the engine puts around
	// it must have a simple parameter list. It is ASCII but for regular
	// expressions and raw template text, which keep their characters.
	Code string

	// Map leads from places in Code to places in the source.
	Map LineMap
}

// Position is a place in a text. Both numbers start at 1. A line ends at LF,
// CR, CR LF, U+2028 or U+2029, the line terminators of ECMAScript; a column
// counts bytes of UTF-8, as QuickJS-NG counts them in its stack traces.
type Position struct {
	Line, Column int
}

// String returns "line:column".
func (p Position) String() string { return fmt.Sprintf("%d:%d", p.Line, p.Column) }

// check refuses, before anything is parsed or sent, a source that no worker
// should see.
func (in Input) check(maxBytes int) error {
	if len(in.Source) > maxBytes {
		return fmt.Errorf("%w: it has %d bytes, at most %d are allowed; split the cell, or pass data in through a tool instead of writing it into the source",
			ErrSourceTooLarge, len(in.Source), maxBytes)
	}
	if !utf8.ValidString(in.Source) {
		at := invalidUTF8(in.Source)
		lines := newLineTable(in.Source)
		return &SyntaxError{
			Filename: in.Filename,
			Message:  "the source is not valid UTF-8; write other bytes as escapes such as \\xff",
			Position: lines.position(at),
		}
	}
	if len(in.Source) >= 2 && in.Source[:2] == "#!" {
		return &SyntaxError{
			Filename: in.Filename,
			Message:  "a cell is the body of a function and cannot start with #!; remove the first line",
			Position: Position{Line: 1, Column: 1},
			LineText: lineText(in.Source, newLineTable(in.Source), Position{Line: 1, Column: 1}),
		}
	}
	return nil
}

// invalidUTF8 returns the offset of the first byte of s that is not UTF-8.
func invalidUTF8(s string) int {
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return len(s)
}
