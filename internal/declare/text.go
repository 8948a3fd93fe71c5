package declare

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/cloister-wasm/cloister/internal/plaintext"
)

// Text makes hostile prose fit to be kept: cleaned, without white space around it, and of limit characters at most. It is still
// the text of a stranger.
func Text(s string, limit int) string {
	return plaintext.Characters(strings.TrimSpace(plaintext.PromptLines(head(s, limit), plaintext.Whole)), limit)
}

// maxLines bounds the lines of one comment.
const maxLines = 40

// TextLine makes hostile prose fit for one line of a comment, at most limit runes.
func TextLine(s string, limit int) string {
	return plaintext.Characters(commentText(plaintext.Prompt(head(s, limit), plaintext.Whole)), limit)
}

// TextLines makes hostile prose fit for the lines of a comment, see [Comment]: at most limit runes in all and 40 lines, without
// empty lines and white space at the ends.
func TextLines(s string, limit int) []string {
	var out []string
	for l := range strings.SplitSeq(plaintext.PromptLines(head(s, limit), plaintext.Whole), "\n") {
		l = commentText(strings.TrimSpace(strings.ReplaceAll(l, "\t", " ")))
		if l == "" {
			continue
		}
		if len(out) == maxLines || limit <= 0 {
			out[len(out)-1] = strings.TrimSuffix(out[len(out)-1], "…") + "…"
			return out
		}
		l = plaintext.Characters(l, limit)
		limit -= utf8.RuneCountInString(l)
		if strings.HasPrefix(l, "@") { // a tag of ours is one that a property has
			l = `\` + l
		}
		out = append(out, l)
	}
	return out
}

// Shortened says that a text stands in a comment without its end.
func Shortened(shown, text string) bool {
	return strings.HasSuffix(shown, "…") && !strings.HasSuffix(strings.TrimSpace(text), "…")
}

// head is the beginning of a text that is far too long: it holds limit characters and much white space.
func head(s string, limit int) string { return plaintext.Head(s, max(limit, 0)*8) }

// commentText takes the marks of comments out of cleaned text. The end comes last: what "/*" becomes must not make a new one of "/*/".
func commentText(s string) string {
	if strings.IndexByte(s, '*') < 0 {
		return s
	}
	return strings.ReplaceAll(strings.ReplaceAll(s, "/*", "/ *"), "*/", "* /")
}

// Quote writes a string of TypeScript in ASCII. The result can stand in a comment too.
func Quote(s string) string {
	var b strings.Builder
	b.Grow(len(s) + 2)
	b.WriteByte('"')
	last := rune(0)
	for _, r := range s {
		switch {
		case r == '"' || r == '\\' || r == '/' && last == '*' || r == '*' && last == '/':
			b.WriteByte('\\')
			b.WriteByte(byte(r))
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case ' ' <= r && r <= '~':
			b.WriteByte(byte(r))
		case r > 0xFFFF:
			high, low := utf16.EncodeRune(r)
			writeEscape(&b, high)
			writeEscape(&b, low)
		default:
			writeEscape(&b, r)
		}
		last = r
	}
	b.WriteByte('"')
	return b.String()
}

func writeEscape(b *strings.Builder, unit rune) {
	const hex = "0123456789abcdef"
	b.WriteString(`\u`)
	for shift := 12; shift >= 0; shift -= 4 {
		b.WriteByte(hex[unit>>shift&15])
	}
}

// Key writes the name of a property as TypeScript does, in ASCII.
func Key(name string) string {
	switch {
	case name == "__proto__": // {__proto__: x} would set the prototype
		return `["__proto__"]`
	case IsIdentifier(name):
		return name
	}
	return Quote(name)
}

// IsIdentifier reports an ASCII identifier of JavaScript, reserved words included.
func IsIdentifier(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !(isAlphanumeric(c) || c == '_' || c == '$') || i == 0 && '0' <= c && c <= '9' {
			return false
		}
	}
	return s != ""
}

func isAlphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

// Comment writes lines from [TextLine] or [TextLines] as a comment at a level of indentation, or nothing if there are none.
func Comment(level int, lines []string) string {
	indent := strings.Repeat("  ", level)
	switch len(lines) {
	case 0:
		return ""
	case 1:
		return indent + "/** " + lines[0] + " */\n"
	}
	var b strings.Builder
	b.WriteString(indent + "/**\n")
	for _, l := range lines {
		b.WriteString(indent + " * " + l + "\n")
	}
	b.WriteString(indent + " */\n")
	return b.String()
}
