package namespace_test

import (
	"encoding/json"
	"fmt"

	"github.com/cloister-wasm/cloister/internal/namespace"
)

func ExampleParseScope() {
	root, err := namespace.ParseScope([]byte(`{
		"repository": "acme/site",
		"update": {"$tool": "update_issue", "args": ["number", "patch"]}
	}`), []string{"update_issue"})
	if err != nil {
		fmt.Println(err)
		return
	}
	call := root.Calls()[0]
	input, err := call.MapArgs([]json.RawMessage{[]byte(`7`), []byte(`{"state":"closed"}`)})
	fmt.Println(call.Path, call.Tool, string(input), err)
	// Output: [update] update_issue {"number":7,"patch":{"state":"closed"}} <nil>
}
