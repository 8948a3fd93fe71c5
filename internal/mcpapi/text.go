package mcpapi

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/cloister-wasm/cloister/internal/plaintext"
)

// Bounds of texts in comments, in runes and lines.
const (
	maxDescription = 1000
	maxParam       = 200
	maxTitle       = 100
	maxLines       = 40
	// MaxInstructions bounds what a server says of itself.
	MaxInstructions = 2000
)

// Instructions makes what a server says of itself fit to be kept: cleaned, without white space around it, and of [MaxInstructions]
// characters at most. It is still the text of a stranger.
func Instructions(s string) string {
	return plaintext.Characters(strings.TrimSpace(plaintext.PromptLines(head(s, MaxInstructions), plaintext.Whole)), MaxInstructions)
}

// line makes hostile prose fit for one line of a comment, at most limit runes.
func line(s string, limit int) string {
	return plaintext.Characters(commentText(plaintext.Prompt(head(s, limit), plaintext.Whole)), limit)
}

// lines makes hostile prose fit for the lines of a comment: at most limit runes in all, without empty lines and white space at the ends.
func lines(s string, limit int) []string {
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

// shortened says that a text stands in a comment without its end.
func shortened(shown, text string) bool {
	return strings.HasSuffix(shown, "…") && !strings.HasSuffix(strings.TrimSpace(text), "…")
}

// head is the beginning of a text that is far too long: it holds limit characters and much white space.
func head(s string, limit int) string { return plaintext.Head(s, limit*8) }

// commentText takes the marks of comments out of cleaned text. The end comes last: what "/*" becomes must not make a new one of "/*/".
func commentText(s string) string {
	if strings.IndexByte(s, '*') < 0 {
		return s
	}
	return strings.ReplaceAll(strings.ReplaceAll(s, "/*", "/ *"), "*/", "* /")
}

// quote writes a string of TypeScript in ASCII. The result can stand in a comment too.
func quote(s string) string {
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

// propertyKey writes the name of a property.
func propertyKey(name string) string {
	switch {
	case name == "__proto__": // {__proto__: x} would set the prototype
		return `["__proto__"]`
	case isIdentifier(name):
		return name
	}
	return quote(name)
}
