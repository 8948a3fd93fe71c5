package plugins

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/cloister-wasm/cloister/internal/extism"
)

// Plugin is a loaded plugin. Safe for concurrent use; Close it.
type Plugin struct {
	manifest *Manifest
	digest   string
	origin   Origin
	options  LoadOptions
	config   extism.Config
	broker   *broker

	turn     chan struct{} // holds a token while nobody compiles or closes
	prepared prepared      // until it is compiled
	module   module        // once it is
	failed   error         // a fault of the module, for good
	closed   bool

	holds holds
}

// ID is publisher.name.
func (p *Plugin) ID() string { return p.manifest.ID }

// Version is the plugin's semantic version.
func (p *Plugin) Version() string { return p.manifest.Version }

// Manifest is the checked manifest. Treat it as read-only.
func (p *Plugin) Manifest() *Manifest { return p.manifest }

// Digest is the SHA-256 of plugin.wasm in hexadecimal.
func (p *Plugin) Digest() string { return p.digest }

// Origin is where the plugin is from and who vouches for it.
func (p *Plugin) Origin() Origin { return p.origin }

// Unsigned reports that nobody vouches for the plugin. It never takes the place of one that is signed; see [Conflicts].
func (p *Plugin) Unsigned() bool { return p.origin.Unsigned }

// Tools lists the tools in the manifest's order. The slice is the caller's, what it points to is not.
func (p *Plugin) Tools() []Tool { return slices.Clone(p.manifest.Tools) }

// Timeout is the longest a call of the tool may run: the least of the tool's, the plugin's and the host's bound; 0 for
// an unknown tool. Time in call_tool and interrupt does not count.
func (p *Plugin) Timeout(tool string) time.Duration {
	t, ok := p.manifest.tool(tool)
	if !ok {
		return 0
	}
	return p.manifest.timeout(t, p.options.Limits.CallTime)
}

// baseTimeout bounds calls that are no tool's.
func (p *Plugin) baseTimeout() time.Duration {
	return p.manifest.timeout(&Tool{}, p.options.Limits.CallTime)
}

// Compile makes the machine code now, unless that has happened. ctx ends the waiting for another goroutine's compilation,
// not a compilation.
func (p *Plugin) Compile(ctx context.Context) error {
	_, err := p.compiled(ctx)
	return err
}

// compiled gives the module, compiling at most once.
func (p *Plugin) compiled(ctx context.Context) (module, error) {
	select {
	case <-p.turn:
		defer func() { p.turn <- struct{}{} }()
	case <-ctx.Done():
		return nil, &PluginError{Plugin: p.ID(), Kind: ErrStopped, Detail: "while it was compiled", cause: context.Cause(ctx)}
	}
	switch {
	case p.closed:
		return nil, &PluginError{Plugin: p.ID(), Kind: ErrClosed}
	case p.module != nil || p.failed != nil:
		return p.module, p.failed
	case ctx.Err() != nil:
		return nil, &PluginError{Plugin: p.ID(), Kind: ErrStopped, Detail: "before it was compiled", cause: context.Cause(ctx)}
	}
	start := time.Now()
	p.progress(CompileEvent{Plugin: p.ID()})
	// The result is for all later runs: the first one's end must not end it.
	m, err := p.prepared.compile(context.WithoutCancel(ctx), p.config)
	done := CompileEvent{Plugin: p.ID(), Done: true, Elapsed: time.Since(start)}
	if err != nil {
		p.failed = fault(p.ID(), "", err)
		done.Err = p.failed
	} else {
		p.module, p.prepared = m, nil
		done.FromCache = m.fromCache()
	}
	p.progress(done)
	return p.module, p.failed
}

func (p *Plugin) progress(e CompileEvent) {
	if p.options.Progress != nil {
		p.options.Progress(e)
	}
}

// instances counts those of the process.
var instances atomic.Uint64

// NewInstance makes an instance for one run, compiling first if that has not happened. Nothing is shared between
// instances, but the entries of a session in one store. Nil options are the zero value. Errors are a [*PluginError].
func (p *Plugin) NewInstance(ctx context.Context, opts *InstanceOptions) (*Instance, error) {
	m, err := p.compiled(ctx)
	if err != nil {
		return nil, err
	}
	i, err := m.newInstance(ctx)
	if err != nil {
		return nil, fault(p.ID(), "", err)
	}
	made := &Instance{plugin: p, inner: i, number: instances.Add(1), turn: make(chan struct{}, 1)}
	if opts != nil {
		made.options = *opts
	}
	made.turn <- struct{}{}
	return made, nil
}

// Close ends running calls, waits for them, closes all instances and frees the machine code, whoever holds the plugin.
// Idempotent.
func (p *Plugin) Close() error {
	p.holds.mu.Lock()
	p.holds.retired = true
	p.holds.mu.Unlock()
	<-p.turn
	defer func() { p.turn <- struct{}{} }()
	p.closed = true
	p.prepared = nil
	if p.module == nil {
		return nil
	}
	err := p.module.close()
	p.module = nil
	return err
}
