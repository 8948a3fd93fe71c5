package lock

import (
	"slices"
	"strings"

	"github.com/cloister-wasm/cloister/internal/catalog"
	"github.com/cloister-wasm/cloister/internal/mcpapi"
)

// PluginOf gives the plugin that the id of a tool names, "acme.hello" for
// "cloister:acme.hello:greet", and nothing for a tool of another source.
func PluginOf(id string) string { return ownerIn(catalog.SourceCloister, id) }

// ServerOf gives the MCP server that the id of a tool names, "github" for
// "mcp:github:create_issue", and nothing for a tool of another source.
func ServerOf(id string) string { return ownerIn(catalog.SourceMCP, id) }

func ownerIn(source, id string) string {
	rest, ok := strings.CutPrefix(id, source+":")
	owner, _, two := strings.Cut(rest, ":")
	if !ok || !two {
		return ""
	}
	return owner
}

// TextOf gives what the id of an entry is about that is no tool and so has no hints: "instructions" for what a server
// says of itself, "resources" or "prompts" for a server that says that it has such; "" for a tool. No tool has such an id.
func TextOf(id string) string {
	name, ok := strings.CutPrefix(id, catalog.SourceMCP+":"+ServerOf(id)+":")
	if !ok || !mcpapi.IsText(name) {
		return ""
	}
	return name[strings.IndexByte(name, '/')+1:]
}

// PluginTools gives the ids of a plugin's tools, sorted; nil if the file has none.
func (f *File) PluginTools(plugin string) []string { return f.toolsOf(PluginOf, plugin) }

// ServerTools gives the ids of an MCP server's tools, sorted; nil if the file has none.
func (f *File) ServerTools(server string) []string { return f.toolsOf(ServerOf, server) }

func (f *File) toolsOf(ownerOf func(string) string, owner string) []string {
	var ids []string
	for id := range f.Tools {
		if ownerOf(id) == owner {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}
