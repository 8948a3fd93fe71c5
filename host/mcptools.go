package host

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/cloister-wasm/cloister/internal/view"

	"github.com/cloister-wasm/cloister/api"

	"github.com/cloister-wasm/cloister/internal/catalog"
	"github.com/cloister-wasm/cloister/internal/mcpapi"
	"github.com/cloister-wasm/cloister/internal/plaintext"
	"github.com/cloister-wasm/cloister/plugins/lock"
)

// maxMCPServers bounds the servers of a host.
const maxMCPServers = 1000

// mcpServer is an MCP server with its tools in the catalog.
type mcpServer struct {
	MCPServer
	faults []error
	tools  int
}

// sources are the servers as a view wants them.
func (ts *toolset) sources() []view.Server {
	out := make([]view.Server, len(ts.mcp))
	for i, s := range ts.mcp {
		out[i] = view.Server{Name: s.Name, Instructions: s.Instructions}
	}
	return out
}

// MCPStatus lists the MCP servers in the order given.
func (h *Host) MCPStatus() []api.MCPStatus {
	h.mu.Lock()
	servers := h.tools.mcp
	h.mu.Unlock()
	out := make([]api.MCPStatus, len(servers))
	for i, s := range servers {
		out[i] = api.MCPStatus{Name: s.Name, Tools: s.tools, Err: s.Err, Faults: slices.Clone(s.faults)}
	}
	return out
}

// addServers adds the tools of MCP servers. What is wrong with one tool leaves that
// one out.
func (h *Host) addServers(ts *toolset, servers []MCPServer) error {
	if len(servers) > maxMCPServers {
		return fmt.Errorf("%w: %d MCP servers, more than %d", api.ErrTool, len(servers), maxMCPServers)
	}
	seen := map[string]bool{}
	for i := range servers {
		s := &mcpServer{MCPServer: servers[i]}
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
		if err := s.checkInstructions(ts.lock); err != nil {
			ts.drift = append(ts.drift, err)
			s.Instructions = ""
		}
		h.addServer(ts, s)
	}
	return nil
}

// LockTools gives what a lock file holds of an MCP server's tools when they are
// accepted as they are: entries of lock.File.Tools by catalog id. What is over the
// catalog's bounds and would be left out has an entry too. Instructions, if there are any,
// have one as the description of "mcp:<server>:server/instructions", which no tool is.
func (s *MCPServer) LockTools() map[string]lock.Tool {
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
		tools[catalog.SourceMCP+":"+s.Name+":"+name] = lock.HashTool(name, t.Description, parameters, t.Returns)
	}
	if s.Instructions != "" {
		id, t := s.lockInstructions()
		tools[id] = t
	}
	return tools
}

// lockInstructions is the entry of a lock file for the server's instructions.
func (s *MCPServer) lockInstructions() (id string, t lock.Tool) {
	return catalog.SourceMCP + ":" + s.Name + ":" + mcpapi.InstructionsID, lock.HashTool(mcpapi.InstructionsID, s.Instructions, anyObject, nil)
}

// checkInstructions compares the server's instructions with what was accepted of them: they steer a model as descriptions do.
func (s *MCPServer) checkInstructions(accepted *lock.File) error {
	if accepted == nil || s.Instructions == "" {
		return nil
	}
	return accepted.CheckTool(s.lockInstructions())
}

// missingMCP names the servers that are not available, as far as the run may know of
// them. Their tools are not known: what any server may have stands for them before rules
// and policy, which would hide the tools of a server that is denied.
func (h *Host) missingMCP(ctx context.Context, scope api.Scope, ts *toolset, layers []catalog.Layer) []string {
	var out []string
	for _, s := range ts.mcp {
		if s.Err == nil {
			continue
		}
		const name = "resources/list"
		facts := &api.ToolFacts{ID: catalog.SourceMCP + ":" + s.Name + ":" + name, Source: catalog.SourceMCP, Owner: s.Name, Name: name, Approval: api.ApprovalNever}
		e := catalog.Entry{Name: name, Source: catalog.SourceMCP, Owner: s.Name, Tier: catalog.MCP, Ref: &toolRef{mcp: true, facts: facts}}
		if !catalog.Check(&e, layers...).Visible {
			continue
		}
		if seen, _ := h.visible(ctx, scope, []catalog.Entry{e}); len(seen) > 0 {
			out = append(out, s.Name)
		}
	}
	slices.Sort(out)
	return out
}

