package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// ledgerVariable makes this program the MCP server behind Cloister; it names the file
// where the server writes down what it ran. lifeVariable is the longest that it lives.
const (
	ledgerVariable = "CLOISTER_LOAD_LEDGER"
	lifeVariable   = "CLOISTER_LOAD_LIFE"
)

// ledgerLine is one of the ledger: the tool and the nonce of a call, written before the
// call is answered.
type ledgerLine struct{ tool, nonce string }

type echoIn struct {
	Nonce   string `json:"nonce" jsonschema:"what is given back, and is different in each call"`
	PauseMs int    `json:"pauseMs,omitempty" jsonschema:"how long the call takes"`
	Plan    string `json:"plan,omitempty" jsonschema:"what the approver is to do"`
}

type echoOut struct {
	Nonce string `json:"nonce"`
	Tool  string `json:"tool"`
	PID   int    `json:"pid"`
}

// serveUpstream is an MCP server over stdio that dies without a word after some seconds.
func serveUpstream(ctx context.Context, ledger, longest string) error {
	life, err := time.ParseDuration(longest)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(ledger, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	srv := mcp.NewServer(&mcp.Implementation{Name: "load", Version: "1"}, nil)
	var mu sync.Mutex
	add := func(name, description string, annotations *mcp.ToolAnnotations) {
		mcp.AddTool(srv, &mcp.Tool{Name: name, Description: description, Annotations: annotations},
			func(ctx context.Context, _ *mcp.CallToolRequest, in echoIn) (*mcp.CallToolResult, echoOut, error) {
				mu.Lock()
				_, err := fmt.Fprintf(f, "%s %s\n", name, in.Nonce)
				mu.Unlock()
				if err != nil {
					return nil, echoOut{}, err
				}
				select {
				case <-time.After(time.Duration(in.PauseMs) * time.Millisecond):
				case <-ctx.Done():
					return nil, echoOut{}, ctx.Err()
				}
				return nil, echoOut{Nonce: in.Nonce, Tool: name, PID: os.Getpid()}, nil
			})
	}
	destructive := true
	add("echo", "Gives back the nonce.", nil)
	add("guarded", "Gives back the nonce, and needs approval.", &mcp.ToolAnnotations{DestructiveHint: &destructive})
	time.AfterFunc(life/3+rand.N(life-life/3), func() { os.Exit(3) })
	return srv.Run(ctx, &mcp.StdioTransport{})
}

// readLedger gives how often the server ran each call.
func readLedger(path string) (map[ledgerLine]int, error) {
	runs := map[ledgerLine]int{}
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return runs, nil // it ran nothing
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		tool, nonce, ok := strings.Cut(lines.Text(), " ")
		if !ok {
			return nil, fmt.Errorf("the ledger has the line %q", lines.Text())
		}
		runs[ledgerLine{tool, nonce}]++
	}
	return runs, lines.Err()
}
