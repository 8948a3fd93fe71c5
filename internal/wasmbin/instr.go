package wasmbin

// Opcodes that the edits look at or write, 5.4.
const (
	opUnreachable        = 0x00
	opBlock              = 0x02
	opLoop               = 0x03
	opIf                 = 0x04
	opEnd                = 0x0b
	opBrIf               = 0x0d
	opBrTable            = 0x0e
	opCall               = 0x10
	opReturnCall         = 0x12
	opReturnCallIndirect = 0x13
	opRefFunc            = 0xd2
	opLocalGet           = 0x20
	opLocalSet           = 0x21
	opLocalTee           = 0x22
	opGlobalGet          = 0x23
	opGlobalSet          = 0x24
	opTableSet           = 0x26
	opI32Load            = 0x28
	opI32Const           = 0x41
	opI32LtS             = 0x48
	opI32Sub             = 0x6b
	opI32And             = 0x71
	opI32ShrU            = 0x76
	opPrefixMisc         = 0xfc
	opPrefixVector       = 0xfd

	miscMemoryInit = 8
	miscDataDrop   = 9
	miscMemoryCopy = 10
	miscMemoryFill = 11
	miscTableInit  = 12
	miscTableCopy  = 14
	miscTableGrow  = 15
	miscTableSize  = 16
	miscTableFill  = 17

	blockEmpty   = 0x40
	valI32       = 0x7f
	valFuncRef   = 0x70
	valExternRef = 0x6f
)

// instr is one decoded instruction: where it starts and ends in the body, and
// what the edits need of its immediates.
type instr struct {
	code       byte
	misc       uint32 // second opcode after 0xfc or 0xfd
	start, end int
	index      uint32 // of a function, for calls and ref.func; of a variable
	targets    int    // of br_table
}

// instr reads one instruction. Unknown opcodes are ErrUnsupported, and so is
// every encoding of which the runtime may see another length: code that hides in
// an immediate would not be metered.
func (r *reader) instr() instr {
	in := instr{start: r.pos}
	in.code = r.byte()
	switch c := in.code; {
	case c <= 0x01, c == 0x05, c == opEnd, c == 0x0f, c == 0x1a, c == 0x1b, c >= 0x45 && c <= 0xc4, c == 0xd1:
	case c >= opBlock && c <= opIf:
		r.blockType()
	case c == opCall, c == opReturnCall, c == opRefFunc, c >= opLocalGet && c <= opTableSet:
		in.index = r.u32()
	case c == 0x0c, c == opBrIf:
		r.u32()
	case c == opBrTable:
		in.targets = r.count(1)
		for n := in.targets + 1; n > 0 && r.err == nil; n-- {
			r.u32()
		}
	case c == 0x11, c == opReturnCallIndirect: // 0x11 is call_indirect
		r.u32()
		r.u32()
	case c == 0x1c:
		for n := r.count(1); n > 0 && r.err == nil; n-- {
			r.valType()
		}
	case c >= opI32Load && c <= 0x3e:
		r.memarg()
	case c == 0x3f, c == 0x40:
		if r.byte() != 0 {
			r.fail(ErrUnsupported, "memory index other than 0")
		}
	case c == opI32Const:
		r.skipLEB(32)
	case c == 0x42:
		r.skipLEB(64)
	case c == 0x43:
		r.bytes(4)
	case c == 0x44:
		r.bytes(8)
	case c == 0xd0:
		if t := r.byte(); t != valFuncRef && t != valExternRef {
			r.fail(ErrUnsupported, "null of reference type 0x%02x", t)
		}
	case c == opPrefixMisc:
		in.misc = r.u32()
		r.miscImmediates(in.misc)
	case c == opPrefixVector:
		at := r.pos
		in.misc = r.u32()
		// wazero takes the byte behind the prefix for the whole opcode. Of a longer
		// encoding than needed it would run what stands here as an immediate.
		if want := len(appendU32(nil, in.misc)); r.err == nil && r.pos-at != want {
			r.fail(ErrUnsupported, "vector opcode of %d bytes", r.pos-at)
		}
		r.vectorImmediates(in.misc)
	default:
		r.fail(ErrUnsupported, "opcode 0x%02x", c)
	}
	in.end = r.pos
	return in
}

// valType reads a value type, 5.3.1. Others, such as references to a type, are
// longer than a byte.
func (r *reader) valType() byte {
	t := r.byte()
	if r.err == nil && !isValType(t) {
		r.fail(ErrUnsupported, "value type 0x%02x", t)
	}
	return t
}

func isValType(t byte) bool {
	return t >= 0x7b && t <= valI32 || t == valFuncRef || t == valExternRef
}

// blockType reads a block's type, 5.4.1: nothing, a value type, or a type index,
// which is written as a signed number and must not be negative.
func (r *reader) blockType() {
	if r.left() > 0 && r.b[r.pos] == blockEmpty {
		r.pos++
		return
	}
	if r.left() > 0 && r.b[r.pos] > blockEmpty && r.b[r.pos] < 0x80 {
		r.valType()
		return
	}
	r.u32()
	if r.err == nil && r.b[r.pos-1]&0x40 != 0 {
		r.fail(ErrUnsupported, "negative block type")
	}
}

// memarg reads alignment and offset, 5.4.6. Bit 6 of the alignment announces a
// memory index (multi-memory), which is not supported.
func (r *reader) memarg() {
	if r.u32() >= 1<<6 {
		r.fail(ErrUnsupported, "memory operand with a memory index")
	}
	r.u32()
}

func (r *reader) miscImmediates(op uint32) {
	switch {
	case op <= 7: // saturating truncation
	case op == miscMemoryInit:
		r.u32()
		r.zero()
	case op == miscDataDrop, op == 13, op >= miscTableGrow && op <= miscTableFill:
		r.u32()
	case op == miscMemoryCopy:
		r.zero()
		r.zero()
	case op == miscMemoryFill:
		r.zero()
	case op == miscTableInit, op == 14:
		r.u32()
		r.u32()
	default:
		r.fail(ErrUnsupported, "opcode 0xfc %d", op)
	}
}

func (r *reader) zero() {
	if r.byte() != 0 {
		r.fail(ErrUnsupported, "memory index other than 0")
	}
}

func (r *reader) vectorImmediates(op uint32) {
	switch {
	case op <= 11, op == 92, op == 93:
		r.memarg()
	case op == 12, op == 13:
		r.bytes(16)
	case op >= 21 && op <= 34:
		r.byte()
	case op >= 84 && op <= 91:
		r.memarg()
		r.byte()
	case op <= 255:
	default:
		r.fail(ErrUnsupported, "opcode 0xfd %d", op)
	}
}

// locals reads a body's local declarations and gives the number of locals and
// where the instructions begin.
func (r *reader) locals() (n uint64, start int) {
	for groups := r.count(2); groups > 0 && r.err == nil; groups-- {
		n += uint64(r.u32())
		r.valType()
		if n > 50_000 { // the bound that engines share (JS API, implementation limits)
			r.fail(ErrMalformed, "more than 50,000 locals")
		}
	}
	return n, r.pos
}
