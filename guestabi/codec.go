package guestabi

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// The value codec: how the host hands values to the guest. Text and numbers are
// copied instead of parsed again. A value is a tag byte and its content, numbers
// in little-endian order:
//
//	0 undefined   1 null   2 false   3 true
//	4 int32 (4 bytes)      5 float64 (8 bytes)
//	6 string: u32 length, UTF-8
//	7 array: u32 count, values
//	8 object: u32 count, for each member u32 length, key, value
//
// These are the JSON-safe values. Tags from 16 on are reserved for what
// structured cloning adds: bigint, Date, Map, Set, buffers, references.
const (
	TagUndefined byte = iota
	TagNull
	TagFalse
	TagTrue
	TagInt32
	TagFloat64
	TagString
	TagArray
	TagObject
)

// MaxValueDepth bounds the nesting of a value.
const MaxValueDepth = 256

// maxSafe is Number.MAX_SAFE_INTEGER, 2**53-1. Integers beyond it, and below its negative, become strings.
const maxSafe = "9007199254740991"

// ErrValue reports text that is no JSON value within the codec's bounds.
var ErrValue = errors.New("no JSON value")

// AppendString appends the encoding of a string.
func AppendString(dst []byte, s string) []byte {
	dst = binary.LittleEndian.AppendUint32(append(dst, TagString), uint32(len(s)))
	return append(dst, s...)
}

// AppendJSON appends the encoding of a value given as JSON text. Lone surrogates
// in escapes become U+FFFD; an integer that JavaScript's numbers cannot hold exactly becomes a string of its digits.
func AppendJSON(dst, text []byte) ([]byte, error) {
	t := transcoder{in: text, out: dst}
	t.space()
	if err := t.value(0); err != nil {
		return dst, err
	}
	t.space()
	if t.pos != len(t.in) {
		return dst, t.fault("text after the value")
	}
	return t.out, nil
}

type transcoder struct {
	in  []byte
	pos int
	out []byte
}

func (t *transcoder) fault(what string) error {
	return fmt.Errorf("%w: %s at byte %d", ErrValue, what, t.pos)
}

func (t *transcoder) space() {
	for t.pos < len(t.in) {
		switch t.in[t.pos] {
		case ' ', '\t', '\n', '\r':
			t.pos++
		default:
			return
		}
	}
}

func (t *transcoder) value(depth int) error {
	if t.pos >= len(t.in) {
		return t.fault("unexpected end")
	}
	switch c := t.in[t.pos]; {
	case c == '"':
		t.out = append(t.out, TagString)
		return t.text()
	case c == '{':
		return t.object(depth + 1)
	case c == '[':
		return t.array(depth + 1)
	case c == 'n':
		return t.word("null", TagNull)
	case c == 't':
		return t.word("true", TagTrue)
	case c == 'f':
		return t.word("false", TagFalse)
	case c == '-' || c >= '0' && c <= '9':
		return t.number()
	}
	return t.fault("unexpected character")
}

func (t *transcoder) word(w string, tag byte) error {
	if len(t.in)-t.pos < len(w) || string(t.in[t.pos:t.pos+len(w)]) != w {
		return t.fault("unexpected word")
	}
	t.pos += len(w)
	t.out = append(t.out, tag)
	return nil
}

// number follows RFC 8259, section 6.
func (t *transcoder) number() error {
	start := t.pos
	integer := true
	if t.in[t.pos] == '-' {
		t.pos++
	}
	first := t.pos
	if !t.digits() || t.in[first] == '0' && t.pos-first > 1 {
		return t.fault("malformed number")
	}
	if t.pos < len(t.in) && t.in[t.pos] == '.' {
		integer = false
		t.pos++
		if !t.digits() {
			return t.fault("malformed number")
		}
	}
	if t.pos < len(t.in) && (t.in[t.pos] == 'e' || t.in[t.pos] == 'E') {
		integer = false
		t.pos++
		if t.pos < len(t.in) && (t.in[t.pos] == '+' || t.in[t.pos] == '-') {
			t.pos++
		}
		if !t.digits() {
			return t.fault("malformed number")
		}
	}
	s := string(t.in[start:t.pos])
	if integer && len(s) <= 11 && s != "-0" {
		if n, err := strconv.ParseInt(s, 10, 32); err == nil {
			t.out = binary.LittleEndian.AppendUint32(append(t.out, TagInt32), uint32(int32(n)))
			return nil
		}
	}
	if digits := s[first-start:]; integer && (len(digits) > len(maxSafe) || len(digits) == len(maxSafe) && digits > maxSafe) {
		// A number of JavaScript would be another integer: its digits as text lose nothing.
		t.out = AppendString(t.out, s)
		return nil
	}
	// Out of range gives ±Inf, as JSON.parse does.
	f, _ := strconv.ParseFloat(s, 64)
	t.out = binary.LittleEndian.AppendUint64(append(t.out, TagFloat64), math.Float64bits(f))
	return nil
}

