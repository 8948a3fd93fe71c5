// Package quickjs runs JavaScript in sealed QuickJS instances compiled to
// WebAssembly and executed by wazero. It knows no tools and no code mode: it
// offers templates, virtual machines, values, deadlines and snapshots.
//
// An Engine holds the compiled module. A Template is a memory image in which
// the runtime is initialised and a prelude has been evaluated; every VM made
// from it starts bit-identical to that image. A VM runs one cell: it is used by
// one goroutine at a time and is closed or trapped afterwards. A VM whose guest
// code has no frame on the stack can be saved as a Snapshot and continued in
// another VM of an equal template, in this process or a later one.
//
// Nothing in the guest can be trusted, the prelude included. What the guest can
// reach outside of itself are the twelve functions of imports.go, which give it
// a coarse clock, eight random bytes and nothing else. The host calls the guest
// and reads results; there is no function object in the guest that calls the host.
package quickjs

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"github.com/tetratelabs/wazero"

	"github.com/cloister-wasm/cloister/internal/wazeroinit"
)

// EngineOptions configures Load. The zero value is usable: the engine's bytes
// are looked up as Bytes describes, and the compilation cache lies in the
// user's cache folder.
type EngineOptions struct {
	// Wasm is the stock quickjs.wasm. Nil means to look it up: see FindEngine.
	Wasm []byte
	// CacheDir holds compiled code. Empty means the user's cache folder, "off"
	// means no cache. The folder must be private, since what lies in it is run.
	CacheDir string
	// PlainMemory copies the template for each VM, as on systems without
	// copy-on-write mappings.
	PlainMemory bool
}

// Engine is the compiled JavaScript engine. It is safe for concurrent use.
type Engine struct {
	rt       wazero.Runtime
	cache    wazero.CompilationCache
	compiled wazero.CompiledModule
	prog     *program
	plain    bool
	digest   string
	sum      [32]byte

	mu     sync.Mutex
	closed bool
	live   int // instances that exist
}

// Load finds the engine's bytes, checks them against the pinned digest,
// rewrites and compiles them: 0.4 s, or a few milliseconds from a warm cache.
// The error is ErrEngineUnavailable where bytes are missing or wrong.
func Load(ctx context.Context, o *EngineOptions) (*Engine, error) {
	if o == nil {
		o = &EngineOptions{}
	}
	wasm := o.Wasm
	if wasm == nil {
		found, err := FindEngine()
		if err != nil {
			return nil, err
		}
		wasm = found.Wasm
	}
	if err := verifyEngine(wasm, "", false); err != nil {
		return nil, err
	}
	e, err := compile(ctx, wasm, o)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrEngineUnavailable, err)
	}
	return e, nil
}

func compile(ctx context.Context, wasm []byte, o *EngineOptions) (*Engine, error) {
	prog, err := rewriteCached(wasm, o.CacheDir)
	if err != nil {
		return nil, fmt.Errorf("rewriting the engine: %w", err)
	}
	e := &Engine{prog: prog, plain: o.PlainMemory, digest: hex.EncodeToString(prog.sum[:]), sum: prog.sum}
	if e.cache, err = openCache(o.CacheDir); err != nil {
		return nil, err
	}
	if err := e.start(ctx); err != nil {
		err = errors.Join(err, e.shutdown(ctx))
		if o.CacheDir == "off" {
			return nil, err
		}
		// wazero treats a damaged cache entry as an error: drop ours and compile anew.
		if e.cache, err = resetCache(o.CacheDir); err != nil {
			return nil, err
		}
		if err := e.start(ctx); err != nil {
			return nil, errors.Join(err, e.shutdown(ctx))
		}
	}
	return e, nil
}

func (e *Engine) start(ctx context.Context) (err error) {
	// NB: wazero panics where the system refuses it executable memory.
	defer func() {
		r := recover()
		if denied, ok := r.(error); ok && errors.Is(denied, fs.ErrPermission) {
			err = fmt.Errorf("%w: %w", ErrNoExecutableMemory, denied)
		} else if r != nil {
			err = fmt.Errorf("the compiler panicked: %v", r)
		}
	}()
	cfg := wazero.NewRuntimeConfigCompiler().WithDebugInfoEnabled(false)
	if e.cache != nil {
		cfg = cfg.WithCompilationCache(e.cache)
	}
	wazeroinit.Once()
	e.rt = wazero.NewRuntimeWithConfig(ctx, cfg)
	if err := instantiateImports(ctx, e.rt); err != nil {
		return fmt.Errorf("defining the engine's imports: %w", err)
	}
	if e.compiled, err = e.rt.CompileModule(ctx, e.prog.wasm); err != nil {
		return fmt.Errorf("compiling the engine: %w", err)
	}
	return nil
}

// Digest identifies the rewritten engine: the SHA-256 of its bytes in hex.
// Snapshots are bound to it.
func (e *Engine) Digest() string { return e.digest }

// Close releases compiled code, as soon as no VM is left: VMs in use stay usable
// until they are closed. No new ones are made.
func (e *Engine) Close(ctx context.Context) error {
	e.mu.Lock()
	e.closed = true
	last := e.live == 0
	e.mu.Unlock()
	if last {
		return e.shutdown(ctx)
	}
	return nil
}

// enter counts an instance that is about to be made.
func (e *Engine) enter() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed || e.rt == nil {
		return false
	}
	e.live++
	return true
}

// leave counts an instance that is gone.
func (e *Engine) leave() {
	e.mu.Lock()
	e.live--
	last := e.closed && e.live == 0
	e.mu.Unlock()
	if last {
		// The caller that closed the engine has gone; there is nobody to tell.
		_ = e.shutdown(context.Background())
	}
}

func (e *Engine) shutdown(ctx context.Context) error {
	e.mu.Lock()
	rt, cache := e.rt, e.cache
	e.rt, e.cache = nil, nil
	e.mu.Unlock()
	var err error
	if rt != nil {
		err = rt.Close(ctx)
	}
	if cache != nil {
		err = errors.Join(err, cache.Close(ctx))
	}
	return err
}
