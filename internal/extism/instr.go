package extism

// Bounds on how much a module branches. wazero's compiler takes time with the square of it, function by function: ten
// thousand loops in one function cost two seconds, a hundred thousand several minutes, and nothing can interrupt it. The
// largest function of a Go plugin has some twelve hundred branches, all of its functions together sixteen million squared.
const (
	maxBranches      = 20_000        // of one function
	maxBranchSquares = 2_000_000_000 // sum of their squares over a module, some 40 seconds
)

// immediate is what follows an opcode.
type immediate byte

const (
	immNone    immediate = iota
	immUnknown           // of a proposal that is not supported
	immNumber            // a number in LEB128, signed or not
	immTwo               // two of them
	immByte
	imm4
	imm8
	immBlock // a block type: a number, too
	immBranch
	immTable  // br_table
	immSelect // a vector of types
	immMisc   // the 0xfc group
	immVector // the 0xfd group
)

var immediates = func() (t [256]immediate) {
	set := func(imm immediate, from, to byte) {
		for op := int(from); op <= int(to); op++ {
			t[op] = imm
		}
	}
	set(immUnknown, 0x00, 0xff)
	for _, op := range []byte{0x00, 0x01, 0x05, 0x0b, 0x0f, 0x1a, 0x1b, 0xd1} {
		t[op] = immNone
	}
	set(immBlock, 0x02, 0x04)  // block, loop, if
	t[0x0c] = immNumber        // br
	t[0x0d] = immBranch        // br_if
	t[0x0e] = immTable         // br_table
	t[0x10] = immNumber        // call
	t[0x11] = immTwo           // call_indirect
	t[0x1c] = immSelect        // select of types
	set(immNumber, 0x20, 0x26) // variables and tables
	set(immTwo, 0x28, 0x3e)    // loads and stores
	set(immByte, 0x3f, 0x40)   // memory.size, memory.grow
	set(immNumber, 0x41, 0x42) // i32.const, i64.const
	t[0x43], t[0x44] = imm4, imm8
	set(immNone, 0x45, 0xc4)              // arithmetic
	t[0xd0], t[0xd2] = immByte, immNumber // ref.null, ref.func
	t[0xfc], t[0xfd] = immMisc, immVector
	return t
}()

// branches walks a function's instructions and counts what splits its flow. Whether they are valid is for wazero to
// say; this only has to stay in step.
func (c *cursor) branches() (n int) {
	for len(c.b) > 0 && c.err == nil {
		op := c.b[0]
		c.b = c.b[1:]
		switch immediates[op] {
		case immNone:
		case immNumber:
			c.skip()
		case immTwo:
			c.skip()
			c.skip()
		case immBlock, immBranch:
			n++
			c.skip()
		case immByte:
			c.byte()
		case imm4:
			c.bytes(4)
		case imm8:
			c.bytes(8)
		case immTable:
			targets := c.count()
			n += int(targets) / 4
			for range targets {
				c.skip()
			}
			c.skip()
		case immSelect:
			c.types()
		case immMisc:
			c.misc(c.u32())
		case immVector:
			c.vector(c.u32())
		default:
			c.fail("the instruction 0x%02x is of a proposal that is not supported", op)
		}
	}
	return n
}

// skip passes over a number.
func (c *cursor) skip() {
	for i, b := range c.b {
		if b < 0x80 {
			c.b = c.b[i+1:]
			return
		}
	}
	c.fail("it is cut off")
}

// misc is the 0xfc group: saturating conversions, bulk memory, tables.
func (c *cursor) misc(op uint32) {
	switch {
	case op <= 7:
	case op == 9, op == 11, op == 13, op >= 15 && op <= 17:
		c.skip()
	case op == 8, op == 10, op == 12, op == 14:
		c.skip()
		c.skip()
	default:
		c.fail("the instruction 0xfc %d is of a proposal that is not supported", op)
	}
}

// vector is the 0xfd group: SIMD.
func (c *cursor) vector(op uint32) {
	switch {
	case op <= 11, op == 92, op == 93: // loads and stores
		c.skip()
		c.skip()
	case op == 12, op == 13: // v128.const, i8x16.shuffle
		c.bytes(16)
	case op >= 21 && op <= 34: // lanes
		c.byte()
	case op >= 84 && op <= 91: // loads and stores of lanes
		c.skip()
		c.skip()
		c.byte()
	case op > 255:
		c.fail("the instruction 0xfd %d is of a proposal that is not supported", op)
	}
}
