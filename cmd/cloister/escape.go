package main

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// hostile reports characters that can make a terminal show something else than
// the text: C0 and C1 controls, DEL, controls of the reading direction, other
// invisible format characters, line and paragraph separators. The joiners, which
// emoji and several scripts need, and the visible number signs of Arabic are not
// among them.
func hostile(r rune) bool {
	switch {
	case r < 0x20, r >= 0x7f && r < 0xa0:
		return true
	case r < 0xad:
		return false
	case r == 0x200c, r == 0x200d:
		return false
	case r == 0x2028, r == 0x2029:
		return true
	}
	return unicode.Is(unicode.Cf, r) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r)
}

// escapeRune is how a hostile character is shown.
func escapeRune(r rune) string {
	switch {
	case r == '\n':
		return `\n`
	case r == '\r':
		return `\r`
	case r == '\t':
		return `\t`
	case r < 0x100:
		return fmt.Sprintf(`\x%02x`, r)
	}
	return fmt.Sprintf(`\u{%x}`, r)
}

// escapeText makes text safe for a terminal. Line feeds and tabs stay.
func escapeText(s string) string { return escape(s, "\n\t") }

// escapeLine makes text safe for a terminal and keeps it on one line.
func escapeLine(s string) string { return escape(s, "") }

func escape(s, keep string) string {
	if harmless(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case hostile(r) && !strings.ContainsRune(keep, r):
			b.WriteString(escapeRune(r))
		default:
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	return b.String()
}

// harmless is the quick way out: nothing but printable ASCII.
func harmless(s string) bool {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] > 0x7e {
			return false
		}
	}
	return true
}

// escapeJSON writes hostile characters of a JSON text as \u escapes. They can
// only stand in strings, so the value stays the same; bytes that are not UTF-8
// become U+FFFD, as for every reader of JSON.
func escapeJSON(text []byte) []byte {
	if !bytes.ContainsFunc(text, func(r rune) bool { return r == utf8.RuneError || hostileInJSON(r) }) {
		return text
	}
	var b bytes.Buffer
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			b.WriteString(`\ufffd`)
		case !hostileInJSON(r):
			b.Write(text[i : i+n])
		case r > 0xffff:
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+(r>>10), 0xdc00+(r&0x3ff))
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		i += n
	}
	return b.Bytes()
}

// hostileInJSON spares the white space between the tokens of JSON.
func hostileInJSON(r rune) bool {
	return r != '\n' && r != '\r' && r != '\t' && hostile(r)
}
