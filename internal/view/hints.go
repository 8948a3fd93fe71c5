package view

import (
	"slices"
	"strings"

	"github.com/cloister-wasm/cloister/internal/catalog"
	"github.com/cloister-wasm/cloister/internal/plaintext"
	"github.com/cloister-wasm/cloister/internal/schema"
)

// AbsentTool is about tools.NAME.
func (v *View) AbsentTool(name string) string {
	if _, there := v.Catalog.Convenience()[name]; there || slices.Contains([]string{"search", "describe", "call"}, name) {
		return ""
	}
	name = plaintext.Short(name, 100)
	text := "there is no tools." + name
	switch strings.ToLower(strings.ReplaceAll(name, "_", "")) {
	case "invoke", "run", "execute", "exec", "calltool", "use", "callbyid":
		return text + "; tools.call(id, input) calls a tool"
	case "list", "all", "listtools", "getall", "keys", "names":
		return text + "; ALL_TOOLS lists the tools, tools.search(query) finds them"
	case "find", "query", "lookup", "searchtools":
		return text + "; tools.search(query) finds tools"
	case "get", "schema", "info", "help", "describetool":
		return text + "; tools.describe(id) gives a tool's schema"
	}
	if ids := v.Catalog.Suggest(name); len(ids) > 0 {
		return text + "; did you mean " + strings.Join(ids, ", ") + "? tools.call(id, input) calls it"
	}
	return text + "; find tools with tools.search(query)"
}

// AbsentMCP is about MCP.SERVER, and MCP.SERVER.NAME if name is not empty.
func (v *View) AbsentMCP(server, name string) string {
	names := make([]string, len(v.MCP))
	for i, s := range v.MCP {
		names[i] = s.API.Name
	}
	i := slices.Index(names, server)
	switch {
	case i >= 0 && name != "":
		return v.MCP[i].absentMember(name)
	case i >= 0 || server == "$search":
		return ""
	}
	text := "there is no MCP." + plaintext.Short(server, 100)
	if near := schema.Suggest(server, names); near != "" {
		return text + "; did you mean MCP." + near + "?"
	}
	return text + `; API.list("mcp") lists the servers`
}

func (s *MCPServer) absentMember(name string) string {
	names := s.toolNames()
	for i := range s.API.Tools {
		names = append(names, s.API.Tools[i].Original)
	}
	if slices.Contains(names, name) || slices.Contains([]string{"$api", "resources", "prompts"}, name) {
		return ""
	}
	text := "there is no MCP." + s.API.Name + "." + plaintext.Short(name, 100)
	if near := schema.Suggest(name, names); near != "" {
		return text + "; did you mean " + near + "?"
	}
	return text + "; MCP." + s.API.Name + ".$api() lists its tools"
}

// mcpInstead says how a cell reaches a tool of an MCP server, for whose id it asked the
// global tools.
func (v *View) mcpInstead(id string) string {
	if len(v.MCP) == 0 || !strings.HasPrefix(id, catalog.SourceMCP+":") {
		return ""
	}
	if e, ok := v.Catalog.Lookup(id); ok {
		if f, ok := v.callOf(e); ok {
			return "call " + f.Call + "(input)"
		}
	}
	return "tools of MCP servers are called as MCP.<server>.<tool>(input), and MCP.$search(query) finds them"
}
