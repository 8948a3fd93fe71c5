package host

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

// answerAPI answers MCP.<server>.$api(tool, { schema }): the declaration of a server
// or of one of its tools, and the schemas if they are wanted.
func (s *runMCPServer) answerAPI(c *cell, request int, m *member, args []json.RawMessage) error {
	c.report.count(func(t *api.Telemetry) { t.DescribeCount++ })
	tool, withSchema, err := apiArgs(args)
	if err != nil {
		return c.fail(request, &api.ToolError{Name: "TypeError", Message: m.path + "(tool?, { schema? }): " + err.Error(), Code: api.CodeInvalidInput})
	}
	c.run.stamp(&api.TraceEvent{Event: api.EventDescribe, CellID: c.id, ParentID: c.parentID, Tool: plaintext.Clip(s.api.Title+" "+tool, 200), Namespace: m.path, Untrusted: true})
	out := map[string]any{"server": s.api.Name}
	if tool == "" {
		return c.answer(request, s.overview())
	} else {
		i := slices.IndexFunc(s.api.Tools, func(t mcpapi.Tool) bool { return t.Name == tool || t.Original == tool })
		if i < 0 {
			return c.fail(request, s.unknownTool(tool))
		}
		t := &s.api.Tools[i]
		out["tool"], out["id"], out["declaration"] = t.Name, t.ID, mcpapi.ToolDeclaration(&s.api, t)
		if withSchema {
			returns := t.Returns
			if returns == nil {
				returns = json.RawMessage("null")
			}
			out["schema"] = map[string]any{"description": t.Description, "parameters": t.Parameters, "returns": returns}
		}
	}
	return c.answerJSON(request, out)
}

func (s *runMCPServer) toolNames() []string {
	names := make([]string, len(s.api.Tools))
	for i := range s.api.Tools {
		names[i] = s.api.Tools[i].Name
	}
	return names
}

func (s *runMCPServer) unknownTool(tool string) *api.ToolError {
	message := fmt.Sprintf("MCP.%s has no tool %q", s.api.Name, plaintext.Clip(tool, 200))
	if near := schema.Suggest(tool, s.toolNames()); near != "" {
		message += "; did you mean " + near + "?"
	}
	return &api.ToolError{Message: message, Code: api.CodeUnknownTool}
}

// apiArgs reads the arguments of $api.
func apiArgs(args []json.RawMessage) (tool string, withSchema bool, err error) {
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

// foundTool is a tool of an MCP server as MCP.$search shows it.
type foundTool struct {
	// Call is how a cell calls it, such as "MCP.github.createIssue".
	Call        string `json:"call"`
	Server      string `json:"server"`
	Tool        string `json:"tool"`
	Description string `json:"description"`
}

// maxFoundText bounds the description of a tool that was found, in bytes.
const maxFoundText = 300

// answerMCPSearch answers MCP.$search(query, { limit }).
func answerMCPSearch(c *cell, request int, _ *member, args []json.RawMessage) error {
	c.report.count(func(t *api.Telemetry) { t.SearchCount++ })
	query, limit, err := c.searchArgs(args)
	if err != nil {
		var te *api.ToolError
		if !errors.As(err, &te) {
			te = &api.ToolError{Name: "TypeError", Message: "MCP.$search(query, { limit }): " + err.Error(), Code: api.CodeInvalidInput}
		}
		return c.fail(request, te)
	}
	c.run.stamp(&api.TraceEvent{Event: api.EventSearch, CellID: c.id, ParentID: c.parentID, Namespace: "MCP.$search"})
	found := []foundTool{}
	for _, e := range c.run.cat.SearchMCP(query, limit) {
		if f, ok := c.run.callOf(e); ok {
			found = append(found, f)
		}
	}
	return c.answerJSON(request, found)
}

// searchArgs reads a query and its options.
func (c *cell) searchArgs(args []json.RawMessage) (query string, limit int, err error) {
	if len(args) == 0 || len(args) > 2 || string(args[0]) == "null" || json.Unmarshal(args[0], &query) != nil {
		return "", 0, errors.New("query must be a string")
	}
	var o struct {
		Limit *int `json:"limit"`
	}
	if len(args) == 2 && string(args[1]) != "null" {
		if schema.DecodeInto(args[1], &o, nil) != nil {
			return "", 0, errors.New("options are { limit: number }")
		}
	}
	if o.Limit == nil {
		limit, err = c.h.searchLimit(0, true)
	} else {
		limit, err = c.h.searchLimit(*o.Limit, false)
	}
	return query, limit, err
}

// callOf says how a cell calls a tool of an MCP server.
func (r *Run) callOf(e *catalog.Entry) (foundTool, bool) {
	for _, s := range r.mcp {
		if s.api.Title != e.Owner {
			continue
		}
		f := foundTool{Server: s.api.Name, Description: catalog.PromptText(e.Description, maxFoundText)}
		if i := slices.Index(s.entries, e); i >= 0 {
			f.Tool = s.api.Tools[i].Name
		} else {
			f.Tool = dotted(e.Name)
		}
		f.Call = "MCP." + s.api.Name + "." + f.Tool
		return f, true
	}
	return foundTool{}, false
}

// dotted writes "resources/read" as a cell does.
func dotted(name string) string { return strings.ReplaceAll(name, "/", ".") }
