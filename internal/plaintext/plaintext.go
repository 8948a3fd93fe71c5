package plaintext

import (
	"fmt"
	"iter"
	"math"
	"strings"
	"unicode/utf8"
)

// Whole is the bound of texts that have one already. What [Show] writes has at most four times the bytes that it was given, what
// the other verbs write three times.
const Whole = math.MaxInt

const mark = "…"

// Clip is s in at most n bytes, for data: each byte that is not UTF-8 becomes U+FFFD, and a text that was cut ends with "…", which
// counts. All other characters stay, dangerous ones included; before a person or a terminal gets the text, another verb must have
// it. If n has no room for the mark, a text that has to be cut is "".
func Clip(s string, n int) string {
	if len(s) <= n && utf8.ValidString(s) {
		return s
	}
	w := writer{n: n}
	for _, r := range s {
		if !w.put(string(r), true) {
			break
		}
	}
	return w.text()
}

// Line is s on one line of at most n bytes, for errors, logs and traces: each white space becomes a blank, and each other dangerous
// character or byte that is not UTF-8 becomes U+FFFD, so that nothing is joined that was not. It reads little more than n bytes.
func Line(s string, n int) string {
	if len(s) <= n && ascii(s, false) {
		return s
	}
	return render(s, n, line)
}

// Lines is [Line] for texts of several lines: line feeds and tabs stay.
func Lines(s string, n int) string {
	if len(s) <= n && ascii(s, true) {
		return s
	}
	return render(s, n, lines)
}

// Short is [Line].
func Short(s string, n int) string { return Line(s, n) }

// Show is s on one line of at most n bytes, for what a person decides by: each white space but the blank and each other dangerous
// character is spelled out, as \n, \r, \t, \x1b below U+0100 and \u{202e} above; bytes that are not UTF-8 are \xff. It reads little more
// than n bytes. A backslash of the text's own stays as it is: an escape can be shown that the text has as such.
func Show(s string, n int) string {
	if len(s) <= n && ascii(s, false) {
		return s
	}
	return render(s, n, show)
}

// ShowLines is [Show] for texts of several lines: line feeds and tabs stay.
func ShowLines(s string, n int) string {
	if len(s) <= n && ascii(s, true) {
		return s
	}
	return render(s, n, showLines)
}

// ShowEach gives the characters of s one after the other, each with what [Show] writes for it, for callers that lay them out by
// themselves.
func ShowEach(s string) iter.Seq2[string, string] {
	return func(yield func(raw, shown string) bool) {
		var at place
		for i := 0; i < len(s); {
			raw, shown, written := showNext(s[i:], &at)
			if !yield(raw, shown) {
				return
			}
			i += len(raw)
			at.wrote(written)
		}
	}
}

func showNext(s string, at *place) (raw, shown string, written rune) {
	r, size := utf8.DecodeRuneInString(s)
	raw = s[:size]
	c := at.class(r, following(s[size:]))
	if r == utf8.RuneError && size == 1 {
		c = danger
	}
	shown, written = show.write(c, r, raw)
	return raw, shown, written
}

// Prompt is s on one line of at most n bytes, for what a model reads: white space becomes a single blank, with none at the ends;
// dangerous characters are taken out, so that nothing reaches the model that a person would not see; bytes that are not UTF-8 become
// U+FFFD. What else could end the place where the text stands, such as a fence around code, is for the caller to take out.
func Prompt(s string, n int) string {
	if len(s) <= n && ascii(s, false) && !strings.Contains(s, "  ") && strings.Trim(s, " ") == s {
		return s
	}
	return render(s, n, prompt)
}

// PromptLines is [Prompt] for texts of several lines: line ends of all kinds become line feeds, tabs stay, any other space is a
// blank, and white space is not put together.
func PromptLines(s string, n int) string {
	if len(s) <= n && ascii(s, true) {
		return s
	}
	return render(s, n, promptLines)
}

