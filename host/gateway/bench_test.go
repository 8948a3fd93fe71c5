package gateway

import (
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cloister-wasm/cloister/host"
)

func BenchmarkCheckMessage(b *testing.B) {
	text := []byte(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"exec","arguments":{"code":"` + strings.Repeat("x", 1000) + `"}}}`)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := checkMessage(text); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCall is one direct call of a tool that does nothing: what the gateway and
// the SDK take.
func BenchmarkCall(b *testing.B) {
	for name, way := range transports {
		b.Run(name, func(b *testing.B) {
			cs := dial(b, way(b, newRig(b, false, Options{})), oldProtocol, nil)
			p := &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"a": 1}}
			for b.Loop() {
				if _, err := cs.CallTool(b.Context(), p); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkExec is one program that calls a tool once.
func BenchmarkExec(b *testing.B) {
	cs := dial(b, transports["stdio"](b, newRig(b, true, Options{})), oldProtocol, nil)
	p := &mcp.CallToolParams{Name: "exec", Arguments: map[string]any{"code": "return await tools.echo({ a: 1 })"}}
	for b.Loop() {
		if res, err := cs.CallTool(b.Context(), p); err != nil || res.IsError {
			b.Fatal(err, res)
		}
	}
}

// BenchmarkSurface is the list of 2,000 tools, made once for a run.
func BenchmarkSurface(b *testing.B) {
	h, err := host.New(b.Context(), &host.Options{Tools: manyTools(2000)})
	if err != nil {
		b.Fatal(err)
	}
	defer h.Close()
	run, err := h.NewRun(b.Context(), host.RunOptions{})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := newSurface(run); err != nil {
			b.Fatal(err)
		}
	}
}
