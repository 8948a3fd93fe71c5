package schema

import (
	"bytes"
	"encoding/json"
)

// Encode writes a value as JSON on one line, without the escapes that json.Marshal makes for HTML: what a model reads
// pays for each of them. The errors are those of encoding/json.
func Encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// Marshal is Encode for types whose values have a form: a value that JSON lacks
// becomes null.
func Marshal(v any) []byte {
	text, err := Encode(v)
	if err != nil {
		return []byte("null")
	}
	return text
}
