// Package schema checks JSON data against JSON Schemas that somebody else wrote, and reads JSON strictly.
//
// Both sides are hostile: a schema comes with a plugin or from an MCP server, the data from a cell or a plugin. The
// package keeps three promises.
//
//   - Nothing is fetched. A $ref that leaves the schema's own document is refused at [Compile], whatever its scheme. The
//     built-in meta-schemas of the drafts are the only other documents a schema may refer to.
//   - Work is bounded before it starts. A schema is bounded in bytes, depth, values and size of its regular expressions
//     before it is compiled; data is bounded in depth and in number literals by [Decode] and again by [Schema.Validate];
//     a validation has a fixed budget of steps, and a value that would need more is refused with [ErrTooCostly].
//   - Answers are for a reader. A [*ValidationError] lists problems with a JSON pointer and plain words; it names no
//     file, no Go type, and its length is bounded.
//
// # Reading JSON
//
// [Decode] is the only way data of a guest or a plugin becomes a Go value. It refuses what encoding/json lets through:
// duplicate keys, invalid UTF-8, lone surrogates, trailing data, more than [MaxDepth] levels. Numbers stay
// [encoding/json.Number], so that integers beyond 2^53 are not rounded; literals longer than [MaxNumberBytes] or with an
// exponent beyond [MaxExponent] are refused, since arbitrary-precision arithmetic on them is a way to burn a processor.
// [DecodeInto] fills a struct under the same rules, matching names exactly (encoding/json folds case).
//
// # Compiling
//
// [Compile] leaves parsing, the meta-schemas and reference resolution of drafts 4, 6, 7, 2019-09 and 2020-12 to
// github.com/santhosh-tekuri/jsonschema/v5; a schema without $schema is 2020-12. The compiled graph is then walked by an
// evaluator of this package, because the library's own has no way to stop: `{"anyOf":[{"properties":{"c":{"$ref":"#"}}},
// {"properties":{"c":{"$ref":"#"}}}]}` doubles its work at each level of the data, and a number such as 1e1000001 makes
// it panic. A differential test holds the two evaluators together.
//
// What is contained, and how:
//
//   - exponential references and alternatives: results of shared subschemas are remembered per (subschema, container),
//     which makes the work polynomial; what is left is charged to the budget
//   - uniqueItems on large arrays: items are hashed, numbers by value
//   - regular expressions: Go's linear-time engine, program size bounded at compile time, each match charged by length
//   - numbers: bounded literals, so that exact comparison is cheap
//   - errors: at most [MaxProblems] problems, each with bounded text
//
// Not supported, and refused with [ErrUnsupported] rather than ignored: $dynamicRef and $recursiveRef in a schema's own
// text (a $ref to a whole meta-schema works), patterns outside Go's syntax (look-around, back-references).
// format is asserted up to draft 7 and an annotation from 2019-09 on, as the drafts say; contentEncoding and
// contentMediaType are annotations always.
//
// # Deriving
//
// [For] makes a schema from a Go type; the bytes are the same for the same type.
//
// A [*Schema] is immutable and safe for concurrent use.
package schema
