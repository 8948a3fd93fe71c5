package wasmbin

// Value types for signatures, 5.3.1.
const (
	I32 byte = 0x7f
	I64 byte = 0x7e
	F64 byte = 0x7c
	// V128 is a vector of 128 bits.
	V128 byte = 0x7b
)

// Code assembles the body of a function for AddFunc, or instructions for
// Prepend. Each method appends one instruction and returns the longer code.
type Code []byte

// NewBody starts a function body with n locals of type i32.
func NewBody(n int) Code {
	if n == 0 {
		return Code{0}
	}
	return append(appendU32(Code{1}, uint32(n)), I32)
}

// Get reads local i.
func (c Code) Get(i uint32) Code { return appendU32(append(c, opLocalGet), i) }

// Set writes local i.
func (c Code) Set(i uint32) Code { return appendU32(append(c, opLocalSet), i) }

// GlobalSet writes global i.
func (c Code) GlobalSet(i uint32) Code { return appendU32(append(c, opGlobalSet), i) }

// I32 pushes a constant.
func (c Code) I32(v int32) Code { return appendS32(append(c, opI32Const), v) }

// I64 pushes a constant that fits 32 bits.
func (c Code) I64(v int32) Code { return appendS32(append(c, 0x42), v) }

// Call calls function fn.
func (c Code) Call(fn uint32) Code { return appendU32(append(c, opCall), fn) }

// Op appends single-byte instructions as they are.
func (c Code) Op(op ...byte) Code { return append(c, op...) }

// Block opens a block without results, Loop a loop, If a conditional.
func (c Code) Block() Code { return append(c, opBlock, blockEmpty) }

// Loop opens a loop without results.
func (c Code) Loop() Code { return append(c, opLoop, blockEmpty) }

// If opens a conditional without results.
func (c Code) If() Code { return append(c, opIf, blockEmpty) }

// End closes a block, a loop, a conditional or the body.
func (c Code) End() Code { return append(c, opEnd) }

// Br branches to the label at the given depth.
func (c Code) Br(depth uint32) Code { return appendU32(append(c, 0x0c), depth) }

// BrIf branches if the value on top is not zero.
func (c Code) BrIf(depth uint32) Code { return appendU32(append(c, opBrIf), depth) }

// BrTable branches to depth 0..n-1 by the value on top, and to n otherwise.
func (c Code) BrTable(n uint32) Code {
	c = appendU32(append(c, opBrTable), n)
	for i := range n + 1 {
		c = appendU32(c, i)
	}
	return c
}

// Return leaves the function.
func (c Code) Return() Code { return append(c, 0x0f) }

// Unreachable traps.
func (c Code) Unreachable() Code { return append(c, opUnreachable) }

// ExtendU turns an i32 into an i64 without sign.
func (c Code) ExtendU() Code { return append(c, 0xad) }

// ExtendS turns an i32 into an i64 with its sign.
func (c Code) ExtendS() Code { return append(c, 0xac) }

// Store64 stores an i64 at the address below it on the stack.
func (c Code) Store64(offset uint32) Code { return appendU32(append(c, 0x37, 3), offset) }

// Load64 loads an i64.
func (c Code) Load64(offset uint32) Code { return appendU32(append(c, 0x29, 3), offset) }

// Store32 stores an i32 at the address below it on the stack.
func (c Code) Store32(offset uint32) Code { return appendU32(append(c, 0x36, 2), offset) }

// Load32 loads an i32.
func (c Code) Load32(offset uint32) Code { return appendU32(append(c, opI32Load, 2), offset) }

// NewLocals starts a function body with n32 locals of type i32 and then n64 of
// type i64.
func NewLocals(n32, n64 int) Code {
	c := append(appendU32(Code{2}, uint32(n32)), I32)
	return append(appendU32(c, uint32(n64)), I64)
}

// GlobalGet reads global i.
func (c Code) GlobalGet(i uint32) Code { return appendU32(append(c, opGlobalGet), i) }

// I64Const pushes a constant of 64 bits.
func (c Code) I64Const(v int64) Code {
	c = append(c, 0x42)
	for {
		b := byte(v & 0x7f)
		v >>= 7
		if v == 0 && b&0x40 == 0 || v == -1 && b&0x40 != 0 {
			return append(c, b)
		}
		c = append(c, b|0x80)
	}
}

// Load8 loads a byte without sign.
func (c Code) Load8(offset uint32) Code { return appendU32(append(c, 0x2d, 0), offset) }

// LoadF64 loads a float64.
func (c Code) LoadF64(offset uint32) Code { return appendU32(append(c, 0x2b, 0), offset) }

// Splat makes a vector of two i64 that are the same.
func (c Code) Splat() Code { return append(c, opPrefixVector, 18) }

// Lane takes an i64 out of a vector: lane 0 or 1.
func (c Code) Lane(n byte) Code { return append(c, opPrefixVector, 29, n) }

// SetLane puts an i64 into the vector below it on the stack.
func (c Code) SetLane(n byte) Code { return append(c, opPrefixVector, 30, n) }
