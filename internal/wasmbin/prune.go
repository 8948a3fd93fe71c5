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
		if err := markSection(s, mark); err != nil {
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

// markSection marks the functions that a section other than code refers to.
func markSection(s section, mark func(uint32)) error {
	r := &reader{b: s.raw, base: s.off}
	switch s.id {
	case secStart:
		mark(r.u32())
	case secElement:
		markElements(r, mark)
	case secGlobal:
		for n := r.count(3); n > 0 && r.err == nil; n-- {
			r.bytes(2)
			markConstant(r, mark)
		}
	}
	return r.err
}

// markConstant walks a constant expression, 3.3.10.
func markConstant(r *reader, mark func(uint32)) {
	for r.err == nil {
		in := r.instr()
		if in.code == opRefFunc {
			mark(in.index)
		}
		if in.code == opEnd {
			return
		}
	}
}

// markElements walks element segments of all eight forms, 5.5.12.
func markElements(r *reader, mark func(uint32)) {
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
			markConstant(r, mark)
		}
		if flag&3 != 0 {
			r.byte() // element kind or type
		}
		for k := r.count(1); k > 0 && r.err == nil; k-- {
			if flag&4 != 0 {
				markConstant(r, mark)
			} else {
				mark(r.u32())
			}
		}
	}
}
