package dispatch

import (
	"context"
	"sync"

	"github.com/cloister-wasm/cloister/api"
	"github.com/cloister-wasm/cloister/internal/view"
	"github.com/cloister-wasm/cloister/plugins"
)

// Run is the part of one run in its calls: whose they are, which tools there are, and the plugins' instances. It
// is safe for concurrent use.
type Run struct {
	d *Dispatcher
	o RunOptions

	mu struct {
		sync.Mutex
		closed    bool
		instances map[string]*plugins.Instance
		questions map[string]*Call // calls that wait for an answer of resolve or reject, by their ids
	}
}

// RunOptions says what a run's calls need.
type RunOptions struct {
	Context context.Context // of the run
	Scope   api.Scope
	View    *view.View
	// Revoked says whether a tool was taken away from the run, by its id.
	Revoked func(id string) bool
	// OnClientCall, OnEvent and OnProgress are the run's. Nil is for nobody.
	OnClientCall func(call api.PendingToolCall)
	OnEvent      func(e api.TraceEvent)
	OnProgress   func(call *api.ToolCall, p api.Progress)
}

// NewRun makes the calls of a run.
func (d *Dispatcher) NewRun(o *RunOptions) *Run {
	r := &Run{d: d, o: *o}
	r.mu.instances, r.mu.questions = map[string]*plugins.Instance{}, map[string]*Call{}
	return r
}

// Scope is whose calls they are.
func (r *Run) Scope() api.Scope { return r.o.Scope }

// Close closes the instances of plugins, and lets no more be made. The run's context has ended.
func (r *Run) Close() {
	r.mu.Lock()
	instances := r.mu.instances
	r.mu.closed, r.mu.instances = true, nil
	r.mu.Unlock()
	for _, in := range instances {
		in.Close()
	}
}
