package codemode

import (
	"context"
	"sync"

	"github.com/cloister-wasm/cloister/internal/dispatch"
	"github.com/cloister-wasm/cloister/internal/view"
)

// Run has the cells of one run. It is safe for concurrent use.
type Run struct {
	h      *Runner
	calls  *dispatch.Run
	view   *view.View
	ctx    context.Context // of the run
	told   bool            // the caller is told of client calls as they are made
	spaces view.NamespaceCache

	mu struct {
		sync.Mutex
		closed bool
		cells  map[string]*cell
		execs  int
		waits  int
	}
}

// NewRun makes the programs of a run. callerTold says that the run's caller is told of client calls as they are made.
func (h *Runner) NewRun(ctx context.Context, calls *dispatch.Run, v *view.View, callerTold bool) *Run {
	r := &Run{h: h, calls: calls, view: v, ctx: ctx, told: callerTold}
	r.mu.cells = map[string]*cell{}
	return r
}

// Idle says that no cell is running or suspended.
func (r *Run) Idle() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.mu.cells) == 0
}

// Close lets no more cells be made, and returns what ends those that there are, which is to be called when the run's
// context has ended.
func (r *Run) Close() (end func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.closed = true
	cells := make([]*cell, 0, len(r.mu.cells))
	for _, c := range r.mu.cells {
		cells = append(cells, c)
	}
	return func() {
		for _, c := range cells {
			c.abort()
		}
	}
}
