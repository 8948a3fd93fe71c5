package schema

import (
	"bytes"
	"encoding/json"
)

// Marshal writes a value as JSON on one line, without the escapes that json.Marshal
// makes for HTML. A value that JSON lacks becomes null: it is for types whose values
// have a form.
func Marshal(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return []byte("null")
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}
