package view

import (
	"regexp"
	"slices"
	"strings"

	"github.com/cloister-wasm/cloister/internal/catalog"
	"github.com/cloister-wasm/cloister/internal/plaintext"
	"github.com/cloister-wasm/cloister/internal/schema"
)

// The engine only says that something is not a function. Where the program called a
// member of tools or MCP that is not there, which is most often a name that was
// guessed, the error says so, and what it may have meant.

const oneMember = `(?:\.([A-Za-z_$][A-Za-z0-9_$]*)|\[\s*["']([^"'\\]{1,100})["']\s*\])`

// calledMember matches tools.NAME, MCP.SERVER and MCP.SERVER.NAME.
var calledMember = regexp.MustCompile(`\b(tools|MCP)` + oneMember + `(?:` + oneMember + `)?`)

// absentWindow bounds the part of a line that is looked at, on each side of the place.
const absentWindow = 200

// Absent says what is missing at a place of a program that ended with a message, if anything is.
func (v *View) Absent(source, message string, line, column int) string {
	if message != "TypeError: not a function" && !strings.HasPrefix(message, "TypeError: cannot read property ") {
		return ""
	}
	text, at := sourceLine(source, line), column-1 // columns count bytes
	if at < 0 || at >= len(text) {
		return ""
	}
	first := max(0, at-absentWindow)
	text, at = text[first:min(len(text), at+absentWindow)], at-first
	for _, m := range calledMember.FindAllStringSubmatchIndex(text, -1) {
		if at < m[0]-2 || m[1] < at { // for tools["name"] the engine names the place before it
			continue
		}
		group := func(i int) string {
			if m[2*i] < 0 {
				return ""
			}
			return text[m[2*i]:m[2*i+1]]
		}
		one, two := group(2)+group(3), group(4)+group(5) // .name or ["name"]
		if group(1) == "tools" {
			return v.absentTool(one)
		}
		return v.absentMCP(one, two)
	}
	return ""
}

func sourceLine(source string, line int) string {
	for text := range strings.SplitSeq(source, "\n") {
		if line--; line == 0 {
			return text
		}
	}
	return ""
}

// absentTool is about tools.NAME.
func (v *View) absentTool(name string) string {
	if _, there := v.Catalog.Convenience()[name]; there || slices.Contains([]string{"search", "describe", "call"}, name) {
		return ""
	}
	name = plaintext.Short(name, 100)
	if ids := v.Catalog.Suggest(name); len(ids) > 0 {
		return "there is no tools." + name + "; did you mean " + strings.Join(ids, ", ") + "? tools.call(id, input) calls it"
	}
	return "there is no tools." + name + "; find tools with tools.search(query)"
}

// absentMCP is about MCP.SERVER, and MCP.SERVER.NAME if name is not empty.
func (v *View) absentMCP(server, name string) string {
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
