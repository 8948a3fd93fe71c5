package codemode

import (
	"context"
	"runtime"
	"sync"
	"time"

	"github.com/cloister-wasm/cloister/api"
	"github.com/cloister-wasm/cloister/internal/dispatch"
	"github.com/cloister-wasm/cloister/internal/guest"
	"github.com/cloister-wasm/cloister/internal/guestloop"
	"github.com/cloister-wasm/cloister/internal/limits"
	"github.com/cloister-wasm/cloister/quickjs"
)

// Runner is what the programs of all runs of a host share: templates, places, the list of what is suspended, and the
// transform of TypeScript. It is safe for concurrent use.
type Runner struct {
	o         Options
	cfg       api.CodeModeConfig
	d         *dispatch.Dispatcher
	templates guest.Templates

	transformOnce  sync.Once
	transformer    api.Transformer
	closeTransform func() error

	memory  memoryStore        // the store of a host without one
	parked  *guestloop.Parking // machines of suspended cells
	running limits.Slots       // cells that run at once
	saves   limits.Slots       // snapshots being made
	active  sync.WaitGroup     // execs and waits in flight; grows under mu, while not closed

	mu struct {
		sync.Mutex
		closed    bool
		suspended map[string]*cell
		sweeper   *time.Timer
		sweepDue  time.Time // when sweeper fires
	}
}

// Options configures a runner. Package host documents what they mean.
type Options struct {
	Config     api.CodeModeConfig // clamped
	Dispatcher *dispatch.Dispatcher
	Budget     *limits.Budget
	// Engine loads the engine, or returns the one that is loaded.
	Engine      func(ctx context.Context) (*quickjs.Engine, error)
	BeforeExec  func(ctx context.Context, cell *api.ExecEvent) error
	Transformer api.Transformer
	Snapshots   api.SnapshotStore
	ApprovalTTL time.Duration
	// ApprovalMessage is a sentence for people about calls of tools that wait.
	ApprovalMessage       func(tools ...string) string
	MaxSuspendedPerSender int
	MaxRunningCells       int
	MaxCalls              int
	MaxParkedBytes        int
}

// New makes a runner. Nothing is loaded before the first program.
func New(o *Options) *Runner {
	h := &Runner{o: *o, cfg: o.Config, d: o.Dispatcher}
	h.mu.suspended = map[string]*cell{}
	h.memory.budget = o.Budget
	h.running = make(limits.Slots, o.MaxRunningCells)
	h.saves = make(limits.Slots, max(1, runtime.GOMAXPROCS(0)/2))
	h.parked = guestloop.NewParking(o.MaxParkedBytes, h.cfg.MaxSnapshotBytes, h.saves)
	return h
}

// enter counts an exec or wait in, unless the host is closed.
func (h *Runner) enter() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.mu.closed {
		h.active.Add(1)
	}
	return !h.mu.closed
}

// Stop lets no more execs and waits in. The runs are to be closed then.
func (h *Runner) Stop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.mu.closed = true
	if h.mu.sweeper != nil {
		h.mu.sweeper.Stop()
	}
}

// Wait returns when no exec and no wait is in flight, after stop.
func (h *Runner) Wait() {
	h.active.Wait()
	h.parked.Close()
}

// Close releases templates and the worker process, after wait.
func (h *Runner) Close() error {
	h.templates.Close()
	if h.closeTransform != nil {
		return h.closeTransform()
	}
	return nil
}

// SearchLimit is the limit of a search: the default if it is unset, the maximum if it is more. The error is a *api.ToolError.
func (h *Runner) SearchLimit(limit int, unset bool) (int, error) {
	switch {
	case unset:
		return h.cfg.SearchDefaultLimit, nil
	case limit <= 0:
		return 0, &api.ToolError{Name: "RangeError", Message: "tools.search: limit must be a positive integer", Code: api.CodeInvalidInput}
	}
	return min(limit, h.cfg.MaxSearchLimit), nil
}
