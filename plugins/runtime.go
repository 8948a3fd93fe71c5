package plugins

import (
	"context"
	"errors"
	"time"

	"github.com/cloister-wasm/cloister/internal/extism"
	"github.com/cloister-wasm/cloister/internal/plaintext"
)

// runtime turns a checked module into something that can be called. Extism is the only one; the interfaces are the place
// where a runtime for components would go.
type runtime interface {
	// prepare refuses modules that cannot be compiled, cheaply, and ones that import other host functions than these or lack
	// an export.
	prepare(wasm []byte, functions, exports []string) (prepared, error)
}

// prepared is a checked module.
type prepared interface {
	// compile makes machine code, once; see Config for the bounds.
	compile(ctx context.Context, c extism.Config) (module, error)
}

// module makes instances. Safe for concurrent use.
type module interface {
	newInstance(ctx context.Context) (instance, error)
	fromCache() bool
	close() error
}

// instance is called with bytes and answers with bytes. Safe for concurrent use; calls happen one after the other.
type instance interface {
	// CallFor bounds the time that the plugin runs; time in host functions that pause does not count.
	CallFor(ctx context.Context, limit time.Duration, export string, input []byte) ([]byte, error)
	Dead() bool
	Close()
}

type extismRuntime struct{}

func (extismRuntime) prepare(wasm []byte, functions, exports []string) (prepared, error) {
	p, err := extism.Prepare(wasm, functions, exports...)
	if err != nil {
		return nil, err
	}
	return extismPrepared{p}, nil
}

type extismPrepared struct{ p *extism.Prepared }

func (p extismPrepared) compile(ctx context.Context, c extism.Config) (module, error) {
	m, err := p.p.Compile(ctx, c)
	if err != nil {
		return nil, err
	}
	return extismModule{m}, nil
}

type extismModule struct{ m *extism.Module }

func (m extismModule) newInstance(ctx context.Context) (instance, error) {
	i, err := m.m.NewInstance(ctx)
	if err != nil {
		return nil, err
	}
	return i, nil
}

func (m extismModule) fromCache() bool { return m.m.FromCache() }
func (m extismModule) close() error    { return m.m.Close() }

// fault translates an error of the runtime; a GuestError is not a fault and does not come here.
func fault(plugin, tool string, err error) error {
	e := &PluginError{Plugin: plugin, Tool: tool, cause: err, Detail: plaintext.Line(err.Error(), 600)}
	var trap *extism.TrapError
	switch {
	case errors.As(err, &trap):
		e.Kind, e.Detail = ErrBroken, plaintext.Line(trap.Reason, 600)
		if trap.OutOfMemory {
			e.Kind = ErrMemory
			e.cause = errors.Join(ErrBroken, err)
		}
		e.Diagnostics = trap.Output + trap.Trace
	case errors.Is(err, extism.ErrStopped):
		e.Kind = ErrStopped
	case errors.Is(err, extism.ErrDead):
		e.Kind, e.Detail = ErrFinished, "an earlier call broke it or was stopped; make a new instance"
	case errors.Is(err, extism.ErrBusy):
		e.Kind, e.Detail = ErrBusy, "make another instance for calls that it causes itself"
	case errors.Is(err, extism.ErrClosed):
		e.Kind, e.Detail = ErrClosed, ""
	case errors.Is(err, extism.ErrLimit):
		e.Kind = ErrLimit
	case errors.Is(err, extism.ErrImport):
		e.Kind = ErrImport
	case errors.Is(err, extism.ErrExport):
		e.Kind = ErrExport
	case errors.Is(err, extism.ErrCacheDir), errors.Is(err, extism.ErrEnvironment):
		e.Kind = ErrHost
	default:
		e.Kind = ErrModule
	}
	return e
}

// envelopeBytes is more than a CallRequest or CallResponse adds to input or value.
const envelopeBytes = 1 << 10

// Limits is the most that a plugin may have. Zero values mean defaults.
type Limits struct {
	// MemoryBytes bounds the linear memory of an instance; a plugin that asks for more is refused. 0 means 256 MiB. A
	// plugin that does not ask gets 64 MiB, or this if it is less.
	MemoryBytes int64
	// CallTime bounds a call, whatever the manifest says. 0 means 30 seconds.
	CallTime time.Duration
	// InputBytes and OutputBytes bound the JSON of one call; 0 means 4 MiB.
	InputBytes, OutputBytes int
	// LogBytes bounds what a plugin may write to its log in one call; 0 means 64 KiB.
	LogBytes int
}

func (l Limits) withDefaults() Limits {
	if l.MemoryBytes <= 0 {
		l.MemoryBytes = 256 << 20
	}
	if l.CallTime <= 0 {
		l.CallTime = extism.DefaultCallTime
	}
	if l.InputBytes <= 0 {
		l.InputBytes = extism.DefaultInputBytes
	}
	l.InputBytes = min(l.InputBytes, extism.MaxTransferBytes-envelopeBytes)
	if l.OutputBytes <= 0 {
		l.OutputBytes = extism.DefaultOutputBytes
	}
	if l.LogBytes <= 0 {
		l.LogBytes = extism.DefaultLogBytes
	}
	return l
}

// memory decides what an instance gets.
func (l Limits) memory(asked int64) (int64, bool) {
	if asked <= 0 {
		return min(extism.DefaultMemoryBytes, l.MemoryBytes), true
	}
	return asked, asked <= l.MemoryBytes
}
