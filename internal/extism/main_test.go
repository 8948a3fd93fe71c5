package extism

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cloister-wasm/cloister/internal/guesttest"
)

var buildDir string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "extism-test-*")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	buildDir = dir
	code := m.Run()
	if shared != nil {
		if err := shared.Close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

var guestWasm = guesttest.Go("./testdata/guest")

func guest(tb testing.TB) []byte {
	tb.Helper()
	return guestWasm.Wasm(tb)
}

// sharedCache is one cache directory for all tests that do not test the cache.
func sharedCache() string { return filepath.Join(buildDir, "cache") }

func compileFor(tb testing.TB, wasm []byte, c Config) *Module {
	tb.Helper()
	m, err := Compile(context.Background(), wasm, c)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := m.Close(); err != nil {
			tb.Error(err)
		}
	})
	return m
}

func guestModule(tb testing.TB, c Config) *Module {
	tb.Helper()
	if c.CacheDir == "" {
		c.CacheDir = sharedCache()
	}
	return compileFor(tb, guest(tb), c)
}

// sharedModule is the module of tests that neither configure nor close it. Nobody closes it but TestMain.
func sharedModule(tb testing.TB) *Module {
	tb.Helper()
	wasm := guest(tb)
	sharing.Do(func() { shared, sharedErr = Compile(context.Background(), wasm, Config{CacheDir: sharedCache()}) })
	if sharedErr != nil {
		tb.Fatal(sharedErr)
	}
	return shared
}

var (
	sharing   sync.Once
	shared    *Module
	sharedErr error
)

func instance(tb testing.TB, m *Module) *Instance {
	tb.Helper()
	i, err := m.NewInstance(context.Background())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(i.Close)
	return i
}

// sample gives what a test runs of a table: all, with -short one row of every n in the order of their names, another one
// on the next day.
func sample[T any](rows map[string]T, n int) map[string]T {
	if !testing.Short() {
		return rows
	}
	day := int(time.Now().Unix() / (24 * 60 * 60))
	some, names := map[string]T{}, slices.Sorted(maps.Keys(rows))
	for i := day % min(n, len(names)); i < len(names); i += n {
		some[names[i]] = rows[names[i]]
	}
	return some
}

// soon is a context that ends soon: long enough for the plugin to start, short enough for a test.
func soon(tb testing.TB) context.Context {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	tb.Cleanup(cancel)
	return ctx
}

// A small assembler for hand-made modules.

const (
	i32 = 0x7f
	i64 = 0x7e
)

type wasmFunc struct {
	export string
	typ    int
	locals []byte // raw vector of locals; nil is none
	code   []byte // without the final end
}

type wasmModule struct {
	types   [][2][]byte // parameters, results
	imports []struct {
		module, name string
		typ          int
	}
	tables   []byte // raw section
	memory   []byte // limits; nil is none
	globals  []byte // raw section
	start    int    // index + 1 of the start function
	elements []byte // raw section
	datas    []byte // raw section
	count    []byte // raw section of the number of data segments
	funcs    []wasmFunc
	custom   []byte // raw section, put first
}

func (m *wasmModule) importFunc(module, name string, typ int) {
	m.imports = append(m.imports, struct {
		module, name string
		typ          int
	}{module, name, typ})
}

func leb(v int) []byte { return binary.AppendUvarint(nil, uint64(v)) }

// sleb is a signed number.
func sleb(v int64) []byte {
	var out []byte
	for {
		b := byte(v & 0x7f)
		v >>= 7
		if (v == 0 && b&0x40 == 0) || (v == -1 && b&0x40 != 0) {
			return append(out, b)
		}
		out = append(out, b|0x80)
	}
}

func join(parts ...[]byte) []byte {
	var out []byte
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

func str(s string) []byte { return append(leb(len(s)), s...) }

func section(id byte, body []byte) []byte {
	if body == nil {
		return nil
	}
	return join([]byte{id}, leb(len(body)), body)
}

func (m *wasmModule) bytes() []byte {
	types := leb(len(m.types))
	for _, t := range m.types {
		types = join(types, []byte{0x60}, leb(len(t[0])), t[0], leb(len(t[1])), t[1])
	}
	var imports []byte
	if len(m.imports) > 0 {
		imports = leb(len(m.imports))
		for _, i := range m.imports {
			imports = join(imports, str(i.module), str(i.name), []byte{0}, leb(i.typ))
		}
	}
	funcs, codes, exports, nexports := leb(len(m.funcs)), leb(len(m.funcs)), []byte(nil), 0
	for n, f := range m.funcs {
		funcs = append(funcs, leb(f.typ)...)
		locals := f.locals
		if locals == nil {
			locals = []byte{0}
		}
		body := join(locals, f.code, []byte{0x0b})
		codes = join(codes, leb(len(body)), body)
		if f.export != "" {
			exports = join(exports, str(f.export), []byte{0}, leb(n+len(m.imports)))
			nexports++
		}
	}
	var memory, start []byte
	if m.memory != nil {
		memory = join([]byte{1}, m.memory)
		exports = join(exports, str("memory"), []byte{2, 0})
		nexports++
	}
	if m.start > 0 {
		start = leb(m.start - 1 + len(m.imports))
	}
	return join([]byte("\x00asm\x01\x00\x00\x00"), section(0, m.custom), section(1, types), section(2, imports), section(3, funcs),
		section(4, m.tables), section(5, memory), section(6, m.globals), section(7, join(leb(nexports), exports)), section(8, start),
		section(9, m.elements), section(12, m.count), section(10, codes), section(11, m.datas))
}

// run is a module with one function () → i32 called run.
func runModule(code ...[]byte) *wasmModule {
	return &wasmModule{types: [][2][]byte{{nil, {i32}}}, memory: []byte{0, 1}, funcs: []wasmFunc{{export: "run", code: join(code...)}}}
}
