package wasmbin

// StubUnreachable empties the bodies of functions that neither an export, nor a
// table, nor the start function, nor a constant leads to. Indices stay. It gives
// the number of bodies emptied.
func (m *Module) StubUnreachable() (int, error) {
	imported := m.ImportedFuncs()
	reached := make([]bool, len(m.bodies))
	var work []int
	mark := func(fn uint32) {
		if i := int64(fn) - int64(imported); i >= 0 && i < int64(len(reached)) && !reached[i] {
			reached[i] = true
			work = append(work, int(i))
		}
	}
	for _, e := range m.Exports {
		if e.Kind == KindFunc {
			mark(e.Index)
		}
	}
	for _, s := range m.sections {
		if err := visitSection(s, func(fn uint32, _, _ int) { mark(fn) }); err != nil {
			return 0, err
		}
	}
	for len(work) > 0 {
		i := work[len(work)-1]
		work = work[:len(work)-1]
		r := &reader{b: m.bodies[i], base: m.bodyOff[i]}
		r.locals()
		for !r.done() {
			in := r.instr()
			if in.code == opCall || in.code == opReturnCall || in.code == opRefFunc {
				mark(in.index)
			}
		}
		if r.err != nil {
			return 0, r.err
		}
	}
	n := 0
	for i, ok := range reached {
		if !ok {
			m.bodies[i] = []byte{0, opUnreachable, opEnd}
			n++
		}
	}
	m.codeDirty = m.codeDirty || n > 0
	return n, nil
}

// visitor is told of a reference to a function, and where in the section's bytes
// its index stands.
type visitor func(fn uint32, at, end int)

// visitSection finds the references to functions in a section other than code
// and exports.
func visitSection(s section, visit visitor) error {
	r := &reader{b: s.raw, base: s.off}
	switch s.id {
	case secStart:
		r.visit(visit)
	case secElement:
		visitElements(r, visit)
	case secGlobal:
		for n := r.count(3); n > 0 && r.err == nil; n-- {
			r.bytes(2)
			visitConstant(r, visit)
		}
	default:
		return nil
	}
	if r.err == nil && r.left() != 0 {
		r.fail(ErrMalformed, "section %d has %d bytes after its end", s.id, r.left())
	}
	return r.err
}

// visit reads a function's index.
func (r *reader) visit(visit visitor) {
	at := r.pos
	if fn := r.u32(); r.err == nil {
		visit(fn, at, r.pos)
	}
}

// visitConstant walks a constant expression, 3.3.10.
func visitConstant(r *reader, visit visitor) {
	for r.err == nil {
		in := r.instr()
		if r.err == nil && in.code == opRefFunc {
			visit(in.index, in.start+1, in.end)
		}
		if in.code == opEnd {
			return
		}
	}
}

// visitElements walks element segments of all eight forms, 5.5.12.
func visitElements(r *reader, visit visitor) {
	for n := r.count(2); n > 0 && r.err == nil; n-- {
		flag := r.u32()
		if flag > 7 {
			r.fail(ErrUnsupported, "element segment of kind %d", flag)
			return
		}
		if flag&1 == 0 { // active
			if flag&2 != 0 {
				r.u32() // table
			}
			visitConstant(r, visit)
		}
		if flag&3 != 0 { // element kind or type; a longer type would shift what follows
			t := r.byte()
			if r.err == nil && (flag&4 == 0 && t != 0 || flag&4 != 0 && t != valFuncRef && t != valExternRef) {
				r.fail(ErrUnsupported, "element segment of type 0x%02x", t)
			}
		}
		for k := r.count(1); k > 0 && r.err == nil; k-- {
			if flag&4 != 0 {
				visitConstant(r, visit)
			} else {
				r.visit(visit)
			}
		}
	}
}
