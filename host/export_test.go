package host

import (
	"errors"

	"github.com/cloister-wasm/cloister/guestabi"
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

// HidePaths is the filter of error texts.
var HidePaths = hidePaths

// Receive hands an outbox to a new cell that has no guest, as if the prelude of
// that cell had written it, and makes the calls that it asks for, one by one.
func (r *Run) Receive(outbox []byte) (Received, error) {
	c, err := r.newCell("fuzz", "", nil)
	if err != nil {
		return Received{}, err
	}
	err = c.receive(outbox)
	c.mu.Lock()
	got := Received{Open: len(c.open), Yields: len(c.yields), OutBytes: c.outBytes, Items: len(c.output)}
	queue := c.queue
	c.mu.Unlock()
	for _, oc := range queue {
		if _, terr := r.dispatch(c.ctx, oc.tc, nil); terr == nil {
			got.Worked++
		}
	}
	c.cancel()
	r.mu.Lock()
	delete(r.cells, c.id)
	r.mu.Unlock()
	return got, err
}

// Received is what a cell made of an outbox.
type Received struct{ Open, Yields, OutBytes, Items, Worked int }

// ReasonOf gives the reason of an error that ends a cell.
func ReasonOf(err error) (guestabi.Reason, bool) {
	var e *runError
	if !errors.As(err, &e) {
		return "", false
	}
	return e.reason, true
}
