// Package textedit finds and replaces parts of texts in which what is not touched stays as somebody wrote it: files of
// configuration, with their comments and their layout. Places are offsets in bytes.
package textedit

import "bytes"

// Splice replaces a part of a text. The text itself stays as it is.
func Splice(text []byte, from, to int, with string) []byte {
	out := make([]byte, 0, len(text)-(to-from)+len(with))
	return append(append(append(out, text[:from]...), with...), text[to:]...)
}

// LineBefore is what stands before a place in its line.
func LineBefore(text []byte, at int) []byte {
	return text[bytes.LastIndexByte(text[:at], '\n')+1 : at]
}

// IndentAt is the white space that begins the line of a place.
func IndentAt(text []byte, at int) string {
	line := LineBefore(text, at)
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// AfterNote steps over a comment that begins with // and ends the line: it belongs to what is before.
func AfterNote(text []byte, at int) int {
	end := len(text)
	if n := bytes.IndexAny(text[at:], "\r\n"); n >= 0 {
		end = at + n
	}
	if bytes.HasPrefix(bytes.TrimLeft(text[at:end], " \t"), []byte("//")) {
		return end
	}
	return at
}

// WholeLines widens a part to its whole lines if nothing else stands in them.
func WholeLines(text []byte, from, to int) (int, int) {
	before := LineBefore(text, from)
	end := to
	for end < len(text) && (text[end] == ' ' || text[end] == '\t' || text[end] == '\r') {
		end++
	}
	if len(bytes.TrimSpace(before)) > 0 || end == len(text) || text[end] != '\n' || len(before) == from {
		return from, to
	}
	return from - len(before), end + 1
}
