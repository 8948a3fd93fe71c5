package host

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cloister-wasm/cloister/internal/dispatch"
	"github.com/cloister-wasm/cloister/internal/plaintext"
)

// maxMessageTools bounds the tools that ApprovalMessage names.
const maxMessageTools = 3

// ApprovalMessage is one sentence for people: that calls of these tools, given by their
// ids, wait for approval, and where that is answered (Options.ApprovalHint).
func (h *Host) ApprovalMessage(tools ...string) string {
	var names []string
	for _, id := range tools {
		if id = plaintext.Clip(id, dispatch.MaxShownID); !slices.Contains(names, id) {
			names = append(names, id)
		}
	}
	text := "A call waits"
	switch n := len(names); {
	case n == 1 && len(tools) == 1:
		text = "The call of " + names[0] + " waits"
	case n > maxMessageTools:
		text = fmt.Sprintf("Calls of %s and %d more tools wait", strings.Join(names[:maxMessageTools], ", "), n-maxMessageTools)
	case n > 1:
		text = "Calls of " + strings.Join(names[:n-1], ", ") + " and " + names[n-1] + " wait"
	case n == 1:
		text = fmt.Sprintf("%d calls of %s wait", len(tools), names[0])
	}
	if h.o.ApprovalHint == "" {
		return text + " for approval by a person"
	}
	return text + " for approval: " + h.o.ApprovalHint
}
