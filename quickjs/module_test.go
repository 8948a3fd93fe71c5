package quickjs

import (
	"bytes"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/cloister-wasm/cloister/internal/wasmbin"
	"github.com/google/go-cmp/cmp"
)

// modules gives the engine as it is published and as it is rewritten.
func modules(t *testing.T) (published, rewritten []byte) {
	t.Helper()
	found, err := FindEngine()
	if err != nil {
		t.Fatal(err)
	}
	p, err := rewrite(found.Wasm)
	if err != nil {
		t.Fatal(err)
	}
	return found.Wasm, p.wasm
}

func decodeModule(t *testing.T, wasm []byte) *wasmbin.Module {
	t.Helper()
	m, err := wasmbin.Decode(wasm)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestEngineDecodesAndEncodesToItself(t *testing.T) {
	published, rewritten := modules(t)
	for name, wasm := range map[string][]byte{"published": published, "rewritten": rewritten} {
		if got := decodeModule(t, wasm).Encode(); !bytes.Equal(got, wasm) {
			t.Errorf("%s: %d bytes became %d other ones", name, len(wasm), len(got))
		}
	}
}

func TestRewritingMovesNoIndex(t *testing.T) {
	published, rewritten := modules(t)
	old, m := decodeModule(t, published), decodeModule(t, rewritten)
	if d := cmp.Diff(old.Imports, m.Imports); d != "" {
		t.Errorf("imports:\n%s", d)
	}
	if d := cmp.Diff(old.Types, m.Types[:len(old.Types)]); d != "" {
		t.Errorf("types:\n%s", d)
	}
	if !slices.Equal(old.Funcs, m.Funcs[:len(old.Funcs)]) {
		t.Error("signatures of functions changed")
	}
	if d := cmp.Diff(old.Globals, m.Globals[:len(old.Globals)]); d != "" {
		t.Errorf("globals:\n%s", d)
	}
	if d := cmp.Diff(old.Memories, m.Memories); d != "" {
		t.Errorf("memories:\n%s", d)
	}
	before := map[string]wasmbin.Export{}
	for _, e := range old.Exports {
		before[e.Name] = e
	}
	for _, e := range m.Exports {
		if was, ok := before[e.Name]; ok && was != e {
			t.Errorf("export %v was %v", e, was)
		}
	}
}

// Every loop is metered: the engine has more than a thousand, and none of them
// may be lost by a change of the reader.
func TestEngineLoopsAreMetered(t *testing.T) {
	published, _ := modules(t)
	m := decodeModule(t, published)
	st, err := m.MeterLoops(wasmbin.Meter{Quantum: meterQuantum, Module: "env", Name: "host_interrupt", BulkShift: bulkShift})
	if err != nil {
		t.Fatal(err)
	}
	if st.Loops != 1278 || st.Bulk == 0 {
		t.Errorf("%d loops and %d bulk instructions metered; 1278 loops were counted when the engine was pinned", st.Loops, st.Bulk)
	}
}

// What the engine imports is exactly what is allowed, and exactly what is
// defined, with equal signatures.
func TestImports(t *testing.T) {
	_, rewritten := modules(t)
	m := decodeModule(t, rewritten)
	var imported, allowed, defined []string
	for _, im := range m.Imports {
		ft := m.Types[im.Type]
		imported = append(imported, im.Module+"."+im.Name+" "+string(ft.Params)+">"+string(ft.Results))
	}
	for _, h := range hostFuncs {
		defined = append(defined, h.module+"."+h.name+" "+string(h.params)+">"+string(h.results))
	}
	for name := range allowedImports {
		allowed = append(allowed, name)
	}
	sort.Strings(imported)
	sort.Strings(defined)
	sort.Strings(allowed)
	if d := cmp.Diff(imported, defined); d != "" {
		t.Errorf("imported and defined functions (-imported +defined):\n%s", d)
	}
	for i := range imported {
		imported[i], _, _ = strings.Cut(imported[i], " ")
	}
	if d := cmp.Diff(allowed, imported); d != "" {
		t.Errorf("allowed and imported functions (-allowed +imported):\n%s", d)
	}
	want := []string{
		"env.host_call", "env.host_get_timezone_offset", "env.host_interrupt", "env.host_module_load", "env.host_module_normalize",
		"env.host_promise_rejection", "wasi_snapshot_preview1.clock_time_get", "wasi_snapshot_preview1.fd_close",
		"wasi_snapshot_preview1.fd_fdstat_get", "wasi_snapshot_preview1.fd_seek", "wasi_snapshot_preview1.fd_write",
		"wasi_snapshot_preview1.random_get",
	}
	if d := cmp.Diff(want, allowed); d != "" {
		t.Errorf("the allow list grew or shrank: think twice (-want +got):\n%s", d)
	}
}

func TestExports(t *testing.T) {
	_, rewritten := modules(t)
	var got []string
	for _, e := range decodeModule(t, rewritten).Exports {
		got = append(got, e.Name)
	}
	want := append([]string{exportDispatch, exportCounter, exportOOM}, setupExports...)
	sort.Strings(got)
	sort.Strings(want)
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// The state of an instance is its memory and its mutable globals. Close resets
// those that the engine changes; one that appears here without being reset there
// would carry something from cell to cell.
func TestMutableGlobals(t *testing.T) {
	_, rewritten := modules(t)
	m := decodeModule(t, rewritten)
	mutable := 0
	for _, g := range m.Globals {
		if g.Mutable {
			mutable++
		}
	}
	// The stack pointer, the meter's counter, the out-of-memory flag, and the
	// cursor of the value codec, which a turn sets before it reads it.
	if mutable != 4 {
		t.Errorf("%d mutable globals, want 4", mutable)
	}
	if mutates, err := m.MutatesTables(); mutates || err != nil {
		t.Errorf("tables change: %t, %v", mutates, err)
	}
	if data, err := m.DataSegments(); err != nil || len(data) != 0 {
		t.Errorf("%d data segments left, %v", len(data), err)
	}
}

func TestCheckImportsRefuses(t *testing.T) {
	_, rewritten := modules(t)
	for name, change := range map[string]func(m *wasmbin.Module){
		"an unknown function": func(m *wasmbin.Module) { m.Imports[0].Name = "host_open" },
		"another module":      func(m *wasmbin.Module) { m.Imports[0].Module = "wasi_snapshot_preview1" },
		"a function twice":    func(m *wasmbin.Module) { m.Imports[0] = m.Imports[1] },
		"a missing function":  func(m *wasmbin.Module) { m.Imports = m.Imports[1:] },
		"an imported memory":  func(m *wasmbin.Module) { m.Imports[0].Kind = wasmbin.KindMemory },
		"one more": func(m *wasmbin.Module) {
			m.Imports = append(m.Imports, wasmbin.Import{Module: "env", Name: "exec", Kind: wasmbin.KindFunc})
		},
	} {
		m := decodeModule(t, rewritten)
		if err := checkImports(m); err != nil {
			t.Fatal(err)
		}
		change(m)
		if err := checkImports(m); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

func TestRewriteRefusesOtherModules(t *testing.T) {
	for name, wasm := range map[string][]byte{
		"nothing": nil, "text": []byte("no module"), "an empty module": []byte("\x00asm\x01\x00\x00\x00"),
	} {
		if _, err := rewrite(wasm); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	published, _ := modules(t)
	if _, err := rewrite(published[:len(published)-1]); err == nil {
		t.Error("a truncated engine is accepted")
	}
}
