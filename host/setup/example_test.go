package setup_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/host/gateway"
	"github.com/cloister-wasm/cloister/host/hosttest"
	"github.com/cloister-wasm/cloister/host/mcp"
	"github.com/cloister-wasm/cloister/host/settings"
	"github.com/cloister-wasm/cloister/host/setup"
)

// exampleSettings are those of a text, with places of their own.
func exampleSettings(text string) (cfg *settings.Settings, remove func()) {
	dir, err := os.MkdirTemp("", "setup")
	if err != nil {
		log.Fatal(err)
	}
	if cfg, err = settings.Parse(filepath.Join(dir, "cloister.json5"), []byte(text)); err != nil {
		log.Fatal(err)
	}
	cfg.Places = settings.Places{Data: filepath.Join(dir, "data"), Trust: filepath.Join(dir, "trust.json")}
	return cfg, func() { _ = os.RemoveAll(dir) }
}

// A host with a program's own tool, and all that the configuration says.
func ExampleNew() {
	ctx := context.Background()
	cfg, remove := exampleSettings(`{tools: {codeMode: {timeoutMs: 30000}, deny: ["delete_*"]}}`)
	defer remove()
	s, err := setup.New(ctx, &setup.Options{
		Settings: cfg,
		Host:     host.Options{Tools: []host.RawTool{hosttest.Echo("echo"), hosttest.Echo("delete_all")}},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close(ctx)
	run, err := s.Host().NewRun(ctx, host.RunOptions{AgentID: "main", AgentRunID: "run-1", SessionID: "session-1"})
	if err != nil {
		log.Fatal(err)
	}
	defer run.Close()
	res, err := run.Exec(ctx, host.ExecInput{Code: `return (await tools.echo({ n: 21 })).n`})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Status, string(res.Value), len(run.Catalog()))
	// Output: completed 21 1
}

// The step that failed decides what a program says to its user.
func ExampleError() {
	cfg, remove := exampleSettings(`{plugins: {dirs: ["plugins"]}}`)
	defer remove()
	_, err := setup.New(context.Background(), &setup.Options{Settings: cfg, Dirs: []string{"more"}})
	var at *setup.Error
	var unsigned *setup.UnsignedError
	if errors.As(err, &at) && errors.As(err, &unsigned) {
		fmt.Println(at.Step, len(unsigned.Dirs))
	}
	// Output: folders 2
}

// A host that is served to MCP clients and follows what changes.
func ExampleSetup_Gateway() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	cfg, remove := exampleSettings(`{serve: {instructions: "Prefer exec.", limits: {maxSessions: 8}}}`)
	defer remove()
	s, err := setup.New(ctx, &setup.Options{
		Settings: cfg, Follow: true, Gateway: &gateway.Options{Name: "my-program", Elicit: true},
		Host: host.Options{Tools: []host.RawTool{hosttest.Echo("echo")}},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close(context.Background())
	go func() { _ = s.Watch(ctx, nil) }() // it ends with ctx

	handler, err := s.Gateway().Handler(gateway.HTTPOptions{Tokens: map[string]string{"ann": "a-token-of-some-length-0123456789"}})
	if err != nil {
		log.Fatal(err)
	}
	srv := httptest.NewServer(handler)
	defer srv.Close()
	res, err := http.Post(srv.URL+"/mcp", "application/json", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer res.Body.Close()
	fmt.Println(res.StatusCode, s.Approvals() != nil)
	// Output: 401 true
}

// Settings are read again at once; a host that was made without Follow says so.
func ExampleSetup_Reload() {
	cfg, remove := exampleSettings(`{}`)
	defer remove()
	s, err := setup.New(context.Background(), &setup.Options{Settings: cfg})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close(context.Background())
	fmt.Println(errors.Is(s.Reload(context.Background()), setup.ErrFixed))
	// Output: true
}

// All that is wrong with options, before anything is opened.
func ExampleOptions_Validate() {
	cfg, remove := exampleSettings(`{mcp: {servers: {notes: {command: "mcp-notes"}}}}`)
	defer remove()
	o := &setup.Options{Settings: cfg, OnlyServers: []string{"nots"}, StartTimeout: -1}
	fmt.Println(o.Validate())
	// Output:
	// Options.StartTimeout must not be negative
	// there is no MCP server "nots"; did you mean notes?
}

// The connections of a configuration, without a host: to look whether a server works.
func ExampleNewManager() {
	m, err := setup.NewManager(&setup.Options{Settings: &settings.Settings{
		Servers: []settings.Server{{Server: mcp.Server{Name: "notes", Command: "mcp-notes"}}},
	}})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	for _, s := range m.Status() {
		fmt.Println(s.Name, s.State)
	}
	// Output: notes idle
}

// The plugins that would be loaded, and those that are refused.
func ExampleLoadPlugins() {
	cfg, remove := exampleSettings(`{}`)
	defer remove()
	l, err := setup.LoadLock(cfg)
	if err != nil {
		log.Fatal(err)
	}
	p, err := setup.LoadPlugins(context.Background(), &setup.Options{Settings: cfg}, l.File)
	if err != nil {
		log.Fatal(err)
	}
	defer p.Close()
	fmt.Println(len(p.Loaded), len(p.Refused), l.Missing)
	// Output: 0 0 true
}
