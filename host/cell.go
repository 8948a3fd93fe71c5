package host

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/internal/catalog"
	"github.com/cloister-wasm/cloister/quickjs"
)

// cell is one program from exec to its end. While it runs, one goroutine, that of
// Exec or Wait, owns the guest; calls settle from goroutines of their own. While
// it is suspended there is no VM, only the snapshot in the store.
type cell struct {
	h        *Host
	run      *Run
	id       string
	parentID string // id of the exec call
	tmpl     *templateRef
	source   string
	position func(line, column int) (int, int)

	ctx    context.Context // of nested calls: ends with the cell
	cancel context.CancelFunc

	// Owned by the goroutine that drives the cell.
	g         guest
	mainDone  bool
	value     json.RawMessage // what the program returned, once it is written
	output    []OutputItem
	outBytes  int
	telemetry Telemetry
	failures  []guestabi.Thrown // delivered to the guest, to recognise them when they come back
	batch     []quickjs.Settlement
	calls     int       // numbers the calls of this cell
	single    *openCall // a call that the driver is to run itself
	started   bool      // the first turn was made
	resumed   time.Time // when the wait that drives it restored it
	saved     [32]byte  // SHA-256 of the snapshot in the store
	yields    []int     // requests of yield_control, settled by the next wait

	mu       sync.Mutex
	state    guestabi.State
	driving  bool // an exec or wait is in flight
	open     map[int]*openCall
	queue    []*openCall
	inFlight int
	held     int // bytes of inputs of open calls and of results on their way
	settled  []settlement
	inline   *openCall     // the call that the driver is inside of
	wanted   bool          // the guest is to be given back before the next inline call
	signal   chan struct{} // capacity 1: something settled, or the cell was aborted
	expires  time.Time

	attention chan struct{} // capacity 1: a call began or ended to wait for approval

	grants grants      // answers that hold for this cell
	files  attachments // binaries of tools' results
}

// openCall is a tool call that has not been delivered to the guest.
type openCall struct {
	request  int
	tc       *ToolCall
	client   bool
	approval time.Time // since when it waits for approval; zero if it does not
	// interrupted is set while the call waits to be resolved from outside.
	interrupted *interruption
	// member is the namespace function that was called, if its plugin maps the
	// arguments: then the call's input are those.
	member *member
	// lent is the client tool of a call that needs approval before the caller of Exec
	// sees it.
	lent  *catalog.Entry
	done  bool
	since time.Time
	held  int // bytes that count in cell.held
}

// Bounds on what one cell makes the host keep, in bytes. A guest's own memory is
// free again for the next input as soon as a call is made.
const (
	maxToolInput = 16 << 20 // of one call
	maxHeld      = 64 << 20 // inputs of open calls and results on their way; over it no queued call starts
	maxBatch     = 8 << 20  // results delivered in one turn, so that the guest can drop one before the next
)

// settlement is the outcome of a request, on its way to the guest.
type settlement struct {
	request int
	value   json.RawMessage // if err is nil
	err     *ToolError
}

func (r *Run) newCell(parentID, source string, tmpl *templateRef) (*cell, error) {
	id, err := r.h.newID("run_")
	if err != nil {
		return nil, err
	}
	c := &cell{
		h: r.h, run: r, id: id, parentID: parentID, tmpl: tmpl, source: source, state: guestabi.StateRunning, driving: true,
		open: map[int]*openCall{}, signal: make(chan struct{}, 1), attention: make(chan struct{}, 1),
	}
	c.ctx, c.cancel = context.WithCancel(r.ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		c.cancel()
		return nil, errRunClosed
	}
	r.cells[id] = c
	return c, nil
}

// settle records an outcome and wakes the driver. It may be called from any
// goroutine; a request that is not open is ignored.
func (c *cell) settle(s settlement) bool {
	c.mu.Lock()
	oc := c.open[s.request]
	if oc == nil || oc.done {
		c.mu.Unlock()
		return false
	}
	oc.done = true
	if !oc.client {
		c.inFlight--
	}
	c.settled = append(c.settled, s)
	oc.held += len(s.value)
	c.held += len(s.value)
	next := c.nextLocked()
	c.mu.Unlock()
	c.wake()
	for _, oc := range next {
		go c.perform(oc)
	}
	return true
}

func (c *cell) wake() {
	select {
	case c.signal <- struct{}{}:
	default:
	}
}

// begin opens a call. It starts with launch, or when a slot is free.
func (c *cell) begin(oc *openCall) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open[oc.request] = oc
	oc.held = len(oc.tc.Input)
	c.held += oc.held
	if !oc.client {
		c.queue = append(c.queue, oc)
	}
}

// launch starts the calls that slots are free for, each in a goroutine of its
// own. A call that is the only open one is left for the driver, which runs it in
// its own goroutine: to wake another costs more than most calls. Not so when the
// program yields: then the driver returns at once.
func (c *cell) launch() {
	c.mu.Lock()
	next := c.nextLocked()
	if len(next) == 1 && len(c.open) == 1 && len(c.yields) == 0 {
		c.single = next[0]
		next = nil
	}
	c.mu.Unlock()
	for _, oc := range next {
		go c.perform(oc)
	}
}

