package plaintext

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// ShowJSON is [ShowLines] for JSON text: what is dangerous, and any white space inside of strings but the blank, becomes an escape of
// JSON's own (\u202e), and bytes that are not UTF-8 become \ufffd, as for every reader of JSON. Such characters can only stand in
// strings, so the value stays the same; a carriage return between tokens becomes a line feed. It has at most six times the bytes of the text. What is no JSON is made safe as well.
func ShowJSON(text string) string {
	if ascii(text, true) {
		return text
	}
	var b strings.Builder
	b.Grow(len(text))
	var at place
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		raw := text[i : i+size]
		i += size
		c := at.class(r, following(text[i:]))
		switch {
		case r == utf8.RuneError && size == 1:
			raw, at = `\ufffd`, place{}
		case r == '\r': // between tokens; alone it would take a terminal back to the start of the line
			if raw, at = "\n", (place{}); following(text[i:]) == '\n' {
				raw = ""
			}
		case r == ' ', r == '\n', r == '\t':
			at = place{}
		case c == plain, c == glue:
			at.after(r)
		default:
			raw, at = escapeJSON(r), place{}
		}
		b.WriteString(raw)
	}
	return b.String()
}

func escapeJSON(r rune) string {
	if r > 0xffff {
		r -= 0x10000
		return fmt.Sprintf(`\u%04x\u%04x`, 0xd800+(r>>10), 0xdc00+(r&0x3ff))
	}
	return fmt.Sprintf(`\u%04x`, r)
}
