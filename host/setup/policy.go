package setup

import (
	"context"
	"sync/atomic"

	"github.com/cloister-wasm/cloister/host"
)

// livePolicy is the policy of a host that follows changes: the one that was read last.
// Without one the globs alone decide.
type livePolicy struct{ now atomic.Pointer[host.Policy] }

// set replaces the policy; nil for none.
func (p *livePolicy) set(next host.Policy) {
	if next == nil {
		p.now.Store(nil)
		return
	}
	p.now.Store(&next)
}

// Visible implements host.Policy.
func (p *livePolicy) Visible(ctx context.Context, scope host.Scope, tool *host.ToolFacts) (host.PolicyDecision, error) {
	if now := p.now.Load(); now != nil {
		return (*now).Visible(ctx, scope, tool)
	}
	return host.PolicyDecision{Allow: true}, nil
}

// Authorize implements host.Policy.
func (p *livePolicy) Authorize(ctx context.Context, call *host.PolicyCall) (host.PolicyDecision, error) {
	if now := p.now.Load(); now != nil {
		return (*now).Authorize(ctx, call)
	}
	return host.PolicyDecision{Allow: true}, nil
}
