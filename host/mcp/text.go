package mcp

import "unicode/utf8"

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
