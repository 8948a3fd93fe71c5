package guest

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"github.com/cloister-wasm/cloister/guestabi"
)

// CheckJSON checks JSON text that a guest wrote: others will read it, with bounds
// of their own. Lone surrogates, which are no UTF-8, become U+FFFD.
func CheckJSON(text []byte) (json.RawMessage, error) {
	depth, deepest, inText := 0, 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case inText && c == '\\':
			i++
		case c == '"':
			inText = !inText
		case inText:
		case c == '{' || c == '[':
			depth++
			deepest = max(deepest, depth)
		case c == '}' || c == ']':
			depth--
		}
	}
	if deepest > guestabi.MaxValueDepth {
		return nil, ErrTooDeep
	}
	if !utf8.Valid(text) {
		text = bytes.ToValidUTF8(text, []byte("\uFFFD"))
	}
	if !json.Valid(text) {
		return nil, ErrNotJSON
	}
	return text, nil
}
