package plugins_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/cloister-wasm/cloister/guestabi"
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
	run, err := p.NewInstance(ctx, nil)
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
		"permissions": {"hosts": [{"host": "https://example.com"}]},
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
	// /permissions/hosts/0/host - write the host alone, without https://
	// /tools/0/parameters - does not say that the input is an object
}

func ExampleParseSourceManifest() {
	source, err := plugins.ParseSourceManifest([]byte(`{"abi": "cloister.plugin/1", "id": "acme.hello", "version": "1.0.0", "description": "Says hello."}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	// A build has this from the plugin's own cloister_describe; see Instance.Describe.
	code := &guestabi.Description{Tools: []guestabi.DescribedTool{{
		Name: "greet", Description: "Greets somebody by name.", Parameters: json.RawMessage(`{"type":"object"}`),
	}}}
	whole, err := source.Complete(code)
	fmt.Printf("%s%v", whole, err)
	// Output:
	// {
	//   "abi": "cloister.plugin/1",
	//   "id": "acme.hello",
	//   "version": "1.0.0",
	//   "description": "Says hello.",
	//   "tools": [
	//     {
	//       "name": "greet",
	//       "description": "Greets somebody by name.",
	//       "parameters": {
	//         "type": "object"
	//       }
	//     }
	//   ]
	// }
	// <nil>
}

func ExampleCompare() {
	parse := func(version, permissions string) *plugins.Manifest {
		m, err := plugins.ParseManifest([]byte(`{"abi": "cloister.plugin/1", "id": "acme.hello", "version": "` + version + `", "description": "Says hello.",
			"permissions": ` + permissions + `, "tools": [{"name": "greet", "description": "Greets.", "parameters": {"type": "object"}}]}`))
		if err != nil {
			panic(err)
		}
		return m
	}
	d := plugins.Compare(parse("1.0.0", `{}`), parse("1.1.0", `{"hosts": [{"host": "api.example.com"}]}`))
	for _, c := range d.Changes {
		fmt.Println(c.Widens, c.Text)
	}
	// Output:
	// false The version changes from 1.0.0 to 1.1.0.
	// true It may now send GET and HEAD requests to api.example.com over https only.
}
