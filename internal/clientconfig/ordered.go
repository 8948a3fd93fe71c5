package clientconfig

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// field is a member of a JSON object, in its order.
type field struct {
	key   string
	value json.RawMessage
}

// fields are the members of a JSON object.
func fields(object json.RawMessage) ([]field, error) {
	dec := json.NewDecoder(bytes.NewReader(object))
	if start, err := dec.Token(); err != nil || start != json.Delim('{') {
		return nil, fmt.Errorf("%w: the entry is not an object", ErrSyntax)
	}
	var out []field
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, err
		}
		f := field{key: fmt.Sprint(key)}
		if err := dec.Decode(&f.value); err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

// elements are those of a JSON array.
func elements(array json.RawMessage) (out []json.RawMessage, err error) {
	err = json.Unmarshal(array, &out)
	return out, err
}
