package host

import (
	"github.com/cloister-wasm/cloister/api"
	"github.com/cloister-wasm/cloister/guestabi"
)

// CodeMode gives the configuration of code mode, with defaults and clamped.
func (h *Host) CodeMode() CodeModeConfig { return h.cfg }

// Refuse gives the result of an exec or wait that was not begun, for what stands in front
// of a Run and has bounds of its own. Nothing happens to any program.
func (r *Run) Refuse(reason guestabi.Reason, text string) *api.Result {
	return r.programs.Refuse(reason, text)
}

// Computing says whether a program of this run's scope computes while no exec or wait of
// it is in flight: one whose turn outlasted its last call does so up to its next await,
// for no longer than CodeModeConfig.TimeoutMs. It says false for ids that it does not know.
func (r *Run) Computing(cellID string) bool { return r.programs.Computing(cellID) }
