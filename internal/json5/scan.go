package json5

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// eof is what peek gives at the end. It is no code point.
const eof rune = -1

const byteOrderMark = '\uFEFF'

// scanner walks over the code points of a document that is known to be UTF-8 and keeps count of lines and columns.
type scanner struct {
	file string
	data []byte
	off  int
	pos  Pos // of data[off]
}

// peek is the code point at the current position, which stays.
func (s *scanner) peek() rune {
	if s.off >= len(s.data) {
		return eof
	}
	if c := s.data[s.off]; c < utf8.RuneSelf {
		return rune(c)
	}
	r, _ := utf8.DecodeRune(s.data[s.off:])
	return r
}

// peekByte is the byte at a distance from the current position, and 0 beyond the end.
func (s *scanner) peekByte(distance int) byte {
	if s.off+distance >= len(s.data) {
		return 0
	}
	return s.data[s.off+distance]
}

// next takes the code point at the current position.
func (s *scanner) next() rune {
	r := s.peek()
	if r == eof {
		return eof
	}
	s.off += utf8.RuneLen(r)
	if r == '\n' || r == '\r' && s.peekByte(0) != '\n' {
		s.pos = Pos{s.pos.Line + 1, 1}
	} else {
		s.pos.Column++
	}
	return r
}

// accept takes the code point at the current position if it is r.
func (s *scanner) accept(r rune) bool {
	if s.peek() != r {
		return false
	}
	s.next()
	return true
}

// fail makes the error for a fault at pos; kind may be nil.
func (s *scanner) fail(pos Pos, kind error, format string, args ...any) error {
	return &SyntaxError{File: s.file, Line: pos.Line, Column: pos.Column, Message: fmt.Sprintf(format, args...), Err: kind}
}

// space takes white space and comments.
func (s *scanner) space() error {
	for {
		switch r := s.peek(); {
		case isSpace(r):
			s.next()
		case r == '/':
			if err := s.comment(); err != nil {
				return err
			}
		default:
			return nil
		}
	}
}

func (s *scanner) comment() error {
	start := s.pos
	s.next()
	switch s.peek() {
	case '/':
		for r := s.peek(); r != eof && !isLineTerminator(r); r = s.peek() {
			s.next()
		}
		return nil
	case '*':
		s.next()
		for r := s.next(); r != eof; r = s.next() {
			if r == '*' && s.accept('/') {
				return nil
			}
		}
		return s.fail(start, nil, "comment is not closed; end it with */")
	default:
		return s.fail(start, nil, "'/' begins no comment here; write // or /*")
	}
}

// isSpace follows the productions WhiteSpace and LineTerminator.
func isSpace(r rune) bool {
	switch r {
	case '\t', '\v', '\f', ' ', '\u00A0', byteOrderMark:
		return true
	}
	return isLineTerminator(r) || r >= utf8.RuneSelf && unicode.Is(unicode.Zs, r)
}

func isLineTerminator(r rune) bool {
	return r == '\n' || r == '\r' || r == '\u2028' || r == '\u2029'
}

// isNameStart follows IdentifierStart of ECMAScript 5.1, without the escape.
func isNameStart(r rune) bool {
	if 0 <= r && r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || r == '$' || r == '_'
	}
	return unicode.IsLetter(r) || unicode.Is(unicode.Nl, r)
}

// isNamePart follows IdentifierPart of ECMAScript 5.1, without the escape.
func isNamePart(r rune) bool {
	const zeroWidthNonJoiner, zeroWidthJoiner = '\u200C', '\u200D'
	if 0 <= r && r < utf8.RuneSelf {
		return isNameStart(r) || isDigit(r)
	}
	return isNameStart(r) || unicode.In(r, unicode.Mn, unicode.Mc, unicode.Nd, unicode.Pc) ||
		r == zeroWidthNonJoiner || r == zeroWidthJoiner
}

func isDigit(r rune) bool { return '0' <= r && r <= '9' }

// hexDigit is the value of a hexadecimal digit, and -1 for what is none.
func hexDigit(r rune) rune {
	switch {
	case isDigit(r):
		return r - '0'
	case 'a' <= r && r <= 'f':
		return r - 'a' + 10
	case 'A' <= r && r <= 'F':
		return r - 'A' + 10
	}
	return -1
}

// describe names a code point in an error text.
func describe(r rune) string {
	if r == eof {
		return "the end of the file"
	}
	return strconv.QuoteRune(r)
}

// quote quotes a piece of the document in an error text, and cuts what is long.
func quote(text string) string {
	const most = 40
	if utf8.RuneCountInString(text) <= most {
		return strconv.Quote(text)
	}
	var cut strings.Builder
	count := 0
	for _, r := range text {
		if count++; count > most {
			break
		}
		cut.WriteRune(r)
	}
	return strconv.Quote(cut.String()) + "…"
}
