package extism

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// cursor reads the binary format. After a fault it gives zeros and remembers the first fault.
type cursor struct {
	b   []byte
	err error
}

func (c *cursor) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf(format, args...)
	}
	c.b = nil
}

func (c *cursor) byte() byte {
	if len(c.b) == 0 {
		c.fail("it is cut off")
		return 0
	}
	v := c.b[0]
	c.b = c.b[1:]
	return v
}

func (c *cursor) u32() uint32 {
	v, n := binary.Uvarint(c.b[:min(len(c.b), 5)])
	if n <= 0 || v > 1<<32-1 {
		c.fail("a number is malformed")
		return 0
	}
	c.b = c.b[n:]
	return uint32(v)
}

func (c *cursor) bytes(n uint32) []byte {
	if int64(n) > int64(len(c.b)) {
		c.fail("it declares more bytes than it has")
		return nil
	}
	v := c.b[:n]
	c.b = c.b[n:]
	return v
}

// count reads the length of a vector. Each entry takes a byte at least, so that a larger length is a lie.
func (c *cursor) count() uint32 {
	n := c.u32()
	if int64(n) > int64(len(c.b)) {
		c.fail("it declares more entries than it has bytes")
		return 0
	}
	return n
}

func (c *cursor) name() string { return string(c.bytes(c.u32())) }

func (c *cursor) types() []byte {
	n := c.count()
	if n > maxParams {
		c.fail("a function has %d parameters or results, more than %d", n, maxParams)
		return nil
	}
	t := c.bytes(n)
	if slices.Contains(t, 0x63) || slices.Contains(t, 0x64) { // typed references: longer than a byte
		c.fail("a type is of a proposal that is not supported")
	}
	return t
}

// constExpr skips a constant expression. If it is one i32.const and nothing else, that is its value, as an address.
func (c *cursor) constExpr() (value int64, isConst bool) {
	for n := 0; c.err == nil; n++ {
		switch op := c.byte(); op {
		case 0x0b: // end
			return value, isConst && n == 1
		case 0x41: // i32.const
			value, isConst = int64(uint32(c.signed(5))), true
		case 0x42: // i64.const
			c.signed(10)
		case 0x43: // f32.const
			c.bytes(4)
		case 0x44: // f64.const
			c.bytes(8)
		case 0x23, 0xd2: // global.get, ref.func
			c.u32()
		case 0xd0: // ref.null
			c.byte()
		case 0x6a, 0x6b, 0x6c, 0x7c, 0x7d, 0x7e: // extended constants
		default:
			c.fail("a constant expression has the unsupported instruction 0x%02x", op)
		}
	}
	return 0, false
}

// signed reads a signed number of at most the given bytes.
func (c *cursor) signed(most int) int64 {
	var v int64
	for i := range most {
		b := c.byte()
		v |= int64(b&0x7f) << (7 * i)
		if b&0x80 == 0 {
			if shift := 7 * (i + 1); b&0x40 != 0 && shift < 64 {
				v |= -1 << shift
			}
			return v
		}
	}
	c.fail("a number is malformed")
	return 0
}
