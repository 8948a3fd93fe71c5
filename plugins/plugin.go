package plugins

import (
	"context"
	"slices"
	"time"

	"github.com/cloister-wasm/cloister/internal/extism"
)

// Plugin is a loaded plugin. Safe for concurrent use; Close it.
type Plugin struct {
	manifest *Manifest
	digest   string
	unsigned bool
	options  LoadOptions
	config   extism.Config
	runtime  runtime

	turn   chan struct{} // holds a token while nobody compiles or closes
	wasm   []byte        // until it is compiled
	module module        // once it is
	failed error         // a fault of the module, for good
	closed bool
}

// ID is publisher.name.
func (p *Plugin) ID() string { return p.manifest.ID }

// Version is the plugin's semantic version.
func (p *Plugin) Version() string { return p.manifest.Version }

// Manifest is the checked manifest. Treat it as read-only.
func (p *Plugin) Manifest() *Manifest { return p.manifest }

// Digest is the SHA-256 of plugin.wasm in hexadecimal.
func (p *Plugin) Digest() string { return p.digest }

// Unsigned reports that nobody vouches for the plugin: it came from a folder.
func (p *Plugin) Unsigned() bool { return p.unsigned }

// Tools lists the tools in the manifest's order. The slice is the caller's, what it points to is not.
func (p *Plugin) Tools() []Tool { return slices.Clone(p.manifest.Tools) }

// Timeout is the longest a call of the tool may take: the least of the tool's, the plugin's and the host's bound; 0 for
// an unknown tool.
func (p *Plugin) Timeout(tool string) time.Duration {
	t, ok := p.manifest.tool(tool)
	if !ok {
		return 0
	}
	return p.manifest.timeout(t, p.options.Limits.CallTime)
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
	m, err := p.runtime.compile(context.WithoutCancel(ctx), p.wasm, p.config)
	done := CompileEvent{Plugin: p.ID(), Done: true, Elapsed: time.Since(start)}
	if err != nil {
		p.failed = fault(p.ID(), "", err)
		done.Err = p.failed
	} else {
		p.module, p.wasm = m, nil
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

// NewInstance makes an instance for one run, compiling first if that has not happened. Nothing is shared between
// instances. Errors are a [*PluginError].
func (p *Plugin) NewInstance(ctx context.Context) (*Instance, error) {
	m, err := p.compiled(ctx)
	if err != nil {
		return nil, err
	}
	i, err := m.newInstance(ctx)
	if err != nil {
		return nil, fault(p.ID(), "", err)
	}
	return &Instance{plugin: p, inner: i}, nil
}

// Close ends running calls, waits for them, closes all instances and frees the machine code. Idempotent.
func (p *Plugin) Close() error {
	<-p.turn
	defer func() { p.turn <- struct{}{} }()
	p.closed = true
	if p.module == nil {
		return nil
	}
	err := p.module.close()
	p.module, p.wasm = nil, nil
	return err
}
