package mcp

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// clean makes a text of a server or of a configuration fit for one line of a log, an
// error or a terminal: characters that control a terminal, reorder or hide text become
// spaces.
func clean(s string) string {
	if strings.IndexFunc(s, unprintable) < 0 && utf8.ValidString(s) {
		return s
	}
	s = strings.ToValidUTF8(s, "\uFFFD")
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unprintable(r) {
			return ' '
		}
		return r
	}, s))
}

func unprintable(r rune) bool {
	return r != ' ' && !unicode.IsPrint(r) || unicode.Is(unicode.Cf, r)
}

// clip cuts a text to at most max bytes, between characters.
func clip(s string, max int) string {
	if len(s) <= max {
		return s
	}
	cut := max - len("…")
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}

// matches says whether a name fits a pattern: * is any run of characters, ? any one,
// and all others themselves. It takes time in proportion to both lengths at most.
func matches(pattern, name string) bool {
	p, n := 0, 0
	star, mark := -1, 0
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, n
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == name[n]):
			size := 1
			if pattern[p] == '?' {
				_, size = utf8.DecodeRuneInString(name[n:])
			}
			p, n = p+1, n+size
		case star >= 0:
			mark++
			p, n = star+1, mark
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

func matchesAny(patterns []string, name string) bool {
	for _, p := range patterns {
		if matches(p, name) {
			return true
		}
	}
	return false
}
