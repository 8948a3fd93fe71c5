// Package plainjson writes JSON as models and people read it. It imports the standard library only.
package plainjson

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
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'}), nil
}
