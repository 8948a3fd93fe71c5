package plugins_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/cloister-wasm/cloister/plugins"
)

func ExampleLoadDir() {
	ctx := context.Background()
	p, err := plugins.LoadDir(ctx, "path/to/plugin", nil)
	if err != nil {
		fmt.Println(errors.Is(err, plugins.ErrUnsigned)) // a folder carries no signature, and nobody asked for such plugins
		return
	}
	defer p.Close()
	run, err := p.NewInstance(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer run.Close()
	value, err := run.Call(ctx, "text_stats", json.RawMessage(`{"text":"one two"}`))
	fmt.Println(string(value), err)
	// Output: true
}

func ExampleParseManifest() {
	_, err := plugins.ParseManifest([]byte(`{
		"abi": "cloister.plugin/1",
		"id": "Hello",
		"version": "1.0.0",
		"description": "Says hello.",
		"permissions": {"hosts": [{"host": "example.com"}]},
		"tools": [{"name": "hello", "description": "Says hello.", "parameters": {}}]
	}`))
	var mistakes *plugins.ManifestError
	if errors.As(err, &mistakes) {
		for _, p := range mistakes.Problems {
			fmt.Println(p.Path, "-", p.Message)
		}
	}
	// Output:
	// /id - has the wrong form
	// /permissions/hosts - asks for network access, which cannot be granted
	// /tools/0/parameters - does not say that the input is an object
}
