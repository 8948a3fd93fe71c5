package guest

import (
	"slices"
	"strconv"
	"strings"

	"github.com/cloister-wasm/cloister/guestabi"
)

// Place reads the first "cell.js:LINE:COLUMN" of a stack trace, which is the
// guest's word, and gives what follows it. The wrapper's length is taken off
// columns of the first line.
func Place(stack string) (line, column int, rest string) {
	const file = "cell.js:"
	_, rest, found := strings.Cut(stack, file)
	if !found {
		return 0, 0, ""
	}
	place := rest
	if end := strings.IndexFunc(rest, func(r rune) bool { return r != ':' && (r < '0' || r > '9') }); end >= 0 {
		place, rest = rest[:end], rest[end:]
	} else {
		rest = ""
	}
	l, col, _ := strings.Cut(place, ":")
	line, err := strconv.Atoi(l)
	if err != nil || line <= 0 || line > 1<<24 {
		return 0, 0, rest
	}
	if column, err = strconv.Atoi(col); err != nil || column < 0 || column > 1<<28 {
		column = 0
	}
	if line == 1 {
		column = max(column-len(guestabi.WrapPrefix), 1)
	}
	return line, column, rest
}

// ModuleSyntax says whether the parser stopped at, or right after, the keyword
// import or export.
func ModuleSyntax(code string, line, column int) bool {
	lines := strings.Split(code, "\n")
	if line < 1 || line > len(lines) {
		return false
	}
	text := lines[line-1]
	at := min(max(column-1, 0), len(text))
	before := strings.TrimRight(strings.Join(lines[max(0, line-3):line-1], "\n")+"\n"+text[:at], " \t\r\n({*.")
	after := text[at:]
	return slices.ContainsFunc([]string{"import", "export"}, func(word string) bool {
		return endsWithWord(before, word) || strings.HasPrefix(after, word) && !startsIdentifier(after[len(word):])
	})
}

func endsWithWord(s, word string) bool {
	return strings.HasSuffix(s, word) && (len(s) == len(word) || !isIdentifierByte(s[len(s)-len(word)-1]) && s[len(s)-len(word)-1] != '.')
}

func startsIdentifier(s string) bool { return s != "" && isIdentifierByte(s[0]) }

func isIdentifierByte(b byte) bool {
	return b == '_' || b == '$' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b >= 0x80
}
