package codemode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cloister-wasm/cloister/api"
	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/internal/dispatch"
	"github.com/cloister-wasm/cloister/internal/guest"
	"github.com/cloister-wasm/cloister/internal/guestloop"
	"github.com/cloister-wasm/cloister/quickjs"
)

// cell is one program of code mode from exec to its end: what its guest's messages mean
// (guestloop.Program), and what its results are. Who runs when, and for how long, is its loop's to say.
// What is not guarded by a lock of its own belongs to whoever owns the guest.
type cell struct {
	h        *Runner
	run      *Run
	id       string
	parentID string          // id of the exec call
	code     string          // JavaScript
	tmpl     *guest.Template // once there is a machine
	loop     *guestloop.Loop
	value    json.RawMessage // what the program returned, once it is written
	calls    int             // numbers the calls
	refused  int             // requests over Options.MaxCalls
	resting  bool            // it was suspended and has got nothing since

	gaveNothing bool // the program returned undefined
	diagnosis
	report report
	grants dispatch.Grants       // answers that hold for this cell
	files  *dispatch.Attachments // binaries of tools' results
	slot   slot                  // among the cells that run at once
}

// Bounds on what one cell makes the host keep, in bytes. A guest's own memory is
// free again for the next input as soon as a call is made.
const (
	maxToolInput = 16 << 20 // of one call
	maxHeld      = 64 << 20 // inputs of open calls and results on their way; over it no queued call starts
	maxBatch     = 8 << 20  // results delivered in one turn, so that the guest can drop one before the next
	maxOutbox    = 64 << 20 // what the guest says in one turn
)

// approvalGrace is how long an approval or a resolution may take before it
// suspends the run. One that a program decides is answered within the same exec or
// wait.
const approvalGrace = 50 * time.Millisecond

