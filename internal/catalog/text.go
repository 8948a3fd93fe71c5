package catalog

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// cleanText returns hostile prose without what a reader cannot see or what could steer a terminal: control and escape
// characters, bidirectional overrides and every other format character, private use, tags, variation selectors and fillers
// (both can carry hidden text), piles of combining marks, invalid UTF-8. Line breaks survive only with keepLines.
// Plain ASCII, nearly every tool, is returned as it is.
func cleanText(s string, keepLines bool) string {
	if plain(s, keepLines) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	marks := 0
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			b.WriteRune(utf8.RuneError)
			i++
			continue
		}
		i += size
		if unicode.Is(unicode.M, r) {
			marks++
		} else {
			marks = 0
		}
		switch {
		case r == '\n' || r == '\u2028' || r == '\u2029' || r == '\u0085':
			if keepLines {
				b.WriteByte('\n')
			} else {
				b.WriteByte(' ')
			}
		case r == '\t' && keepLines:
			b.WriteByte('\t')
		case r == '\t' || unicode.Is(unicode.Zs, r):
			b.WriteByte(' ')
		case marks <= 4 && unicode.IsPrint(r) && !invisible(r):
			b.WriteRune(r)
		}
	}
	return b.String()
}

func plain(s string, keepLines bool) bool {
	for i := range len(s) {
		c := s[i]
		if c < ' ' && !(keepLines && (c == '\n' || c == '\t')) || c > '~' {
			return false
		}
	}
	return true
}

// invisible reports the characters that Unicode calls printable and that show nothing.
func invisible(r rune) bool {
	switch {
	case 0xFE00 <= r && r <= 0xFE0F, 0xE0100 <= r && r <= 0xE01EF, // variation selectors
		0x180B <= r && r <= 0x180F,                         // the same for Mongolian
		r == 0x034F,                                        // combining grapheme joiner
		r == 0x115F, r == 0x1160, r == 0x3164, r == 0xFFA0, // Hangul fillers
		r == 0x17B4, r == 0x17B5, // Khmer inherent vowels
		r == 0x2800: // blank Braille pattern
		return true
	}
	return false
}

// promptText makes the first sentence of hostile prose fit for a line of a model's prompt: one line, no backtick and no
// angle bracket (they could end a code fence or a tag around the text), at most limit runes.
func promptText(s string, limit int) string {
	if most := limit * 8; len(s) > most { // enough for limit runes and the white space between them
		s = strings.ToValidUTF8(s[:most], "")
	}
	words := strings.Fields(cleanText(s, false))
	var b strings.Builder
	runes := 0
	for i, word := range words {
		word = promptReplacer.Replace(word)
		n := utf8.RuneCountInString(word)
		if runes+1+n > limit {
			if i == 0 {
				b.WriteString(firstRunes(word, limit-1))
			}
			b.WriteString("…")
			break
		}
		if i > 0 {
			b.WriteByte(' ')
			runes++
		}
		b.WriteString(word)
		runes += n
		if endsSentence(word) {
			break
		}
	}
	return strings.TrimSuffix(b.String(), ".")
}

var promptReplacer = strings.NewReplacer("`", "'", "<", "‹", ">", "›")

func firstRunes(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// endsSentence tells a full stop from the point of an abbreviation such as "e.g." or "i.e.".
func endsSentence(word string) bool {
	if !strings.HasSuffix(word, ".") || len(word) < 2 {
		return false
	}
	return !strings.Contains(word[:len(word)-1], ".") && word != "etc."
}

// PromptText makes hostile prose fit for a line of a model's prompt: one line, no control, format or invisible characters, no
// backtick and no angle bracket, at most limit runes.
func PromptText(s string, limit int) string {
	if most := limit * 8; len(s) > most { // enough for limit runes and the white space between them
		s = strings.ToValidUTF8(s[:most], "")
	}
	s = promptReplacer.Replace(strings.Join(strings.Fields(cleanText(s, false)), " "))
	if utf8.RuneCountInString(s) > limit {
		s = firstRunes(s, limit-1) + "…"
	}
	return s
}
