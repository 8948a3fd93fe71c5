package codemode

import (
	"regexp"
	"strings"
)

// Places that no stack trace has. They are looked for in the source, and given only where there is one that fits:
// a wrong line is worse than none.

var (
	returns = regexp.MustCompile(`\breturn\b`)
	loops   = regexp.MustCompile(`\b(?:for|while|do)\b`)
)

// returned gives an error about the value of a program the place of its only return.
func (d *diagnosis) returned(e *runError) {
	if all := returns.FindAllStringIndex(d.source, 2); len(all) == 1 && e.line == 0 {
		e.line, e.column = placeOf(d.source, all[0][0])
	}
}

// placeOf gives line and column, in bytes, of an offset.
func placeOf(source string, at int) (line, column int) {
	return strings.Count(source[:at], "\n") + 1, at - strings.LastIndexByte(source[:at], '\n')
}

// loopAt mends the place where a program was interrupted. The engine knows places of calls and of properties read, so
// that of an empty loop is what comes before it: without a loop in front, it is the first that comes.
func (d *diagnosis) loopAt(line, column int) (int, int) {
	at := 0
	if line > 0 {
		for n := 1; n < line; n++ {
			next := strings.IndexByte(d.source[at:], '\n')
			if next < 0 {
				return line, column
			}
			at += next + 1
		}
		at = min(at+max(column-1, 0), len(d.source))
	}
	if loops.MatchString(d.source[:at]) {
		return line, column
	}
	if m := loops.FindStringIndex(d.source[at:]); m != nil {
		return placeOf(d.source, at+m[0])
	}
	return line, column
}
