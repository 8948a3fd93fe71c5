package view

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cloister-wasm/cloister/api"
	"github.com/cloister-wasm/cloister/internal/catalog"
	"github.com/cloister-wasm/cloister/internal/mcpapi"
	"github.com/cloister-wasm/cloister/internal/plaintext"
	"github.com/cloister-wasm/cloister/internal/schema"
)

// DescribeTool is the answer of $api: about the server, or about one tool.
func (s *MCPServer) DescribeTool(tool string, withSchema bool) (json.RawMessage, *api.ToolError) {
	if tool == "" {
		return s.overview(), nil
	}
	t := s.tool(tool)
	if t == nil {
		return nil, s.unknownTool(tool)
	}
	out := map[string]any{"server": s.API.Name, "tool": t.Name, "id": t.ID, "declaration": mcpapi.ToolDeclaration(&s.API, t)}
	if withSchema {
		returns := t.Returns
		if returns == nil {
			returns = json.RawMessage("null")
		}
		out["schema"] = map[string]any{"description": t.Description, "parameters": t.Parameters, "returns": returns}
	}
	text, err := json.Marshal(out)
	if err != nil { // a schema that was checked when it was registered
		return nil, &api.ToolError{Message: "the answer has no JSON form", Code: api.CodeInternalError}
	}
	return text, nil
}

// tool finds a tool by its name in cells or by its own, nil if there is none.
func (s *MCPServer) tool(name string) *mcpapi.Tool {
	i := slices.IndexFunc(s.API.Tools, func(t mcpapi.Tool) bool { return t.Name == name || t.Original == name })
	if i < 0 {
		return nil
	}
	return &s.API.Tools[i]
}

// ToolID returns the catalog id of a tool by either of its names, "" if there is none: for traces, which have no text of
// a cell's choice.
func (s *MCPServer) ToolID(name string) string {
	if t := s.tool(name); t != nil {
		return t.ID
	}
	return ""
}

func (s *MCPServer) toolNames() []string {
	names := make([]string, len(s.API.Tools))
	for i := range s.API.Tools {
		names[i] = s.API.Tools[i].Name
	}
	return names
}

func (s *MCPServer) unknownTool(tool string) *api.ToolError {
	message := fmt.Sprintf("MCP.%s has no tool %q", s.API.Name, plaintext.Clip(tool, 200))
	if near := schema.Suggest(tool, s.toolNames()); near != "" {
		message += "; did you mean " + near + "?"
	}
	return &api.ToolError{Message: message, Code: api.CodeUnknownTool}
}

// APIArgs reads the arguments of $api.
func APIArgs(args []json.RawMessage) (tool string, withSchema bool, err error) {
	if len(args) > 2 {
		return "", false, errors.New("takes the name of a tool and options")
	}
	if len(args) > 0 && string(args[0]) != "null" && json.Unmarshal(args[0], &tool) != nil {
		return "", false, errors.New("tool must be a string")
	}
	if len(args) > 1 && string(args[1]) != "null" {
		var o struct {
			Schema bool `json:"schema"`
		}
		if schema.DecodeInto(args[1], &o, nil) != nil {
			return "", false, errors.New("options are { schema: boolean }")
		}
		withSchema = o.Schema
	}
	return tool, withSchema, nil
}

// FoundTool is a tool of an MCP server as MCP.$search shows it.
type FoundTool struct {
	// Call is how a cell calls it, such as "MCP.github.createIssue".
	Call        string `json:"call"`
	Server      string `json:"server"`
	Tool        string `json:"tool"`
	Description string `json:"description"`
}

// maxFoundText bounds the description of a tool that was found, in bytes.
const maxFoundText = 300

// SearchMCP finds tools of MCP servers.
func (v *View) SearchMCP(query string, limit int) []FoundTool {
	found := []FoundTool{}
	for _, e := range v.Catalog.SearchMCP(query, limit) {
		if f, ok := v.callOf(e); ok {
			found = append(found, f)
		}
	}
	return found
}

// callOf says how a cell calls a tool of an MCP server.
func (v *View) callOf(e *catalog.Entry) (FoundTool, bool) {
	for _, s := range v.MCP {
		if s.API.Title != e.Owner {
			continue
		}
		f := FoundTool{Server: s.API.Name, Description: catalog.PromptText(e.Description, maxFoundText)}
		if i := slices.Index(s.entries, e); i >= 0 {
			f.Tool = s.API.Tools[i].Name
		} else {
			f.Tool = dotted(e.Name)
		}
		f.Call = "MCP." + s.API.Name + "." + f.Tool
		return f, true
	}
	return FoundTool{}, false
}

// dotted writes "resources/read" as a cell does.
func dotted(name string) string { return strings.ReplaceAll(name, "/", ".") }
