package plugins

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// activation is one call into an instance, from the moment it asks for its turn. What the plugin's host functions need to
// know travels with it, in the context.
type activation struct {
	instance *Instance
	parent   *activation // the call during which the host was asked for this one, or nil
	tool     string

	logged   int // bytes of log
	lines    int // records of log
	progress int // events

	nested []*activation // begun and not ended; under turns
}

type activationKey struct{}

func activationOf(ctx context.Context) *activation {
	a, _ := ctx.Value(activationKey{}).(*activation)
	return a
}

// turns guards who runs on which instance. Calls of plugins by plugins could wait for each other in a circle: plugin a
// waits for the instance of b while b, called from elsewhere, waits for that of a. Nobody's clock runs then, so such a wait is
// refused before it begins.
var turns sync.Mutex

// take waits for the instance's turn. The caller gives it back with done.
func (a *activation) take(ctx context.Context) (done func(), err error) {
	i := a.instance
	turns.Lock()
	if a.parent != nil {
		if a.circle(i, nil) {
			turns.Unlock()
			return nil, &PluginError{Plugin: i.plugin.ID(), Tool: a.tool, Kind: ErrBusy,
				Detail: "it is in a call that waits for this one; plugins may not call each other in circles"}
		}
		a.parent.nested = append(a.parent.nested, a)
	}
	turns.Unlock()
	leave := func() {
		if a.parent != nil {
			turns.Lock()
			a.parent.nested = slices.DeleteFunc(a.parent.nested, func(n *activation) bool { return n == a })
			turns.Unlock()
		}
	}
	select {
	case <-i.turn:
	case <-ctx.Done():
		leave()
		return nil, &PluginError{Plugin: i.plugin.ID(), Tool: a.tool, Kind: ErrStopped, Detail: "while it waited for its turn", cause: errors.Join(context.Cause(ctx), ctx.Err())}
	}
	turns.Lock()
	i.running = a
	turns.Unlock()
	return func() {
		turns.Lock()
		i.running = nil
		turns.Unlock()
		i.turn <- struct{}{}
		leave()
	}, nil
}

// circle reports whether i cannot be free before a has ended. turns is held.
func (a *activation) circle(i *Instance, seen []*Instance) bool {
	holder := i.running
	if holder == nil || slices.Contains(seen, i) {
		return false
	}
	for up := a.parent; up != nil; up = up.parent {
		if up == holder {
			return true
		}
	}
	seen = append(seen, i)
	return slices.ContainsFunc(holder.nested, func(n *activation) bool { return a.circle(n.instance, seen) })
}
