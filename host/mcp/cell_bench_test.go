package mcp

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/host"
)

// BenchmarkCellToServer measures what stands between a cell and a tool of a stdio
// server: the median time of a call from a cell, less that of the same call by a bare
// client of the SDK, in one run and turn by turn.
func BenchmarkCellToServer(b *testing.B) {
	const calls = 40
	conf := program(b, "good")
	m, err := New([]Server{conf}, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer m.Close()
	h, err := host.New(b.Context(), &host.Options{CodeMode: host.CodeModeConfig{Enabled: true, TimeoutMs: 60_000}, MCP: m.Load(b.Context())})
	if err != nil {
		b.Fatal(err)
	}
	defer h.Close()
	run, err := h.NewRun(b.Context(), host.RunOptions{AgentRunID: "a", SessionID: "s"})
	if err != nil {
		b.Fatal(err)
	}
	cell := func(n int) time.Duration {
		start := time.Now()
		res, err := run.Exec(b.Context(), host.ExecInput{Code: fmt.Sprintf("for (let i = 0; i < %d; i++) await MCP.good.add({ a: i, b: 1 })", n)})
		if err != nil {
			b.Fatal(err)
		}
		if res.Status != guestabi.StatusCompleted {
			b.Fatalf("%s: %s", res.Status, res.Error)
		}
		return time.Since(start)
	}
	cmd := exec.Command(conf.Command, conf.Args...)
	cmd.Env = append(os.Environ(), serverEnv+"=good")
	bare, err := sdk.NewClient(&sdk.Implementation{Name: "bare", Version: "1"}, nil).Connect(b.Context(), &sdk.CommandTransport{Command: cmd}, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer bare.Close()
	direct := func() time.Duration {
		start := time.Now()
		for i := range calls {
			if _, err := bare.CallTool(b.Context(), &sdk.CallToolParams{Name: "add", Arguments: map[string]any{"a": i, "b": 1}}); err != nil {
				b.Fatal(err)
			}
		}
		return time.Since(start)
	}
	cell(calls)
	direct()
	var fromCell, byClient []time.Duration
	for b.Loop() {
		fromCell = append(fromCell, (cell(calls)-cell(0))/calls)
		byClient = append(byClient, direct()/calls)
	}
	slices.Sort(fromCell)
	slices.Sort(byClient)
	c, d := fromCell[len(fromCell)/2], byClient[len(byClient)/2]
	b.ReportMetric(float64(c.Microseconds()), "cell-µs/call")
	b.ReportMetric(float64(d.Microseconds()), "client-µs/call")
	b.ReportMetric(float64((c - d).Microseconds()), "overhead-µs/call")
}
