// Package plaintext makes the text of a stranger fit for errors, logs and traces: bounded,
// valid UTF-8, and without characters that steer a terminal, end a line, or hide and
// reorder text. What people decide by shows such characters instead (host/gateway,
// cmd/cloister), and what a model reads has rules of its own (internal/catalog).
package plaintext

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const mark = "…"

// Clip cuts s to at most n bytes, between characters. A text that was cut ends with
// "…", which counts.
func Clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	if n < len(mark) {
		return ""
	}
	cut := n - len(mark)
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + mark
}

// Line puts s on one line: each white space becomes a blank, and any other character
// that is not printable becomes U+FFFD, as do bytes that are not UTF-8.
func Line(s string) string { return clean(s, false) }

// Lines is Line for texts of several lines: line feeds and tabs stay.
func Lines(s string) string { return clean(s, true) }

// Short is Line of at most n bytes. It reads little more than n bytes of s.
func Short(s string, n int) string { return Clip(Line(Clip(s, n)), n) }

func clean(s string, lines bool) string {
	ascii := 0
	for ascii < len(s) && (' ' <= s[ascii] && s[ascii] <= '~' || lines && (s[ascii] == '\n' || s[ascii] == '\t')) {
		ascii++
	}
	if ascii == len(s) { // nearly always
		return s
	}
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsPrint(r), lines && (r == '\n' || r == '\t'):
			return r
		case unicode.IsSpace(r):
			return ' '
		}
		return utf8.RuneError
	}, s)
}
