// Package json5 reads JSON5 documents and keeps the position of every key and value.
//
// It serves the configuration file cloister.json5: people paste JSON5 into it (keys without quotes, single quotes, comments,
// trailing commas, hexadecimal numbers, +Infinity), and whoever checks the meaning of a setting must be able to say on which
// line the fault stands. [Parse] gives a tree of [Node]; [Node.Lookup] finds a setting; [Node.JSON] turns any part of the
// tree into canonical JSON for a strict decoder:
//
//	root, err := json5.Parse("cloister.json5", data)
//	if err != nil {
//		return err // cloister.json5:3:7: expected ':' after the key, found '='
//	}
//	timeout := root.Lookup("tools", "codeMode", "timeoutMs")
//
// # What is accepted
//
// The whole grammar of JSON5 1.0.0 (https://spec.json5.org), and with it every JSON document: all kinds of white space and
// both kinds of comments; identifier names of ECMAScript 5.1 as keys, with their \u escapes; all escapes and line
// continuations of strings; all forms of numbers. U+2028 and U+2029 may stand in strings. A byte order mark is white space.
//
// # What is refused beyond the grammar
//
// A configuration must mean one thing, and reading it must be cheap whatever it holds:
//
//   - a key that its object already has, after escapes are resolved; the error names both positions ([DuplicateKeyError])
//   - bytes that are not UTF-8 ([ErrInvalidUTF8])
//   - a number that is finite as written and beyond the range of a float64, which JavaScript would silently read as
//     Infinity ([ErrNumberRange]); one that is too small to tell from zero is zero, as in JavaScript
//   - a document longer than [MaxBytes] ([ErrTooLarge]) or nested deeper than [MaxDepth] ([ErrTooDeep])
//
// An escaped surrogate without its partner has no UTF-8 form; it becomes U+FFFD, as in encoding/json.
//
// # Positions
//
// Lines and columns count from 1. A line ends with LF, CR LF or CR, as editors show it. A column counts code points, so that
// a tab is one and é (U+00E9) is one; a byte order mark at the start counts as none. The position of a value is its first
// character, sign and quote included; the position of a key is its first character or its quote.
//
// # Why our own parser
//
// No maintained Go module gives all of it. titanous/json5 v1.0.0 (2023, the last release) decodes into Go values by
// reflection: positions are gone, the last of two equal keys wins, and it refuses parts of the grammar (\x escapes, escaped
// names, a byte order mark). hujson has a tree with offsets, but its language is JSON with comments and trailing commas;
// hjson is a language of its own. The grammar is small and finished, so a recursive descent over it is less than a wrapper
// around any of these would be, and needs the standard library only.
package json5
