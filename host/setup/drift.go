package setup

import (
	"errors"
	"maps"
	"slices"

	"github.com/cloister-wasm/cloister/internal/catalog"
	"github.com/cloister-wasm/cloister/plugins/lock"
)

// maxToldDrift is how many tools of one owner a line of the log names.
const maxToldDrift = 5

// newDrift puts what is left out now and was not before together, by owner, and gives
// all that is left out for the next time.
func newDrift(drift []error, before map[string]bool) (fresh map[string][]string, now map[string]bool) {
	fresh, now = map[string][]string{}, map[string]bool{}
	for _, err := range drift {
		var de *lock.DriftError
		if !errors.As(err, &de) {
			continue
		}
		text := de.Difference.String()
		if now[text] = true; before[text] {
			continue
		}
		owner := lock.PluginOf(de.ID)
		if server := lock.ServerOf(de.ID); server != "" {
			owner = catalog.SourceMCP + ":" + server
		}
		fresh[owner] = append(fresh[owner], text)
	}
	return fresh, now
}

// tellDrift tells the operator which tools left the catalog, one line for each owner
// however many they are: a server may change all of them once a second. The caller holds
// changing.
func (s *Setup) tellDrift() {
	fresh, now := newDrift(s.host.Drift(), s.drifted)
	s.drifted = now
	for _, owner := range slices.Sorted(maps.Keys(fresh)) {
		list := fresh[owner]
		s.o.Logger.Warn("tools are not what was agreed to, and are left out", "of", owner, "count", len(list),
			"what", list[:min(len(list), maxToldDrift)], "mend", "cloister lock accept "+owner)
	}
}
