package codemode

import (
	"bytes"
	"errors"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/internal/dispatch"
)

// Sweep runs the expiry of suspended programs at once, as the timer does.
func (h *Runner) Sweep() { h.expireDue() }

// Suspended is the number of suspended programs.
func (h *Runner) Suspended() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.mu.suspended)
}

// ParkedBytes is the memory of suspended programs that are kept as they are and not being saved.
func (h *Runner) ParkedBytes() int { return h.parked.Bytes() }

// SetTimeout changes timeoutMs. No exec or wait may be under way.
func (h *Runner) SetTimeout(ms int) { h.cfg.TimeoutMs = ms }

// Cells is the number of programs of a run that have not ended.
func (r *Run) Cells() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.mu.cells)
}

// Received is what a program made of an outbox.
type Received struct{ Open, OutBytes, Items, Worked int }

// Receive hands an outbox to a new program that has no guest, as a prelude that was taken over could write it, and makes
// the calls that it asks for, one by one.
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
	delete(r.mu.cells, c.id)
	r.mu.Unlock()
	return got, err
}

// ReasonOf gives the reason of an error that ends a program.
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
