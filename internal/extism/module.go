package extism

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"slices"
	"sync"

	ext "github.com/extism/go-sdk"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/cloister-wasm/cloister/internal/plaintext"
	"github.com/cloister-wasm/cloister/internal/wazeroinit"
)

const (
	// kernelBytes is what a plugin may share with the host beside input and output: a PDK keeps log messages, requests
	// to the host and other blocks there during a call.
	kernelBytes = 2 << 20
	// sdkBytes is what the SDK's own kernel may have. Nothing of the plugin goes there.
	sdkBytes = 2 << 20
)

// Module is a compiled plugin. Safe for concurrent use; Close it.
type Module struct {
	config    Config
	callable  map[string]bool
	compiled  *ext.CompiledPlugin
	cache     wazero.CompilationCache // nil without a directory
	fromCache bool
	slow      string // why it is not metered
	random    io.Reader

	closing context.Context // ends when Close begins
	close   context.CancelCauseFunc

	mu     sync.Mutex
	closed bool
	live   sync.WaitGroup // instances being made or not closed
}

// Check runs the checks of [Compile] without compiling: format, declared sizes, imports, and the exports a caller
// will need. functions names the host functions that Compile would be given. It takes some ten milliseconds for a Go
// plugin.
func Check(wasm []byte, functions []string, exports ...string) error {
	p, err := Prepare(wasm, functions, exports...)
	if err != nil {
		return err
	}
	return p.checked.analyze()
}

// Prepared is a module that passed the checks of what it declares: format, sizes, imports, exports. Its code is checked by
// [Prepared.Compile]. It refers to the bytes of the module: do not change them.
type Prepared struct {
	checked   *checked
	functions []string
}

// Prepare makes the checks that take little time, in particular of the imports, and keeps the module for compiling later.
func Prepare(wasm []byte, functions []string, exports ...string) (*Prepared, error) {
	c, err := check(wasm, functions)
	if err != nil {
		return nil, err
	}
	for _, name := range exports {
		if err := checkExport(c.callable, name); err != nil {
			return nil, err
		}
	}
	return &Prepared{checked: c, functions: slices.Sorted(slices.Values(functions))}, nil
}

// Compile checks a module and makes machine code of it; see [Prepared.Compile]. The wasm bytes are not kept.
func Compile(ctx context.Context, wasm []byte, config Config) (*Module, error) {
	if err := checkFunctions(config.Functions); err != nil {
		return nil, err
	}
	p, err := Prepare(wasm, functionNames(config.Functions))
	if err != nil {
		return nil, err
	}
	return p.Compile(ctx, config)
}

// Compile makes machine code, or takes it from the cache directory. A Go plugin takes about a second without a cache; ctx
// does not interrupt that. It may be called once: the module is used up. config.Functions must have the names that
// the module was prepared for.
//
// Errors: [*ModuleError], [*ImportError], [*LimitError], [ErrCacheDir], [ErrFunctions].
func (p *Prepared) Compile(ctx context.Context, config Config) (*Module, error) {
	c := p.checked
	switch err := checkFunctions(config.Functions); {
	case err != nil:
		return nil, err
	case c == nil:
		return nil, &ModuleError{Kind: ErrModule, Detail: "it was compiled already"}
	case !slices.Equal(p.functions, slices.Sorted(slices.Values(functionNames(config.Functions)))):
		return nil, fmt.Errorf("%w: the module was checked for others", ErrFunctions)
	}
	config = config.withDefaults()
	if c.memory > config.MemoryBytes {
		return nil, &LimitError{What: "memory", Limit: config.MemoryBytes, Got: c.memory}
	}
	if err := ctx.Err(); err != nil {
		return nil, stopped(ctx, false)
	}
	p.checked = nil
	if err := c.analyze(); err != nil {
		return nil, err
	}
	rewritten, err := c.rewrite()
	if err != nil {
		return nil, err
	}
	m := &Module{config: config, callable: c.callable, slow: c.slow, random: rand.Reader}
	m.closing, m.close = context.WithCancelCause(context.Background())
	if config.CacheDir == "" {
		m.compiled, err = m.compileSDK(ctx, rewritten, nil)
	} else {
		err = m.compileCached(ctx, rewritten)
	}
	if err != nil {
		m.close(err)
		return nil, err
	}
	return m, nil
}

// compileSDK runs the SDK's compilation. It panics where it cannot return an error. wazero's compiler runs on this
// goroutine alone: a panic of one of its workers could not be caught.
func (m *Module) compileSDK(ctx context.Context, wasm []byte, cache wazero.CompilationCache) (c *ext.CompiledPlugin, err error) {
	defer func() {
		if r := recover(); r != nil {
			c, err = nil, &ModuleError{Kind: ErrModule, Detail: "compiling it failed: " + plaintext.Short(fmt.Sprint(r), maxDetail)}
		}
	}()
	wazeroinit.Once()
	rc := wazero.NewRuntimeConfig().WithCloseOnContextDone(m.slow != "")
	if cache != nil {
		rc = rc.WithCompilationCache(cache)
	}
	manifest := ext.Manifest{
		Wasm:   []ext.Wasm{ext.WasmData{Data: wasm}},
		Memory: &ext.ManifestMemory{}, // no variables, no HTTP responses
	}
	ctx = experimental.WithFunctionListenerFactory(ctx, listeners{})
	c, err = ext.NewCompiledPlugin(ctx, manifest, ext.PluginConfig{RuntimeConfig: rc, EnableWasi: true},
		slices.Concat(env(), windowFunctions(), []ext.HostFunction{meterFunction()}, offered(m.config.Functions)))
	if err != nil {
		return nil, &ModuleError{Kind: ErrModule, Detail: plaintext.Short(err.Error(), maxDetail)}
	}
	return c, nil
}

// FromCache reports whether the machine code came from the cache directory.
func (m *Module) FromCache() bool { return m.fromCache }

// SlowPath reports why the module runs with the runtime's own checks of the deadline, which make it several times slower
// at computing: countdowns could not be shown to hold it to its time. "" is the rule: it is metered.
func (m *Module) SlowPath() string { return m.slow }

// CheckExport reports, as an [*ExportError], an export that is missing or does not have the signature of a call:
// no parameters, no result or one i32.
func (m *Module) CheckExport(name string) error { return checkExport(m.callable, name) }

func checkExport(callable map[string]bool, name string) error {
	ok, exists := callable[name]
	switch {
	case !exists:
		return &ExportError{Name: name, Detail: "is not exported; in Go, mark the function with //go:wasmexport " + plaintext.Short(name, maxName)}
	case !ok:
		return &ExportError{Name: name, Detail: "must take no parameters and return nothing or an i32"}
	}
	switch name {
	case "_start", "_initialize", "__wasm_call_ctors", "hs_init":
		return &ExportError{Name: name, Detail: "is for the runtime, not for calls"}
	}
	return nil
}

// Close ends running calls, waits for them, and frees the machine code. Idempotent. It waits for instances to be closed
// by itself: it closes them.
func (m *Module) Close() error {
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return nil
	}
	m.closed = true
	m.mu.Unlock()

	m.close(ErrClosed)
	m.live.Wait() // code must not run when it is unmapped
	ctx := context.Background()
	err := m.compiled.Close(ctx)
	if m.cache != nil {
		if cerr := m.cache.Close(ctx); err == nil {
			err = cerr
		}
	}
	return err
}

// enter counts an instance in, unless the module is closing.
func (m *Module) enter() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return false
	}
	m.live.Add(1)
	return true
}
