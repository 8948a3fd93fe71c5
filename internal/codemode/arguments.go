package codemode

import (
	"errors"
	"strings"

	"github.com/cloister-wasm/cloister/api"
	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/internal/plaintext"
	"github.com/cloister-wasm/cloister/internal/schema"
)

// BadArguments is the result that says what is wrong with the arguments of exec or wait, and what these take. Arguments that are JSON, and
// of a wrong form only, are not called invalid JSON.
func (r *Run) BadArguments(tool, takes string, err error) *api.Result {
	text := err.Error()
	var de *schema.DecodeError
	if errors.As(err, &de) && de.Offset < 0 {
		text = de.Detail
		if de.Path != "" && !strings.HasPrefix(text, "unknown property") {
			text = plaintext.Clip(de.Path, 200) + ": " + text
		}
	}
	return r.failure(fail(guestabi.ReasonInvalidInput, "%s: %s; it takes %s", tool, text, takes))
}
