package extism

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	ext "github.com/extism/go-sdk"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/sys"

	"github.com/cloister-wasm/cloister/internal/plaintext"
)

// Instance is a module with memory of its own, for one run. Calls on it are safe from several goroutines and happen one
// after the other. Close it.
type Instance struct {
	module   *Module
	plugin   *ext.Plugin
	main     api.Module // the plugin's own; nil before the first call
	exports  map[string]api.Function
	kernel   *kernel
	memories *memories
	log      *logger

	turn    chan struct{} // holds a token while no call runs
	closing context.Context
	close   context.CancelCauseFunc
	// Of the running call:
	ctx   context.Context // ends with it; WASI's sleep, the meter and long host functions look at it
	clock clock

	dead   atomic.Bool // finished by a trap, a stop, or an exit
	closed sync.Once
}

// NewInstance makes an instance. ctx bounds its start function, if it has one. The runtime inside the plugin starts with
// the first call.
//
// Errors: [ErrClosed], [ErrEnvironment], [*StoppedError], [*TrapError] from a start function, [*ModuleError] for imports of the wrong type.
func (m *Module) NewInstance(ctx context.Context) (*Instance, error) {
	if _, set := os.LookupEnv("EXTISM_ENABLE_WASI_OUTPUT"); set {
		return nil, ErrEnvironment
	}
	if !m.enter() {
		return nil, ErrClosed
	}
	i := &Instance{
		module:   m,
		memories: newMemories(sdkBytes, m.config.MemoryBytes),
		kernel:   newKernel(kernelBytes + (m.config.InputBytes+m.config.OutputBytes)*5/4), // blocks are rounded up
		log:      newLogger(m.config.Log, m.config.LogBytes),
		turn:     make(chan struct{}, 1),
		exports:  map[string]api.Function{},
	}
	i.closing, i.close = context.WithCancelCause(m.closing)
	if err := i.instantiate(ctx); err != nil {
		i.close(err)
		m.live.Done()
		return nil, err
	}
	i.turn <- struct{}{}
	// A closing module closes what it made, so that its Close need not be preceded by others.
	context.AfterFunc(i.closing, i.Close)
	return i, nil
}

func (i *Instance) instantiate(ctx context.Context) (err error) {
	ctx, stop := i.begin(ctx, i.module.config.CallTime, true)
	defer stop()
	defer func() {
		if r := recover(); r != nil {
			err = &ModuleError{Kind: ErrModule, Detail: "starting it failed: " + plaintext.Short(fmt.Sprint(r), maxDetail)}
		}
	}()
	i.log.begin()
	ctx = context.WithValue(ctx, ext.PluginCtxKey("plugin"), &ext.Plugin{}) // the SDK wants one before ours get a turn
	ctx = experimental.WithMemoryAllocator(ctx, i.memories)
	ctx = experimental.WithCloseNotifier(ctx, experimental.CloseNotifyFunc(func(context.Context, uint32) { i.dead.Store(true) }))
	i.plugin, err = i.module.compiled.Instance(ctx, ext.PluginInstanceConfig{ModuleConfig: i.sealed()})
	if err != nil {
		return i.instantiateError(ctx, err)
	}
	i.plugin.SetLogger(func(ext.LogLevel, string) {}) // the SDK's own chatter, if another user of it turned that on
	return nil
}

func (i *Instance) instantiateError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return stopped(ctx, true)
	}
	if strings.Contains(err.Error(), "wasm stack trace") || strings.Contains(err.Error(), "start function[") {
		return i.trap(err)
	}
	return &ModuleError{Kind: ErrModule, Detail: plaintext.Short(err.Error(), maxDetail)}
}

// sealed is what WASI gives the plugin: nothing but clocks, randomness and a log.
func (i *Instance) sealed() wazero.ModuleConfig {
	return wazero.NewModuleConfig().
		WithSysWalltime().
		WithSysNanotime().
		WithNanosleep(i.nanosleep).
		WithRandSource(randomSource{i.module.random, i.over}).
		WithStdout(&i.log.out).
		WithStderr(&i.log.err)
}

// nanosleep ends with the call: a host function that slept on would outlive every deadline.
func (i *Instance) nanosleep(ns int64) {
	t := time.NewTimer(time.Duration(ns))
	defer t.Stop()
	select {
	case <-t.C:
	case <-i.ctx.Done():
	}
}

// begin opens a call: its context ends with ctx, after limit of running time, or when the instance closes.
func (i *Instance) begin(ctx context.Context, limit time.Duration, starting bool) (context.Context, func()) {
	outer, _ := ctx.Value(frameKey{}).(*frame)
	ctx, cancel := context.WithCancelCause(ctx)
	i.ctx = ctx
	i.clock.start(limit, func() { cancel(context.DeadlineExceeded) })
	stop := context.AfterFunc(i.closing, func() { cancel(context.Cause(i.closing)) })
	return context.WithValue(ctx, frameKey{}, &frame{instance: i, outer: outer, starting: starting}), func() {
		stop()
		i.clock.stop()
		cancel(context.Canceled)
	}
}

// over reports whether the running call is to end. It does not depend on the clock's goroutine getting a turn.
func (i *Instance) over() bool {
	i.clock.fired()
	return i.ctx.Err() != nil
}