// nextLocked takes the calls from the queue that slots are free for.
func (c *cell) nextLocked() []*openCall {
	n := min(len(c.queue), c.h.cfg.MaxPendingToolCalls-c.inFlight)
	if n <= 0 || c.ctx.Err() != nil || c.held > maxHeld {
		return nil
	}
	next := c.queue[:n:n]
	c.queue = c.queue[n:]
	c.inFlight += n
	return next
}

// perform runs a call through the dispatcher and settles it, also if the tool ends
// the goroutine.
func (c *cell) perform(oc *openCall) {
	if oc.lent != nil {
		c.performClient(oc)
		return
	}
	s := settlement{request: oc.request, err: &ToolError{Name: "Error", Message: "the tool " + oc.tc.Tool + " failed inside", Code: "tool_failed"}}
	defer func() { c.settle(s) }()
	waiting := c.approvalWatch(oc)
	ctx := context.WithValue(c.ctx, callKey{}, callValue{run: c.run, call: oc.tc, cell: c, open: oc, waiting: waiting, files: &c.files})
	if oc.member != nil {
		input, err := c.run.mapInput(ctx, oc.member, oc.tc.Input)
		if err != nil {
			s.err = c.run.plainError(ctx, oc.member.tool, err)
			oc.tc.Unsigned = oc.member.tool.Unsigned
			c.run.emit(oc.tc, notMapped(s.err))
			return
		}
		oc.tc.Input = input
	}
	s.value, s.err = c.run.dispatch(ctx, oc.tc, waiting)
}

// approvalWatch gives the function that is told when a call waits for approval.
func (c *cell) approvalWatch(oc *openCall) func(bool) {
	if c.h.o.Approve == nil {
		return nil
	}
	return func(on bool) {
		c.mu.Lock()
		oc.approval = time.Time{}
		if on {
			oc.approval = time.Now()
		}
		c.mu.Unlock()
		if !on {
			c.answered()
		}
		c.draw()
	}
}

// person is since when a call waits for a person: for an approval, or to be
// resolved. Zero if it does not.
func (oc *openCall) person() time.Time {
	if oc.interrupted != nil {
		return oc.interrupted.since
	}
	return oc.approval
}

// performInline runs the single call in the driver's goroutine. It says false if
// the guest was taken over meanwhile, or is wanted back: the caller must not touch
// it any more.
func (c *cell) performInline(oc *openCall) (mine bool) {
	c.mu.Lock()
	if c.wanted {
		c.mu.Unlock()
		go c.perform(oc)
		return false
	}
	c.inline = oc
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		if mine = c.inline == oc; mine {
			c.inline = nil
		}
		c.mu.Unlock()
	}()
	c.perform(oc)
	return true
}

// takeOver takes the guest from a driver that is inside a tool call. It says
// false if the driver is not: then it is about to end, or gives the guest back
// before it runs the next call.
func (c *cell) takeOver() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	taken := c.inline != nil
	c.inline = nil
	c.wanted = !taken
	return taken
}

// maxFailures bounds the failures that are remembered.
const maxFailures = 64

func (c *cell) noteFailure(e *ToolError) {
	if len(c.failures) < maxFailures {
		c.failures = append(c.failures, guestabi.Thrown{Name: e.Name, Message: e.Message, Code: e.Code})
	}
}

// isFailure says whether what the guest threw is a nested failure it was given.
func (c *cell) isFailure(t *guestabi.Thrown) bool {
	return slices.ContainsFunc(c.failures, func(f guestabi.Thrown) bool {
		return f.Name == t.Name && f.Message == t.Message && f.Code == t.Code
	})
}

func (c *cell) limitHit(reason guestabi.Reason) {
	if !slices.Contains(c.telemetry.LimitsHit, reason) {
		c.telemetry.LimitsHit = append(c.telemetry.LimitsHit, reason)
	}
}

// release closes the VM and forgets the cell: it has ended in the given state.
// Calls that are still open are cancelled and hold no slots of others.
func (c *cell) release(state guestabi.State) {
	if c.g.vm != nil {
		c.g.vm.Close()
		c.g.vm = nil
	}
	c.end(state)
}

// end moves the cell to a final state once, drops its snapshot and its calls.
func (c *cell) end(state guestabi.State) {
	c.mu.Lock()
	if c.state != guestabi.StateRunning && c.state != guestabi.StateWaiting {
		c.mu.Unlock()
		return
	}
	suspended := c.state == guestabi.StateWaiting
	c.state = state
	c.queue, c.settled = nil, nil
	c.mu.Unlock()
	c.cancel()
	if suspended {
		c.h.dropSnapshot(c)
	}
	c.run.mu.Lock()
	delete(c.run.cells, c.id)
	c.run.mu.Unlock()
	c.tmpl.release()
}

// abort ends a cell from outside. One that is being driven ends by itself, as its
// context is done.
func (c *cell) abort() {
	c.cancel()
	c.mu.Lock()
	driving := c.driving
	c.mu.Unlock()
	c.wake()
	if !driving {
		c.run.stamp(&TraceEvent{Event: "abort", RunID: c.id})
		c.end(guestabi.StateAborted)
	}
}
