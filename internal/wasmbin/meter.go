package wasmbin

import "fmt"

// Meter says how MeterLoops counts. The counter is a mutable global of the
// module itself, which wazero keeps in a register inside loops that call
// nothing, so that counting costs a subtraction, a store and a branch.
type Meter struct {
	// Quantum is the number of loop iterations between two checkpoints.
	Quantum int32
	// Module and Name identify an imported function of type () -> i32 that a
	// checkpoint calls. The checkpoint traps if bit 1 (value 2) of the result is
	// set. Bit 0 is left to the program, which may import the same function for
	// interrupts of its own.
	Module, Name string
	// BulkShift sets the price of memory.copy and memory.fill: n bytes cost
	// n>>BulkShift iterations. 1 to 31: without a shift, the longest lengths would
	// be negative numbers and add to the counter.
	BulkShift uint8
}

// MeterStats says what MeterLoops found and changed.
type MeterStats struct {
	Loops, Bulk         int    // loop headers, tail calls and bulk memory instructions metered
	Checkpoint, Counter uint32 // indices of the function and the global added
}

// MeterLoops makes code interruptible: each loop header, each tail call and each
// bulk memory instruction counts down a global, and calls the host when it runs
// out. A loop that calls nothing would otherwise hold its thread until it ends:
// neither Go's scheduler nor its garbage collector can stop native code.
//
// Plain calls are not metered. The runtime bounds how deep they nest, not how
// many they are: a function without a loop that calls itself twice takes time
// exponential in that depth. After an error the module is half edited and must
// be discarded.
func (m *Module) MeterLoops(mt Meter) (MeterStats, error) {
	var st MeterStats
	if mt.Quantum <= 0 || mt.BulkShift < 1 || mt.BulkShift > 31 {
		return st, fmt.Errorf("%w: quantum must be positive and bulk shift 1 to 31", ErrEdit)
	}
	hook, ok := m.ImportedFunc(mt.Module, mt.Name)
	if !ok {
		return st, fmt.Errorf("%w: no imported function %s.%s", ErrEdit, mt.Module, mt.Name)
	}
	if t, ok := m.FuncType(hook); !ok || len(t.Params) != 0 || string(t.Results) != string([]byte{valI32}) {
		return st, fmt.Errorf("%w: %s.%s must have type () -> i32", ErrEdit, mt.Module, mt.Name)
	}
	defined := len(m.bodies)
	counter, err := m.AddCounter(mt.Quantum)
	if err != nil {
		return st, err
	}
	if st.Checkpoint, err = m.AddFunc(FuncType{}, checkpointBody(mt, hook, counter)); err != nil {
		return st, err
	}
	st.Counter = counter
	imported := m.ImportedFuncs()
	for i := range defined {
		t, ok := m.FuncType(uint32(imported + i))
		if !ok {
			return st, &FormatError{Offset: m.bodyOff[i], Detail: "function of an unknown type", Kind: ErrMalformed}
		}
		if m.bodies[i], err = meterBody(m.bodies[i], m.bodyOff[i], len(t.Params), mt, &st); err != nil {
			return st, err
		}
	}
	return st, nil
}

// checkpointBody is: if hook()&2 trap; counter=quantum.
func checkpointBody(mt Meter, hook, counter uint32) []byte {
	b := []byte{0} // no locals
	b = appendU32(append(b, opCall), hook)
	b = append(b, opI32Const, 2, opI32And, opIf, blockEmpty, opUnreachable, opEnd)
	b = appendS32(append(b, opI32Const), mt.Quantum)
	b = appendU32(append(b, opGlobalSet), counter)
	return append(b, opEnd)
}

// meterBody rewrites one body; a new local holds the length of a bulk
// instruction while it is paid for.
func meterBody(body []byte, off, params int, mt Meter, st *MeterStats) ([]byte, error) {
	r := &reader{b: body, base: off}
	nLocals, start := r.locals()
	edits := findEdits(r, st)
	if r.err != nil {
		return nil, r.err
	}
	if len(edits) == 0 {
		return body, nil
	}
	tmp := uint32(params) + uint32(nLocals)
	out := make([]byte, 0, len(body)+len(edits)*24+8)
	out = appendLocalGroup(out, body[:start])
	pos := start
	for _, e := range edits {
		out = append(out, body[pos:e.at]...)
		pos = e.at
		if e.bulk {
			out = appendBulkPrice(out, tmp, mt.BulkShift, st)
		} else {
			out = appendU32(append(out, opGlobalGet), st.Counter)
			out = append(out, opI32Const, 1)
		}
		out = appendCountdown(out, st)
	}
	return append(out, body[pos:]...), nil
}

// appendBulkPrice keeps the length that is on top of the stack, and puts the
// counter and the price of a bulk instruction of that length on it.
func appendBulkPrice(b []byte, tmp uint32, shift uint8, st *MeterStats) []byte {
	b = appendU32(append(b, opLocalTee), tmp)
	b = appendU32(append(b, opLocalGet), tmp)
	b = appendS32(append(b, opI32Const), int32(shift))
	b = append(b, opI32ShrU)
	b = appendU32(append(b, opLocalSet), tmp)
	b = appendU32(append(b, opGlobalGet), st.Counter)
	return appendU32(append(b, opLocalGet), tmp)
}

// appendCountdown takes counter and price from the stack and writes:
// counter -= price; if counter < 0 checkpoint().
func appendCountdown(b []byte, st *MeterStats) []byte {
	b = append(b, opI32Sub)
	b = appendU32(append(b, opGlobalSet), st.Counter)
	b = appendU32(append(b, opGlobalGet), st.Counter)
	b = append(b, opI32Const, 0, opI32LtS, opIf, blockEmpty)
	b = appendU32(append(b, opCall), st.Checkpoint)
	return append(b, opEnd)
}

// appendLocalGroup copies the local declarations and adds one i32 at the end.
func appendLocalGroup(out, decl []byte) []byte {
	r := &reader{b: decl}
	groups := r.u32()
	out = appendU32(out, groups+1)
	out = append(out, decl[r.pos:]...)
	return append(out, 1, valI32)
}

type edit struct {
	at   int // offset in the body at which to insert
	bulk bool
}

// findEdits lists the places to insert at, in order.
func findEdits(r *reader, st *MeterStats) []edit {
	var edits []edit
	for !r.done() {
		in := r.instr()
		switch {
		case r.err != nil:
			return nil
		case in.code == opLoop:
			st.Loops++
			edits = append(edits, edit{at: in.end})
		case in.code == opReturnCall || in.code == opReturnCallIndirect: // loops without a header
			st.Loops++
			edits = append(edits, edit{at: in.start})
		case in.code == opPrefixMisc && (in.misc == miscMemoryCopy || in.misc == miscMemoryFill):
			st.Bulk++
			edits = append(edits, edit{at: in.start, bulk: true})
		}
	}
	return edits
}
