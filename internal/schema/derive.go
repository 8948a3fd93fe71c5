package schema

import (
	"encoding/json"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"
)

// For derives the schema of a Go type: names and optional members from `json` tags, descriptions from `jsonschema`
// tags, additionalProperties false for structs. The same type gives the same bytes. Types that JSON cannot hold
// (channels, functions, maps with other keys than strings) and recursive types are errors.
func For[T any]() ([]byte, error) {
	s, err := jsonschema.For[T](nil)
	if err != nil {
		return nil, fmt.Errorf("derive a JSON Schema: %w", err)
	}
	raw, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("derive a JSON Schema: %w", err)
	}
	return raw, nil
}
