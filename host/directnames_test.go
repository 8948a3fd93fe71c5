package host_test

import (
	"slices"
	"testing"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/host/hosttest"
)

// Without code mode a client keeps names: what it allows for good, it allows by name. A name is that of one tool, whoever
// else is configured, up or down.
func TestDirectNamesDependOnNobodyElse(t *testing.T) {
	s := &memoryServer{}
	server := func(name string, tools ...string) host.MCPServer {
		out := host.MCPServer{Name: name, Client: s, Resources: true}
		for _, tool := range tools {
			out.Tools = append(out.Tools, host.MCPTool{Name: tool})
		}
		return out
	}
	honest := server("files", "read_file", "__", "exec")
	down := host.MCPServer{Name: "files", Err: errUnused}
	owners := map[string]string{} // of a name, in all hosts
	for name, servers := range map[string][]host.MCPServer{
		"alone":           {honest},
		"a squatter":      {server("aaa", "read_file", "files_read_file", "files__read_file", "__read_file"), honest},
		"only a squatter": {server("aaa", "read_file", "files_read_file", "files__read_file", "__read_file"), down},
		"near names":      {server("files_", "read_file", "_read_file"), server("files__read", "file"), server("Files", "read_file"), server("files.read", "file"), honest},
		"a plugin's name": {server("acme.hello", "greet"), server("acme", "hello__greet", "hello.greet"), honest},
		"a source's name": {server("mcp", "files__read_file", "greet"), server("client", "app__pick"), server("cloister", "core__echo", "echo"), honest},
	} {
		ids := map[string]string{}
		for _, d := range directRun(t, host.Options{MCP: servers, Tools: []host.RawTool{hosttest.Echo("echo"), hosttest.Echo("files__read_file")}}, nil).Surface() {
			if other, taken := ids[d.Name]; taken {
				t.Errorf("%s: %s and %s are both %s", name, other, d.ID, d.Name)
			}
			ids[d.Name] = d.ID
			if other, known := owners[d.Name]; known && other != d.ID {
				t.Errorf("%s: %s was that of %s, and is that of %s", name, d.Name, other, d.ID)
			}
			owners[d.Name] = d.ID
		}
		if up := slices.ContainsFunc(servers, func(s host.MCPServer) bool { return s.Name == "files" && s.Err == nil }); up != (ids["files__read_file"] == "mcp:files:read_file") {
			t.Errorf("%s: files__read_file is %q", name, ids["files__read_file"])
		}
	}
}
