package transpile

import (
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/cloister-wasm/cloister/internal/plaintext"
)

// lineTable holds the offset at which each line of a text starts. The lines are
// those of ECMAScript (see Position), which esbuild counts by as well.
type lineTable struct {
	size   int
	starts []int
}

func newLineTable(text string) lineTable {
	t := lineTable{size: len(text), starts: []int{0}}
	for i := 0; i < len(text); {
		n := lineEnd(text[i:])
		if n > 0 {
			t.starts = append(t.starts, i+n)
		}
		i += max(n, 1)
	}
	return t
}

// lineEnd returns the length of the line terminator at the start of s, or 0.
func lineEnd(s string) int {
	if s == "" {
		return 0
	}
	switch s[0] {
	case '\n':
		return 1
	case '\r':
		if len(s) > 1 && s[1] == '\n' {
			return 2
		}
		return 1
	case 0xE2: // the first byte of both in UTF-8
		if strings.HasPrefix(s, "\u2028") || strings.HasPrefix(s, "\u2029") {
			return 3
		}
	}
	return 0
}

// position returns the place of an offset; offsets past the end are its end.
func (t lineTable) position(offset int) Position {
	offset = min(max(offset, 0), t.size)
	line := sort.Search(len(t.starts), func(i int) bool { return t.starts[i] > offset })
	return Position{Line: line, Column: offset - t.starts[line-1] + 1}
}

// offset returns the offset of a place, or of the nearest one that exists.
func (t lineTable) offset(p Position) int {
	if p.Line < 1 {
		return 0
	}
	if p.Line > len(t.starts) {
		return t.size
	}
	start, end := t.line(p.Line)
	return min(start+max(p.Column-1, 0), end)
}

// line returns where line n starts and where the next one does.
func (t lineTable) line(n int) (start, end int) {
	start, end = t.starts[n-1], t.size
	if n < len(t.starts) {
		end = t.starts[n]
	}
	return start, end
}

// Bounds on the texts that an error carries.
const (
	maxMessage  = 512
	maxLineText = 240
)

// lineText returns the line at p without its terminator, cut to maxLineText
// bytes around the column.
func lineText(text string, t lineTable, p Position) string {
	if p.Line < 1 || p.Line > len(t.starts) {
		return ""
	}
	start, end := t.line(p.Line)
	line := strings.TrimRight(text[start:end], "\r\n\u2028\u2029")
	if len(line) <= maxLineText {
		return line
	}
	from := min(max(p.Column-1-maxLineText/2, 0), len(line)-maxLineText)
	for from > 0 && !utf8.RuneStart(line[from]) {
		from--
	}
	return plaintext.Head(line[from:], maxLineText)
}

// columns turns columns in UTF-16 code units, which source maps count, into
// offsets in bytes. Look-ups along a line from left to right are cheap.
type columns struct {
	text  string
	lines lineTable
	ascii bool

	line, unit, at int // the last answer: unit u of this line is at offset at
}

func newColumns(text string, lines lineTable) *columns {
	c := &columns{text: text, lines: lines, ascii: true}
	for i := 0; i < len(text) && c.ascii; i++ {
		c.ascii = text[i] < utf8.RuneSelf
	}
	return c
}

// offset returns the offset of a code unit of a line, both counted from 0. What
// lies outside of the text is moved to the nearest place inside.
func (c *columns) offset(line, unit int) int {
	if line < 0 || line >= len(c.lines.starts) {
		return c.lines.size
	}
	start, end := c.lines.line(line + 1)
	if c.ascii {
		return min(start+unit, end)
	}
	if line != c.line || unit < c.unit || c.at < start {
		c.line, c.unit, c.at = line, 0, start
	}
	for c.at < end && c.unit < unit {
		r, n := utf8.DecodeRuneInString(c.text[c.at:])
		c.at += n
		c.unit++
		if r > 0xFFFF {
			c.unit++
		}
	}
	return c.at
}
