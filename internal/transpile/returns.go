package transpile

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/evanw/esbuild/pkg/api"
)

// A top-level `return` is no module syntax, so the source is transformed with
// something else in its place that is: `return x` becomes `throw MARK,x`, and
// `return` alone becomes `throw MARK`. Both kinds of statement hold the same
// expressions, end at the same places, and leave the statement list in the same
// way, so every transform moves the one as it would have moved the other. In the
// output the marks, random names that no source can know, are turned back.
//
// Where the returns stand is not guessed: esbuild itself reports each of them.

const keywordReturn = "return"

// topLevelReturns returns the offsets of the top-level returns that esbuild
// complained of, and the first error that is about something else.
func topLevelReturns(errs []api.Message, source string, lines lineTable) (at []int, other *api.Message) {
	for i, e := range errs {
		if e.Text != textTopLevelReturn || e.Location == nil {
			if other == nil {
				other = &errs[i]
			}
			continue
		}
		at = append(at, lines.offset(Position{Line: e.Location.Line, Column: e.Location.Column + 1}))
	}
	slices.Sort(at)
	return slices.Compact(at), other
}

// hideReturns returns the edits that put throws with the mark in the place of
// the returns. It is false when an offset does not lead to a return.
func hideReturns(source string, at []int, mark string) (edits, bool) {
	list := make(edits, 0, len(at))
	for _, offset := range at {
		rest, found := strings.CutPrefix(source[offset:], keywordReturn)
		if !found {
			return nil, false
		}
		s := splice{at: offset, length: len(keywordReturn), text: "throw " + mark}
		if hasOperand(rest) {
			s.text += ","
		} else if next := skipSpace(rest); next != "" && next[0] != ';' && next[0] != '}' {
			// The end of the line ends a return, but not a throw when the next
			// line goes on with an operator.
			s.text += ";"
		}
		list = append(list, s)
	}
	return list, true
}

// hasOperand reports whether an expression follows a `return`, given the text
// behind it: it does unless a line, a statement, a block or the text ends first.
func hasOperand(rest string) bool {
	for rest != "" {
		if lineEnd(rest) > 0 || strings.HasPrefix(rest, "//") {
			return false
		}
		after, comment := cutSpace(rest)
		if comment && strings.ContainsAny(rest[:len(rest)-len(after)], "\n\r\u2028\u2029") {
			return false
		}
		if len(after) == len(rest) {
			return rest[0] != ';' && rest[0] != '}'
		}
		rest = after
	}
	return false
}

// skipSpace returns s without the white space, comments and line ends in front.
func skipSpace(s string) string {
	for {
		rest := s[lineEnd(s):]
		if strings.HasPrefix(rest, "//") {
			if rest = strings.TrimLeftFunc(rest, func(r rune) bool { return !strings.ContainsRune("\n\r\u2028\u2029", r) }); rest == "" {
				return ""
			}
		}
		rest, _ = cutSpace(rest)
		if len(rest) == len(s) {
			return s
		}
		s = rest
	}
}

// cutSpace cuts one character of white space or one comment of the form /**/
// from the front of s, if there is one.
func cutSpace(s string) (rest string, comment bool) {
	if body, found := strings.CutPrefix(s, "/*"); found {
		_, rest, _ = strings.Cut(body, "*/")
		return rest, true
	}
	if r, n := utf8.DecodeRuneInString(s); isSpace(r) {
		return s[n:], false
	}
	return s, false
}

// isSpace reports whether r is white space in ECMAScript, line ends excepted.
func isSpace(r rune) bool {
	switch r {
	case '\t', '\v', '\f', '\uFEFF':
		return true
	}
	return unicode.Is(unicode.Zs, r)
}

// showReturns returns the edits that turn the throws with the mark in code back
// into returns. It is false when a mark stands anywhere else.
func showReturns(code, mark string) (edits, bool) {
	var list edits
	const throw = "throw "
	for from := 0; ; {
		i := strings.Index(code[from:], mark)
		if i < 0 {
			return list, true
		}
		start, end := from+i-len(throw), from+i+len(mark)
		if strings.HasPrefix(code[end:], "_") {
			// esbuild names the module after its file, which the mark names; this
			// is the left side of an assignment that exportEquals finds.
			from = end
			continue
		}
		if start < 0 || !strings.HasPrefix(code[start:], throw) {
			return nil, false
		}
		s := splice{at: start, length: end - start, text: keywordReturn}
		switch {
		case strings.HasPrefix(code[end:], ";"):
		case strings.HasPrefix(code[end:], ", ") && !startsComment(code[end+2:]):
			s.length++ // the comma
		case strings.HasPrefix(code[end:], ","):
			// A line may end before the operand, which would end a return.
			s.text += " 0"
		default:
			return nil, false
		}
		list = append(list, s)
		from = end
	}
}

func startsComment(s string) bool {
	return s == "" || lineEnd(s) > 0 || s[0] == '/' && len(s) > 1 && (s[1] == '/' || s[1] == '*')
}
