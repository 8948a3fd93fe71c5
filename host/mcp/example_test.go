package mcp_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/cloister-wasm/cloister/host/mcp"
)

// A server that cannot be started is named, and takes nobody along.
func ExampleManager_Load() {
	m, err := mcp.New([]mcp.Server{{Name: "notes", Command: "/there/is/no/such/program"}}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer m.Close()
	for _, s := range m.Load(context.Background()) {
		fmt.Println(s.Name, len(s.Tools), errors.Is(s.Err, mcp.ErrUnavailable))
	}
	fmt.Println(m.Status()[0].State)
	// Output:
	// notes 0 true
	// failed
}

// New lists every fault, with the key to mend.
func ExampleNew() {
	_, err := mcp.New([]mcp.Server{
		{Name: "notes"},
		{Name: "web", URL: "http://example.com/mcp"},
	}, nil)
	var e *mcp.ConfigError
	if errors.As(err, &e) {
		for _, f := range e.Faults {
			fmt.Println(f.Key)
		}
	}
	// Output:
	// mcp.servers.notes.command
	// mcp.servers.web.url
}
