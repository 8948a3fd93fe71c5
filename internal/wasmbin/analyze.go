package wasmbin

import "slices"

// Analysis is what a module's code does, as far as metering needs it. It is of
// the module as it was when Analyze read it: edit in between, and it is void.
type Analysis struct {
	// Referenced are the functions that code can reach other than by a direct
	// call: the entries of tables, references, the start function. Exports are not
	// among them.
	Referenced map[uint32]bool

	funcs    []funcInfo // of the defined functions
	stubborn uint64     // cost of one instruction, at the worst
}

// funcInfo is one body.
type funcInfo struct {
	start   int // of the instructions, behind the local declarations
	frame   int // locals, parameters and results
	locals  int // locals and parameters: the index of the next one
	regions []region
	sites   []site // in order of place
}

// region is the code between one loop header and the end of that loop, inner
// loops left out; or, as the first one, the code outside of loops.
type region struct {
	instrs   uint64
	calls    []uint32 // functions, imported ones too
	indirect int      // calls through a table
}

// site is a place to edit.
type site struct {
	kind    siteKind
	at, end int // insertion behind at; or the index to replace
	region  int // of a loop
	fn      uint32
}

type siteKind byte

const (
	siteLoop  siteKind = iota
	siteEntry          // a loop header that is always the first thing to happen
	siteBulk           // behind the length, before the instruction
	siteRef            // an index of a function, in a call or a reference
)

// Analyze walks all code. It refuses tail calls, indices that do not exist
// (an edit could make them exist), and what is over the bounds.
func (m *Module) Analyze(b Bounds) (*Analysis, error) {
	a := &Analysis{Referenced: map[uint32]bool{}, funcs: make([]funcInfo, len(m.bodies))}
	w := &walker{m: m, a: a, globals: m.globals()}
	imported := m.ImportedFuncs()
	w.imported, w.total = uint32(imported), uint32(imported+len(m.Funcs))
	for _, e := range m.Exports {
		if e.Kind == KindFunc && e.Index >= w.total || e.Kind == KindGlobal && e.Index >= w.globals {
			return nil, bound("the export %.40q is of something that does not exist", e.Name)
		}
	}
	for _, s := range m.sections {
		var missing bool
		err := visitSection(s, func(fn uint32, _, _ int) {
			a.Referenced[fn] = true
			missing = missing || fn >= w.total
		})
		if err == nil && missing {
			err = &FormatError{Offset: s.off, Detail: "reference to a function that does not exist", Kind: ErrMalformed}
		}
		if err != nil {
			return nil, err
		}
	}
	widest, squares := 0, 0
	for _, t := range m.Types {
		widest = max(widest, len(t.Params), len(t.Results))
	}
	a.stubborn = 1 + uint64(widest)/32 // values that a branch may move
	for i := range m.bodies {
		t, ok := m.typeAt(m.Funcs[i])
		if !ok {
			return nil, &FormatError{Offset: m.bodyOff[i], Detail: "function of an unknown type", Kind: ErrMalformed}
		}
		n, err := w.body(i, t)
		if err != nil {
			return nil, err
		}
		if squares += n * n; n > b.Branches || squares > b.BranchSquares {
			return nil, bound("a function branches %d times, or all together too often: compiling it would take minutes; split it", n)
		}
	}
	return a, nil
}

// walker analyzes bodies one after the other.
type walker struct {
	m              *Module
	a              *Analysis
	imported       uint32
	total, globals uint32

	f      *funcInfo
	blocks []int // region of each open block
	first  bool  // nothing has happened yet that branches, calls or leaves
	n      int   // branches
}

// body analyzes defined function i and gives the number of its branches.
func (w *walker) body(i int, t FuncType) (int, error) {
	r := &reader{b: w.m.bodies[i], base: w.m.bodyOff[i]}
	n, start := r.locals()
	w.f = &w.a.funcs[i]
	*w.f = funcInfo{start: start, locals: len(t.Params) + int(n), regions: make([]region, 1, 4)}
	w.f.frame = w.f.locals + len(t.Results)
	w.blocks, w.first, w.n = append(w.blocks[:0], 0), true, 0
	for !r.done() {
		if len(w.blocks) == 0 {
			r.fail(ErrMalformed, "code after the end of a function")
			break
		}
		w.instr(r, r.instr())
	}
	if r.err == nil && len(w.blocks) > 0 {
		r.fail(ErrMalformed, "unexpected end")
	}
	return w.n, r.err
}

// instr takes one instruction into account.
func (w *walker) instr(r *reader, in instr) {
	if r.err != nil {
		return
	}
	at := w.blocks[len(w.blocks)-1]
	w.f.regions[at].instrs++
	switch in.code {
	case opBlock:
		w.open(at)
	case opIf:
		w.first = false
		w.open(at)
	case opLoop:
		kind := siteLoop
		if w.first {
			kind, w.first = siteEntry, false
		}
		w.f.regions = append(w.f.regions, region{})
		w.f.sites = append(w.f.sites, site{kind: kind, at: in.end, end: in.end, region: len(w.f.regions) - 1})
		w.open(len(w.f.regions) - 1)
	case opEnd:
		w.first = false
		w.blocks = w.blocks[:len(w.blocks)-1]
	case opBrIf:
		w.first = false
		w.n++
	case opBrTable:
		w.first = false
		w.n += in.targets / 4
	case opCall, opRefFunc:
		w.reference(r, in, at)
	case 0x11: // call_indirect
		w.first = false
		w.f.regions[at].indirect++
	case opReturnCall, opReturnCallIndirect:
		r.fail(ErrUnsupported, "opcode 0x%02x (a tail call)", in.code)
	case opGlobalGet, opGlobalSet:
		if in.index >= w.globals {
			r.fail(ErrMalformed, "global %d does not exist", in.index)
		}
	case opPrefixMisc:
		w.first = false
		switch in.misc {
		case miscMemoryInit, miscMemoryCopy, miscMemoryFill, miscTableInit, miscTableCopy, miscTableFill:
			w.f.sites = append(w.f.sites, site{kind: siteBulk, at: in.start, end: in.start})
		}
	case opLocalGet, opLocalSet, opLocalTee, opI32Const:
	default:
		w.first = false
	}
}

func (w *walker) open(region int) {
	w.n++
	w.blocks = append(w.blocks, region)
}

// reference is a call or a ref.func.
func (w *walker) reference(r *reader, in instr, at int) {
	w.first = false
	if in.index >= w.total {
		r.fail(ErrMalformed, "function %d does not exist", in.index)
		return
	}
	if in.code == opRefFunc {
		w.a.Referenced[in.index] = true
	} else {
		w.f.regions[at].calls = append(w.f.regions[at].calls, in.index)
	}
	if in.index <= w.imported { // imports may be replaced, and the first other one makes room for the hook
		w.f.sites = append(w.f.sites, site{kind: siteRef, at: in.start + 1, end: in.end, fn: in.index})
	}
}

// LoopAtEntry gives each function that does not come to a loop of its own first
// an empty one: a runtime that looks for a deadline at loop headers would not
// see a function that calls itself twice. It may follow an unmetered MeterGuest.
func (m *Module) LoopAtEntry(a *Analysis) {
	for i, f := range a.funcs {
		if f.entryLoop() == 0 {
			m.bodies[i] = slices.Concat(m.bodies[i][:f.start], []byte{opLoop, blockEmpty, opEnd}, m.bodies[i][f.start:])
		}
	}
	m.codeDirty = true
}
