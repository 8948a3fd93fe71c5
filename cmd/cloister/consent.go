package main

import (
	"context"
	"errors"
	"strings"

	"github.com/cloister-wasm/cloister/plugins/store"
	"github.com/cloister-wasm/cloister/plugins/trust"
)

// consent asks whether to go on. An error says that nobody agreed.
func (a *app) consent(ctx context.Context, question string, yes, asJSON bool) error {
	if yes {
		return nil
	}
	const hint = "--yes agrees"
	if asJSON {
		return usageError(errors.New("this needs your consent, and with --json nobody is asked"), hint)
	}
	if !a.interactive() {
		return usageError(errors.New("this needs your consent, and there is no terminal to ask at"), hint)
	}
	answer, err := a.askLine(ctx, a.stderr.paint(styleYellow, escapeLine(question)+" [y/N]")+" ", hint)
	if err != nil {
		return err
	}
	switch strings.ToLower(answer) {
	case "y", "yes":
		return nil
	}
	return &exitError{code: exitFailed, err: errors.New("nothing was changed: you did not agree")}
}

// operatorFault gives errors of store, lock and policy their exit codes, and leaves
// the others to pluginFault.
func operatorFault(ctx context.Context, err error) error {
	var ee *exitError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return errInterrupted
	case errors.As(err, &ee):
		if err == error(ee) {
			return err
		}
		return &exitError{code: ee.code, err: err, hint: ee.hint} // what is around it says which plugin
	case errors.Is(err, trust.ErrNoPolicy):
		return usageError(err, "cloister trust add PUBLISHER --key FILE.pub --id 'PUBLISHER.' --tool 'PREFIX_' makes one; --trust FILE or CLOISTER_TRUST names another")
	case errors.Is(err, store.ErrNotInstalled):
		return usageError(err, "cloister plugin list shows what is installed")
	case errors.Is(err, store.ErrNoGeneration):
		return usageError(err, "cloister plugin generations shows which there are")
	case errors.Is(err, store.ErrBusy), errors.Is(err, store.ErrDamaged), errors.Is(err, store.ErrMoved):
		return &exitError{code: exitFailed, err: err}
	case errors.Is(err, trust.ErrNotFound):
		return usageError(err, "cloister trust list shows what is there")
	}
	return pluginFault(ctx, err)
}
