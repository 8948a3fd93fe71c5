package settings

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/cloister-wasm/cloister/internal/json5"
)

// offset is the place of a position in the text. Columns count code points, and a
// byte order mark has none.
func (d *document) offset(pos json5.Pos) int {
	at := 0
	if bytes.HasPrefix(d.text, []byte("\ufeff")) {
		at = len("\ufeff")
	}
	for line, column := 1, 1; at < len(d.text) && (line < pos.Line || column < pos.Column); {
		r, n := utf8.DecodeRune(d.text[at:])
		at += n
		if r == '\n' || r == '\r' && (at == len(d.text) || d.text[at] != '\n') {
			line, column = line+1, 1
		} else {
			column++
		}
	}
	return at
}

// skipSpace steps over white space and comments of a document without faults.
func (d *document) skipSpace(at int) int {
	for at < len(d.text) {
		rest := d.text[at:]
		switch r, n := utf8.DecodeRune(rest); {
		case bytes.HasPrefix(rest, []byte("//")), bytes.HasPrefix(rest, []byte("/*")):
			at = d.skipComment(at)
		case unicode.IsSpace(r), r == '\ufeff':
			at += n
		default:
			return at
		}
	}
	return at
}

func (d *document) skipComment(at int) int {
	rest := d.text[at:]
	if rest[1] == '*' {
		if end := bytes.Index(rest[2:], []byte("*/")); end >= 0 {
			return at + 2 + end + 2
		}
		return len(d.text)
	}
	if end := bytes.IndexFunc(rest, func(r rune) bool { return r == '\n' || r == '\r' || r == '\u2028' || r == '\u2029' }); end >= 0 {
		return at + end
	}
	return len(d.text)
}

// valueEnd is the end of the value that begins at a place.
func (d *document) valueEnd(at int) int {
	depth := 0
	for at < len(d.text) {
		switch c := d.text[at]; {
		case c == '"' || c == '\'':
			at = d.stringEnd(at)
		case c == '{' || c == '[':
			depth++
			at++
		case c == '}' || c == ']':
			depth--
			at++
		case bytes.HasPrefix(d.text[at:], []byte("//")), bytes.HasPrefix(d.text[at:], []byte("/*")):
			at = d.skipComment(at)
			continue
		case depth == 0: // a literal
			for at < len(d.text) && !strings.ContainsRune(",]}/", rune(d.text[at])) && d.skipSpace(at) == at {
				at++
			}
		default:
			at++
			continue
		}
		if depth == 0 {
			return at
		}
	}
	return at
}

func (d *document) stringEnd(at int) int {
	quote := d.text[at]
	for at++; at < len(d.text); at++ {
		switch d.text[at] {
		case '\\':
			at++
		case quote:
			return at + 1
		}
	}
	return at
}
