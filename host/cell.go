package host

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/cloister-wasm/cloister/guestabi"
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
	output    []OutputItem
	outBytes  int
	telemetry Telemetry
	failures  []guestabi.Thrown // delivered to the guest, to recognise them when they come back
	batch     []quickjs.Settlement
	calls     int       // numbers the calls of this cell
	single    *openCall // a call that the driver is to run itself
	started   bool      // the first turn was made
	saved     [32]byte  // SHA-256 of the snapshot in the store
	yields    []int     // requests of yield_control, settled by the next wait

	mu       sync.Mutex
	state    guestabi.State
	driving  bool // an exec or wait is in flight
	open     map[int]*openCall
	queue    []*openCall
	inFlight int
	settled  []settlement
	inline   *openCall     // the call that the driver is inside of
	signal   chan struct{} // capacity 1: something settled, or the cell was aborted
	expires  time.Time

	attention chan struct{} // capacity 1: a call began or ended to wait for approval
}

// openCall is a tool call that has not been delivered to the guest.
type openCall struct {
	request  int
	tc       *ToolCall
	client   bool
	approval time.Time // since when it waits for approval; zero if it does not
	done     bool
	since    time.Time
}

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
	if !oc.client {
		c.queue = append(c.queue, oc)
	}
}

// launch starts the calls that slots are free for, each in a goroutine of its
// own. A call that is the only open one is left for the driver, which runs it in
// its own goroutine: to wake another costs more than most calls.
func (c *cell) launch() {
	c.mu.Lock()
	next := c.nextLocked()
	if len(next) == 1 && len(c.open) == 1 {
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
	if n <= 0 || c.ctx.Err() != nil {
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
	s := settlement{request: oc.request, err: &ToolError{Name: "Error", Message: "the tool " + oc.tc.Tool + " failed inside", Code: "tool_failed"}}
	defer func() { c.settle(s) }()
	out, terr := c.run.dispatch(c.ctx, oc.tc, c.approvalWatch(oc))
	s.value, s.err = out, terr
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
		c.wake()
		select {
		case c.attention <- struct{}{}:
		default:
		}
	}
}

// performInline runs the single call in the driver's goroutine. It says false if
// the guest was taken over meanwhile: the caller must not touch it any more.
func (c *cell) performInline(oc *openCall) (mine bool) {
	c.mu.Lock()
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
// false if the driver is not: then it is about to end by itself.
func (c *cell) takeOver() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	taken := c.inline != nil
	c.inline = nil
	return taken
}

// either is a context that has ended when one of two has. It has no Done of its
// own: guest code asks for Err at checkpoints, and goroutines select on both.
type either struct {
	context.Context
	other context.Context
}

// Err implements context.Context.
func (e either) Err() error {
	if err := e.Context.Err(); err != nil {
		return err
	}
	return e.other.Err()
}

// bind gives a context that ends with the caller's or with the cell, so that an
// abort stops guest code as well.
func (c *cell) bind(ctx context.Context) context.Context { return either{ctx, c.ctx} }

// drive runs the cell until it ends, yields, or the deadline passes with calls
// open. It gives the result for Exec or Wait.
//
// The caller's goroutine drives until the program waits for a single call. Then
// another goroutine goes on, which runs such calls itself, and this one keeps
// watch: when it is time to return although a tool has not, it takes the guest
// back and leaves the tool where it is.
func (c *cell) drive(ctx context.Context, deadline time.Time) *Result {
	c.g.vm.SetDeadline(deadline)
	if res := c.loop(ctx, deadline, false); res != nil {
		return res
	}
	done := make(chan *Result, 1)
	go c.detached(ctx, deadline, done)
	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	var grace <-chan time.Time
	for {
		select {
		case res := <-done:
			if res == nil { // a tool ended its goroutine
				return c.drive(ctx, deadline)
			}
			return res
		case <-c.attention:
			grace = time.After(approvalGrace)
			continue
		case <-grace:
			if grace = nil; !c.approvalOpen() {
				continue
			}
		case <-timer.C:
		case <-ctx.Done():
		case <-c.ctx.Done():
		}
		if c.takeOver() {
			return c.drive(ctx, deadline)
		}
		if res := <-done; res != nil {
			return res
		}
		return c.drive(ctx, deadline)
	}
}

func (c *cell) approvalOpen() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.inline != nil && !c.inline.approval.IsZero()
}

