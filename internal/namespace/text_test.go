package namespace

import (
	"testing"

	"github.com/cloister-wasm/cloister/internal/plaintext/plaintexttest"
)

func TestTextsOfStrangers(t *testing.T) {
	plaintexttest.Line(t, func(s string) string { return (&ScopeError{Path: "/" + s, Message: "is wrong"}).Error() })
}
