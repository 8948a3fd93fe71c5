package guest

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf16"
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
			i += wellFormed(text[i:])
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

// wellFormed replaces an escape of a lone surrogate, at the beginning of text, by one of U+FFFD, which is as long. It
// returns how many bytes of escapes follow the first.
func wellFormed(text []byte) int {
	unit := func(at int) rune {
		if len(text) < at+6 || text[at] != '\\' || text[at+1] != 'u' {
			return 0
		}
		n, err := strconv.ParseUint(string(text[at+2:at+6]), 16, 16)
		if err != nil {
			return 0
		}
		return rune(n)
	}
	first := unit(0)
	switch {
	case !utf16.IsSurrogate(first):
		return 1
	case utf16.DecodeRune(first, unit(6)) != utf8.RuneError:
		return 11
	}
	copy(text[2:6], "fffd")
	return 5
}
