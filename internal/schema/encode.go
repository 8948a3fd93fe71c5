package schema

import "github.com/cloister-wasm/cloister/internal/plainjson"

// Marshal is plainjson.Encode for types whose values have a form: a value that JSON lacks
// becomes null.
func Marshal(v any) []byte {
	text, err := plainjson.Encode(v)
	if err != nil {
		return []byte("null")
	}
	return text
}
