package wasmbin

import (
	"fmt"
	"slices"
)

// GuestMeter says how MeterGuest counts.
type GuestMeter struct {
	// Quantum is the number of units between two checkpoints.
	Quantum int32
	// Unit is the number of instructions that a unit stands for.
	Unit uint32
	// Module and Name are those of the import that is added: a function of type
	// () -> i32. A checkpoint calls it, and traps if bit 1 (value 2) of the result
	// is set.
	Module, Name string
	// BulkShift prices bulk instructions: n bytes or entries cost n>>BulkShift
	// units. 1 to 31.
	BulkShift uint8
	// ImportCost says what a call of an imported function costs, in instructions.
	ImportCost func(Import) uint64
	// Extend adds functions of the host's own, which are not metered, and says by
	// which functions others are to be replaced: wherever the module calls, refers
	// to or exports the key, it does so with the value. Imports keep their indices.
	// It may be nil.
	Extend func(*Module) (replace map[uint32]uint32, err error)
	// Unmetered leaves the countdowns out, for a runtime that looks at deadlines by
	// itself; see LoopAtEntry.
	Unmetered bool
}

// MeterGuest makes code of an unknown author interruptible: in whatever way it
// runs on, at most Quantum units pass until it calls the host. Loop headers,
// bulk instructions and the entries of functions count down a global. A price is
// an upper bound of the code that may run until the next countdown: the
// instructions of the loop, or the function, and of all functions without a
// countdown that it calls. A function goes without if its bound is small.
//
// Where calls through a table may lead to an import whose cost is above
// freeCall, the bound does not hold: see [Analysis.Referenced].
//
// Function indices stay, but for the first defined function, which makes room
// for the import. Imports must be functions. Custom sections are not renumbered.
// After an error the module is half edited and must be discarded.
func (m *Module) MeterGuest(a *Analysis, g GuestMeter) error {
	if g.Quantum <= 0 || g.Unit == 0 || g.BulkShift < 1 || g.BulkShift > 31 || g.ImportCost == nil {
		return fmt.Errorf("%w: a guest's meter needs a quantum, a unit, a bulk shift of 1 to 31, and prices", ErrEdit)
	}
	if len(m.bodies) == 0 {
		return nil // nothing runs
	}
	if err := m.onlyFuncImports(); err != nil {
		return err
	}
	p := &pricer{g: g, a: a, imports: m.Imports, state: make([]mark, len(a.funcs)), cost: make([]uint64, len(a.funcs))}
	p.run()
	costs := p.all()
	replace := m.makeRoom(g)
	a.funcs = append(slices.Clone(a.funcs[1:]), a.funcs[0])
	costs = append(slices.Clone(costs[1:]), costs[0])
	hook := uint32(len(m.Imports) - 1)
	defined := len(m.bodies)
	counter, err := m.AddCounter(g.Quantum)
	if err != nil {
		return err
	}
	check, err := m.AddFunc(FuncType{}, checkpointBody(Meter{Quantum: g.Quantum}, hook, counter))
	if err != nil {
		return err
	}
	if err := m.extend(g, replace); err != nil {
		return err
	}
	e := &emitter{st: MeterStats{Counter: counter, Checkpoint: check}, shift: g.BulkShift, replace: replace, off: g.Unmetered}
	for i := range defined {
		m.bodies[i] = e.body(m.bodies[i], &a.funcs[i], costs[i])
	}
	return nil
}

// makeRoom adds the import. The first defined function, whose index it takes,
// becomes the last; the result maps its index to the new one.
func (m *Module) makeRoom(g GuestMeter) map[uint32]uint32 {
	old := uint32(m.ImportedFuncs())
	moved := old + uint32(len(m.Funcs))
	ti := m.typeIndex(FuncType{Results: []byte{valI32}})
	m.Imports = append(m.Imports, Import{Module: g.Module, Name: g.Name, Kind: KindFunc, Type: ti})
	m.importsDirty = true
	if !m.hasSection(secImport) {
		at := slices.IndexFunc(m.sections, func(s section) bool { return s.id != secCustom && sectionRank(s.id) > sectionRank(secImport) })
		m.sections = slices.Insert(m.sections, at, section{id: secImport})
	}
	m.Funcs = append(slices.Clone(m.Funcs[1:]), m.Funcs[0])
	m.bodies = append(slices.Clone(m.bodies[1:]), m.bodies[0])
	m.bodyOff = append(slices.Clone(m.bodyOff[1:]), m.bodyOff[0])
	m.funcsDirty, m.codeDirty = true, true
	replace := map[uint32]uint32{old: moved}
	m.replaceExports(replace)
	return replace
}

func (m *Module) replaceExports(replace map[uint32]uint32) {
	for i, e := range m.Exports {
		if to, ok := replace[e.Index]; ok && e.Kind == KindFunc {
			m.Exports[i].Index, m.exportsDirty = to, true
		}
	}
}

// extend adds the host's functions, and replaces indices everywhere but in code.
func (m *Module) extend(g GuestMeter, replace map[uint32]uint32) error {
	if g.Extend != nil {
		more, err := g.Extend(m)
		if err != nil {
			return err
		}
		m.replaceExports(more)
		for from, to := range more {
			if from >= uint32(m.ImportedFuncs()-1) {
				return fmt.Errorf("%w: only imports can be replaced", ErrEdit)
			}
			replace[from] = to
		}
	}
	for i := range m.sections {
		if err := m.sections[i].replaceRefs(replace); err != nil {
			return err
		}
	}
	return nil
}

// replaceRefs gives functions other indices in one section.
func (s *section) replaceRefs(replace map[uint32]uint32) error {
	var out []byte
	pos := 0
	err := visitSection(*s, func(fn uint32, at, end int) {
		if to, ok := replace[fn]; ok {
			out = appendU32(append(out, s.raw[pos:at]...), to)
			pos = end
		}
	})
	if err == nil && pos > 0 {
		s.raw = append(out, s.raw[pos:]...)
	}
	return err
}

// emitter writes the countdowns.
type emitter struct {
	st      MeterStats
	shift   uint8
	replace map[uint32]uint32
	off     bool // no countdowns
}

// body writes one function anew.
func (e *emitter) body(body []byte, f *funcInfo, p prices) []byte {
	var out []byte
	if !e.off && slices.ContainsFunc(f.sites, func(s site) bool { return s.kind == siteBulk }) {
		out = appendLocalGroup(make([]byte, 0, len(body)+len(f.sites)*24+24), body[:f.start])
	} else {
		out = append(make([]byte, 0, len(body)+len(f.sites)*20+20), body[:f.start]...)
	}
	if p[0] > 0 && !e.off {
		out = e.countdown(out, p[0])
	}
	pos := f.start
	for _, s := range f.sites {
		out = append(out, body[pos:s.at]...)
		if e.off && s.kind != siteRef {
			pos = s.at
			continue
		}
		pos = s.end
		switch s.kind {
		case siteLoop, siteEntry:
			out = e.countdown(out, p[s.region])
		case siteBulk:
			out = appendBulkPrice(out, uint32(f.locals), e.shift, &e.st)
			out = appendCountdown(out, &e.st)
		case siteRef:
			fn := s.fn
			if to, ok := e.replace[fn]; ok {
				fn = to
			}
			out = appendU32(out, fn)
		}
	}
	return append(out, body[pos:]...)
}

func (e *emitter) countdown(out []byte, price int32) []byte {
	out = appendU32(append(out, opGlobalGet), e.st.Counter)
	out = appendS32(append(out, opI32Const), price)
	return appendCountdown(out, &e.st)
}
