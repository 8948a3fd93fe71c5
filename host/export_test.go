package host

import (
	"github.com/cloister-wasm/cloister/internal/codemode"
	"github.com/cloister-wasm/cloister/internal/dispatch"
)

// Sweep runs the expiry of suspended runs at once, as the host's timer does.
func (h *Host) Sweep() { h.programs.Sweep() }

// Suspended is the number of suspended runs.
func (h *Host) Suspended() int { return h.programs.Suspended() }

// Cells is the number of cells of a run that have not ended.
func (r *Run) Cells() int { return r.programs.Cells() }

// ParkedBytes is the memory of suspended cells that are kept as they are and not being saved.
func (h *Host) ParkedBytes() int { return h.programs.ParkedBytes() }

// HeldBytes is what is taken of Options.MaxHeldBytes.
func (h *Host) HeldBytes() int64 { return h.o.MaxHeldBytes - h.budget.Left() }

// HidePaths is the filter of error texts.
var HidePaths = dispatch.HidePaths

// Receive hands an outbox to a new cell that has no guest, as if the prelude of
// that cell had written it, and makes the calls that it asks for, one by one.
func (r *Run) Receive(outbox []byte) (codemode.Received, error) { return r.programs.Receive(outbox) }

// ReasonOf gives the reason of an error that ends a cell.
var ReasonOf = codemode.ReasonOf

// SetTimeout changes codeMode.timeoutMs, for what is executed or waited for from now on.
// No other exec or wait of the host may be under way. A test whose attack has 100 ms can
// so give more to what it checks on the same host afterwards.
func (h *Host) SetTimeout(ms int) { h.programs.SetTimeout(ms) }
