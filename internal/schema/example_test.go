package schema_test

import (
	"fmt"

	"github.com/cloister-wasm/cloister/internal/schema"
)

func ExampleCompile() {
	s, err := schema.Compile([]byte(`{
		"type": "object",
		"properties": {"path": {"type": "string"}, "order": {"enum": ["asc", "desc"]}},
		"required": ["path"],
		"additionalProperties": false
	}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	v, err := schema.Decode([]byte(`{"pth": "/tmp", "order": "dsc"}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s.Validate(v))
	// Output: missing required property "path" (string); /order: expected one of "asc" or "desc", did you mean "desc"?; /pth: unknown property "pth", did you mean "path"?
}

func ExampleDecode() {
	_, err := schema.Decode([]byte(`{"user": "a", "user": "b"}`))
	fmt.Println(err)
	// Output: not valid JSON at /user (byte 20): the key "user" appears twice
}
