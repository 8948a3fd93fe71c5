package mcpapi_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/cloister-wasm/cloister/internal/mcpapi"
)

// hundredServers are 100 servers of 20 tools, as big ones of the real world are.
func hundredServers() []mcpapi.Server {
	out := make([]mcpapi.Server, 100)
	for i := range out {
		out[i].Title = fmt.Sprintf("server-%d", i)
		for j := range 20 {
			out[i].Tools = append(out[i].Tools, mcpapi.Tool{
				ID: fmt.Sprintf("mcp:server-%d:create_issue_%d", i, j), Original: fmt.Sprintf("create_issue_%d", j),
				Description: "Create a new issue in a repository.\n\nThe issue is opened in the name of the user of the token. Labels that do not exist are created.",
				Parameters: json.RawMessage(`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"owner":{"type":"string","description":"Repository owner"},` +
					`"repo":{"type":"string","description":"Repository name"},"title":{"type":"string","description":"Issue title"},"body":{"type":"string"},` +
					`"labels":{"type":"array","items":{"type":"string"},"description":"Labels to set"},"state":{"enum":["open","closed"],"default":"open"},` +
					`"milestone":{"anyOf":[{"type":"integer"},{"type":"null"}],"default":null}},"required":["owner","repo","title"],"additionalProperties":false}`),
				Returns: json.RawMessage(`{"type":"object","properties":{"number":{"type":"integer"},"url":{"type":"string","format":"uri"}},"required":["number"]}`),
			})
		}
	}
	return out
}

func BenchmarkHundredServers(b *testing.B) {
	servers := hundredServers()
	b.ReportAllocs()
	for b.Loop() {
		titles := make([]string, len(servers))
		for i := range servers {
			titles[i] = servers[i].Title
		}
		bytes := 0
		for i, name := range mcpapi.ServerNames(titles) {
			s := servers[i]
			s.Name = name
			names := make([]string, len(s.Tools))
			for j := range s.Tools {
				names[j] = s.Tools[j].Original
			}
			mcpapi.IDNames(names)
			for j, name := range mcpapi.ToolNames(names) {
				s.Tools[j].Name = name
			}
			bytes += len(mcpapi.Declaration(&s))
		}
		b.ReportMetric(float64(bytes), "declared-bytes")
	}
}

func BenchmarkNames(b *testing.B) {
	names := make([]string, 1000)
	for i := range names {
		names[i] = fmt.Sprintf("create-issue_%d", i/2)
	}
	b.ReportAllocs()
	for b.Loop() {
		mcpapi.ToolNames(names)
		mcpapi.IDNames(names)
	}
}

func BenchmarkIndex(b *testing.B) {
	servers := hundredServers()
	for i := range servers {
		servers[i].Name = fmt.Sprint("server", i)
	}
	b.ReportAllocs()
	for b.Loop() {
		mcpapi.Index(servers)
	}
}

// BenchmarkBombs declares one tool of each hostile schema: the worst costs count, not the mean.
func BenchmarkBombs(b *testing.B) {
	for name, text := range bombs() {
		b.Run(name, func(b *testing.B) {
			s := server(tool("f", text))
			for b.Loop() {
				mcpapi.ToolDeclaration(s, &s.Tools[0])
			}
		})
	}
}
