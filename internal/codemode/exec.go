package codemode

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/cloister-wasm/cloister/api"
	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/internal/guestloop"
)

// maxSource bounds a cell's source, in bytes.
const maxSource = 1 << 20

// Exec is host.Run.Exec.
func (r *Run) Exec(ctx context.Context, in api.ExecInput) (*api.Result, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	start := time.Now()
	r.mu.Lock()
	closed := r.mu.closed
	r.mu.execs++
	r.mu.Unlock()
	if closed || !r.h.enter() {
		return r.failure(fail(guestabi.ReasonAborted, "the run has ended")), nil
	}
	defer r.h.active.Done()
	if in.CallID == "" {
		id, err := r.h.d.NewID("exec_")
		if err != nil {
			return nil, err
		}
		in.CallID = id
	}
	source, language, bad := r.checkExec(in)
	if bad != nil {
		return r.failure(bad), nil
	}
	x := &execution{run: r, callID: in.CallID, source: source, language: language, until: start.Add(r.h.timeout())}
	res, err := x.start(ctx)
	if err != nil {
		return nil, err
	}
	if x.cell != nil {
		r.emitEnd(api.EventExecEnd, x.cell.id, in.CallID, start, res)
	}
	return res, ctxError(ctx, res)
}

func (h *Runner) timeout() time.Duration { return time.Duration(h.cfg.TimeoutMs) * time.Millisecond }

// ctxError reports that ctx ended, where that is why the run failed.
func ctxError(ctx context.Context, res *api.Result) error {
	if res.Reason == guestabi.ReasonAborted && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// bind gives a context that ends with the caller's, with the run, and at a time. What leaves the host gets it.
func (r *Run) bind(ctx context.Context, until time.Time) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithDeadline(ctx, until)
	stop := context.AfterFunc(r.ctx, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}

// checkExec checks the input of exec and gives source and language.
func (r *Run) checkExec(in api.ExecInput) (source, language string, bad *runError) {
	source = in.Code
	if source == "" {
		source = in.Command
	}
	switch {
	case strings.TrimSpace(source) == "":
		return "", "", fail(guestabi.ReasonInvalidInput, "code is empty: give a program, the body of an async function")
	case in.Code != "" && in.Command != "" && in.Code != in.Command:
		return "", "", fail(guestabi.ReasonInvalidInput, "code and command differ: give one of them")
	case len(source) > maxSource:
		return "", "", fail(guestabi.ReasonInvalidInput, "the code has %d bytes, more than the %d that are allowed", len(source), maxSource)
	case strings.Contains(source, "\x00"):
		return "", "", fail(guestabi.ReasonInvalidInput, "the code contains a NUL character")
	}
	language = in.Language
	if language == "" {
		language = api.JavaScript
	}
	if language != api.JavaScript && language != api.TypeScript {
		return "", "", fail(guestabi.ReasonUnsupportedLanguage, "language must be \"javascript\" or \"typescript\"")
	}
	if !slices.Contains(r.h.cfg.Languages, language) {
		return "", "", fail(guestabi.ReasonUnsupportedLanguage, "%s is not enabled; use %s", language, strings.Join(r.h.cfg.Languages, " or "))
	}
	return source, language, nil
}

// execution is an exec on its way to a cell.
type execution struct {
	run              *Run
	callID           string
	source, language string
	until            time.Time
	cell             *cell
}

// start prepares the cell and runs it. What comes before the guest heeds the deadline too.
func (x *execution) start(ctx context.Context) (*api.Result, error) {
	r := x.run
	code, position := x.source, (func(int, int) (int, int))(nil)
	if x.language == api.TypeScript || r.h.o.BeforeExec != nil {
		bctx, cancel := r.bind(ctx, x.until)
		defer cancel()
		if bad := r.beforeExec(bctx, x); bad != nil {
			return r.late(ctx, bctx, bad)
		}
		if x.language == api.TypeScript {
			t, bad := r.h.transform(bctx, x.source)
			if bad != nil {
				return r.late(ctx, bctx, bad)
			}
			code, position = t.Code, t.Position
		}
	}
	if err := r.h.running.TakeUntil(ctx, r.ctx, x.until); err != nil {
		return r.late(ctx, ctx, fail(guestabi.ReasonTimeout, "%d programs run at once already, and none of them ended in time; try again", cap(r.h.running)))
	}
	c, err := r.newCell(x.callID, x.source, code)
	if err != nil {
		r.h.running.Give()
		if errors.Is(err, errRunClosed) {
			return r.failure(fail(guestabi.ReasonAborted, "the run has ended")), nil
		}
		return nil, err
	}
	c.slot.release = r.h.running.Give
	c.position, x.cell = position, c
	r.calls.Stamp(&api.TraceEvent{Event: api.EventExecStart, CellID: c.id, CallID: x.callID, InputBytes: len(x.source)})
	stop, err := c.loop.Run(ctx, guestloop.Leg{Until: x.until, Compute: r.h.timeout(), EndWithCaller: true, Apart: !r.templateReady()})
	if err != nil { // it was aborted before it began
		return r.failure(fail(guestabi.ReasonAborted, "the run was aborted")), nil
	}
	return r.stopped(stop)
}

// stopped gives what exec and wait return.
func (r *Run) stopped(stop guestloop.Stop) (*api.Result, error) {
	if e, ok := stop.Payload.(*ending); ok && !stop.Gone {
		return e.res, e.err
	}
	if stop.Gone {
		return r.failure(fail(guestabi.ReasonAborted, "the call was cancelled")), nil
	}
	return r.failure(fail(guestabi.ReasonInternalError, "the host could not run the program")), nil
}

// beforeExec asks the hook.
func (r *Run) beforeExec(ctx context.Context, x *execution) *runError {
	hook := r.h.o.BeforeExec
	if hook == nil {
		return nil
	}
	ev := &api.ExecEvent{ToolKind: "code_mode_exec", ToolInputKind: x.language, CallID: x.callID, Code: x.source, Scope: r.calls.Scope()}
	refusal := make(chan error, 1)
	if !r.h.d.Await(ctx, "BeforeExec", func() { refusal <- hook(ctx, ev) }) {
		return fail(guestabi.ReasonInvalidInput, "refused: a hook of the host failed inside")
	}
	if err := <-refusal; err != nil {
		return fail(guestabi.ReasonInvalidInput, "refused by a hook: %v", err)
	}
	return nil
}

// late says that the time was up, or that caller or run have gone, where that is why a step failed.
func (r *Run) late(ctx, bctx context.Context, bad *runError) (*api.Result, error) {
	switch {
	case ctx.Err() != nil:
		return r.failure(fail(guestabi.ReasonAborted, "the call was cancelled")), nil
	case r.ctx.Err() != nil:
		return r.failure(fail(guestabi.ReasonAborted, "the run was aborted")), nil
	case bctx.Err() != nil && bad.reason != guestabi.ReasonTypeScriptTransformFailed:
		return r.failure(fail(guestabi.ReasonTimeout, "the time was up before the program could start; try again")), nil
	}
	return r.failure(bad), nil
}
