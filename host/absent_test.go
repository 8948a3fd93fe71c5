package host_test

import (
	"strings"
	"testing"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/host/hosttest"
)

// TestWhatIsAbsent: a call of a name that was guessed says what is missing, in
// JavaScript and TypeScript; what is there, or only looks alike, is not named.
func TestWhatIsAbsent(t *testing.T) {
	hidden := hosttest.Echo("hidden_tool")
	r := setup(t, host.Options{
		Tools: []host.RawTool{hosttest.Echo("read_file"), hidden}, Deny: []string{"cloister:core:hidden_tool"},
		MCP: []host.MCPServer{trackerServer(&memoryServer{})},
	})
	const (
		notFunction = "TypeError: not a function"
		unread      = "TypeError: cannot read property"
	)
	for code, want := range map[string][2]string{
		`return tools.read_fil({})`:                                   {notFunction, ": there is no tools.read_fil; did you mean cloister:core:read_file? tools.call(id, input) calls it"},
		`return tools["nope"]({})`:                                    {notFunction, ": there is no tools.nope; find tools with tools.search(query)"},
		`return tools.hidden_tool({})`:                                {notFunction, ": there is no tools.hidden_tool; find tools with tools.search(query)"},
		"const x = 'ü🙂';\n\treturn MCP.issueTracker.createIsue({})":   {notFunction, ": there is no MCP.issueTracker.createIsue; did you mean createIssue?"},
		`return MCP.issueTracker.something_else({})`:                  {notFunction, ": there is no MCP.issueTracker.something_else; MCP.issueTracker.$api() lists its tools"},
		`return MCP['issueTraker'].createIssue({})`:                   {unread, ": there is no MCP.issueTraker; did you mean MCP.issueTracker?"},
		`return MCP.github.x({})`:                                     {unread, `: there is no MCP.github; API.list("mcp") lists the servers`},
		`return MCP.issueTracker.resources.lst()`:                     {notFunction, ""},
		`const m = MCP.issueTracker; return m.nope({})`:               {notFunction, ""},
		`return undefined(tools.read_file)`:                           {notFunction, ""},
		`return (await (tools.search)("x")).nope()`:                   {notFunction, ""},
		strings.Repeat(" ", 100_000) + `return MCP.issueTracker.no()`: {notFunction, ": there is no MCP.issueTracker.no; MCP.issueTracker.$api() lists its tools"},
	} {
		for _, language := range []string{"javascript", "typescript"} {
			res, err := r.Exec(t.Context(), host.ExecInput{Code: code, Language: language})
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(res.Error, want[0]) || !strings.HasSuffix(res.Error, want[1]) || want[1] == "" && strings.Contains(res.Error, "there is no") {
				t.Errorf("%s, %.80s:\n%q, want %q", language, code, res.Error, want)
			}
		}
	}
}

// TestMCPToolsByID: the global tools has no tools of MCP servers, and says where they are.
func TestMCPToolsByID(t *testing.T) {
	r := setup(t, host.Options{MCP: []host.MCPServer{trackerServer(&memoryServer{})}})
	for code, want := range map[string]string{
		`await tools.call("mcp:issue-tracker:create_issue", {})`: `no tool has the id "mcp:issue-tracker:create_issue" here; call MCP.issueTracker.createIssue(input)`,
		`await tools.describe("mcp:issue-tracker:nope")`:         `no tool has the id "mcp:issue-tracker:nope" here; tools of MCP servers are called as MCP.<server>.<tool>(input), and MCP.$search(query) finds them`,
	} {
		if res := exec(t, r, code); !strings.Contains(res.Error, want) {
			t.Errorf("%s: %q", code, res.Error)
		}
	}
}
