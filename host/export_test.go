package host

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
