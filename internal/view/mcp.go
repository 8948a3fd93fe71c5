package view

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/cloister-wasm/cloister/internal/catalog"
	"github.com/cloister-wasm/cloister/internal/mcpapi"
	"github.com/cloister-wasm/cloister/internal/namespace"
)

// MCPServer is an MCP server as a run sees it: what the policy leaves of it, with
// the names that a cell uses.
type MCPServer struct {
	API     mcpapi.Server
	entries []*catalog.Entry // beside api.Tools
	pseudo  map[string]*catalog.Entry
	// overview is the answer to $api() without a tool, which is made once: of a large server it
	// takes milliseconds and megabytes.
	overview func() json.RawMessage
}

// visibleMCP gives the servers that have something in the catalog.
func visibleMCP(servers []Server, cat *catalog.Catalog) []*MCPServer {
	if len(servers) == 0 {
		return nil
	}
	byOwner := map[string][]*catalog.Entry{}
	for _, e := range cat.Entries() {
		if e.Source == catalog.SourceMCP {
			byOwner[e.Owner] = append(byOwner[e.Owner], e)
		}
	}
	var out []*MCPServer
	var titles []string
	for _, s := range servers {
		if entries := byOwner[s.Name]; len(entries) > 0 {
			out = append(out, newRunMCPServer(s, entries))
			titles = append(titles, s.Name)
		}
	}
	slices.SortFunc(out, func(a, b *MCPServer) int { return strings.Compare(a.API.Title, b.API.Title) })
	slices.Sort(titles)
	for i, name := range mcpapi.ServerNames(titles) {
		out[i].API.Name = name
	}
	return out
}

// missingNames gives the names that servers would have in MCP, but for those that others
// have now.
func missingNames(there []*MCPServer, missing []string) []string {
	return slices.DeleteFunc(mcpapi.ServerNames(missing), func(name string) bool {
		return slices.ContainsFunc(there, func(s *MCPServer) bool { return s.API.Name == name })
	})
}

func newRunMCPServer(server Server, entries []*catalog.Entry) *MCPServer {
	s := &MCPServer{API: mcpapi.Server{Title: server.Name, Instructions: mcpapi.Instructions(server.Instructions)}, pseudo: map[string]*catalog.Entry{}}
	var names []string
	for _, e := range entries {
		original := e.Ref.(Ref).OfServer()
		if original == nil {
			s.pseudo[e.Name] = e
			continue
		}
		names = append(names, original.Name)
		s.entries = append(s.entries, e)
		s.API.Tools = append(s.API.Tools, mcpapi.Tool{
			ID: e.ID, Original: original.Name, Description: e.Description, Parameters: e.Parameters, Returns: e.Returns,
		})
	}
	for i, name := range mcpapi.ToolNames(names) {
		s.API.Tools[i].Name = name
	}
	s.API.Resources = s.pseudo["resources/read"] != nil || s.pseudo["resources/list"] != nil
	s.API.Prompts = s.pseudo["prompts/get"] != nil || s.pseudo["prompts/list"] != nil
	s.overview = sync.OnceValue(s.describe)
	return s
}

func (s *MCPServer) describe() json.RawMessage {
	out := map[string]any{"server": s.API.Name, "declaration": mcpapi.Declaration(&s.API), "tools": s.toolNames()}
	if s.API.Instructions != "" {
		out["instructions"] = s.API.Instructions
	}
	text, err := json.Marshal(out)
	if err != nil { // strings have a JSON form
		return json.RawMessage("null")
	}
	return text
}

