package wasmbin

import (
	"fmt"
	"slices"
)

// StripData removes all data segments, and the start function, which would run
// before the host has laid the data out. It refuses a module whose code refers to
// segments (memory.init, data.drop): such a module needs them at run time.
func (m *Module) StripData() error {
	for i, body := range m.bodies {
		r := &reader{b: body, base: m.bodyOff[i]}
		r.locals()
		for !r.done() {
			in := r.instr()
			if in.code == opPrefixMisc && (in.misc == miscMemoryInit || in.misc == miscDataDrop) {
				return fmt.Errorf("%w: code uses passive data segments", ErrEdit)
			}
		}
		if r.err != nil {
			return r.err
		}
	}
	m.sections = slices.DeleteFunc(m.sections, func(s section) bool {
		return s.id == secData || s.id == secDataCount || s.id == secStart
	})
	m.nData = 0
	return nil
}

// DataSegment is an active data segment with a constant offset.
type DataSegment struct {
	Offset uint32
	Bytes  []byte
}

// DataSegments lists the active segments in order, so that a host can lay out
// the initial memory by itself. Passive segments and offsets that are no plain
// i32.const are refused.
func (m *Module) DataSegments() ([]DataSegment, error) {
	var out []DataSegment
	for _, s := range m.sections {
		if s.id != secData {
			continue
		}
		r := &reader{b: s.raw, base: s.off}
		for n := r.count(2); n > 0 && r.err == nil; n-- {
			if flag := r.u32(); flag != 0 {
				r.fail(ErrUnsupported, "data segment of kind %d", flag)
			}
			if op := r.byte(); op != opI32Const && r.err == nil {
				r.fail(ErrUnsupported, "data offset that is no i32.const")
			}
			off := r.s32()
			if op := r.byte(); op != opEnd && r.err == nil {
				r.fail(ErrUnsupported, "data offset of several instructions")
			}
			out = append(out, DataSegment{Offset: uint32(off), Bytes: r.bytes(int(r.u32()))})
		}
		if r.err != nil {
			return nil, r.err
		}
	}
	return out, nil
}

// MutatesTables says whether any code can change a table. Where none can, an
// instance's tables are the same before and after a run.
func (m *Module) MutatesTables() (bool, error) {
	for i, body := range m.bodies {
		r := &reader{b: body, base: m.bodyOff[i]}
		r.locals()
		for !r.done() {
			in := r.instr()
			if in.code == opTableSet || in.code == opPrefixMisc && in.misc >= miscTableInit && in.misc <= miscTableFill && in.misc != miscTableSize {
				return true, nil
			}
		}
		if r.err != nil {
			return false, r.err
		}
	}
	return false, nil
}

// Prepend puts instructions at the start of a defined function's body. They
// must leave the stack as it was and use no locals of their own.
func (m *Module) Prepend(fn uint32, code []byte) error {
	i := int64(fn) - int64(m.ImportedFuncs())
	if i < 0 || i >= int64(len(m.bodies)) {
		return fmt.Errorf("%w: function %d is not defined in the module", ErrEdit, fn)
	}
	body := m.bodies[i]
	r := &reader{b: body, base: m.bodyOff[i]}
	_, start := r.locals()
	if r.err != nil {
		return r.err
	}
	m.bodies[i] = slices.Concat(body[:start], code, body[start:])
	m.codeDirty = true
	return nil
}

// KeepExports drops every export whose name is not listed, and fails if a
// listed one is missing.
func (m *Module) KeepExports(names ...string) error {
	have := map[string]bool{}
	m.Exports = slices.DeleteFunc(m.Exports, func(e Export) bool {
		have[e.Name] = true
		return !slices.Contains(names, e.Name)
	})
	m.exportsDirty = true
	for _, n := range names {
		if !have[n] {
			return fmt.Errorf("%w: the module has no export %q", ErrEdit, n)
		}
	}
	return nil
}

// AddFunc appends a function of the given signature and gives its index. The
// body is local declarations and instructions, the final end included, as in
// 5.5.13 without the size. Existing indices do not move.
func (m *Module) AddFunc(t FuncType, body []byte) (uint32, error) {
	if !m.hasSection(secType) || !m.hasSection(secFunction) || !m.hasSection(secCode) {
		return 0, fmt.Errorf("%w: the module has no code to add a function to", ErrEdit)
	}
	ti := m.typeIndex(t)
	index := uint32(m.ImportedFuncs() + len(m.Funcs))
	m.Funcs = append(m.Funcs, ti)
	m.bodies = append(m.bodies, body)
	m.bodyOff = append(m.bodyOff, 0)
	m.funcsDirty, m.codeDirty = true, true
	return index, nil
}

