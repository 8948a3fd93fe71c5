package bundle

import (
	"testing"

	"github.com/cloister-wasm/cloister/internal/plaintext/plaintexttest"
)

func TestTextsOfStrangers(t *testing.T) {
	plaintexttest.Line(t, func(s string) string { return fail(ErrFormat, "%s", s).Error() })
}