// instructionsKey names the servers' instructions, which are in templates and not in the catalog's digest.
func instructionsKey(servers []*MCPServer) string {
	var all []string
	for _, s := range servers {
		if s.API.Instructions != "" {
			all = append(all, s.API.Title, s.API.Instructions)
		}
	}
	if len(all) == 0 {
		return ""
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", all))
	return "+" + hex.EncodeToString(sum[:])
}

// Files are the declarations that API.list and API.read serve.
func (v *View) Files() map[string]string {
	files := map[string]string{}
	if len(v.MCP) == 0 {
		return files
	}
	list := make([]mcpapi.Server, len(v.MCP))
	for i, s := range v.MCP {
		list[i] = s.API
		files[mcpapi.Path(s.API.Name)] = mcpapi.Declaration(&s.API)
	}
	files[mcpapi.IndexPath] = mcpapi.Index(list)
	return files
}

// mcpTree is the global MCP: its scope as the guest wants it, and its functions.
type mcpTree struct {
	scope   json.RawMessage
	members []Member
}

var underscored = strings.NewReplacer("-", "_", ".", "_", "/", "_", " ", "_")

// encodeMCP writes the scope of the global MCP and numbers its functions.
func encodeMCP(servers []*MCPServer) (*mcpTree, error) {
	t := &mcpTree{}
	if len(servers) == 0 {
		return t, nil
	}
	type pair = [2]any
	add := func(m Member) pair {
		t.members = append(t.members, m)
		return pair{"c", len(t.members) - 1}
	}
	call := func(path []string, e *catalog.Entry) pair {
		return add(Member{Path: "MCP." + strings.Join(path, "."), Call: &namespace.Call{Tool: e.Name, Path: path}, Tool: e})
	}
	root := map[string]pair{}
	for _, s := range servers {
		name := s.API.Name
		scope := map[string]pair{}
		for i, e := range s.entries {
			js := s.API.Tools[i].Name
			scope[js] = call([]string{name, js}, e)
		}
		for i := range s.entries { // models write the server's names, which they find in its texts
			t := &s.API.Tools[i]
			for _, other := range []string{t.Original, underscored.Replace(t.Original)} {
				if _, taken := scope[other]; !taken && strings.Contains(underscored.Replace(other), "_") && !strings.HasPrefix(other, "_") {
					scope[other] = pair{"s", t.Name}
				}
			}
		}
		for _, group := range []string{"resources", "prompts"} {
			inner := map[string]pair{}
			for _, verb := range []string{"list", "read", "get"} {
				if e := s.pseudo[group+"/"+verb]; e != nil {
					inner[verb] = call([]string{name, group, verb}, e)
				}
			}
			if len(inner) > 0 {
				scope[group] = pair{"o", inner}
			}
		}
		scope["$api"] = add(Member{Path: "MCP." + name + ".$api", Server: s})
		root[name] = pair{"o", scope}
	}
	root["$search"] = add(Member{Path: "MCP.$search", Search: true})
	var err error
	t.scope, err = json.Marshal(pair{"o", root})
	return t, err
}

// Bounds of the part of the exec description that is about MCP servers.
const (
	maxMCPShown     = 64   // servers with a line of their own
	maxMCPToolNames = 1600 // bytes of tools' names in all, shared by the servers
	minMCPToolNames = 40   // bytes of one server's, and at least two names
)

// describeMCP teaches which MCP servers there are, with names of tools as far as the
// budget goes. Their descriptions are in the declarations, which a cell reads.
func (v *View) describeMCP() string {
	if len(v.MCP) == 0 {
		if len(v.missing) == 0 {
			return ""
		}
		return "\nMCP servers.\n" + v.describeMissing()
	}
	var b strings.Builder
	b.WriteString(`
MCP servers. await MCP.$search("what you need", { limit: 5 }) finds their tools. Read declarations before the first call: await API.read("mcp/<server>.d.ts"), or (await MCP.<server>.$api("<tool>")).declaration. Then await MCP.<server>.<tool>({...}) gives { structuredContent?, content }.
`)
	share := max(maxMCPToolNames/len(v.MCP), minMCPToolNames)
	for i, s := range v.MCP {
		if i == maxMCPShown {
			fmt.Fprintf(&b, "- %d more: await API.list(\"mcp\")\n", len(v.MCP)-i)
			break
		}
		fmt.Fprintf(&b, "- MCP.%s: %s\n", s.API.Name, s.summary(share))
	}
	b.WriteString(v.describeMissing())
	return b.String()
}

// describeMissing names the servers that are not available. Why is for the operator: what
// a server says of its failure does not go to the model.
func (v *View) describeMissing() string {
	var b strings.Builder
	for i, name := range v.missing {
		if i == maxMCPShown {
			fmt.Fprintf(&b, "- %d more: not available now\n", len(v.missing)-i)
			break
		}
		fmt.Fprintf(&b, "- MCP.%s: not available now\n", name)
	}
	return b.String()
}

// summary names the first tools of a server.
func (s *MCPServer) summary(share int) string {
	var parts []string
	used := 0
	for i := range s.API.Tools {
		name := s.API.Tools[i].Name
		if i >= 2 && used+len(name)+2 > share {
			parts = append(parts, fmt.Sprintf("%d more", len(s.API.Tools)-i))
			break
		}
		used += len(name) + 2
		parts = append(parts, name)
	}
	if s.API.Resources {
		parts = append(parts, "resources")
	}
	if s.API.Prompts {
		parts = append(parts, "prompts")
	}
	return strings.Join(parts, ", ")
}