// Head is the beginning of s, at most n bytes of it, cut between characters and without a mark. It makes nothing safe: it bounds
// what is looked at.
func Head(s string, n int) string {
	if n = max(n, 0); len(s) <= n {
		return s
	}
	for back := 0; back < utf8.UTFMax && back <= n; back++ {
		if utf8.RuneStart(s[n-back]) {
			if _, size := utf8.DecodeRuneInString(s[n-back:]); size > back {
				return s[:n-back]
			}
			break
		}
	}
	return s[:n] // these bytes are no character
}

// Characters is s in at most n characters, for what is laid out by these: a text that was cut ends with "…", which counts. Like Head
// it makes nothing safe, but a text that a verb made safe stays so.
func Characters(s string, n int) string {
	if len(s) <= n || utf8.RuneCountInString(s) <= n {
		return s
	}
	if n <= 0 {
		return ""
	}
	at := 0
	for i := range s {
		if n--; n == 0 {
			at = i
			break
		}
	}
	return strings.TrimRight(s[:at], string([]rune{zwnj, zwj, vs15, vs16})) + mark
}

// form is what a verb does.
type form uint8

const (
	line form = iota
	lines
	show
	showLines
	prompt
	promptLines
)

func render(s string, n int, f form) string {
	w := writer{n: n}
	var at place
	blank := false // Prompt owes one
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		raw := s[i : i+size]
		i += size
		c := at.class(r, following(s[i:]))
		if r == utf8.RuneError && size == 1 {
			c = danger
			if f != show && f != showLines {
				c, raw = plain, "\ufffd"
			}
		}
		if f == prompt && (c == space || c == end) {
			blank, at = w.b.Len() > 0, place{}
			continue
		}
		out, written := f.write(c, r, raw)
		if out == "" || r == '\r' && f == promptLines && following(s[i:]) == '\n' {
			continue
		}
		if blank {
			out, blank = " "+out, false
		}
		if !w.put(out, c != glue) {
			break
		}
		at.wrote(written)
	}
	return w.text()
}

// write is what a form writes for a character, and the character that marks after it would belong to, if one.
func (f form) write(c class, r rune, raw string) (out string, written rune) {
	switch c {
	case plain, glue:
		return raw, r
	case space, end:
		if out := f.white(c, r); out != "" {
			return out, 0
		}
	}
	switch f {
	case line, lines:
		return "\ufffd", utf8.RuneError
	case show, showLines:
		return escape(r, raw), 0
	}
	return "", 0
}

// white is what stands for a white space, or "" where it is escaped.
func (f form) white(c class, r rune) string {
	keep := f == lines || f == showLines || f == promptLines
	switch {
	case r == ' ', keep && (r == '\n' || r == '\t'):
		return string(r)
	case f == show, f == showLines:
		return ""
	case f == promptLines && c == end:
		return "\n"
	}
	return " "
}

func escape(r rune, raw string) string {
	switch {
	case r == '\n':
		return `\n`
	case r == '\r':
		return `\r`
	case r == '\t':
		return `\t`
	case len(raw) == 1:
		return fmt.Sprintf(`\x%02x`, raw[0])
	case r < 0x100:
		return fmt.Sprintf(`\x%02x`, r)
	}
	return fmt.Sprintf(`\u{%x}`, r)
}

// writer collects a text of at most n bytes.
type writer struct {
	b    strings.Builder
	n    int
	fit  int // how much of the text leaves room for the mark
	over bool
}

// put adds a piece that is never cut. whole says that the text may end after it. false means that there is no more room.
func (w *writer) put(piece string, whole bool) bool {
	if len(piece) > w.n-w.b.Len() {
		w.over = true
		return false
	}
	w.b.WriteString(piece)
	if whole && w.b.Len() <= w.n-len(mark) {
		w.fit = w.b.Len()
	}
	return true
}

func (w *writer) text() string {
	switch {
	case !w.over:
		return w.b.String()
	case w.n < len(mark):
		return ""
	}
	return w.b.String()[:w.fit] + mark
}
