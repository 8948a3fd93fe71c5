package gateway_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/host/gateway"
	"github.com/cloister-wasm/cloister/host/hosttest"
)

// A tool behind code mode, over HTTP without tokens on loopback.
func ExampleGateway_Handler() {
	h, err := host.New(context.Background(), &host.Options{
		CodeMode: host.CodeModeConfig{Enabled: true}, Tools: []host.RawTool{hosttest.Echo("echo")},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close()
	g, err := gateway.New(gateway.Options{Host: h})
	if err != nil {
		log.Fatal(err)
	}
	handler, err := g.Handler(gateway.HTTPOptions{NoAuth: true})
	if err != nil {
		log.Fatal(err)
	}
	srv := httptest.NewServer(handler)
	defer srv.Close()

	client := mcp.NewClient(&mcp.Implementation{Name: "example"}, nil)
	session, err := client.Connect(context.Background(), &mcp.StreamableClientTransport{Endpoint: srv.URL + "/mcp", HTTPClient: http.DefaultClient}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	res, err := session.CallTool(context.Background(), &mcp.CallToolParams{
		Name: "exec", Arguments: map[string]any{"code": `return (await tools.echo({ n: 20 })).n + 1`},
	})
	if err != nil {
		log.Fatal(err)
	}
	result := res.StructuredContent.(map[string]any)
	fmt.Println(result["status"], result["value"])
	// Output: completed 21
}
