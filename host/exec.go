package host

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/quickjs"
)

// maxSource bounds a cell's source, in bytes.
const maxSource = 1 << 20

// Exec runs a cell until it ends, or until the timeout with tool calls open.
// Everything wrong with the input or the cell is a failed Result. The error is
// for runs without code mode, a broken host, or a ctx that ended.
func (r *Run) Exec(ctx context.Context, in ExecInput) (*Result, error) {
	if !r.Active() {
		return nil, ErrNotActive
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	start := time.Now()
	deadline := start.Add(time.Duration(r.h.cfg.TimeoutMs) * time.Millisecond)
	r.mu.Lock()
	closed := r.closed
	r.execs++
	r.mu.Unlock()
	if closed || !r.h.enter() {
		return r.failure(fail(guestabi.ReasonAborted, "the run has ended")), nil
	}
	defer r.h.active.Done()
	if in.CallID == "" {
		id, err := r.h.newID("exec_")
		if err != nil {
			return nil, err
		}
		in.CallID = id
	}
	source, language, bad := r.checkExec(in)
	if bad == nil && r.h.o.Hooks.BeforeExec != nil {
		ev := &ExecEvent{ToolKind: "code_mode_exec", ToolInputKind: language, CallID: in.CallID, Code: source, Scope: r.scope}
		if err := r.h.o.Hooks.BeforeExec(ctx, ev); err != nil {
			bad = fail(guestabi.ReasonInvalidInput, "refused by a hook: %v", err)
		}
	}
	if bad != nil {
		return r.failure(bad), nil
	}
	res, runID, err := r.startCell(ctx, in.CallID, source, language, deadline)
	if err != nil {
		return nil, err
	}
	r.emitEnd("exec.end", runID, in.CallID, start, res)
	return res, ctxError(ctx, res)
}

// ctxError reports that ctx ended, where that is why the run failed.
func ctxError(ctx context.Context, res *Result) error {
	if res.Reason == guestabi.ReasonAborted && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// checkExec checks the input of exec and gives source and language.
func (r *Run) checkExec(in ExecInput) (source, language string, bad *runError) {
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
		language = JavaScript
	}
	if language != JavaScript && language != TypeScript {
		return "", "", fail(guestabi.ReasonUnsupportedLanguage, "language must be \"javascript\" or \"typescript\"")
	}
	if !slices.Contains(r.h.cfg.Languages, language) {
		return "", "", fail(guestabi.ReasonUnsupportedLanguage, "%s is not enabled; use %s", language, strings.Join(r.h.cfg.Languages, " or "))
	}
	return source, language, nil
}

// startCell transforms and starts a cell, and drives it.
func (r *Run) startCell(ctx context.Context, callID, source, language string, deadline time.Time) (*Result, string, error) {
	code, position := source, (func(int, int) (int, int))(nil)
	if language == TypeScript {
		t, bad := r.h.transform(ctx, source, deadline)
		if bad != nil {
			return r.failure(bad), "", nil
		}
		code, position = t.Code, t.Position
	}
	tmpl, err := r.template(ctx)
	if err != nil {
		return r.engineFailure(err)
	}
	c, err := r.newCell(callID, source, tmpl)
	if err != nil {
		tmpl.release()
		if errors.Is(err, errRunClosed) {
			return r.failure(fail(guestabi.ReasonAborted, "the run has ended")), "", nil
		}
		return nil, "", err
	}
	c.position = position
	r.stamp(&TraceEvent{Event: "exec.start", RunID: c.id, CallID: callID, InputBytes: len(source)})
	vm, err := tmpl.NewVM(ctx, &quickjs.VMOptions{Now: r.h.o.Now, Random: r.h.o.Random})
	if err != nil {
		c.release(guestabi.StateFailed)
		return nil, "", err
	}
	c.g.vm = vm
	vm.SetDeadline(deadline)
	ctx = c.bind(ctx)
	if err := c.g.start(ctx, code); err != nil {
		var syn *syntaxError
		if errors.As(err, &syn) && !vm.OutOfMemory() && !vm.ModuleDenied() {
			err = c.syntaxFault(code, syn.thrownError)
		}
		return c.failed(ctx, err), c.id, nil
	}
	return c.drive(ctx, deadline), c.id, nil
}

// engineFailure sorts errors of making a template: a missing engine is the run's
// failure, and never a reason to expose tools in another way.
func (r *Run) engineFailure(err error) (*Result, string, error) {
	if errors.Is(err, quickjs.ErrEngineUnavailable) {
		return r.failure(fail(guestabi.ReasonRuntimeUnavailable, "%v", err)), "", nil
	}
	if errors.Is(err, ErrClosed) {
		return r.failure(fail(guestabi.ReasonAborted, "the host is closed")), "", nil
	}
	return nil, "", err
}
