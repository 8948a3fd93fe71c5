package main

import (
	"strings"
	"unicode/utf8"

	"github.com/cloister-wasm/cloister/internal/plaintext"
)

// sourceLine gives a line of source, counted from 1. A line ends as ECMAScript
// has it: at LF, CR, CR LF, U+2028 or U+2029.
func sourceLine(source string, line int) (string, bool) {
	for n := 1; ; n++ {
		end := strings.IndexAny(source, "\n\r\u2028\u2029")
		if n == line {
			if end < 0 {
				return source, true
			}
			return source[:end], true
		}
		if end < 0 {
			return "", false
		}
		_, size := utf8.DecodeRuneInString(source[end:])
		if strings.HasPrefix(source[end:], "\r\n") {
			size = 2
		}
		source = source[end+size:]
	}
}

// glyph is a character of source as it is shown.
type glyph struct {
	text  string
	width int
}

// tabWidth is the distance of tab stops in excerpts.
const tabWidth = 4

// maxLineBytes is how much of a line is looked at on each side of the caret.
const maxLineBytes = 4096

// excerpt gives a source line and the line with the caret under it, each at most
// width columns wide. at is the caret's place as an offset in bytes. Tabs become
// spaces, hostile characters escapes, and a long line is cut around the caret.
func excerpt(line string, at, width int) (text, caret string) {
	at = min(max(at, 0), len(line))
	for at > 0 && at < len(line) && !utf8.RuneStart(line[at]) {
		at--
	}
	before, after := line[:at], line[at:]
	cutLeft, cutRight := false, false
	if len(before) > maxLineBytes {
		before, cutLeft = trimLeftBytes(before, maxLineBytes), true
	}
	if len(after) > maxLineBytes {
		after, cutRight = plaintext.Head(after, maxLineBytes), true
	}
	left := glyphs(before, 0)
	right := glyphs(after, widthOf(left))
	width = max(width, 8)

	if cutLeft || cutRight || widthOf(left)+max(widthOf(right), 1) > width {
		left, right, cutLeft, cutRight = window(left, right, width, cutLeft, cutRight)
	}
	var b strings.Builder
	if cutLeft {
		b.WriteString("…")
	}
	for _, g := range left {
		b.WriteString(g.text)
	}
	column := textWidth(b.String())
	for _, g := range right {
		b.WriteString(g.text)
	}
	if cutRight {
		b.WriteString("…")
	}
	return strings.TrimRight(b.String(), " "), strings.Repeat(" ", column) + "^"
}

// window keeps what fits around the caret: up to two thirds before it, the rest
// after it, with a column on each side for the mark of a cut.
func window(left, right []glyph, width int, cutLeft, cutRight bool) (l, r []glyph, wasLeft, wasRight bool) {
	room := width - 2
	first := 1 // what the caret stands under is always shown
	if len(right) > 0 {
		first = right[0].width
	}
	before := min(widthOf(left), max(room*2/3, room-max(widthOf(right), 1)), max(room-first, 0))
	from, used := len(left), 0
	for from > 0 && used+left[from-1].width <= before {
		from--
		used += left[from].width
	}
	if from == 0 && !cutLeft {
		room++ // no mark on the left
	}
	to := 0
	for to < len(right) && (to == 0 || used+right[to].width <= room) {
		used += right[to].width
		to++
	}
	return left[from:], right[:to], cutLeft || from > 0, cutRight || to < len(right)
}

// glyphs renders source characters; column is where the first of them stands.
func glyphs(s string, column int) []glyph {
	var out []glyph
	for raw, shown := range plaintext.ShowEach(s) {
		g := glyph{text: shown}
		switch {
		case raw == "\t":
			g.width = tabWidth - column%tabWidth
			g.text = strings.Repeat(" ", g.width)
		case raw != shown:
			g.width = len(shown)
		default:
			g.width = textWidth(raw)
		}
		out = append(out, g)
		column += g.width
	}
	return out
}

func widthOf(gs []glyph) int {
	n := 0
	for _, g := range gs {
		n += g.width
	}
	return n
}

// trimLeftBytes keeps at most the last n bytes without cutting a character.
func trimLeftBytes(s string, n int) string {
	from := len(s) - n
	for from < len(s) && !utf8.RuneStart(s[from]) {
		from++
	}
	return s[from:]
}
