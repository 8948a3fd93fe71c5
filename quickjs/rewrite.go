package quickjs

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"

	"github.com/cloister-wasm/cloister/internal/wasmbin"
)

const (
	// meterQuantum is the number of loop iterations between two checkpoints. At
	// about 10 ns an iteration, a checkpoint comes every 0.1 to 0.2 ms.
	meterQuantum = 16384
	// bulkShift prices memory.copy and memory.fill at one iteration per 64 bytes.
	bulkShift = 6
)

// Names of what the rewriting adds to the module.
const (
	exportDispatch = "cloister_dispatch"
	exportCounter  = "cloister_counter"
	exportOOM      = "cloister_oom"
	exportStack    = "__stack_pointer"
)

// setupExports are called while a template is made, never for a cell.
var setupExports = []string{
	"memory", exportStack, "_initialize",
	"qjs_init2", "qjs_set_interrupt_handler", "qjs_set_promise_rejection_handler",
	"qjs_set_module_loader", "qjs_set_max_stack_size", "qjs_get_runtime_ptr", "qjs_get_context_ptr",
	"qjs_run_gc", "qjs_get_undefined", "qjs_compute_memory_usage", "qjs_compile", "qjs_eval_bytecode",
	"JS_AddIntrinsicEval", "JS_SetGCThreshold", "JS_Throw", "JS_GetPropertyUint32",
}

// program is the rewritten engine: what is compiled, and what the module's data
// segments hold, which the host lays out by itself.
type program struct {
	wasm []byte
	sum  [32]byte // SHA-256 of wasm
	data []wasmbin.DataSegment
}

// rewrittenSHA256 is the digest of the rewritten engine. Rewriting is
// deterministic: a test fails when a change of the rewriting is not noted here.
const rewrittenSHA256 = "aa1193fb9e6187c74341080fe44c3cc41e6deaac1f35788222b4496e42c9b71f"

// rewriteCached takes the rewritten engine from the cache folder, where its
// digest vouches for it, or rewrites it and puts it there.
func rewriteCached(wasm []byte, cacheDir string) (*program, error) {
	dir, err := cachePath(cacheDir)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "engine-"+rewrittenSHA256[:16]+".wasm")
	if dir != "" {
		if b, err := readBounded(path); err == nil {
			if sum := sha256.Sum256(b); hex.EncodeToString(sum[:]) == rewrittenSHA256 {
				m, err := wasmbin.Decode(wasm)
				if err != nil {
					return nil, err
				}
				data, err := m.DataSegments()
				return &program{wasm: b, sum: sum, data: data}, err
			}
		}
	}
	p, err := rewrite(wasm)
	if err != nil {
		return nil, err
	}
	if dir != "" && hex.EncodeToString(p.sum[:]) == rewrittenSHA256 {
		// The cache only saves time: where it cannot be written, the next start
		// rewrites again.
		_ = writeAtomic(path, p.wasm)
	}
	return p, nil
}

// rewrite makes the engine killable and cheap to start: loops are metered, data
// segments removed, one dispatch function added through which every call of a
// cell goes, and a flag that the engine's out-of-memory path sets.
func rewrite(wasm []byte) (*program, error) {
	m, err := wasmbin.Decode(wasm)
	if err != nil {
		return nil, err
	}
	if mutates, err := m.MutatesTables(); err != nil || mutates {
		return nil, fmt.Errorf("the engine changes its tables (%t) or cannot be read: %w", mutates, err)
	}
	data, err := m.DataSegments()
	if err != nil {
		return nil, err
	}
	if err := m.StripData(); err != nil {
		return nil, err
	}
	if err := addOOMFlag(m); err != nil {
		return nil, err
	}
	if err := addDispatch(m); err != nil {
		return nil, err
	}
	stats, err := m.MeterLoops(wasmbin.Meter{Quantum: meterQuantum, Module: "env", Name: "host_interrupt", BulkShift: bulkShift})
	if err != nil {
		return nil, err
	}
	if err := m.AddGlobalExport(exportCounter, stats.Counter); err != nil {
		return nil, err
	}
	keep := append([]string{exportDispatch, exportCounter, exportOOM}, setupExports...)
	if err := m.KeepExports(keep...); err != nil {
		return nil, err
	}
	if _, err := m.StubUnreachable(); err != nil {
		return nil, err
	}
	if err := checkImports(m); err != nil {
		return nil, err
	}
	out := m.Encode()
	return &program{wasm: out, sum: sha256.Sum256(out), data: data}, nil
}

// addOOMFlag sets a global whenever the engine reports that memory ran out:
// guest code may catch that error, and the host must know all the same.
func addOOMFlag(m *wasmbin.Module) error {
	flag, err := m.AddCounter(0)
	if err != nil {
		return err
	}
	fn, ok := m.ExportedFunc("JS_ThrowOutOfMemory")
	if !ok {
		return fmt.Errorf("the engine has no export JS_ThrowOutOfMemory")
	}
	if err := m.Prepend(fn, wasmbin.Code{}.I32(1).GlobalSet(flag)); err != nil {
		return err
	}
	return m.AddGlobalExport(exportOOM, flag)
}

// allowedImports is every function that the engine may import. All are defined
// in imports.go; none reaches a file, a network or the environment.
var allowedImports = map[string]bool{
	"env.host_get_timezone_offset": true, "env.host_interrupt": true, "env.host_promise_rejection": true,
	"env.host_module_normalize": true, "env.host_module_load": true, "env.host_call": true,
	"wasi_snapshot_preview1.clock_time_get": true, "wasi_snapshot_preview1.fd_close": true,
	"wasi_snapshot_preview1.fd_fdstat_get": true, "wasi_snapshot_preview1.fd_seek": true,
	"wasi_snapshot_preview1.fd_write": true, "wasi_snapshot_preview1.random_get": true,
}

func checkImports(m *wasmbin.Module) error {
	seen := map[string]bool{}
	for _, im := range m.Imports {
		name := im.Module + "." + im.Name
		if im.Kind != wasmbin.KindFunc || !allowedImports[name] || seen[name] {
			return fmt.Errorf("the engine imports %q, which is not on the allow list", name)
		}
		seen[name] = true
	}
	if len(seen) != len(allowedImports) {
		return fmt.Errorf("the engine imports %d functions, %d are expected", len(seen), len(allowedImports))
	}
	return nil
}