func (t *transcoder) digits() bool {
	start := t.pos
	for t.pos < len(t.in) && t.in[t.pos] >= '0' && t.in[t.pos] <= '9' {
		t.pos++
	}
	return t.pos > start
}

// text appends length and bytes of a string literal.
func (t *transcoder) text() error {
	at := len(t.out)
	t.out = append(t.out, 0, 0, 0, 0)
	t.pos++
	for {
		start := t.pos
		t.pos += plain(t.in[t.pos:])
		if run := t.in[start:t.pos]; utf8.Valid(run) {
			t.out = append(t.out, run...)
		} else {
			return t.fault("text that is not UTF-8")
		}
		if t.pos >= len(t.in) || t.in[t.pos] < ' ' {
			return t.fault("unterminated string")
		}
		if t.in[t.pos] == '"' {
			t.pos++
			binary.LittleEndian.PutUint32(t.out[at:], uint32(len(t.out)-at-4))
			return nil
		}
		if err := t.escape(); err != nil {
			return err
		}
	}
}

// plain counts the bytes before the next quote, backslash or control character,
// eight at a time: a byte b has its high bit set in x where b is 0, by the usual
// trick (x - 0x01…) & ^x & 0x80…, which may also mark bytes above a true hit.
func plain(b []byte) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	n := 0
	for ; len(b)-n >= 8; n += 8 {
		x := binary.LittleEndian.Uint64(b[n:])
		q, s := x^(ones*'"'), x^(ones*'\\')
		hit := (q-ones)&^q | (s-ones)&^s | (x-ones*' ')&^x
		if hit&highs != 0 {
			break
		}
	}
	for n < len(b) && b[n] != '"' && b[n] != '\\' && b[n] >= ' ' {
		n++
	}
	return n
}

func (t *transcoder) escape() error {
	if t.pos+1 >= len(t.in) {
		return t.fault("unterminated string")
	}
	c := t.in[t.pos+1]
	const from, to = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
	for i := range len(from) {
		if from[i] == c {
			t.out = append(t.out, to[i])
			t.pos += 2
			return nil
		}
	}
	r, ok := t.unicode()
	if !ok {
		return t.fault("malformed escape")
	}
	if utf16.IsSurrogate(r) {
		at := t.pos
		if low, ok := t.unicode(); ok {
			if full := utf16.DecodeRune(r, low); full != utf8.RuneError {
				t.out = utf8.AppendRune(t.out, full)
				return nil
			}
		}
		t.pos = at
		r = utf8.RuneError
	}
	t.out = utf8.AppendRune(t.out, r)
	return nil
}

// unicode reads \uXXXX.
func (t *transcoder) unicode() (rune, bool) {
	if len(t.in)-t.pos < 6 || t.in[t.pos] != '\\' || t.in[t.pos+1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(t.in[t.pos+2:t.pos+6]), 16, 16)
	if err != nil {
		return 0, false
	}
	t.pos += 6
	return rune(n), true
}

func (t *transcoder) array(depth int) error {
	return t.items(TagArray, ']', depth, func() error { return t.value(depth) })
}

func (t *transcoder) object(depth int) error {
	return t.items(TagObject, '}', depth, func() error {
		if t.pos >= len(t.in) || t.in[t.pos] != '"' {
			return t.fault("a key must be a string")
		}
		if err := t.text(); err != nil {
			return err
		}
		t.space()
		if t.pos >= len(t.in) || t.in[t.pos] != ':' {
			return t.fault("':' expected")
		}
		t.pos++
		t.space()
		return t.value(depth)
	})
}

func (t *transcoder) items(tag, end byte, depth int, item func() error) error {
	if depth > MaxValueDepth {
		return t.fault("nested too deeply")
	}
	at := len(t.out) + 1
	t.out = append(t.out, tag, 0, 0, 0, 0)
	t.pos++
	t.space()
	var n uint32
	for t.pos < len(t.in) && (t.in[t.pos] != end || n > 0) {
		if err := item(); err != nil {
			return err
		}
		n++
		t.space()
		if t.pos >= len(t.in) {
			break
		}
		if t.in[t.pos] == end {
			break
		}
		if t.in[t.pos] != ',' {
			return t.fault("',' expected")
		}
		t.pos++
		t.space()
	}
	if t.pos >= len(t.in) {
		return t.fault("unexpected end")
	}
	t.pos++
	binary.LittleEndian.PutUint32(t.out[at:], n)
	return nil
}