// detached drives in a goroutine of its own. It gives nil if the guest was taken
// over, or if a tool ended the goroutine, as runtime.Goexit does.
func (c *cell) detached(ctx context.Context, deadline time.Time, done chan<- *Result) {
	var res *Result
	defer func() { done <- res }()
	res = c.loop(ctx, deadline, true)
}

// loop makes turns. It gives nil when a single call is due and inline is false, or
// when the guest was taken over.
func (c *cell) loop(ctx context.Context, deadline time.Time, inline bool) *Result {
	for {
		if oc := c.single; oc != nil {
			if !inline {
				return nil
			}
			c.single = nil
			if !c.performInline(oc) {
				return nil
			}
		} else if more, res := c.next(ctx, deadline); !more {
			return res
		}
		state, err := c.turn(ctx)
		if err != nil {
			return c.failed(ctx, err)
		}
		if state == quickjs.Rejected {
			return c.failed(ctx, c.rejected(ctx))
		}
		c.mainDone = state == quickjs.Fulfilled
	}
}

// next decides what comes before a turn: true to make one, which delivers what
// has settled, or false and the result.
func (c *cell) next(ctx context.Context, deadline time.Time) (bool, *Result) {
	for {
		c.mu.Lock()
		settled, open, clients := len(c.settled), len(c.open), 0
		var approval time.Time
		for _, oc := range c.open {
			if oc.client && !oc.done {
				clients++
			}
			if !oc.approval.IsZero() && (approval.IsZero() || oc.approval.Before(approval)) {
				approval = oc.approval
			}
		}
		c.mu.Unlock()
		until := deadline
		if !approval.IsZero() {
			until = earlier(deadline, approval.Add(approvalGrace))
		}
		switch {
		case !c.started:
			c.started = true
			return true, nil
		case settled > 0:
			return true, nil
		case c.mainDone && open == 0:
			return false, c.completed(ctx)
		case len(c.yields) > 0:
			return false, c.suspend(ctx, guestabi.WaitYield)
		case open == 0:
			return false, c.failed(ctx, fail(guestabi.ReasonGuestError, "the program waits for a promise that nothing will settle: no tool call is open"))
		case !approval.IsZero() && !time.Now().Before(until):
			return false, c.suspend(ctx, guestabi.WaitApproval)
		case clients == open && c.run.o.OnClientCall == nil:
			return false, c.suspend(ctx, guestabi.WaitPendingTools)
		}
		if res := c.await(ctx, until, deadline); res != nil {
			return false, res
		}
	}
}

// approvalGrace is how long an approval may take before it suspends the run. One
// that a program decides is answered within the same exec or wait.
const approvalGrace = 50 * time.Millisecond

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// await blocks until something settles, or until a time at which the state is to
// be looked at again. It gives a result if the deadline or an end comes first.
func (c *cell) await(ctx context.Context, until, deadline time.Time) *Result {
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-c.signal:
		return nil
	case <-timer.C:
		if until.Before(deadline) {
			return nil
		}
		return c.suspend(ctx, guestabi.WaitPendingTools)
	case <-ctx.Done():
		return c.failed(ctx, fail(guestabi.ReasonAborted, "the call was cancelled"))
	case <-c.ctx.Done():
		return c.failed(ctx, fail(guestabi.ReasonAborted, "the run was aborted"))
	}
}

// take gives everything that has settled, for delivery in one batch.
func (c *cell) take() ([]quickjs.Settlement, error) {
	c.mu.Lock()
	settled := c.settled
	c.settled = nil
	for _, s := range settled {
		delete(c.open, s.request)
	}
	c.mu.Unlock()
	batch := c.batch[:0]
	for _, s := range settled {
		q := quickjs.Settlement{Slot: uint32(s.request), Flag: 1}
		var err error
		if s.err == nil {
			q.Value, err = guestabi.AppendJSON(make([]byte, 0, len(s.value)+16), s.value)
		} else {
			c.noteFailure(s.err)
			q.Flag, q.Value = 0, appendFailure(nil, s.err)
		}
		if err != nil {
			return nil, fail(guestabi.ReasonInternalError, "a tool's result cannot be handed on: %v", err)
		}
		batch = append(batch, q)
	}
	c.batch = batch
	return batch, nil
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
