package plugins

import "sync"

// holds counts who needs a plugin open.
type holds struct {
	mu      sync.Mutex
	n       int
	retired bool
}

// Hold keeps the plugin open until release is called, once or more often: a run holds the plugins it started with, so that
// a reload does not take them away. [Plugin.Close] ends it all the same. After [Plugin.Retire] or Close it is ErrClosed.
func (p *Plugin) Hold() (release func(), err error) {
	p.holds.mu.Lock()
	defer p.holds.mu.Unlock()
	if p.holds.retired {
		return nil, &PluginError{Plugin: p.ID(), Kind: ErrClosed}
	}
	p.holds.n++
	var once sync.Once
	return func() { once.Do(p.release) }, nil
}

func (p *Plugin) release() {
	p.holds.mu.Lock()
	p.holds.n--
	last := p.holds.retired && p.holds.n == 0
	p.holds.mu.Unlock()
	if last {
		p.closeRetired()
	}
}

// Retire closes the plugin as soon as nobody holds it, which may be now. Holders go on as before, new instances included;
// there are no new holders. Idempotent.
func (p *Plugin) Retire() {
	p.holds.mu.Lock()
	first := !p.holds.retired
	p.holds.retired = true
	idle := p.holds.n == 0
	p.holds.mu.Unlock()
	if first && idle {
		p.closeRetired()
	}
}

// Retired reports that the plugin is closed or will be.
func (p *Plugin) Retired() bool {
	p.holds.mu.Lock()
	defer p.holds.mu.Unlock()
	return p.holds.retired
}

// closeRetired has nobody to give an error to, and there is nothing to do about one: the memory of an engine that could not
// be freed.
func (p *Plugin) closeRetired() { _ = p.Close() }
