package extism

import (
	"encoding/binary"
)

// Bounds on what a module declares. wazero allocates by several of these before it reads what should fill them.
const (
	maxLocals       = 50_000  // of one function; JavaScript engines have the same bound
	maxTables       = 16      //
	maxTableEntries = 1 << 20 // declared, all tables together
	maxTableGrowth  = 1 << 16 // a table may grow to this, or not at all if it starts larger
	maxParams       = 1000    // of one function type
	wasmPage        = 64 << 10
)

// Section numbers of the binary format.
const (
	secCustom  = 0
	secType    = 1
	secImport  = 2
	secFunc    = 3
	secTable   = 4
	secMemory  = 5
	secGlobal  = 6
	secExport  = 7
	secStart   = 8
	secElement = 9
	secCode    = 10
	secData    = 11
	secCount   = 12
)

// prepared is a checked module and its rewritten bytes.
type prepared struct {
	wasm     []byte
	memory   int64           // bytes it starts with
	callable map[string]bool // exports: true if () → () or () → i32
}

// sig is a function type, as far as it matters here.
type sig struct{ callable bool }

// preparer walks a module once, checking and copying.
type preparer struct {
	out     []byte
	types   []sig
	funcs   []uint32 // type of each function, imported ones first
	refused []RefusedImport
	counted bool // there is a data count: instructions may name data segments
	result  prepared
}

// prepare checks a module and rewrites it: imports that are replaced, tables' growth, a loop at each function's start.
func prepare(wasm []byte) (*prepared, error) {
	if len(wasm) > MaxWasmBytes {
		return nil, &LimitError{What: "module", Limit: MaxWasmBytes, Got: int64(len(wasm))}
	}
	if err := checkPreamble(wasm); err != nil {
		return nil, err
	}
	p := &preparer{out: append(make([]byte, 0, len(wasm)+len(wasm)/16), wasm[:8]...)}
	p.result.callable = map[string]bool{}
	r := &cursor{b: wasm[8:]}
	for len(r.b) > 0 && r.err == nil {
		id := r.byte()
		p.section(id, r.bytes(r.u32()), r)
	}
	if r.err != nil {
		return nil, &ModuleError{Kind: ErrModule, Detail: r.err.Error()}
	}
	if len(p.refused) > 0 {
		return nil, &ImportError{Refused: p.refused}
	}
	p.result.wasm = p.out
	return &p.result, nil
}

func checkPreamble(wasm []byte) error {
	if len(wasm) < 8 || string(wasm[:4]) != "\x00asm" {
		return &ModuleError{Kind: ErrModule, Detail: "it does not start like WebAssembly; build the plugin for wasm32-wasi (Go: GOOS=wasip1 GOARCH=wasm -buildmode=c-shared)"}
	}
	switch binary.LittleEndian.Uint32(wasm[4:]) {
	case 1:
		return nil
	case 0x0001000d: // version 13, layer 1
		return &ModuleError{Kind: ErrComponent, Detail: "build a core module instead, for wasm32-wasip1 and without a componentizing step (Go: GOOS=wasip1 GOARCH=wasm -buildmode=c-shared; Rust: --target wasm32-wasip1 with crate-type cdylib)"}
	default:
		return &ModuleError{Kind: ErrModule, Detail: "it has an unknown version of the binary format"}
	}
}

// section checks one section and appends what becomes of it. Faults go to r.
func (p *preparer) section(id byte, body []byte, r *cursor) {
	if r.err != nil {
		return
	}
	s := &cursor{b: body}
	var out []byte
	switch id {
	case secCustom:
		return // names and debug data: dropped
	case secType:
		p.typeSection(s)
	case secImport:
		out = p.importSection(s)
	case secFunc:
		for range s.count() {
			p.funcs = append(p.funcs, s.u32())
		}
	case secTable:
		out = tableSection(s)
	case secMemory:
		p.memorySection(s)
	case secGlobal:
		s.count()
		s.b = nil // contents are bounded by their bytes
	case secExport:
		p.exportSection(s)
	case secStart:
		s.u32()
	case secCount:
		p.counted = true
		s.u32()
	case secElement:
		elementSection(s)
	case secCode:
		out = codeSection(s)
	case secData:
		out = dataSection(s, p.counted)
	default:
		s.fail("section %d is of a proposal that is not supported", id)
	}
	if s.err == nil && len(s.b) > 0 {
		s.fail("section %d has bytes after its end", id)
	}
	if s.err != nil {
		r.err = s.err
		return
	}
	if out == nil {
		out = body
	}
	p.out = append(p.out, id)
	p.out = binary.AppendUvarint(p.out, uint64(len(out)))
	p.out = append(p.out, out...)
}

func (p *preparer) typeSection(s *cursor) {
	for range s.count() {
		if form := s.byte(); form != 0x60 {
			s.fail("a type of form 0x%02x is of a proposal that is not supported", form)
			return
		}
		params := s.types()
		results := s.types()
		callable := len(params) == 0 && (len(results) == 0 || (len(results) == 1 && results[0] == 0x7f))
		p.types = append(p.types, sig{callable: callable})
	}
}

