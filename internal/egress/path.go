package egress

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// splitPath checks a URL path, which starts with "/", and gives it in the one form in which it is compared and sent, and
// the segments of that form; "/a/" has the segments "a" and "". The last result says what is wrong, and is "" where
// nothing is.
//
// Servers decode, clean and normalise paths in many ways. A path that any usual way turns into another one is refused:
// only then does a prefix mean the same here and there.
func splitPath(path string) (normal string, segments []string, problem string) {
	if problem := checkPathBytes(path); problem != "" {
		return "", nil, problem
	}
	normal = normalize(path)
	segments = strings.Split(normal[1:], "/")
	if len(segments) > 1 && segments[0] == "" {
		return "", nil, "the path starts with two slashes, which some servers read as another host"
	}
	for _, s := range segments {
		if strings.IndexByte(s, '%') >= 0 {
			s = decode(s)
		}
		if problem := checkSegment(s); problem != "" {
			return "", nil, problem
		}
	}
	if strings.Contains(normal, encodedDot) {
		return "", nil, "the path has an encoded dot; write the dot itself"
	}
	return normal, segments, ""
}

// encodedDot is how normalize leaves one. Nobody has a reason to write it, and it is half of a way out of a folder.
const encodedDot = "%2E"

// normalize undoes the percent encoding of characters that do not need it, dots apart, and writes the others with capital
// digits: RFC 3986, 6.2.2.1 and 6.2.2.2. What is equivalent for every server gets one form. An encoded reserved character is
// not equivalent to the plain one, ";" starts parameters and %3B does not: these stay, and are not equal here either.
// checkPathBytes has found the encodings to be whole.
func normalize(path string) string {
	if strings.IndexByte(path, '%') < 0 {
		return path
	}
	const digits = "0123456789ABCDEF"
	var out strings.Builder
	out.Grow(len(path))
	for i := 0; i < len(path); i++ {
		if path[i] != '%' {
			out.WriteByte(path[i])
			continue
		}
		high, low := unhex(path[i+1]), unhex(path[i+2])
		if b := byte(high<<4 | low); isAlpha(b) || isDigit(b) || b == '-' || b == '_' || b == '~' {
			out.WriteByte(b)
		} else {
			out.WriteByte('%')
			out.WriteByte(digits[high])
			out.WriteByte(digits[low])
		}
		i += 2
	}
	return out.String()
}

// checkPathBytes holds the raw path to the characters of RFC 3986 and whole percent encodings.
func checkPathBytes(path string) string {
	for i := 0; i < len(path); i++ {
		b := path[i]
		switch {
		case b == '%':
			if i+2 >= len(path) || unhex(path[i+1]) < 0 || unhex(path[i+2]) < 0 {
				return "a % in the path is not followed by two hexadecimal digits; write %25 for the character itself"
			}
			i += 2
		case b == '\\':
			return "the path has a backslash, which some servers read as a slash"
		case !isPathByte(b):
			return "the path has a character that has to be percent-encoded"
		}
	}
	return ""
}

func isPathByte(b byte) bool {
	return isAlpha(b) || isDigit(b) || strings.IndexByte("/-._~!$&'()*+,;=:@", b) >= 0
}

// decode undoes percent encodings that checkPathBytes found to be whole.
func decode(s string) string {
	var out strings.Builder
	out.Grow(len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' {
			out.WriteByte(byte(unhex(s[i+1])<<4 | unhex(s[i+2])))
			i += 2
			continue
		}
		out.WriteByte(s[i])
	}
	return out.String()
}

func unhex(b byte) int {
	switch {
	case isDigit(b):
		return int(b - '0')
	case 'a' <= b && b <= 'f':
		return int(b-'a') + 10
	case 'A' <= b && b <= 'F':
		return int(b-'A') + 10
	}
	return -1
}

// checkSegment refuses what a server may turn into a separator or a dot segment.
func checkSegment(s string) string {
	if plainSegment(s) {
		return ""
	}
	if !utf8.ValidString(s) {
		return "the path is not valid UTF-8 when decoded"
	}
	for i := range len(s) {
		switch b := s[i]; {
		case b < 0x20 || b == 0x7f:
			return "the path has an encoded control character"
		case b == '/' || b == '\\':
			return "the path has an encoded slash or backslash"
		case b == '%' && encodedTwice(s[i+1:]):
			return "the path is percent-encoded twice"
		}
	}
	if strings.ContainsAny(s, "／＼﹨％﹪") {
		return "the path has a wide slash, backslash or percent sign, which some servers read as the plain one"
	}
	if dotSegment(s) {
		return `the path has a "." or ".." segment, or one that some servers read as such; write the path without it`
	}
	return ""
}

// plainSegment is the quick way out: most segments have nothing to look at.
func plainSegment(s string) bool {
	dots := s != ""
	for i := range len(s) {
		b := s[i]
		if !isAlpha(b) && !isDigit(b) && b != '-' && b != '_' && b != '.' {
			return false
		}
		dots = dots && b == '.'
	}
	return !dots
}

// encodedTwice says whether what follows a % reads as an encoding: two digits, or IIS's %u002e.
func encodedTwice(rest string) bool {
	if len(rest) >= 1 && (rest[0] == 'u' || rest[0] == 'U') {
		return true
	}
	return len(rest) >= 2 && unhex(rest[0]) >= 0 && unhex(rest[1]) >= 0
}

// dotSegment says whether nothing but dots is left of a segment without its parameters (Tomcat reads "..;x" as ".."),
// blanks and invisible characters (Windows drops blanks and dots at the end), wide dots counted as dots (a server that
// normalises Unicode).
func dotSegment(s string) bool {
	s, _, _ = strings.Cut(s, ";")
	dots := false
	for _, r := range s {
		switch {
		case r == '.' || r == '．' || r == '﹒' || r == '․' || r == '‥' || r == '…':
			dots = true
		case unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Mn, r):
		default:
			return false
		}
	}
	return dots
}
