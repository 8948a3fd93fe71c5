package mcpapi_test

import (
	"encoding/json"
	"fmt"

	"github.com/cloister-wasm/cloister/internal/mcpapi"
)

func ExampleToolNames() {
	fmt.Println(mcpapi.ToolNames([]string{"create_issue", "create-issue", "then", "2fa", "日本"}))
	// Output: [createIssue createIssue2 then2 _2fa tool1]
}

func ExampleServerNames() {
	fmt.Println(mcpapi.ServerNames([]string{"chrome-devtools", "GitHub", "index"}))
	// Output: [chromeDevtools gitHub index2]
}

func ExampleIDNames() {
	fmt.Println(mcpapi.IDNames([]string{"create_issue", "exec", "größe"}))
	// Output: [create_issue exec-2706c619 gr-e-d353a267]
}

func ExampleToolDeclaration() {
	s := &mcpapi.Server{Name: "github", Title: "github", Tools: []mcpapi.Tool{{
		Name: "createIssue", Original: "create_issue", Description: "Creates an issue. */ evil()",
		Parameters: json.RawMessage(`{"type":"object","properties":{"title":{"type":"string","description":"Its title"},"labels":{"type":"array","items":{"type":"string"}}},"required":["title"]}`),
		Returns:    json.RawMessage(`{"type":"object","properties":{"number":{"type":"integer"}},"required":["number"]}`),
	}}}
	fmt.Print(mcpapi.ToolDeclaration(s, &s.Tools[0]))
	// Output:
	// declare namespace MCP.github {
	//   /**
	//    * Creates an issue. * / evil()
	//    * @param title Its title
	//    */
	//   function createIssue(input: { title: string; labels?: string[] }): Promise<McpToolResult<{ number: number /* integer */ }>>;
	// }
}
