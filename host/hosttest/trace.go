package hosttest

import (
	"slices"
	"sync"

	"github.com/cloister-wasm/cloister/host"
)

// Trace is a host.TraceSink that keeps its events. The zero value is ready to use.
type Trace struct {
	mu     sync.Mutex
	events []host.TraceEvent
}

// Emit implements host.TraceSink.
func (t *Trace) Emit(e host.TraceEvent) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.events = append(t.events, e)
}

// Events gives the events so far; with names, only those of these names.
func (t *Trace) Events(names ...host.EventName) []host.TraceEvent {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(names) == 0 {
		return slices.Clone(t.events)
	}
	var out []host.TraceEvent
	for _, e := range t.events {
		if slices.Contains(names, e.Event) {
			out = append(out, e)
		}
	}
	return out
}

// Reset forgets the events so far.
func (t *Trace) Reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.events = nil
}
