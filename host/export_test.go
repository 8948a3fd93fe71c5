package host

import (
	"bytes"
	"errors"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/internal/dispatch"
)

// Sweep runs the expiry of suspended runs at once, as the host's timer does.
func (h *Host) Sweep() { h.sweep() }

// Suspended is the number of suspended runs.
func (h *Host) Suspended() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.suspended)
}

// Cells is the number of cells of a run that have not ended.
func (r *Run) Cells() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.cells)
}

// ParkedBytes is the memory of suspended cells that are kept as they are and not being saved.
func (h *Host) ParkedBytes() int { return h.parked.Bytes() }

// HeldBytes is what is taken of Options.MaxHeldBytes.
func (h *Host) HeldBytes() int64 { return h.o.MaxHeldBytes - h.budget.Left() }

// HidePaths is the filter of error texts.
var HidePaths = dispatch.HidePaths

// Receive hands an outbox to a new cell that has no guest, as if the prelude of
// that cell had written it, and makes the calls that it asks for, one by one.
func (r *Run) Receive(outbox []byte) (Received, error) {
	if _, err := r.buildNamespaces(r.ctx); err != nil {
		return Received{}, err
	}
	c, err := r.newCell("fuzz", "", "")
	if err != nil {
		return Received{}, err
	}
	for len(outbox) > 0 && err == nil {
		line, rest, found := bytes.Cut(outbox, []byte{'\n'})
		if err = badMessage(); found {
			err = c.Message(line)
		}
		outbox = rest
	}
	got := Received{Open: len(c.loop.Requests()), Items: len(c.report.mu.output), OutBytes: c.report.mu.bytes}
	for _, req := range c.loop.Requests() {
		if _, te := req.Data().(*dispatch.Call).Dispatch(r.ctx); te == nil {
			got.Worked++
		}
	}
	r.mu.Lock()
	delete(r.cells, c.id)
	r.mu.Unlock()
	return got, err
}

// Received is what a cell made of an outbox.
type Received struct{ Open, OutBytes, Items, Worked int }

// ReasonOf gives the reason of an error that ends a cell.
func ReasonOf(err error) (guestabi.Reason, bool) {
	var e *runError
	switch {
	case err == nil:
		return "", false
	case errors.As(err, &e):
		return e.reason, true
	}
	return plainFailure(err, 0).reason, true
}
