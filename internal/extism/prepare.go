package extism

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/internal/plaintext"
	"github.com/cloister-wasm/cloister/internal/wasmbin"
)

const wasmPage = 64 << 10

// bounds on what a module declares, and on how much it branches. wazero's compiler takes time with the square of the
// branches, function by function: ten thousand loops in one function cost two seconds, a hundred thousand several
// minutes, and nothing can interrupt it. The largest function of a Go plugin has some twelve hundred branches, all of
// its functions together sixteen million squared; 2,000 million are some 40 seconds.
var bounds = wasmbin.Bounds{
	Types: 10_000, Imports: 1000, Exports: 10_000, Params: 1000, Tables: 16, TableEntries: 1 << 20, TableGrowth: 1 << 16,
	Branches: 20_000, BranchSquares: 2_000_000_000,
}

// checked is a module that may be compiled once it was analyzed.
type checked struct {
	module   *wasmbin.Module
	memory   int64           // bytes it starts with
	callable map[string]bool // exports: true if () → () or () → i32
	// Of analyze:
	analysis *wasmbin.Analysis
	slow     string // why it cannot be metered, "" if it can
}

// check reads a module and holds it to what is offered and to the bounds on what it declares. Its code is left for analyze: that
// takes twenty times as long, and many plugins are loaded that nobody calls.
func check(wasm []byte, functions []string) (*checked, error) {
	if len(wasm) > MaxWasmBytes {
		return nil, &LimitError{What: "module", Limit: MaxWasmBytes, Got: int64(len(wasm))}
	}
	if err := checkPreamble(wasm); err != nil {
		return nil, err
	}
	m, err := wasmbin.Decode(wasm)
	if err != nil {
		return nil, unusable(err)
	}
	if _, taken := m.ExportedFunc(selfExport); taken {
		return nil, &ModuleError{Kind: ErrModule, Detail: "the export " + selfExport + " is reserved; give it another name"}
	}
	if err := m.CheckDeclared(bounds); err != nil {
		return nil, unusable(err)
	}
	if err := checkImports(m, functions); err != nil {
		return nil, err
	}
	c := &checked{module: m, callable: callable(m)}
	if len(m.Memories) > 0 {
		c.memory = int64(m.Memories[0].Min) * wasmPage
	}
	return c, nil
}

// analyze holds the code to the bounds and finds what rewrite needs. It makes one of many data segments.
func (c *checked) analyze() error {
	m := c.module
	if _, err := m.MergeData(); err != nil {
		return unusable(err)
	}
	a, err := m.Analyze(bounds)
	if err != nil {
		return unusable(err)
	}
	if len(m.Funcs) == 0 {
		return &ModuleError{Kind: ErrModule, Detail: "it has no functions"}
	}
	c.analysis, c.slow = a, unmetered(m, a)
	return nil
}

// rewrite gives the bytes to compile, with countdowns, or for the slow path. The module is used up.
func (c *checked) rewrite() ([]byte, error) {
	m := c.module
	m.DropCustom()
	for i, im := range m.Imports {
		if im.Module == envModule {
			if err := m.RenameImport(i, ownModule); err != nil {
				return nil, unusable(err)
			}
		}
	}
	meter := guestMeter
	meter.Unmetered = c.slow != ""
	if err := m.MeterGuest(c.analysis, meter); err != nil {
		return nil, unusable(err)
	}
	if meter.Unmetered {
		m.LoopAtEntry(c.analysis)
	}
	self, err := m.AddFunc(wasmbin.FuncType{}, wasmbin.NewBody(0).End())
	if err == nil {
		err = m.AddExport(selfExport, self)
	}
	if err != nil {
		return nil, unusable(err)
	}
	return m.Encode(), nil
}

// unusable puts the reader's reasons into words for authors.
func unusable(err error) error {
	detail := err.Error()
	var fe *wasmbin.FormatError
	if errors.As(err, &fe) {
		detail = fe.Detail
		if errors.Is(err, wasmbin.ErrUnsupported) {
			detail = "it uses a proposal that is not supported: " + fe.Detail
		}
		if fe.Offset > 0 {
			detail += fmt.Sprintf(" (at byte %d)", fe.Offset)
		}
	}
	return &ModuleError{Kind: ErrModule, Detail: plaintext.Short(detail, maxDetail)}
}

func checkPreamble(wasm []byte) error {
	if len(wasm) < 8 || string(wasm[:4]) != "\x00asm" {
		return &ModuleError{Kind: ErrModule, Detail: "it does not start like WebAssembly; build the plugin for wasm32-wasi (Go: GOOS=wasip1 GOARCH=wasm -buildmode=c-shared)"}
	}
	switch binary.LittleEndian.Uint32(wasm[4:]) {
	case 1:
		return nil
	case 0x0001000d: // version 13, layer 1
		return &ModuleError{Kind: ErrComponent, Detail: describeComponent(wasm) + "build a core module instead, for wasm32-wasip1 and without a componentizing step (Go: GOOS=wasip1 GOARCH=wasm -buildmode=c-shared; Rust: --target wasm32-wasip1 with crate-type cdylib)"}
	default:
		return &ModuleError{Kind: ErrModule, Detail: "it has an unknown version of the binary format"}
	}
}

// checkImports lists every import that is not offered.
func checkImports(m *wasmbin.Module, functions []string) error {
	var refused []RefusedImport
	for _, im := range m.Imports {
		why := ""
		if im.Kind != wasmbin.KindFunc {
			why = "only functions can be imported, not memories, tables or globals"
		} else if why = refuseImport(im.Module, im.Name, functions); why == "" && im.Module == guestabi.PluginHostModule && !isHostType(m, im.Type) {
			why = "its type must be (i64) → i64"
		}
		if why != "" {
			refused = append(refused, RefusedImport{im.Module, im.Name, why})
		}
	}
	if refused != nil {
		return &ImportError{Refused: refused}
	}
	return nil
}

func isHostType(m *wasmbin.Module, typ uint32) bool {
	if int64(typ) >= int64(len(m.Types)) {
		return false
	}
	t := m.Types[typ]
	return string(t.Params) == string([]byte{wasmbin.I64}) && string(t.Results) == string([]byte{wasmbin.I64})
}

// callable lists the exported functions, and says which of them have the signature of a call.
func callable(m *wasmbin.Module) map[string]bool {
	out := map[string]bool{}
	for _, e := range m.Exports {
		if e.Kind != wasmbin.KindFunc {
			continue
		}
		t, ok := m.FuncType(e.Index)
		out[e.Name] = ok && isCallable(t)
	}
	return out
}

func isCallable(t wasmbin.FuncType) bool {
	return len(t.Params) == 0 && (len(t.Results) == 0 || (len(t.Results) == 1 && t.Results[0] == wasmbin.I32))
}
