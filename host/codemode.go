package host

import "context"

// Exec runs a cell until it ends, is suspended, or the timeout is over: then it goes on in the
// background up to its next await. Everything wrong with the input or the cell is a failed Result. The
// error is for runs without code mode, a broken host, or a ctx that ended, which aborts the cell.
func (r *Run) Exec(ctx context.Context, in ExecInput) (*Result, error) {
	if !r.Active() {
		return nil, ErrNotActive
	}
	return r.programs.Exec(ctx, in)
}

// Wait continues a suspended cell: it waits for open calls to settle and delivers their results. It is a
// long poll that ends with the program, when that is suspended again, or at its timeout with another waiting
// result. A ctx that ends leaves the cell as it is: it can be waited for again.
func (r *Run) Wait(ctx context.Context, in WaitInput) (*Result, error) {
	if !r.Active() {
		return nil, ErrNotActive
	}
	return r.programs.Wait(ctx, in)
}

// Abort ends a cell of this run's scope, running or suspended: its calls are cancelled
// and its state dropped. It gives ErrUnknownRun for an id that is not, or not any
// more, one of such a cell.
func (r *Run) Abort(cellID string) error { return r.programs.Abort(cellID) }