func (r *Run) newCell(parentID, source, code string) (*cell, error) {
	h := r.h
	id, err := h.d.NewID("run_")
	if err != nil {
		return nil, err
	}
	c := &cell{h: h, run: r, id: id, parentID: parentID, code: code, files: dispatch.NewAttachments(h.o.Budget)}
	c.diagnosis = diagnosis{run: r, source: source}
	c.report.max = h.cfg.MaxOutputBytes
	c.loop = guestloop.New(r.ctx, &guestloop.Options{
		Program: c, Budget: h.o.Budget, Now: h.d.Now, Grace: approvalGrace, CallerTold: r.told,
		Limits: guestloop.Limits{
			MaxOpen:     h.cfg.MaxPendingToolCalls * api.QueuedPerPending,
			MaxInFlight: h.cfg.MaxPendingToolCalls, MaxHeld: maxHeld, MaxBatch: maxBatch, MaxOutbox: maxOutbox,
		},
		NewVM: c.newVM,
		Restore: func(ctx context.Context, snapshot []byte) (*quickjs.VM, []quickjs.Value, error) {
			return c.tmpl.Restore(ctx, snapshot, &quickjs.VMOptions{Now: h.d.Now})
		},
		Panicked: func(p any) { h.d.Panicked("cell", p) },
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.closed {
		return nil, errRunClosed
	}
	r.mu.cells[id] = c
	return c, nil
}

// newVM makes the machine, and the template for it if nobody has made that yet.
func (c *cell) newVM(ctx context.Context) (*quickjs.VM, error) {
	tmpl, err := c.run.template(ctx)
	var vm *quickjs.VM
	if err == nil {
		c.tmpl = tmpl
		vm, err = tmpl.NewVM(ctx, c.h.vmOptions())
	}
	switch {
	case err == nil:
		return vm, nil
	case errors.Is(err, quickjs.ErrEngineUnavailable): // never a reason to expose tools in another way
		return nil, fail(guestabi.ReasonRuntimeUnavailable, "%v", err)
	case errors.Is(err, api.ErrClosed):
		return nil, fail(guestabi.ReasonAborted, "the host is closed")
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	return nil, fmt.Errorf("%w: %w", errNoMachine, err)
}

func (h *Runner) vmOptions() *quickjs.VMOptions {
	return &quickjs.VMOptions{Now: h.d.Now, Random: h.d.Random()}
}

// Start implements guestloop.Program.
func (c *cell) Start(ctx context.Context, vm *quickjs.VM) (quickjs.Value, error) {
	g := guest.Guest{VM: vm}
	if err := g.Start(ctx, c.code); err != nil {
		var syn *guest.SyntaxError
		if errors.As(err, &syn) && !vm.OutOfMemory() && !vm.ModuleDenied() {
			return 0, c.syntaxFault(c.code, syn.Thrown)
		}
		return 0, err
	}
	return g.Main, nil
}

// Delivered implements guestloop.Program.
func (c *cell) Delivered(d *guestloop.Delivery) {
	if c.resting {
		c.resting = false
		c.run.calls.Stamp(&api.TraceEvent{Event: api.EventResume, CellID: c.id})
	}
	if d.Failure != nil {
		c.noteFailure(d)
	}
}

// Finish implements guestloop.Program. To write the value runs getters and toJSON, which may print, call
// tools or fail.
func (c *cell) Finish(ctx context.Context, lg *guestloop.Guest) error {
	g := guest.Guest{VM: lg.VM, Main: lg.Main}
	value, err := g.Result(ctx, guestabi.EntryFinish, c.h.cfg.MaxOutputBytes)
	if err == nil && len(value) == 0 {
		c.gaveNothing, value = true, []byte("null")
	}
	if errors.Is(err, quickjs.ErrTooLarge) {
		return c.report.overflow()
	}
	if err != nil {
		var t *guest.Thrown
		if errors.As(err, &t) {
			t.Message = "the value returned: " + t.Message
			c.ofValue = true
		}
		return err
	}
	if c.value, err = guest.CheckJSON(value); err != nil {
		return err
	}
	return c.report.take(len(c.value))
}

// Ended implements guestloop.Program.
func (c *cell) Ended(ctx context.Context, lg *guestloop.Guest, err error) any {
	c.h.parked.Remove(c.loop)
	c.slot.give()
	c.traceRefused()
	g := guest.Guest{}
	if lg != nil {
		g = guest.Guest{VM: lg.VM, Main: lg.Main}
	}
	if err == nil {
		err = c.completed(ctx, g)
	}
	if err == nil {
		if g.VM.OutOfMemory() {
			c.report.limitHit(guestabi.ReasonMemoryLimitExceeded)
		}
		res := c.result(&api.Result{Status: guestabi.StatusCompleted, Value: c.value})
		res.Message = c.missed(c.gaveNothing && len(res.Output) == 0)
		return &ending{res: res}
	}
	if errors.Is(err, errNoMachine) {
		return &ending{err: err}
	}
	switch {
	case errors.Is(err, errExpired):
		c.run.calls.Stamp(&api.TraceEvent{Event: api.EventExpire, CellID: c.id})
	case errors.Is(err, errAborted):
		c.run.calls.Stamp(&api.TraceEvent{Event: api.EventAbort, CellID: c.id})
	}
	e := c.classify(ctx, g, err)
	if e.reason == guestabi.ReasonTimeout && g.VM != nil {
		e = c.lastWords(g, e)
	}
	switch e.reason {
	case guestabi.ReasonTimeout, guestabi.ReasonMemoryLimitExceeded, guestabi.ReasonOutputLimitExceeded,
		guestabi.ReasonSnapshotLimitExceeded, guestabi.ReasonTooManyPendingToolCalls:
		c.report.limitHit(e.reason)
	}
	return &ending{res: c.result(&api.Result{Status: guestabi.StatusFailed, Error: e.message, Reason: e.reason, Code: e.reason.Code(), Line: e.line, Column: e.column})}
}

// ending is what exec and wait return of a cell that has ended: a result, or an error where the host itself is
// broken.
type ending struct {
	res *api.Result
	err error
}

// Released implements guestloop.Program.
func (c *cell) Released() {
	c.files.Drop()
	c.h.unreserve(c)
	c.run.mu.Lock()
	delete(c.run.mu.cells, c.id)
	c.run.mu.Unlock()
	if c.tmpl != nil {
		c.tmpl.Release()
	}
}

// completed says what makes a program fail that came to its end.
func (c *cell) completed(ctx context.Context, g guest.Guest) error {
	if g.VM.ModuleDenied() {
		return moduleDenied()
	}
	if reason, ok := g.VM.Unhandled(); ok {
		return c.unhandled(ctx, g, reason)
	}
	return nil
}

// result completes a Result with output, attachments and telemetry.
func (c *cell) result(r *api.Result) *api.Result {
	c.report.fill(r)
	r.Attachments = c.files.OfResult(r)
	if r.Waiting == guestabi.WaitApproval {
		var tools []string
		for i := range r.Pending {
			if r.Pending[i].Approval {
				tools = append(tools, r.Pending[i].Tool)
			}
		}
		r.Message = c.h.o.ApprovalMessage(tools...)
	}
	c.run.fillTelemetry(&r.Telemetry)
	return r
}

// pending lists the open calls, oldest first.
func (c *cell) pending() []api.PendingToolCall {
	var out []api.PendingToolCall
	for _, req := range c.loop.Requests() {
		if cl, ok := req.Data().(*dispatch.Call); ok {
			out = append(out, cl.Pending())
		}
	}
	slices.SortFunc(out, func(a, b api.PendingToolCall) int {
		if d := a.Since.Compare(b.Since); d != 0 {
			return d
		}
		if len(a.ID) != len(b.ID) {
			return len(a.ID) - len(b.ID)
		}
		if a.ID < b.ID {
			return -1
		}
		return 1
	})
	return out
}

// abort ends the cell from outside.
func (c *cell) abort() { c.loop.End(errAborted) }

// slot is a cell's place among those that run at once.
type slot struct{ release func() }

func (s *slot) give() {
	if s.release != nil {
		s.release()
		s.release = nil
	}
}
