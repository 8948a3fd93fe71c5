package catalog

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxWordLen bounds one word of the search index, in bytes; what is longer is cut.
const maxWordLen = 40

// splitter cuts text into lower-case words for searching. Words are runs of letters and digits; accents of Latin letters
// are dropped; scripts that are written without spaces come out as pairs of characters. A word with capitals inside is
// given whole together with the places where it can be cut: "createIssue" at "create|issue", "HTTPServer" at "http|server".
type splitter struct {
	text string
	word []byte  // the present word in lower case
	cuts []uint8 // offsets in word where a part begins, but for the first
	pair bool    // the last character was one of a script without spaces
}

// reset starts over with another text.
func (s *splitter) reset(text string) {
	s.text, s.pair = text, false
}

// next moves to the next word and reports whether there is one.
func (s *splitter) next() bool {
	s.word, s.cuts = s.word[:0], s.cuts[:0]
	var last, beforeLast rune
	for len(s.text) > 0 {
		r, size := rune(s.text[0]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(s.text)
			if unicode.Is(unicode.Mn, r) {
				s.text = s.text[size:]
				continue
			}
			if spaceless(r) {
				if len(s.word) > 0 || s.nextPair(r, size) {
					return true
				}
				continue
			}
		}
		s.pair = false
		if !isWordRune(r) {
			s.text = s.text[size:]
			if len(s.word) > 0 {
				return true
			}
			continue
		}
		s.mayCut(last, r)
		s.text = s.text[size:]
		s.append(r)
		beforeLast, last = last, r
		// The cut before the last capital of a run is only known once a small letter follows: HTTPServer.
		if isUpper(beforeLast) && 2 < len(s.word) && len(s.word) < maxWordLen && isLower(r) {
			s.cutBeforeLast(r, beforeLast)
		}
		if n := smallRun(s.text); n > 0 && !isUpper(r) {
			last, beforeLast = rune(s.text[n-1]), 'a'
			s.word = append(s.word, s.text[:min(n, maxWordLen-len(s.word))]...)
			s.text = s.text[n:]
		}
	}
	return len(s.word) > 0
}

// smallRun counts the ASCII small letters and digits at the beginning, which need no folding and, after another one, make
// no cut.
func smallRun(text string) int {
	for i := range len(text) {
		if c := text[i]; !('a' <= c && c <= 'z' || '0' <= c && c <= '9') {
			return i
		}
	}
	return len(text)
}

// nextPair takes one character of a script without spaces: every two neighbours make a word, and a character that stands
// alone makes one by itself.
func (s *splitter) nextPair(r rune, size int) bool {
	rest := s.text[size:]
	following, _ := utf8.DecodeRuneInString(rest)
	s.text = rest
	alone := !s.pair
	s.pair = true
	if spaceless(following) {
		s.word = utf8.AppendRune(utf8.AppendRune(s.word, r), following)
		return true
	}
	if alone {
		s.word = utf8.AppendRune(s.word, r)
	}
	return alone
}

// mayCut notes a cut between a small letter or digit and a capital.
func (s *splitter) mayCut(last, r rune) {
	if isUpper(r) && last != 0 && !isUpper(last) && len(s.word) < maxWordLen {
		s.cuts = append(s.cuts, uint8(len(s.word)))
	}
}

// cutBeforeLast notes the cut inside a run of capitals that is followed by a small letter.
func (s *splitter) cutBeforeLast(r, capital rune) {
	at := len(s.word) - utf8.RuneLen(unicode.ToLower(r)) - utf8.RuneLen(unicode.ToLower(capital))
	if at <= 0 || at >= maxWordLen {
		return
	}
	if n := len(s.cuts); n > 0 && int(s.cuts[n-1]) >= at {
		return
	}
	s.cuts = append(s.cuts, uint8(at))
}

// append adds one letter or digit to the word in its folded form.
func (s *splitter) append(r rune) {
	if len(s.word) >= maxWordLen {
		return
	}
	if r < utf8.RuneSelf {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		s.word = append(s.word, byte(r))
		return
	}
	r = unicode.ToLower(r)
	folded, ok := latinFold[r]
	if !ok {
		folded = string(r)
	}
	if len(s.word)+len(folded) <= maxWordLen {
		s.word = append(s.word, folded...)
	}
}

