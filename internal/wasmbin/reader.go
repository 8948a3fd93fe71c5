package wasmbin

import "fmt"

// reader walks a byte slice. The first fault sticks: later reads return zero
// values, so that callers check once at the end of a construct.
type reader struct {
	b    []byte
	pos  int
	base int // offset of b[0] in the module, for error texts
	err  error
}

func (r *reader) fail(kind error, format string, args ...any) {
	if r.err == nil {
		r.err = &FormatError{Offset: r.base + r.pos, Detail: fmt.Sprintf(format, args...), Kind: kind}
	}
}

func (r *reader) left() int { return len(r.b) - r.pos }
func (r *reader) done() bool {
	return r.err != nil || r.pos >= len(r.b)
}

func (r *reader) byte() byte {
	if r.err != nil {
		return 0
	}
	if r.pos >= len(r.b) {
		r.fail(ErrMalformed, "unexpected end")
		return 0
	}
	c := r.b[r.pos]
	r.pos++
	return c
}

func (r *reader) bytes(n int) []byte {
	if r.err != nil {
		return nil
	}
	if n < 0 || n > r.left() {
		r.fail(ErrMalformed, "it declares more bytes than it has: %d of %d", n, r.left())
		return nil
	}
	s := r.b[r.pos : r.pos+n : r.pos+n]
	r.pos += n
	return s
}

// u32 reads an unsigned LEB128 of at most 32 bits (core spec 5.2.2).
func (r *reader) u32() uint32 {
	if r.err == nil && r.pos < len(r.b) && r.b[r.pos] < 0x80 { // nearly always
		r.pos++
		return uint32(r.b[r.pos-1])
	}
	var v uint64
	for shift := 0; ; shift += 7 {
		c := r.byte()
		if r.err != nil {
			return 0
		}
		if shift == 28 && c > 0x0f {
			r.fail(ErrMalformed, "integer is longer than 32 bits")
			return 0
		}
		v |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return uint32(v)
		}
	}
}

// s32 reads a signed LEB128 of 32 bits.
func (r *reader) s32() int32 {
	var v int64
	for shift := 0; shift < 35; shift += 7 {
		c := r.byte()
		if r.err != nil {
			return 0
		}
		v |= int64(c&0x7f) << shift
		if c < 0x80 {
			if c&0x40 != 0 {
				v |= -1 << (shift + 7)
			}
			return int32(v)
		}
	}
	r.fail(ErrMalformed, "integer is longer than 32 bits")
	return 0
}

// skipLEB passes over a LEB128 of at most bits bits, signed or not.
func (r *reader) skipLEB(bits int) {
	for n := (bits + 6) / 7; n > 0; n-- {
		if r.byte() < 0x80 || r.err != nil {
			return
		}
	}
	r.fail(ErrMalformed, "integer is longer than %d bits", bits)
}

// count reads the length of a vector whose elements take at least min bytes
// each, so that a declared length never sizes an allocation by itself.
func (r *reader) count(min int) int {
	n := r.u32()
	if r.err == nil && int64(n)*int64(min) > int64(r.left()) {
		r.fail(ErrMalformed, "it declares more entries than it has bytes: %d in %d", n, r.left())
		return 0
	}
	return int(n)
}

// items is count for what Decode keeps an entry of.
func (r *reader) items(min int) int {
	n := r.count(min)
	if n > maxItems {
		r.fail(ErrBound, "a section has %d entries, more than %d", n, maxItems)
		return 0
	}
	return n
}

func (r *reader) name() string { return string(r.bytes(int(r.u32()))) }

// appendU32 appends v as unsigned LEB128.
func appendU32(b []byte, v uint32) []byte {
	for v >= 0x80 {
		b = append(b, byte(v)|0x80)
		v >>= 7
	}
	return append(b, byte(v))
}

// appendS32 appends v as signed LEB128.
func appendS32(b []byte, v int32) []byte {
	for {
		c := byte(v & 0x7f)
		v >>= 7
		if v == 0 && c&0x40 == 0 || v == -1 && c&0x40 != 0 {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}
