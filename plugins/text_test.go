package plugins

import (
	"testing"

	"github.com/cloister-wasm/cloister/internal/plaintext/plaintexttest"
)

func TestTextsOfStrangers(t *testing.T) {
	for name, show := range map[string]func(string) string{
		"plugin":  func(s string) string { return (&PluginError{Plugin: s, Kind: ErrFiles}).Error() },
		"tool":    func(s string) string { return (&PluginError{Plugin: "acme.a", Tool: s, Kind: ErrFiles}).Error() },
		"problem": func(s string) string { return Problem{Path: "/id", Message: s}.String() },
		"mistakes": func(s string) string {
			return (&ManifestError{Problems: []Problem{{Path: "/" + s, Message: "is wrong"}}}).Error()
		},
	} {
		t.Run(name, func(t *testing.T) { plaintexttest.Line(t, show) })
	}
}
