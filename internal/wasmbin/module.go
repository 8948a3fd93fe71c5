// Package wasmbin reads, edits and writes WebAssembly core modules, as far as
// Cloister needs it to make a guest killable and cheap to start: it meters
// loops and bulk memory instructions, drops data segments, and adds functions
// and exports. It is no validator: what it writes is given to a runtime that
// validates. For a valid module every edit yields a valid module; for anything
// else the answer is a typed error or a module that the runtime refuses.
//
// Numbers such as "5.5.2" refer to the WebAssembly core specification, 2.0.
package wasmbin

import "bytes"

// Section ids, 5.5.2.
const (
	secCustom = iota
	secType
	secImport
	secFunction
	secTable
	secMemory
	secGlobal
	secExport
	secStart
	secElement
	secCode
	secData
	secDataCount
)

// Kinds of imports and exports, 5.5.5.
const (
	KindFunc byte = iota
	KindTable
	KindMemory
	KindGlobal
)

const (
	// maxModule bounds the input, in bytes: engines and plugins are a few megabytes.
	maxModule = 256 << 20
	// maxSections bounds the sections: there are 12 kinds that come once, and custom
	// ones, of which debuggers have a few dozen. Each costs more memory than the
	// three bytes that it takes.
	maxSections = 1000
	// maxItems bounds the entries of a section, for the same reason. It is the limit
	// that the WebAssembly JavaScript interface sets for types, functions, imports,
	// exports and globals ("Implementation-defined Limits"), so that no module of
	// any toolchain comes near it.
	maxItems = 1_000_000
)

// FuncType is a function signature. Each element is a value type byte (5.3.1).
type FuncType struct{ Params, Results []byte }

// Import is one imported item. Type is the type index of a function.
type Import struct {
	Module, Name string
	Kind         byte
	Type         uint32
}

// Export is one exported item. Index counts in the index space of its kind.
type Export struct {
	Name  string
	Kind  byte
	Index uint32
}

// Global is a global defined in the module.
type Global struct {
	Type    byte
	Mutable bool
}

// Memory is a memory's limits in pages of 64 KiB.
type Memory struct {
	Min, Max uint32
	HasMax   bool
}

// Table is a table's limits in entries.
type Table struct {
	Elem     byte // the type of its entries, 5.3.3
	Min, Max uint32
	HasMax   bool
}

type section struct {
	id  byte
	raw []byte
	off int
}

// Module is a decoded module. It is not safe for concurrent use.
type Module struct {
	Types    []FuncType
	Imports  []Import
	Funcs    []uint32 // type index of each defined function
	Tables   []Table  // defined tables
	Memories []Memory // defined memories
	Globals  []Global // defined globals
	Exports  []Export

	sections []section
	bodies   [][]byte // code entries without their length
	bodyOff  []int    // their offsets in the input, for errors
	nData    int

	typesDirty, importsDirty, funcsDirty, tablesDirty, exportsDirty, codeDirty bool
}

// Decode reads a module. The slice must not change while the Module is used.
func Decode(b []byte) (*Module, error) {
	if len(b) > maxModule {
		return nil, &FormatError{Offset: 0, Detail: "module is larger than 256 MiB", Kind: ErrUnsupported}
	}
	if !bytes.HasPrefix(b, []byte("\x00asm\x01\x00\x00\x00")) {
		return nil, &FormatError{Offset: 0, Detail: "no core module preamble", Kind: ErrMalformed}
	}
	m := &Module{}
	r := &reader{b: b, pos: 8}
	order := 0
	for !r.done() {
		id := r.byte()
		size := int(r.u32())
		off := r.pos
		raw := r.bytes(size)
		if r.err != nil {
			break
		}
		if id != secCustom {
			rank := sectionRank(id)
			if rank == 0 {
				r.fail(ErrUnsupported, "section %d", id)
				break
			}
			if rank <= order {
				r.fail(ErrMalformed, "section %d repeated or out of order", id)
				break
			}
			order = rank
		}
		if len(m.sections) == maxSections {
			r.fail(ErrBound, "it has more than %d sections", maxSections)
			break
		}
		m.sections = append(m.sections, section{id: id, raw: raw, off: off})
		if err := m.decodeSection(id, raw, off); err != nil {
			return nil, err
		}
	}
	if r.err != nil {
		return nil, r.err
	}
	if len(m.bodies) != len(m.Funcs) {
		return nil, &FormatError{Offset: len(b), Detail: "function and code sections differ in length", Kind: ErrMalformed}
	}
	return m, nil
}

// sectionRank gives a section's place in the order of 5.5.16, or 0.
func sectionRank(id byte) int {
	switch {
	case id == secDataCount:
		return secElement*2 + 1
	case id >= secType && id <= secData:
		return int(id) * 2
	}
	return 0
}

