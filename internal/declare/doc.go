// Package declare writes JSON Schemas as types for readers of three kinds, from one walk over the schema:
//
//   - [Output] and [Input] write TypeScript over many lines, with comments, for files of declarations and for a model that is to write code;
//   - [Line] and [Signature] write one line for a model's prompt;
//   - [Table] lists the members of an object for people.
//
// [Parse] reads the schema into a tree of [Value] first: strictly, in the order in which it was written, and bounded in size,
// depth and number of values.
//
//	schema, err := declare.Parse(text)
//	steps := 100_000
//	in := declare.Input(schema, declare.Options{Shape: declare.Shape{Depth: 8, Members: 100, Docs: true}, Bytes: 16 << 10, Steps: &steps})
//	declare.Comment(0, declare.TextLines(description, 1000)) + "declare function f(input: " + in.Text + "): Promise<unknown>;"
//
// All functions are pure: the same input gives the same bytes, in every process, since prompts are cached by their bytes. They are
// safe for concurrent use, [Options].Steps apart, which belongs to one caller at a time.
//
// # Hostile schemas
//
// Schemas come from plugins and MCP servers, and their texts stand in front of models. Whatever goes in:
//
//   - Work is bounded before it is done: each value of the schema that is looked at is counted, and where a bound is reached the type
//     is "unknown" or "any". References lead into the same document only, and nothing is ever loaded; one to what is being written is
//     unknown.
//   - Names and literals cannot leave the place where they stand. A declaration is well-formed TypeScript: brackets are balanced,
//     strings end on their line and are ASCII, [Key] guards names such as __proto__, no text ends the comment it stands in.
//   - Comments have no control, format, bidirectional or invisible characters and no line separators. A signature is printable ASCII
//     without backticks, backslashes and angle brackets.
//   - What a table returns is as the schema has it, since people are shown strange characters rather than spared them: its
//     caller escapes.
//
// A type says no more than helps to write a call: inputs are checked against the schema itself.
package declare
