package trust

import (
	"testing"

	"github.com/cloister-wasm/cloister/internal/plaintext/plaintexttest"
)

func TestTextsOfStrangers(t *testing.T) {
	for name, show := range map[string]func(string) string{
		"plugin": func(s string) string { return (&Error{Plugin: s, Step: StepSigner, State: StateUnsigned}).Error() },
		"detail": func(s string) string { return refuse(StepSigner, StateUnknownSigner, nil, "%s", s).Error() },
		"key":    func(s string) string { return badKey(nil, "%s", s).Error() },
	} {
		t.Run(name, func(t *testing.T) { plaintexttest.Line(t, show) })
	}
}
