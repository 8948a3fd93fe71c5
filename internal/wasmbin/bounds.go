package wasmbin

import (
	"fmt"
	"slices"
)

// Bounds limits what a module declares. Runtimes allocate by such numbers before
// they read what should fill them, and a compiler's time can grow with the
// square of what a function holds.
type Bounds struct {
	Types         int    // how many, and likewise:
	Imports       int    //
	Exports       int    //
	Params        int    // of one function, and results
	Tables        int    // how many
	TableEntries  uint64 // declared, all tables together
	TableGrowth   uint32 // a table may grow to this, or not at all if it starts larger
	Branches      int    // of one function
	BranchSquares int    // sum of their squares over the module
}

// CheckDeclared holds types, tables and memories to the bounds, and gives each
// table a maximum: without one, a table grows outside any limit on memory.
func (m *Module) CheckDeclared(b Bounds) error {
	for _, c := range []struct {
		what      string
		got, most int
	}{{"types", len(m.Types), b.Types}, {"imports", len(m.Imports), b.Imports}, {"exports", len(m.Exports), b.Exports}} {
		if c.got > c.most {
			return bound("it has %d %s, more than %d", c.got, c.what, c.most)
		}
	}
	for _, t := range m.Types {
		for _, list := range [][]byte{t.Params, t.Results} {
			if len(list) > b.Params {
				return bound("a function has %d parameters or results, more than %d", len(list), b.Params)
			}
			if i := slices.IndexFunc(list, func(v byte) bool { return !isValType(v) }); i >= 0 {
				return &FormatError{Detail: fmt.Sprintf("value type 0x%02x", list[i]), Kind: ErrUnsupported}
			}
		}
	}
	if len(m.Memories) > 1 {
		return bound("it has several memories")
	}
	if len(m.Tables) > b.Tables {
		return bound("%d tables are more than %d", len(m.Tables), b.Tables)
	}
	var total uint64
	for i, t := range m.Tables {
		if total += uint64(t.Min); total > b.TableEntries {
			return bound("its tables declare more than %d entries", b.TableEntries)
		}
		most := max(t.Min, b.TableGrowth)
		if t.HasMax {
			most = max(t.Min, min(most, t.Max))
		}
		m.Tables[i].HasMax, m.Tables[i].Max = true, most
	}
	m.tablesDirty = len(m.Tables) > 0
	return nil
}

func bound(format string, args ...any) error {
	return &FormatError{Detail: fmt.Sprintf(format, args...), Kind: ErrBound}
}

// DropCustom removes custom sections: names and data for debuggers.
func (m *Module) DropCustom() {
	m.sections = slices.DeleteFunc(m.sections, func(s section) bool { return s.id == secCustom })
}

// RenameImport moves import i to another module. All imports must be functions.
func (m *Module) RenameImport(i int, module string) error {
	if err := m.onlyFuncImports(); err != nil {
		return err
	}
	m.Imports[i].Module = module
	m.importsDirty = true
	return nil
}

func (m *Module) onlyFuncImports() error {
	if slices.ContainsFunc(m.Imports, func(im Import) bool { return im.Kind != KindFunc }) {
		return fmt.Errorf("%w: not all imports are functions", ErrEdit)
	}
	return nil
}
