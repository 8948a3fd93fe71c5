package catalog

import "strings"

// glob is a compiled pattern over the alphabet of ids. Its operations:
//
//   - any characters, none included; it crosses ':', '/' and '.'
//     ?       one character, never ':'
//     [a-z_]  one character of the set, never ':'; [!a-z] or [^a-z] one outside it
//     other   itself; case counts
type glob struct {
	literal string // set when the pattern has no operation
	ops     []globOp
}

type globOp struct {
	star bool
	set  charset // of the characters that fit, when not a star
}

// maxPatternLen bounds a rule, in bytes. The longest id has 265.
const maxPatternLen = 512

// anyChar is what '?' takes.
var anyChar = toolChars

// compileGlob returns the glob, or what is wrong with the pattern. A character that no id can hold is an error: such a rule
// would never match, which for a deny rule means that it silently denies nothing.
func compileGlob(pattern string) (glob, string) {
	switch {
	case pattern == "":
		return glob{}, "is empty; write * for everything"
	case len(pattern) > maxPatternLen:
		return glob{}, "is too long"
	}
	if !strings.ContainsAny(pattern, "*?[]") {
		for i := range len(pattern) {
			if !toolChars.has(pattern[i]) && pattern[i] != ':' {
				return glob{}, badPatternChar
			}
		}
		return glob{literal: pattern}, ""
	}
	var g glob
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '*':
			if n := len(g.ops); n == 0 || !g.ops[n-1].star {
				g.ops = append(g.ops, globOp{star: true})
			}
		case c == '?':
			g.ops = append(g.ops, globOp{set: anyChar})
		case c == '[':
			set, size, reason := compileClass(pattern[i:])
			if reason != "" {
				return glob{}, reason
			}
			g.ops = append(g.ops, globOp{set: set})
			i += size - 1
		case c == ']':
			return glob{}, "has a ']' without its '['"
		case toolChars.has(c) || c == ':':
			var set charset
			set.add(c)
			g.ops = append(g.ops, globOp{set: set})
		default:
			return glob{}, badPatternChar
		}
	}
	return g, ""
}

const badPatternChar = "holds a character that no tool id can hold, so it could never match; " +
	"use ASCII letters, digits, '_', '-', '.', '/', ':' and the operations *, ? and [...]"

// compileClass reads "[...]" at the start of s and returns its set and length.
func compileClass(s string) (set charset, size int, reason string) {
	i := 1
	negate := i < len(s) && (s[i] == '!' || s[i] == '^')
	if negate {
		i++
	}
	begin := i
	for ; i < len(s) && s[i] != ']'; i++ {
		low, high := s[i], s[i]
		if i+2 < len(s) && s[i+1] == '-' && s[i+2] != ']' {
			high = s[i+2]
			i += 2
		}
		if !toolChars.has(low) || !toolChars.has(high) {
			return set, 0, badPatternChar + " (in a [...] set)"
		}
		if low > high {
			return set, 0, "has a range whose end comes before its start"
		}
		for c := low; c <= high; c++ {
			set.add(c)
		}
	}
	if i >= len(s) {
		return set, 0, "has a '[' without its ']'"
	}
	if i == begin {
		return set, 0, "has an empty [...] set"
	}
	for w := range set {
		if negate {
			set[w] = ^set[w]
		}
		set[w] &= anyChar[w]
	}
	return set, i + 1, ""
}

// match reports whether the glob matches the whole of s. Stars backtrack one at a time, so that the time is bounded by
// the product of the two lengths.
func (g *glob) match(s string) bool {
	if g.ops == nil {
		return g.literal == s
	}
	op, i := 0, 0
	star, resume := -1, 0
	for i < len(s) {
		switch {
		case op < len(g.ops) && g.ops[op].star:
			star, resume = op, i
			op++
		case op < len(g.ops) && g.ops[op].set.has(s[i]):
			op++
			i++
		case star >= 0:
			resume++
			op, i = star+1, resume
		default:
			return false
		}
	}
	for op < len(g.ops) && g.ops[op].star {
		op++
	}
	return op == len(g.ops)
}