// goOn panics when the running call is over, which ends the plugin: host functions that take long are left so.
func (i *Instance) goOn() {
	if i.ctx.Err() != nil {
		panic(errOver)
	}
}

// Call calls an export with input and gives its output, both opaque bytes.
//
// Errors: [*GuestError] for what the plugin reports; [*LimitError]; [*ExportError]; [*StoppedError] when ctx ends or the
// time is up; [*TrapError]; [ErrDead]; [ErrClosed]; [ErrBusy]. After a TrapError, a StoppedError with Began or a LimitError
// of the output that the plugin could not write, the instance is finished.
func (i *Instance) Call(ctx context.Context, export string, input []byte) ([]byte, error) {
	return i.CallFor(ctx, i.module.config.CallTime, export, input)
}

// CallFor is Call with a bound of its own on the time that the plugin runs, if that is below [Config.CallTime]. Time in a
// [HostFunction] that pauses does not count, and neither does waiting for other calls of the instance; ctx bounds all.
func (i *Instance) CallFor(ctx context.Context, limit time.Duration, export string, input []byte) ([]byte, error) {
	if i.within(ctx) {
		return nil, ErrBusy
	}
	if len(input) > i.module.config.InputBytes {
		return nil, &LimitError{What: "input", Limit: int64(i.module.config.InputBytes), Got: int64(len(input))}
	}
	if err := i.module.CheckExport(export); err != nil {
		return nil, err
	}
	select {
	case <-i.turn:
		defer func() { i.turn <- struct{}{} }()
	case <-ctx.Done():
		return nil, stopped(ctx, false)
	}
	switch {
	case i.closing.Err() != nil:
		return nil, ErrClosed
	case ctx.Err() != nil:
		return nil, stopped(ctx, false)
	case i.dead.Load():
		return nil, ErrDead
	}
	if limit <= 0 || limit > i.module.config.CallTime {
		limit = i.module.config.CallTime
	}
	return i.call(ctx, limit, export, input)
}

func (i *Instance) call(ctx context.Context, limit time.Duration, export string, input []byte) (out []byte, err error) {
	ctx, stop := i.begin(ctx, limit, false)
	defer stop()
	i.memories.reset()
	i.kernel.begin(input)
	i.log.begin()
	defer i.log.end()
	defer func() {
		i.kernel.given = nil // the caller's
		if r := recover(); r != nil {
			out, err = nil, i.trap(fmt.Errorf("the runtime failed: %v", r))
		}
	}()
	rc, err := i.invoke(ctx, export)
	return i.outcome(ctx, rc, err)
}

// outcome decides what a finished call was. The host's clock comes first, whatever the plugin says.
func (i *Instance) outcome(ctx context.Context, rc uint32, err error) ([]byte, error) {
	limit := i.module.config.OutputBytes
	switch {
	case ctx.Err() != nil:
		i.dead.Store(true)
		return nil, stopped(ctx, true)
	case i.dead.Load(): // it exited, with whatever code
		return nil, i.trap(orExit(err))
	case err != nil && i.kernel.refused:
		i.dead.Store(true)
		return nil, &LimitError{What: "output", Limit: int64(limit)}
	case err != nil:
		return nil, i.trap(err)
	}
	if message := i.kernel.block(i.kernel.failure); rc != 0 || len(message) > 0 {
		return nil, &GuestError{Code: rc, Message: plaintext.Clip(string(message[:min(len(message), MaxMessageBytes+1)]), MaxMessageBytes)}
	}
	if n := i.kernel.outputLen; n > limit {
		return nil, &LimitError{What: "output", Limit: int64(limit), Got: int64(n)}
	}
	return i.kernel.taken(), nil
}

func orExit(err error) error {
	if err == nil {
		return errors.New("it exited during the call")
	}
	return err
}

// trap finishes the instance and describes why.
func (i *Instance) trap(err error) error {
	i.dead.Store(true)
	text := err.Error()
	reason, trace, _ := strings.Cut(text, "\n")
	var exit *sys.ExitError
	if errors.As(err, &exit) {
		reason = fmt.Sprintf("it exited with code %d", exit.ExitCode())
	}
	reason = strings.TrimSuffix(strings.TrimPrefix(reason, "wasm error: "), " (recovered by wazero)")
	return &TrapError{
		OutOfMemory: i.memories.refused(pluginMemory),
		Reason:      plaintext.Short(reason, maxDetail),
		Trace:       plaintext.Clip(trace, MaxMessageBytes),
		Output:      i.log.lastOutput(),
	}
}

// Dead reports whether the instance is finished.
func (i *Instance) Dead() bool { return i.dead.Load() || i.closing.Err() != nil }

// MemoryBytes is the size of the plugin's linear memory. It is only meaningful while no call runs.
func (i *Instance) MemoryBytes() int { return i.memories.size(pluginMemory) }

// Close ends a running call, waits for it and frees the instance. Idempotent.
func (i *Instance) Close() {
	i.closed.Do(func() {
		i.close(ErrClosed)
		<-i.turn
		_ = i.plugin.Close(context.Background()) // two modules without files: there is no error to come
		i.turn <- struct{}{}
		i.module.live.Done()
	})
}