func (m *Module) decodeSection(id byte, raw []byte, off int) error {
	r := &reader{b: raw, base: off}
	switch id {
	case secType:
		m.decodeTypes(r)
	case secImport:
		m.decodeImports(r)
	case secFunction:
		for n := r.items(1); n > 0 && r.err == nil; n-- {
			m.Funcs = append(m.Funcs, r.u32())
		}
	case secTable:
		for n := r.items(3); n > 0 && r.err == nil; n-- {
			m.Tables = append(m.Tables, r.table())
		}
	case secMemory:
		for n := r.items(2); n > 0 && r.err == nil; n-- {
			m.Memories = append(m.Memories, r.limits())
		}
	case secGlobal:
		m.decodeGlobals(r)
	case secExport:
		for n := r.items(3); n > 0 && r.err == nil; n-- {
			m.Exports = append(m.Exports, Export{Name: r.name(), Kind: r.byte(), Index: r.u32()})
		}
	case secCode:
		for n := r.items(2); n > 0 && r.err == nil; n-- {
			size := int(r.u32())
			m.bodyOff = append(m.bodyOff, off+r.pos)
			m.bodies = append(m.bodies, r.bytes(size))
		}
	case secData:
		m.nData = r.count(1)
		return r.err
	default:
		return nil
	}
	if r.err == nil && r.left() != 0 {
		r.fail(ErrMalformed, "section %d has %d bytes after its end", id, r.left())
	}
	return r.err
}

func (m *Module) decodeTypes(r *reader) {
	for n := r.items(3); n > 0 && r.err == nil; n-- {
		if c := r.byte(); c != 0x60 && r.err == nil {
			r.fail(ErrUnsupported, "type form 0x%x", c)
		}
		p := r.bytes(r.count(1))
		m.Types = append(m.Types, FuncType{Params: p, Results: r.bytes(r.count(1))})
	}
}

func (m *Module) decodeImports(r *reader) {
	for n := r.items(4); n > 0 && r.err == nil; n-- {
		im := Import{Module: r.name(), Name: r.name(), Kind: r.byte()}
		switch im.Kind {
		case KindFunc:
			im.Type = r.u32()
		case KindTable:
			r.table()
		case KindMemory:
			r.limits()
		case KindGlobal:
			r.bytes(2)
		default:
			r.fail(ErrUnsupported, "import kind %d", im.Kind)
		}
		m.Imports = append(m.Imports, im)
	}
}

func (m *Module) decodeGlobals(r *reader) {
	for n := r.items(3); n > 0 && r.err == nil; n-- {
		g := Global{Type: r.valType(), Mutable: r.byte() == 1}
		for { // constant expression, 3.3.10
			op := r.instr()
			if r.err != nil || op.code == opEnd {
				break
			}
		}
		m.Globals = append(m.Globals, g)
	}
}

func (r *reader) table() Table {
	elem := r.byte()
	if r.err == nil && elem != valFuncRef && elem != valExternRef {
		r.fail(ErrUnsupported, "table of type 0x%02x", elem)
	}
	l := r.limits()
	return Table{Elem: elem, Min: l.Min, Max: l.Max, HasMax: l.HasMax}
}

func (r *reader) limits() Memory {
	var l Memory
	flag := r.byte()
	if flag > 1 {
		r.fail(ErrUnsupported, "limits flag %d (memory that is shared or 64 bits wide)", flag)
	}
	l.Min = r.u32()
	if flag == 1 {
		l.HasMax, l.Max = true, r.u32()
	}
	return l
}

// ImportedFuncs counts the imported functions, which come first in the
// function index space.
func (m *Module) ImportedFuncs() int {
	n := 0
	for _, im := range m.Imports {
		if im.Kind == KindFunc {
			n++
		}
	}
	return n
}

// FuncType gives the signature of the function with the given index.
func (m *Module) FuncType(index uint32) (FuncType, bool) {
	i := index
	for _, im := range m.Imports {
		if im.Kind != KindFunc {
			continue
		}
		if i == 0 {
			return m.typeAt(im.Type)
		}
		i--
	}
	if int64(i) >= int64(len(m.Funcs)) {
		return FuncType{}, false
	}
	return m.typeAt(m.Funcs[i])
}

func (m *Module) typeAt(i uint32) (FuncType, bool) {
	if int64(i) >= int64(len(m.Types)) {
		return FuncType{}, false
	}
	return m.Types[i], true
}

// ImportedFunc finds an imported function's index.
func (m *Module) ImportedFunc(module, name string) (uint32, bool) {
	var i uint32
	for _, im := range m.Imports {
		if im.Kind != KindFunc {
			continue
		}
		if im.Module == module && im.Name == name {
			return i, true
		}
		i++
	}
	return 0, false
}

// ExportedFunc finds an exported function's index.
func (m *Module) ExportedFunc(name string) (uint32, bool) {
	for _, e := range m.Exports {
		if e.Kind == KindFunc && e.Name == name {
			return e.Index, true
		}
	}
	return 0, false
}
