package extism

import (
	"context"
	"crypto/rand"
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
)

// Instance is a module with memory of its own, for one run. Calls on it are safe from several goroutines and happen one
// after the other. Close it.
type Instance struct {
	module   *Module
	plugin   *ext.Plugin
	kernel   api.Memory
	memories *memories
	log      *logger

	turn    chan struct{} // holds a token while no call runs
	closing context.Context
	close   context.CancelCauseFunc
	// Of the running call:
	sleep    context.Context // for WASI's sleep
	inputLen int

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
		memories: newMemories(kernelBytes+int64(m.config.InputBytes)+int64(m.config.OutputBytes), m.config.MemoryBytes),
		log:      newLogger(m.config.Log, m.config.LogBytes),
		turn:     make(chan struct{}, 1),
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
	ctx, stop := i.callContext(ctx)
	defer stop()
	defer func() {
		if r := recover(); r != nil {
			err = &ModuleError{Kind: ErrModule, Detail: "starting it failed: " + printable(cut(fmt.Sprint(r), maxDetail))}
		}
	}()
	i.sleep = ctx
	i.log.begin()
	ctx = experimental.WithMemoryAllocator(ctx, i.memories)
	ctx = experimental.WithCloseNotifier(ctx, experimental.CloseNotifyFunc(func(context.Context, uint32) { i.dead.Store(true) }))
	i.plugin, err = i.module.compiled.Instance(ctx, ext.PluginInstanceConfig{ModuleConfig: i.sealed()})
	if err != nil {
		return i.instantiateError(ctx, err)
	}
	i.plugin.SetLogger(func(ext.LogLevel, string) {}) // the SDK's own chatter, if another user of it turned that on
	i.kernel = i.plugin.Memory()
	return nil
}

func (i *Instance) instantiateError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return stopped(ctx, true)
	}
	if strings.Contains(err.Error(), "wasm stack trace") {
		return i.trap(err)
	}
	return &ModuleError{Kind: ErrModule, Detail: printable(cut(err.Error(), maxDetail))}
}

// sealed is what WASI gives the plugin: nothing but clocks, randomness and a log.
func (i *Instance) sealed() wazero.ModuleConfig {
	return wazero.NewModuleConfig().
		WithSysWalltime().
		WithSysNanotime().
		WithNanosleep(i.nanosleep).
		WithRandSource(rand.Reader).
		WithStdout(&i.log.out).
		WithStderr(&i.log.err)
}

// nanosleep ends with the call: a host function that slept on would outlive every deadline.
func (i *Instance) nanosleep(ns int64) {
	t := time.NewTimer(time.Duration(ns))
	defer t.Stop()
	select {
	case <-t.C:
	case <-i.sleep.Done():
	}
}

// callContext ends with ctx, after the configured time, or when the instance closes.
func (i *Instance) callContext(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancelTime := context.WithTimeout(ctx, i.module.config.CallTime)
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(i.closing, func() { cancel(context.Cause(i.closing)) })
	return context.WithValue(ctx, instanceKey{}, i), func() {
		stop()
		cancel(context.Canceled)
		cancelTime()
	}
}

// Call calls an export with input and gives its output, both opaque bytes.
//
// Errors: [*GuestError] for what the plugin reports; [*LimitError]; [*ExportError]; [*StoppedError] when ctx ends or the
// time is up; [*TrapError]; [ErrDead]; [ErrClosed]. After a TrapError, a StoppedError with Began or a LimitError of the
// output that the plugin could not write, the instance is finished.
func (i *Instance) Call(ctx context.Context, export string, input []byte) ([]byte, error) {
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
	return i.call(ctx, export, input)
}

func (i *Instance) call(ctx context.Context, export string, input []byte) (out []byte, err error) {
	ctx, stop := i.callContext(ctx)
	defer stop()
	i.sleep, i.inputLen = ctx, len(input)
	i.memories.reset()
	i.log.begin()
	defer i.log.end()
	defer func() {
		if r := recover(); r != nil {
			out, err = nil, i.trap(fmt.Errorf("the runtime failed: %v", r))
		}
	}()
	rc, out, err := i.plugin.CallWithContext(ctx, export, input)
	return i.outcome(ctx, rc, out, err)
}

// outcome decides what a finished call was. The host's clock comes first, whatever the plugin says.
func (i *Instance) outcome(ctx context.Context, rc uint32, out []byte, err error) ([]byte, error) {
	limit := i.module.config.OutputBytes
	said := err != nil && i.reported(ctx, err)
	switch {
	case ctx.Err() != nil:
		i.dead.Store(true)
		return nil, stopped(ctx, true)
	case i.dead.Load(): // it exited, with whatever code
		return nil, i.trap(orExit(err))
	case err != nil && !said:
		if i.memories.refused(kernelMemory) {
			i.dead.Store(true)
			return nil, &LimitError{What: "output", Limit: int64(limit)}
		}
		return nil, i.trap(err)
	case err != nil || rc != 0:
		message := ""
		if err != nil {
			message = cut(err.Error(), MaxMessageBytes)
		}
		return nil, &GuestError{Code: rc, Message: message}
	case len(out) > limit:
		return nil, &LimitError{What: "output", Limit: int64(limit), Got: int64(len(out))}
	}
	return out, nil
}

func orExit(err error) error {
	if err == nil {
		return errors.New("it exited during the call")
	}
	return err
}

// reported tells the plugin's own error message, which the SDK gives as a bare error, from everything else. A plugin
// that breaks with a text it announced before fools only itself: the instance is of its own run.
func (i *Instance) reported(ctx context.Context, err error) bool {
	if errors.Unwrap(err) != nil {
		return false
	}
	if _, joined := err.(interface{ Unwrap() []error }); joined {
		return false
	}
	said := i.plugin.GetErrorWithContext(ctx)
	return said != "" && said == err.Error()
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
		Reason:      printable(cut(reason, maxDetail)),
		Trace:       cut(trace, MaxMessageBytes),
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
