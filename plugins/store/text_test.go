package store

import (
	"testing"

	"github.com/cloister-wasm/cloister/internal/plaintext/plaintexttest"
)

func TestTextsOfStrangers(t *testing.T) {
	for name, show := range map[string]func(string) string{
		"conflict": func(s string) string {
			return (&ConflictError{Kind: "tool", Name: s, Plugin: "acme.b", Owner: "acme.a"}).Error()
		},
		"owner":  func(s string) string { return (&ConflictError{Kind: "id", Name: "acme.a", Owner: s}).Error() },
		"file":   func(s string) string { return (&DamageError{File: s}).Error() },
		"damage": func(s string) string { return damage("blobs", nil, mendBlob, "%s", s).Error() },
		"other":  func(s string) string { return fail(ErrInvalid, "%s", s).Error() },
	} {
		t.Run(name, func(t *testing.T) { plaintexttest.Line(t, show) })
	}
}
