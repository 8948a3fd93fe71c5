package redact

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// patterns are what looks like a secret by itself, each with a text without which
// it is not worth looking: in small letters, as the pattern is slow. All are linear
// in the length of the text (package regexp).
var patterns = []struct {
	only string
	re   *regexp.Regexp
	with string
}{
	{"private key", regexp.MustCompile(`-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,20}-----(?s:.*?)(?:-----END [A-Z0-9 ]{0,40}-----|\z)`), Mark},
	{"://", regexp.MustCompile(`(://)[^\s/?#"'<>@]*(?:@[^\s/?#"'<>@]*)*@`), "${1}" + Mark + "@"},
	{"bearer", regexp.MustCompile(`(?i)\b(bearer)(\s+|%20|\+)[A-Za-z0-9._~+/=:%-]{8,}`), "${1}${2}" + Mark},
	{"basic", regexp.MustCompile(`(?i)\b(basic)(\s+|%20|\+)[A-Za-z0-9+/=_%-]{8,}`), "${1}${2}" + Mark},
	{":aa", regexp.MustCompile(`\b[0-9]{8,10}:AA[A-Za-z0-9_-]{24,}`), Mark}, // Telegram
}

// text takes secrets out of plain text.
func (r *Redactor) text(s string) string {
	s = Replace(s, r.forms)
	if len(s) < 4 {
		return s
	}
	lower := strings.ToLower(s)
	for _, p := range patterns {
		if strings.Contains(lower, p.only) {
			s = p.re.ReplaceAllString(s, p.with)
		}
	}
	return assignments(keys(s))
}

// assignments takes out the values of names that are secret: as in headers, forms,
// environments, YAML and pieces of JSON.
func assignments(s string) string {
	var b strings.Builder
	done, at := 0, 0 // done is written, at is where to look on
	for {
		i := strings.IndexAny(s[at:], ":=")
		if i < 0 {
			break
		}
		name := nameBefore(s[at : at+i])
		at += i + 1
		if name == "" || !Sensitive(name) {
			continue
		}
		rest := strings.TrimLeft(strings.TrimPrefix(s[at:], ">"), " \t\r\n")
		from := len(s) - len(rest)
		end := from + valueLength(rest, fold(name))
		at = end
		if end > from && s[from:end] != Mark {
			b.WriteString(s[done:from])
			b.WriteString(Mark)
			done = end
		}
	}
	if done == 0 {
		return s
	}
	b.WriteString(s[done:])
	return b.String()
}

// nameBefore gives the name at the end of s, without what closes its quotes.
func nameBefore(s string) string {
	s = strings.TrimRight(s, " \t")
	s = strings.TrimRight(s, "]\"'\\`")
	n := len(s)
	for n > 0 && len(s)-n < maxName && (alnum(s[n-1]) || strings.IndexByte("_-.", s[n-1]) >= 0 || s[n-1] >= utf8.RuneSelf) {
		n--
	}
	return s[n:]
}

// valueLength gives the length of a value at the start of s. A quote that nobody
// closes, and a list or an object, take more rather than less.
func valueLength(s, name string) int {
	if s == "" || strings.HasPrefix(s, Mark) {
		return min(len(s), len(Mark))
	}
	quoted := strings.TrimLeft(s, `\`)
	if q := s[len(s)-len(quoted):]; q != "" && (q[0] == '"' || q[0] == '\'' || q[0] == '`') {
		from := len(s) - len(quoted) + 1
		for i := from; i < len(s); i++ {
			if s[i] == q[0] && (from > 1 || s[i-1] != '\\') {
				return i + 1
			}
		}
		return len(s)
	}
	stop := " \t\r\n\"'`,;&<>)]}"
	if strings.Contains(name, "authorization") || strings.Contains(name, "cookie") {
		stop = "\r\n\"'`" // these have blanks inside
	}
	if s[0] == '{' || s[0] == '[' {
		stop = "\r\n"
	}
	if i := strings.IndexAny(s, stop); i >= 0 {
		return i
	}
	return len(s)
}