func (p *preparer) importSection(s *cursor) []byte {
	n := s.count()
	out := binary.AppendUvarint(nil, uint64(n))
	for range n {
		module, name, kind := s.name(), s.name(), s.byte()
		if s.err != nil {
			return nil
		}
		if kind != 0 {
			p.refused = append(p.refused, RefusedImport{module, name, "only functions can be imported, not memories, tables or globals"})
			s.b = nil // what follows depends on the kind; one refusal is enough
			return out
		}
		typ := s.u32()
		from, why := decideImport(module, name)
		if why != "" {
			p.refused = append(p.refused, RefusedImport{module, name, why})
		}
		p.funcs = append(p.funcs, typ)
		out = appendName(appendName(out, from), name)
		out = binary.AppendUvarint(append(out, 0), uint64(typ))
	}
	return out
}

// tableSection gives each table a maximum: wazero lets one without grow to four billion entries, outside any limit.
func tableSection(s *cursor) []byte {
	n := s.count()
	if n > maxTables {
		s.fail("%d tables are more than %d", n, maxTables)
	}
	out := binary.AppendUvarint(nil, uint64(n))
	var total uint64
	for range n {
		elem, flags, least := s.byte(), s.byte(), uint64(s.u32())
		if s.err != nil {
			return nil
		}
		if (elem != 0x70 && elem != 0x6f) || flags > 1 {
			s.fail("a table is of a proposal that is not supported")
			return nil
		}
		most := max(least, maxTableGrowth)
		if flags == 1 {
			declared := uint64(s.u32())
			most = max(least, min(most, declared))
		}
		if total += least; total > maxTableEntries {
			s.fail("its tables declare more than %d entries", maxTableEntries)
		}
		out = append(out, elem, 1)
		out = binary.AppendUvarint(binary.AppendUvarint(out, least), most)
	}
	return out
}

func (p *preparer) memorySection(s *cursor) {
	n := s.count()
	if n > 1 {
		s.fail("it has several memories")
	}
	for range n {
		flags := s.byte()
		if flags > 1 {
			s.fail("its memory is shared or 64 bits wide, which is not supported")
			return
		}
		p.result.memory = int64(s.u32()) * wasmPage
		if flags == 1 {
			s.u32()
		}
	}
}

func (p *preparer) exportSection(s *cursor) {
	for range s.count() {
		name, kind, index := s.name(), s.byte(), s.u32()
		if kind != 0 || s.err != nil {
			continue
		}
		callable := false
		if int64(index) < int64(len(p.funcs)) {
			if t := p.funcs[index]; int64(t) < int64(len(p.types)) {
				callable = p.types[t].callable
			}
		}
		p.result.callable[name] = callable
	}
}

// codeSection prefixes each body with an empty loop (0x03 0x40 0x0b), whose header is where wazero looks at the
// deadline, unless the body comes to a loop of its own before it can do anything else.
func codeSection(s *cursor) []byte {
	n := s.count()
	out := make([]byte, 0, len(s.b)+int(n)*4)
	out = binary.AppendUvarint(out, uint64(n))
	squares := 0
	for range n {
		body := s.bytes(s.u32())
		f := &cursor{b: body}
		var locals uint64
		for range f.count() {
			locals += uint64(f.u32())
			f.byte()
		}
		switch {
		case f.err != nil && s.err == nil:
			s.err = f.err
		case locals > maxLocals:
			s.fail("a function has %d locals, more than %d", locals, maxLocals)
		}
		code := *f
		branches := code.branches()
		if squares += branches * branches; branches > maxBranches || squares > maxBranchSquares {
			s.fail("a function branches %d times, or all together too often: compiling it would take minutes; split it", branches)
		}
		if code.err != nil && s.err == nil {
			s.err = code.err
		}
		if s.err != nil {
			return nil
		}
		head, loop := len(body)-len(f.b), []byte{0x03, 0x40, 0x0b}
		if startsWithLoop(*f) {
			loop = nil
		}
		out = binary.AppendUvarint(out, uint64(len(body)+len(loop)))
		out = append(out, body[:head]...)
		out = append(out, loop...)
		out = append(out, body[head:]...)
	}
	return out
}

// startsWithLoop looks past instructions that neither branch nor call. Functions of a Go plugin begin with a few of
// them and the loop that resumes goroutines.
func startsWithLoop(c cursor) bool {
	for c.err == nil {
		switch op := c.byte(); op {
		case 0x03: // loop
			return true
		case 0x02: // block, of no or one result
			if c.byte() >= 0x80 {
				return false
			}
		case 0x20, 0x21, 0x22, 0x23: // local.get, local.set, local.tee, global.get
			c.u32()
		case 0x41: // i32.const
			c.signed(5)
		default:
			return false
		}
	}
	return false
}

func elementSection(s *cursor) {
	for range s.count() {
		flags := s.u32()
		if flags > 7 {
			s.fail("an element segment is of a proposal that is not supported")
			return
		}
		passive, explicit, exprs := flags&1 != 0, flags&2 != 0, flags&4 != 0
		if !passive && explicit {
			s.u32() // table
		}
		if !passive {
			s.constExpr()
		}
		if passive || explicit {
			s.byte() // element kind or type
		}
		for range s.count() {
			if exprs {
				s.constExpr()
			} else {
				s.u32()
			}
		}
	}
}

func appendName(out []byte, s string) []byte {
	return append(binary.AppendUvarint(out, uint64(len(s))), s...)
}