// parts calls yield with each part of a word that can be cut, or not at all.
func (s *splitter) parts(yield func(part []byte)) {
	if len(s.cuts) == 0 {
		return
	}
	begin := 0
	for _, cut := range s.cuts {
		if end := min(int(cut), len(s.word)); end > begin {
			yield(s.word[begin:end])
			begin = end
		}
	}
	if begin < len(s.word) {
		yield(s.word[begin:])
	}
}

func isUpper(r rune) bool {
	if r < utf8.RuneSelf {
		return 'A' <= r && r <= 'Z'
	}
	return unicode.IsUpper(r)
}

func isLower(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z'
	}
	return unicode.IsLower(r)
}

func isWordRune(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
	}
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsNumber(r))
}

// spaceless reports letters of scripts that do not put spaces between words.
func spaceless(r rune) bool {
	if r < 0x0E00 {
		return false
	}
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// latinFold maps accented Latin letters to plain ones.
var latinFold = func() map[rune]string {
	fold := map[rune]string{'ß': "ss", 'æ': "ae", 'œ': "oe", 'þ': "th", 'ı': "i"}
	for plain, accented := range map[string]string{
		"a": "àáâãäåāăą", "c": "çćĉċč", "d": "ďđð", "e": "èéêëēĕėęě", "g": "ĝğġģ", "h": "ĥħ", "i": "ìíîïĩīĭį", "j": "ĵ",
		"k": "ķ", "l": "ĺļľŀł", "n": "ñńņňŉ", "o": "òóôõöøōŏő", "r": "ŕŗř", "s": "śŝşšș", "t": "ţťŧț", "u": "ùúûüũūŭůűų",
		"w": "ŵ", "y": "ýÿŷ", "z": "źżž",
	} {
		for _, r := range accented {
			fold[r] = plain
		}
	}
	return fold
}()

// stem cuts the endings of English verbs and nouns off a lower-case word, so that "listing", "listed", "lists" and "list" are
// one. It is light on purpose: tool names are terse, and a heavy stemmer confuses them ("new" and "news", "set" and
// "settings").
func stem(w string) string {
	if len(w) < 4 || !plainWord(w) {
		return w
	}
	switch w {
	case "news", "always", "kubernetes", "series", "during", "string", "thing", "nothing", "something", "anything",
		"everything", "morning", "evening", "setting", "embed", "alias", "canvas", "speed", "need", "feed", "seed", "lens",
		"production":
		return w
	case "settings":
		return "setting"
	}
	return stemEnd(stemVerb(stemPlural(w)))
}

func plainWord(w string) bool {
	for i := range len(w) {
		if w[i] < 'a' || w[i] > 'z' {
			return false
		}
	}
	return true
}

func stemPlural(w string) string {
	switch {
	case strings.HasSuffix(w, "ies") && len(w) > 4:
		return w[:len(w)-3] + "y"
	case strings.HasSuffix(w, "sses"), strings.HasSuffix(w, "ches"), strings.HasSuffix(w, "shes"), strings.HasSuffix(w, "xes"):
		return w[:len(w)-2]
	case strings.HasSuffix(w, "ss"), strings.HasSuffix(w, "us"), strings.HasSuffix(w, "is"):
		return w
	case strings.HasSuffix(w, "s"):
		return w[:len(w)-1]
	}
	return w
}

func stemVerb(w string) string {
	switch {
	case strings.HasSuffix(w, "ied") && len(w) > 4:
		return w[:len(w)-3] + "y"
	case strings.HasSuffix(w, "ing") && len(w) > 5 && hasVowel(w[:len(w)-3]):
		return undouble(w[:len(w)-3])
	case strings.HasSuffix(w, "eed"):
		return w
	case strings.HasSuffix(w, "ed") && len(w) > 4 && hasVowel(w[:len(w)-2]):
		return undouble(w[:len(w)-2])
	case strings.HasSuffix(w, "tion") && len(w) > 7:
		return w[:len(w)-3]
	}
	return w
}

func stemEnd(w string) string {
	if len(w) > 3 && w[len(w)-1] == 'e' && w[len(w)-2] != 'e' {
		return w[:len(w)-1]
	}
	return w
}

func hasVowel(w string) bool { return strings.ContainsAny(w, "aeiouy") }

// undouble turns "runn" into "run" and keeps "install", "process" and "buzz".
func undouble(w string) string {
	n := len(w)
	if n > 3 && w[n-1] == w[n-2] && w[n-1] != 'l' && w[n-1] != 's' && w[n-1] != 'z' {
		return w[:n-1]
	}
	return w
}
