package toolset

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cloister-wasm/cloister/api"
	"github.com/cloister-wasm/cloister/internal/catalog"
	"github.com/cloister-wasm/cloister/internal/dispatch"
	"github.com/cloister-wasm/cloister/internal/mcpapi"
	"github.com/cloister-wasm/cloister/internal/plaintext"
	"github.com/cloister-wasm/cloister/internal/view"
	"github.com/cloister-wasm/cloister/plugins/lock"
)

// maxMCPServers bounds the servers of a host.
const maxMCPServers = 1000

// mcpServer is an MCP server with its tools in the catalog.
type mcpServer struct {
	Server
	faults []error
	tools  int
}

// Sources are the servers as a view wants them.
func (ts *Set) Sources() []view.Server {
	out := make([]view.Server, len(ts.mcp))
	for i, s := range ts.mcp {
		out[i] = view.Server{Name: s.Name, Instructions: s.Instructions}
	}
	return out
}

// Status says how the MCP servers stand, in the order given.
func (ts *Set) Status() []api.MCPStatus {
	out := make([]api.MCPStatus, len(ts.mcp))
	for i, s := range ts.mcp {
		out[i] = api.MCPStatus{Name: s.Name, Tools: s.tools, Err: s.Err, Faults: slices.Clone(s.faults)}
	}
	return out
}

// addServers adds the tools of MCP servers. What is wrong with one tool leaves that
// one out.
func (b *Builder) addServers(ts *Set, servers []Server) error {
	if len(servers) > maxMCPServers {
		return fmt.Errorf("%w: %d MCP servers, more than %d", api.ErrTool, len(servers), maxMCPServers)
	}
	seen := map[string]bool{}
	for i := range servers {
		s := &mcpServer{Server: servers[i]}
		if _, err := catalog.ID(catalog.SourceMCP, s.Name, "tool"); err != nil {
			return fmt.Errorf("%w: MCP server: %w", api.ErrTool, err)
		}
		if seen[s.Name] {
			return fmt.Errorf("%w: two MCP servers have the name %s", api.ErrTool, s.Name)
		}
		seen[s.Name] = true
		ts.mcp = append(ts.mcp, s)
		if s.Err != nil {
			continue
		}
		if s.Client == nil {
			return fmt.Errorf("%w: the MCP server %s has no Client", api.ErrTool, s.Name)
		}
		ts.drift = append(ts.drift, s.leaveUnaccepted(ts.Parts.Lock)...)
		b.addServer(ts, s)
	}
	return nil
}

// LockTools gives what a lock file holds of an MCP server's tools when they are
// accepted as they are: entries of lock.File.Tools by catalog id. What is over the
// catalog's bounds and would be left out has an entry too. Instructions, if there are any,
// have one as the description of "mcp:<server>:server/instructions", which no tool is; that the
// server has resources or prompts has one as "server/resources" or "server/prompts".
func (s *Server) LockTools() map[string]lock.Tool {
	names := make([]string, len(s.Tools))
	for i := range s.Tools {
		names[i] = s.Tools[i].Name
	}
	tools := map[string]lock.Tool{}
	for i, name := range mcpapi.IDNames(names) {
		t := &s.Tools[i]
		parameters := t.Parameters
		if parameters == nil {
			parameters = anyObject
		}
		d := lock.Definition{Name: name, Title: t.Title, Description: t.Description, Parameters: parameters, Returns: t.Returns, Hints: hintsOf(t.Annotations)}
		tools[catalog.SourceMCP+":"+s.Name+":"+name] = d.Entry()
	}
	maps.Copy(tools, s.lockTexts())
	return tools
}

// Missing names the servers that are not available, as far as the run may know of
// them. Their tools are not known: what any server may have stands for them before rules
// and policy, which would hide the tools of a server that is denied.
func (ts *Set) Missing(layers []catalog.Layer, visible func([]catalog.Entry) []catalog.Entry) []string {
	var out []string
	for _, s := range ts.mcp {
		if s.Err == nil {
			continue
		}
		const name = "resources/list"
		facts := &api.ToolFacts{ID: catalog.SourceMCP + ":" + s.Name + ":" + name, Source: catalog.SourceMCP, Owner: s.Name, Name: name, Approval: api.ApprovalNever}
		e := catalog.Entry{Name: name, Source: catalog.SourceMCP, Owner: s.Name, Tier: catalog.MCP, Ref: &dispatch.Tool{MCP: true, Facts: facts}}
		if !catalog.Check(&e, layers...).Visible {
			continue
		}
		if len(visible([]catalog.Entry{e})) > 0 {
			out = append(out, s.Name)
		}
	}
	slices.Sort(out)
	return out
}

func (b *Builder) addServer(ts *Set, s *mcpServer) {
	names := make([]string, len(s.Tools))
	for i := range s.Tools {
		names[i] = s.Tools[i].Name
	}
	for i, id := range mcpapi.IDNames(names) {
		b.addMCPTool(ts, s, b.mcpTool(s, id, &s.Tools[i]))
	}
	for _, e := range mcpPseudoTools(s) {
		b.addMCPTool(ts, s, e)
	}
}

func (b *Builder) addMCPTool(ts *Set, s *mcpServer, e catalog.Entry) {
	ref := e.Ref.(*dispatch.Tool)
	err := b.complete(&e, ref)
	if err == nil {
		err = catalog.Validate(&e)
	}
	if err != nil {
		s.faults = append(s.faults, fmt.Errorf("%w: the MCP server %s: %w", api.ErrTool, s.Name, err))
		return
	}
	// What an MCP tool declares is about structuredContent, which mcpValue checks.
	ref.Structured, ref.Returns = ref.Returns, nil
	if ref.Original != nil {
		ref.Facts.Annotations = ref.Original.Annotations
		if err := ts.checkLock(&e); err != nil {
			ts.drift = append(ts.drift, err)
			return
		}
	}
	s.tools++
	ts.Entries = append(ts.Entries, e)
}

func (b *Builder) mcpTool(s *mcpServer, id string, t *api.MCPTool) catalog.Entry {
	ref := &dispatch.Tool{Approval: t.Approval, MCP: true, Original: t, Invoke: dispatch.CallMCP(s.Client, t)}
	return catalog.Entry{
		Name: id, Label: plaintext.Clip(strings.ToValidUTF8(t.Title, ""), catalog.MaxLabelLen/2), Description: t.Description,
		Source: catalog.SourceMCP, Owner: s.Name, Tier: catalog.MCP, Parameters: t.Parameters, Returns: t.Returns, Ref: ref,
	}
}
