package codemode

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/cloister-wasm/cloister/api"
	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/internal/dispatch"
	"github.com/cloister-wasm/cloister/internal/guest"
	"github.com/cloister-wasm/cloister/internal/guestloop"
	"github.com/cloister-wasm/cloister/quickjs"
)

// diagnosis turns what ended a cell into an error that leads to the fix.
type diagnosis struct {
	run      *Run
	source   string
	position func(line, column int) (int, int) // the place in the source, nil where they are equal
	failures []failure                         // delivered to the guest, to recognise them when they come back
	ofValue  bool                              // the error is about the value that the program returned
}

// unhandled is a promise that failed and that nobody awaited: the program would
// otherwise report success.
func (d *diagnosis) unhandled(ctx context.Context, g guest.Guest, reason quickjs.Value) error {
	err := g.Reason(ctx, reason)
	var t *guest.Thrown
	if errors.As(err, &t) {
		e := d.explain(t)
		e.message = "a promise failed and was not awaited: " + e.message
		return e
	}
	return err
}

// rejected is the error of a cell whose main promise was rejected.
func rejected(ctx context.Context, g guest.Guest) error {
	v, err := g.VM.Result(ctx, g.Main)
	if err != nil {
		return err
	}
	return g.Reason(ctx, v)
}

// classify decides the reason. The host's own observations come first: what the
// guest says about itself only chooses the words.
func (d *diagnosis) classify(ctx context.Context, g guest.Guest, err error) *runError {
	if errors.Is(err, guestloop.ErrRejected) {
		err = rejected(ctx, g)
	} else if g.VM != nil {
		err = g.Thrown(ctx, err)
	}
	var e *runError
	var t *guest.Thrown
	switch {
	case errors.As(err, &e):
		return e
	case errors.Is(err, errExpired):
		return fail(guestabi.ReasonSnapshotExpired, "code mode run is unavailable or expired")
	case ctx.Err() != nil:
		return fail(guestabi.ReasonAborted, "the run was aborted")
	case errors.Is(err, quickjs.ErrInterrupted), errors.Is(err, guestloop.ErrTooLong):
		return fail(guestabi.ReasonTimeout, "the program ran longer than it may; do less in one cell, or await tools instead of looping")
	case g.VM != nil && g.VM.ModuleDenied():
		e = moduleDenied()
		if errors.As(err, &t) {
			e.line, e.column = d.place(t.Stack)
		}
		return e
	case g.VM != nil && g.VM.OutOfMemory():
		return fail(guestabi.ReasonMemoryLimitExceeded, "the program needs more than its %d bytes of memory", d.run.h.cfg.MemoryLimitBytes)
	case errors.As(err, &t):
		return d.explain(t)
	case errors.Is(err, guestloop.ErrDeadlock) && g.VM != nil:
		if reason, ok := g.VM.Unhandled(); ok { // most likely why nothing goes on
			if errors.As(d.unhandled(ctx, g, reason), &e) {
				return e
			}
		}
	}
	return plainFailure(err, d.run.h.cfg.MaxSnapshotBytes)
}

// plainFailure is what errors mean of which the guest says nothing; maxSnapshot is the bound of its state.
func plainFailure(err error, maxSnapshot int) *runError {
	switch {
	case errors.Is(err, quickjs.ErrOutOfMemory):
		return fail(guestabi.ReasonMemoryLimitExceeded, "the guest's memory is exhausted")
	case errors.Is(err, quickjs.ErrTooLarge):
		return fail(guestabi.ReasonOutputLimitExceeded, "the program put out more than %d bytes at once", maxOutbox)
	case errors.Is(err, guestloop.ErrRestore):
		return fail(guestabi.ReasonSnapshotRestoreFailed, "the program's state is no longer in the store, or is not the one that was saved")
	case errors.Is(err, quickjs.ErrTrapped):
		return fail(guestabi.ReasonGuestError, "the program broke the engine's limits, most likely by nesting too deeply")
	case errors.Is(err, guestloop.ErrDeadlock):
		return fail(guestabi.ReasonGuestError, "deadlock: the program awaits a promise that nothing will settle: no tool call is open")
	case errors.Is(err, guestloop.ErrTooManyOpen):
		return fail(guestabi.ReasonTooManyPendingToolCalls, "too many tool calls are open at once")
	case errors.Is(err, guest.ErrTooDeep):
		return fail(guestabi.ReasonGuestError, "a value is nested deeper than the %d levels that are allowed", guestabi.MaxValueDepth)
	case errors.Is(err, guestloop.ErrForged), errors.Is(err, guest.ErrNotJSON):
		return fail(guestabi.ReasonInternalError, "the guest sent a message of an unknown form")
	case errors.Is(err, quickjs.ErrSnapshotTooLarge):
		return fail(guestabi.ReasonSnapshotLimitExceeded, "the program's state takes more than the %d bytes that are allowed; keep less data across an await", maxSnapshot)
	case errors.Is(err, errNoBudget):
		return fail(guestabi.ReasonSnapshotLimitExceeded, "the host keeps too much state of suspended programs; wait for some of them first")
	case errors.Is(err, guestloop.ErrStore), errors.Is(err, context.DeadlineExceeded):
		return fail(guestabi.ReasonInternalError, "the program's state could not be stored")
	}
	return fail(guestabi.ReasonInternalError, "the host could not run the program")
}