func (h *Host) addServer(ts *toolset, s *mcpServer) {
	names := make([]string, len(s.Tools))
	for i := range s.Tools {
		names[i] = s.Tools[i].Name
	}
	for i, id := range mcpapi.IDNames(names) {
		h.addMCPTool(ts, s, h.mcpTool(s, id, &s.Tools[i]))
	}
	for _, e := range mcpPseudoTools(s) {
		h.addMCPTool(ts, s, e)
	}
}

func (h *Host) addMCPTool(ts *toolset, s *mcpServer, e catalog.Entry) {
	ref := e.Ref.(*toolRef)
	err := h.complete(&e, ref)
	if err == nil {
		err = catalog.Validate(&e)
	}
	if err != nil {
		s.faults = append(s.faults, fmt.Errorf("%w: the MCP server %s: %w", api.ErrTool, s.Name, err))
		return
	}
	// What an MCP tool declares is about structuredContent, which mcpValue checks.
	ref.structured, ref.returns = ref.returns, nil
	if ref.original != nil {
		ref.facts.Annotations = ref.original.Annotations
		if err := ts.checkLock(&e); err != nil {
			ts.drift = append(ts.drift, err)
			return
		}
	}
	s.tools++
	ts.entries = append(ts.entries, e)
}

func (h *Host) mcpTool(s *mcpServer, id string, t *api.MCPTool) catalog.Entry {
	ref := &toolRef{approval: t.Approval, mcp: true, original: t}
	ref.invoke = func(ctx context.Context, c *call) (json.RawMessage, error) {
		res, err := s.Client.CallTool(ctx, t, c.tc.Input, func(p api.MCPProgress) {
			ReportProgress(ctx, api.Progress{Done: p.Progress, Total: p.Total, Message: p.Message})
		})
		if err != nil {
			return nil, err
		}
		return c.mcpValue(res)
	}
	return catalog.Entry{
		Name: id, Label: plaintext.Clip(strings.ToValidUTF8(t.Title, ""), catalog.MaxLabelLen/2), Description: t.Description,
		Source: catalog.SourceMCP, Owner: s.Name, Tier: catalog.MCP, Parameters: t.Parameters, Returns: t.Returns, Ref: ref,
	}
}

// maxContentItems bounds the items of one result.
const maxContentItems = 10_000

// contentList writes content items for a guest. Beside them, it gives what stands for the binaries in them.
func (c *call) contentList(items []api.MCPContent) (list []json.RawMessage, stands []string, err error) {
	if len(items) > maxContentItems {
		return nil, nil, &api.ToolError{Message: fmt.Sprintf("the result has %d content items, more than %d", len(items), maxContentItems), Code: api.CodeToolOutputTooLarge}
	}
	list, stands = make([]json.RawMessage, len(items)), make([]string, len(items))
	for i := range items {
		if list[i], stands[i], err = c.root.files.contentJSON(c.run.h, &items[i]); err != nil {
			return nil, nil, &api.ToolError{Message: "the server's result cannot be read", Code: api.CodeInvalidToolResult}
		}
	}
	return list, stands, nil
}

// mcpValue is what a cell gets of an MCP tool's result. A failure is thrown.
func (c *call) mcpValue(res *api.MCPResult) (json.RawMessage, error) {
	if res.IsError {
		return nil, &api.ToolError{Message: errorText(res), Code: api.CodeMCPToolError}
	}
	if c.ref.structured != nil {
		if res.Structured == nil {
			return nil, &api.ToolError{Message: "the tool declares an output schema and gave no structuredContent", Code: api.CodeInvalidToolResult}
		}
		if err := checkJSON(c.ref.structured, res.Structured, "result (structuredContent)"); err != nil {
			return nil, err
		}
	}
	list, stands, err := c.contentList(res.Content)
	if err != nil {
		return nil, err
	}
	c.mcp = res // with structuredContent as the server gave it
	return json.Marshal(struct {
		Structured json.RawMessage   `json:"structuredContent,omitempty"`
		Content    []json.RawMessage `json:"content"`
	}{withoutBinaries(res.Structured, res.Content, stands), list})
}

// errorText is what a failed tool says.
func errorText(res *api.MCPResult) string {
	var b strings.Builder
	for i := range res.Content {
		var item struct {
			Text string `json:"text"`
		}
		if json.Unmarshal(res.Content[i].JSON, &item) != nil || item.Text == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(plaintext.Clip(item.Text, maxErrorText))
		if b.Len() > maxErrorText {
			break
		}
	}
	if b.Len() == 0 {
		return "the tool reported an error without a text"
	}
	return plaintext.Clip(b.String(), maxErrorText)
}

// maxErrorText bounds what is read of a tool's error, in bytes.
const maxErrorText = 8 << 10
