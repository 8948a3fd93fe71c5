package codemode

import (
	"context"
	"errors"
	"strings"

	"github.com/cloister-wasm/cloister/api"
	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/internal/transpile"
)

// transform turns TypeScript into JavaScript within the cell's time. The worker
// process is started by the first call and never for JavaScript.
func (h *Runner) transform(ctx context.Context, source string) (*api.Transformed, *runError) {
	h.transformOnce.Do(func() {
		if h.transformer = h.o.Transformer; h.transformer != nil {
			return
		}
		w := transpile.NewWorker(nil)
		h.transformer, h.closeTransform = workerTransformer{w}, w.Close
	})
	type outcome struct {
		out *api.Transformed
		err error
	}
	got := make(chan outcome, 2) // the Transformer's, and the end of ctx: neither waits for a reader
	if !h.d.Await(ctx, "Transformer", func() {
		out, err := h.transformer.Transform(ctx, &api.TransformInput{Source: source, Kind: api.SourceCell})
		got <- outcome{out, err}
	}) {
		got <- outcome{err: ctx.Err()}
	}
	o := <-got
	if o.err == nil && o.out != nil {
		return o.out, nil
	}
	err := o.err
	var te *api.TransformError
	switch {
	case errors.As(err, &te):
		reason := guestabi.ReasonTypeScriptTransformFailed
		if te.ModuleAccess {
			reason = guestabi.ReasonModuleAccessDenied
		}
		return nil, &runError{reason: reason, message: te.Message, line: te.Line, column: te.Column}
	case errors.Is(err, context.DeadlineExceeded), errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil, fail(guestabi.ReasonTypeScriptTransformFailed, "the TypeScript transform did not finish in time: the source is too complex")
	}
	return nil, fail(guestabi.ReasonTypeScriptTransformFailed, "the TypeScript transform failed: the source is too complex, or the worker process could not run")
}

// workerTransformer adapts the worker process to Transformer.
type workerTransformer struct{ w *transpile.Worker }

func (t workerTransformer) Transform(ctx context.Context, in *api.TransformInput) (*api.Transformed, error) {
	out, err := t.w.Transform(ctx, transpile.Input{Source: in.Source})
	if err != nil {
		var syn *transpile.SyntaxError
		var mod *transpile.ModuleAccessError
		switch {
		case errors.As(err, &syn):
			return nil, &api.TransformError{Message: "SyntaxError: " + syn.Message, Line: syn.Line, Column: syn.Column}
		case errors.As(err, &mod):
			return nil, &api.TransformError{Message: mod.Syntax + " is not available: a cell has no modules; use the tools that ALL_TOOLS lists", Line: mod.Line, Column: mod.Column, ModuleAccess: true}
		case errors.Is(err, transpile.ErrWorkerDied), errors.Is(err, transpile.ErrSourceTooLarge), errors.Is(err, transpile.ErrOutputTooLarge),
			errors.Is(err, transpile.ErrTimeLimit), errors.Is(err, transpile.ErrInternal):
			return nil, &api.TransformError{Message: strings.TrimPrefix(err.Error(), "transpile: ")}
		}
		return nil, err
	}
	return &api.Transformed{Code: out.Code, Position: func(line, column int) (int, int) {
		p, ok := out.Map.Source(line, column)
		if !ok {
			return 0, 0
		}
		return p.Line, p.Column
	}}, nil
}
