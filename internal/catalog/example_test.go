package catalog_test

import (
	"errors"
	"fmt"

	"github.com/cloister-wasm/cloister/internal/catalog"
)

func exampleEntries() []catalog.Entry {
	return []catalog.Entry{
		{
			Source: catalog.SourceCloister, Owner: catalog.OwnerCore, Tier: catalog.Core, Name: "message",
			Description: "Send a message to a person or channel.",
			Parameters:  []byte(`{"type":"object","properties":{"to":{"type":"string"},"text":{"type":"string"}},"required":["to","text"]}`),
		},
		{
			Source: catalog.SourceCloister, Owner: "acme.csv", Tier: catalog.External, Name: "parse-rows",
			Description: "Parse CSV text into rows.",
			Parameters:  []byte(`{"type":"object","properties":{"text":{"type":"string"},"header":{"type":"boolean"}},"required":["text"]}`),
			Returns:     []byte(`{"type":"array","items":{"type":"object"}}`),
		},
		{
			Source: catalog.SourceMCP, Owner: "github", Tier: catalog.MCP, Name: "delete_repository",
			Description: "Delete a repository.",
		},
	}
}

// A host's layer hides what no run may use; the layer of a sandboxed run allows a few tools and one more.
func ExampleBuild() {
	host, err := catalog.NewLayer("host", catalog.Policy{Deny: []string{"*:*:delete_*"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	sandbox, err := catalog.NewSandboxLayer("sandbox", catalog.Policy{Allow: []string{"core"}}, []string{"acme.csv", "mcp:github:*"})
	if err != nil {
		fmt.Println(err)
		return
	}
	c, err := catalog.Build(exampleEntries(), host, sandbox)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, e := range c.Entries() {
		fmt.Println(e.ID)
	}
	for _, x := range c.Excluded() {
		fmt.Println(x.ID, "is", x.Verdict)
	}
	// Output:
	// cloister:core:message
	// cloister:acme.csv:parse-rows
	// mcp:github:delete_repository is denied by rule "*:*:delete_*" of layer "host"
}

func ExampleCatalog_Search() {
	c, err := catalog.Build(exampleEntries())
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, e := range c.Search("notify somebody", 1) {
		fmt.Println(e.ID)
	}
	// Output: cloister:core:message
}

func ExampleCatalog_Describe() {
	c, err := catalog.Build(exampleEntries())
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = c.Describe("cloister:acme.csv:parse_row")
	fmt.Println(errors.Is(err, catalog.ErrUnknownID), err)
	// Output: true unknown tool id "cloister:acme.csv:parse_row"; did you mean cloister:acme.csv:parse-rows?
}

func ExampleCatalog_Index() {
	c, err := catalog.Build(exampleEntries())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(c.Index(200))
	// Output:
	// cloister:core:* (1 tool)
	// - tools.message({to: string, text: string}) // Send a message to a person or channel
	// cloister:acme.csv:* (1 tool)
	// - tools.parse_rows({text: string, header?: boolean}): object[] // Parse CSV text into rows
}

func ExampleNewLayer() {
	_, err := catalog.NewLayer("agent", catalog.Policy{Deny: []string{"github:*"}})
	fmt.Println(errors.Is(err, catalog.ErrInvalidPolicy))
	fmt.Println(err)
	// Output:
	// true
	// invalid tool policy: layer "agent", deny rule "github:*": begins with "github", which is none of the sources cloister, mcp and client; ids are source:owner:tool
}

func ExampleID() {
	id, err := catalog.ID(catalog.SourceMCP, "github", "create_issue")
	fmt.Println(id, err)
	_, err = catalog.ID(catalog.SourceMCP, "core", "message")
	fmt.Println(err)
	// Output:
	// mcp:github:create_issue <nil>
	// invalid tool id: owner "core" is kept for the host's own tools; rename the server or application
}