// typeIndex finds a signature, or adds it.
func (m *Module) typeIndex(t FuncType) uint32 {
	ti := slices.IndexFunc(m.Types, func(o FuncType) bool {
		return slices.Equal(o.Params, t.Params) && slices.Equal(o.Results, t.Results)
	})
	if ti < 0 {
		ti = len(m.Types)
		m.Types = append(m.Types, t)
		m.typesDirty = true
	}
	return uint32(ti)
}

// SetImport makes import i another function. Whoever called it by its old type
// must not any more. All imports must be functions.
func (m *Module) SetImport(i int, module, name string, t FuncType) error {
	if err := m.RenameImport(i, module); err != nil {
		return err
	}
	m.Imports[i].Name, m.Imports[i].Type = name, m.typeIndex(t)
	return nil
}

// NextFunc is the index that AddFunc will give next, for functions that call
// themselves.
func (m *Module) NextFunc() uint32 { return uint32(m.ImportedFuncs() + len(m.Funcs)) }

// AddCounter appends a mutable i32 global with an initial value and gives its
// index. Existing indices do not move.
func (m *Module) AddCounter(init int32) (uint32, error) {
	return m.addGlobal(valI32, append(appendS32([]byte{opI32Const}, init), opEnd))
}

// AddWord appends a mutable i64 global that is 0 and gives its index. Existing
// indices do not move.
func (m *Module) AddWord() (uint32, error) { return m.addGlobal(I64, []byte{0x42, 0, opEnd}) }

// AddVector appends a mutable v128 global of zeros and gives its index. Existing
// indices do not move.
func (m *Module) AddVector() (uint32, error) {
	return m.addGlobal(V128, slices.Concat([]byte{opPrefixVector, 12}, make([]byte, 16), []byte{opEnd}))
}

func (m *Module) addGlobal(typ byte, init []byte) (uint32, error) {
	index := m.globals()
	g := append([]byte{typ, 1}, init...)
	m.Globals = append(m.Globals, Global{Type: typ, Mutable: true})
	for i, s := range m.sections {
		if s.id != secGlobal {
			continue
		}
		r := &reader{b: s.raw}
		n := r.u32()
		raw := append(appendU32(nil, n+1), s.raw[r.pos:]...)
		m.sections[i].raw = append(raw, g...)
		return index, nil
	}
	at := slices.IndexFunc(m.sections, func(s section) bool {
		return s.id != secCustom && sectionRank(s.id) > sectionRank(secGlobal)
	})
	if at < 0 {
		at = len(m.sections)
	}
	m.sections = slices.Insert(m.sections, at, section{id: secGlobal, raw: append([]byte{1}, g...)})
	return index, nil
}

// globals counts the globals, imported and defined.
func (m *Module) globals() uint32 {
	n := uint32(len(m.Globals))
	for _, im := range m.Imports {
		if im.Kind == KindGlobal {
			n++
		}
	}
	return n
}

// AddGlobalExport exports a global under a new name.
func (m *Module) AddGlobalExport(name string, index uint32) error {
	if slices.ContainsFunc(m.Exports, func(e Export) bool { return e.Name == name }) {
		return fmt.Errorf("%w: export %q exists", ErrEdit, name)
	}
	if index >= m.globals() {
		return fmt.Errorf("%w: global %d does not exist", ErrEdit, index)
	}
	m.Exports = append(m.Exports, Export{Name: name, Kind: KindGlobal, Index: index})
	m.exportsDirty = true
	return nil
}

// SetExport makes export i the function fn.
func (m *Module) SetExport(i int, fn uint32) error {
	if _, ok := m.FuncType(fn); !ok || m.Exports[i].Kind != KindFunc {
		return fmt.Errorf("%w: function %d does not exist, or the export is none", ErrEdit, fn)
	}
	m.Exports[i].Index, m.exportsDirty = fn, true
	return nil
}

// AddExport exports a function under a new name.
func (m *Module) AddExport(name string, fn uint32) error {
	if slices.ContainsFunc(m.Exports, func(e Export) bool { return e.Name == name }) {
		return fmt.Errorf("%w: export %q exists", ErrEdit, name)
	}
	if _, ok := m.FuncType(fn); !ok {
		return fmt.Errorf("%w: function %d does not exist", ErrEdit, fn)
	}
	m.Exports = append(m.Exports, Export{Name: name, Kind: KindFunc, Index: fn})
	m.exportsDirty = true
	return nil
}

func (m *Module) hasSection(id byte) bool {
	return slices.ContainsFunc(m.sections, func(s section) bool { return s.id == id })
}
