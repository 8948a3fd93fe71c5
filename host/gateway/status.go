package gateway

import (
	"encoding/json"
	"net/http"
	"runtime"
)

// Status is what a Gateway holds now, in numbers: after clients have gone, all of it but
// Goroutines comes back to zero.
type Status struct {
	// Sessions are the open ones, Requests the MCP requests that are being answered.
	Sessions int `json:"sessions"`
	Requests int `json:"requests"`
	// Running are programs that run, Queued those that wait for their place (Limits.MaxRunning).
	Running int `json:"running"`
	Queued  int `json:"queued"`
	// Goroutines are those of the whole process.
	Goroutines int `json:"goroutines"`
}

// Status says what the Gateway holds now.
func (g *Gateway) Status() Status {
	s := Status{Goroutines: runtime.NumGoroutine()}
	for _, one := range g.Sessions() {
		s.Sessions++
		s.Requests += one.Requests
	}
	s.Running, s.Queued = g.running.count()
	return s
}

// count says how many places are taken, and how many wait for one.
func (p *places) count() (taken, waiting int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.total, len(p.waiting)
}

// showStatus answers GET /status.
func (h *httpServer) showStatus(w http.ResponseWriter, r *http.Request) {
	if _, ok := h.approver(w, r); !ok {
		return
	}
	text, err := json.Marshal(h.g.Status())
	if err != nil {
		h.g.log.Error("writing the status", "error", err)
		http.Error(w, "the status could not be written", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	// Who is gone does not hear it.
	_, _ = w.Write(append(text, '\n'))
}
