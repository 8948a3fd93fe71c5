package main

import (
	"context"
	"os"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// floodVariable makes this program an MCP server that floods whoever started it, as long
// as there is the file that it names.
const floodVariable = "CLOISTER_LOAD_FLOOD"

// floodLines are what it writes, all of it correct and none of it asked for.
var floodLines = []string{
	`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"all is well"}}` + "\n",
	`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` + "\n",
	`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"none","progress":1}}` + "\n",
}

// serveFlood is an MCP server over stdio with one tool.
func serveFlood(ctx context.Context, control string) error {
	srv := mcp.NewServer(&mcp.Implementation{Name: "flood", Version: "1"}, nil)
	mcp.AddTool(srv, &mcp.Tool{Name: "shout", Description: "Gives the nonce back."},
		func(_ context.Context, _ *mcp.CallToolRequest, in echoIn) (*mcp.CallToolResult, echoOut, error) {
			return nil, echoOut{Nonce: in.Nonce, Tool: "shout", PID: os.Getpid()}, nil
		})
	go flood(control)
	return srv.Run(ctx, &mcp.StdioTransport{})
}

// flood writes lines as fast as they are taken. Each is one write, which a pipe does not
// take apart, so that they do not come between parts of an answer.
func flood(control string) {
	for n := 0; ; {
		if _, err := os.Stat(control); err != nil {
			time.Sleep(20 * time.Millisecond)
			continue
		}
		for range 300 {
			if _, err := os.Stdout.WriteString(floodLines[n%len(floodLines)]); err != nil {
				os.Exit(0) // nobody reads any more
			}
			n++
		}
		if _, err := os.Stderr.WriteString("all is well\n"); err != nil {
			os.Exit(0)
		}
	}
}