// moduleDenied is the error of a cell that tried to load a module, whether or not
// it caught the failure.
func moduleDenied() *runError {
	return fail(guestabi.ReasonModuleAccessDenied, "modules are not available: use the tools that ALL_TOOLS lists")
}

// explain turns a thrown value into the run's error.
func (d *diagnosis) explain(t *guest.Thrown) *runError {
	e := &runError{reason: guestabi.ReasonGuestError, message: t.Error()}
	e.line, e.column = d.place(t.Stack)
	if d.ofValue {
		d.returned(e)
	}
	f := d.failureOf(&t.Thrown)
	switch {
	case f != nil:
		e.reason = guestabi.ReasonNestedToolFailed
		d.name(e, f)
	case t.Code == string(guestabi.ReasonTooManyPendingToolCalls):
		e.reason = guestabi.ReasonTooManyPendingToolCalls
	case e.message == "":
		e.message = "the program threw an empty text"
	case t.Name == "ReferenceError" && t.Message == "require is not defined":
		e.reason, e.message = guestabi.ReasonModuleAccessDenied, "require is not available: use the tools that ALL_TOOLS lists"
	default:
		d.mendPlace(e, t)
		if hint := d.hint(t, e.line, e.column); hint != "" {
			e.message += ": " + hint
		}
	}
	return e
}

// syntaxFault is the error of source that does not compile. Whether it is about
// modules is seen from where the engine's parser stopped.
func (d *diagnosis) syntaxFault(code string, t *guest.Thrown) *runError {
	line, column, _ := guest.Place(t.Stack)
	e := &runError{reason: guestabi.ReasonInvalidInput, message: t.Error()}
	if guest.ModuleSyntax(code, line, column) {
		e.reason, e.message = guestabi.ReasonModuleAccessDenied, "import and export are not available: a cell has no modules; use the tools that ALL_TOOLS lists"
	} else if hint := d.syntaxHint(code, t.Message, line, column); hint != "" {
		e.message += ": " + hint
	}
	if last := strings.Count(code, "\n") + 1; line > last { // behind the end, in the wrapper
		line, column = last, len(code)-strings.LastIndexByte(code, '\n')
	}
	e.line, e.column = d.mapPlace(line, column)
	return e
}

// place finds the innermost place of the cell in a stack trace. Frames of code that
// the TypeScript transform added have no place in the source.
func (d *diagnosis) place(stack string) (line, column int) {
	for range 16 {
		var rest string
		if line, column, rest = guest.Place(stack); line == 0 {
			return 0, 0
		}
		if line, column = d.mapPlace(line, column); line != 0 {
			return line, column
		}
		stack = rest
	}
	return 0, 0
}

func (d *diagnosis) mapPlace(line, column int) (int, int) {
	if line == 0 || d.position == nil {
		return line, column
	}
	return d.position(line, column)
}

func (r *Run) fillTelemetry(t *api.Telemetry) {
	t.CatalogSize = r.view.Catalog.Len()
	t.Sources = r.view.Catalog.Counts()
	t.VisibleTools = []string{"exec", "wait"}
	r.mu.Lock()
	t.ExecCount, t.WaitCount = r.mu.execs, r.mu.waits
	r.mu.Unlock()
	if t.CalledTools == nil {
		t.CalledTools = []string{}
	}
	if t.LimitsHit == nil {
		t.LimitsHit = []guestabi.Reason{}
	}
}

// failure is a failed result without a cell.
func (r *Run) failure(e *runError) *api.Result {
	res := &api.Result{Status: guestabi.StatusFailed, Error: e.message, Reason: e.reason, Code: e.reason.Code(), Line: e.line, Column: e.column}
	r.fillTelemetry(&res.Telemetry)
	return res
}

// Refuse is the result of an exec or wait that was not begun, for a reason.
func (r *Run) Refuse(reason guestabi.Reason, message string) *api.Result {
	return r.failure(fail(reason, "%s", message))
}

func (r *Run) emitEnd(event api.EventName, cellID, callID string, start time.Time, res *api.Result) {
	e := api.TraceEvent{Event: event, CellID: cellID, CallID: callID, Status: string(res.Status), Reason: res.Reason, DurationMs: dispatch.Milliseconds(time.Since(start))}
	r.calls.Stamp(&e)
}
