package host

import (
	"github.com/cloister-wasm/cloister/api"
	"github.com/cloister-wasm/cloister/internal/toolset"
	"github.com/cloister-wasm/cloister/plugins/lock"
)

// MCPServer is an MCP server as the host sees it: what it offers, and the way to
// call it. Package host/mcp connects to real ones.
type MCPServer struct {
	// Name is the owner in catalog ids, "mcp:<Name>:<tool>", and in policies.
	Name string
	// Tools are the tools that the server lists. All texts in them are by the server.
	Tools []api.MCPTool
	// Instructions is what the server says of itself to a model, empty if it says nothing: a text of the server's as
	// descriptions are. Cells read it at the head of the server's declaration, never in a prompt. Options.Lock holds it too.
	Instructions string
	// Resources and Prompts say that the server has such: MCP.<server>.resources and
	// MCP.<server>.prompts.
	Resources, Prompts bool
	// Approval is that of resources and prompts.
	Approval api.Approval
	// Client makes the calls. It must be safe for concurrent use.
	Client api.MCPClient
	// Err says why the server is not available; it then has no tools, and is named
	// in Host.MCPStatus.
	Err error
}

// LockTools gives what a lock file holds of an MCP server's tools when they are
// accepted as they are: entries of lock.File.Tools by catalog id. What is over the
// catalog's bounds and would be left out has an entry too. Instructions, if there are any,
// have one as the description of "mcp:<server>:server/instructions", which no tool is; that the
// server has resources or prompts has one as "server/resources" or "server/prompts".
func (s *MCPServer) LockTools() map[string]lock.Tool { return (*toolset.Server)(s).LockTools() }

// MCPStatus lists the MCP servers in the order given.
func (h *Host) MCPStatus() []api.MCPStatus { return h.newest().Status() }

// toolServers are servers as a toolset has them.
func toolServers(list []MCPServer) []toolset.Server {
	out := make([]toolset.Server, len(list))
	for i := range list {
		out[i] = toolset.Server(list[i])
	}
	return out
}
