package mcp

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// BenchmarkCall calls a tool of a stdio server by turns through a Manager and through the
// SDK alone, so that both meet the same machine: manager-ns, bare-ns and their ratio are
// means of one call.
func BenchmarkCall(b *testing.B) {
	m := open(b, nil, program(b, "good"))
	s := one(b, m)
	exe, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(exe, "-test.run=^$")
	cmd.Env = append(os.Environ(), serverEnv+"=good")
	ctx := context.Background()
	bare, err := sdk.NewClient(&sdk.Implementation{Name: "bare", Version: "0"}, nil).Connect(ctx, &sdk.CommandTransport{Command: cmd}, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := bare.Close(); err != nil {
			b.Error(err)
		}
	}()
	add, args := tool(b, s, "add"), json.RawMessage(`{"a":40,"b":2}`)
	var ours, theirs time.Duration
	for b.Loop() {
		start := time.Now()
		if _, err := s.Client.CallTool(ctx, add, args, nil); err != nil {
			b.Fatal(err)
		}
		middle := time.Now()
		if _, err := bare.CallTool(ctx, &sdk.CallToolParams{Name: "add", Arguments: args}); err != nil {
			b.Fatal(err)
		}
		ours += middle.Sub(start)
		theirs += time.Since(middle)
	}
	b.ReportMetric(float64(ours)/float64(b.N), "manager-ns")
	b.ReportMetric(float64(theirs)/float64(b.N), "bare-ns")
	b.ReportMetric(float64(ours)/float64(theirs), "ratio")
}
