package declare

import "math"

// layout is the way in which types are laid out.
type layout uint8

const (
	manyLines layout = iota // TypeScript, with comments
	oneLine                 // like TypeScript, with less punctuation and of printable ASCII only
	oneWord                 // for a column of a table: no members
)

// form is a layout with its words and bounds. The walk over a schema is the same for all of them.
type form struct {
	layout layout

	// What stands for any value, for no value, for an object and an array of which no more is said, and for an integer.
	anything, nothing, anyObject, anyArray, integer string

	nest   int // schemas inside of schemas, references included
	visits int // schemas looked at, references included
	union  int // alternatives of a union, elements of a tuple
	values int // values of an enum
	types  int // names in the keyword type
	look   int // elements of a list that are looked at, more than the bounds above
}

const (
	// Anything is the type of which a declaration knows nothing.
	Anything = "unknown"
	// AnyObject is the type of an object of which a declaration knows no more.
	AnyObject = "Record<string, unknown>"
)

var (
	fullForm = form{
		layout: manyLines, anything: Anything, nothing: "never", anyObject: AnyObject, anyArray: "unknown[]", integer: "number",
		nest: 32, visits: math.MaxInt, union: 64, values: 64, types: 8, look: math.MaxInt, // steps bound the rest
	}
	lineForm = form{
		layout: oneLine, anything: "any", nothing: "any", anyObject: "object", anyArray: "any", integer: "number",
		nest: 200, visits: 200, union: 6, values: 6, types: 6, look: 256,
	}
	tableForm = form{
		layout: oneWord, anything: "any", nothing: "never", anyObject: "object", anyArray: "any[]", integer: "integer",
		nest: 32, visits: 200, union: 64, values: 256, types: 8, look: 4096,
	}
)
